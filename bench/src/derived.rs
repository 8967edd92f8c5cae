//! The request as anybody would derive it. `D` is what an open-ended value becomes.

use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "D: Deserialize<'de>"))]
pub struct SendMessageRequest<D> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    message: Message<D>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    configuration: Option<SendMessageConfiguration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<D>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SendMessageConfiguration {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    accepted_output_modes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    history_length: Option<i32>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    return_immediately: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "D: Deserialize<'de>"))]
#[expect(clippy::struct_field_names, reason = "the protocol's names")]
struct Message<D> {
    message_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task_id: Option<String>,
    role: Role,
    parts: Vec<Part<D>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<D>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    extensions: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reference_task_ids: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
enum Role {
    #[serde(rename = "ROLE_UNSPECIFIED")]
    Unspecified,
    #[serde(rename = "ROLE_USER")]
    User,
    #[serde(rename = "ROLE_AGENT")]
    Agent,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "D: Deserialize<'de>"))]
struct Part<D> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    raw: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<D>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<D>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    filename: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
}

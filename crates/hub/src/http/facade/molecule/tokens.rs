//! Tokens of a workspace (MD-27). A secret is in the answer that makes it, and nowhere else.

use axum::{
    Json,
    extract::{Path, State},
};
use http::StatusCode;
use nuncio_auth::KeyRecord;
use nuncio_protocol::{ids::AgentId, time::Timestamp};
use serde::Serialize;

use super::{
    asked::{Caller, visible},
    refused::Refused,
    registry::Done,
};
use crate::{error::Error, hub::Hub};

#[derive(Debug, Serialize)]
pub(super) struct Tokens {
    tokens: Vec<Token>,
    count: usize,
}

/// A token: everything but the secret. Its id is also what it begins with.
#[derive(Debug, Serialize)]
struct Token {
    id: String,
    prefix: String,
    created_at: Timestamp,
    /// Since the hub was started.
    last_used_at: Option<Timestamp>,
}

impl Token {
    fn new(hub: &Hub, record: &KeyRecord) -> Self {
        let id = record.id().to_owned();
        let last_used_at = hub.directory.last_use(&id);
        Self { prefix: id.clone(), id, created_at: record.created(), last_used_at }
    }
}

pub(super) async fn list(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
) -> Result<Json<Tokens>, Refused> {
    let agent = visible(&hub, &who, &id)?;
    who.itself_or_administrator(&agent.id)?;
    let state = hub.directory.state();
    let tokens = state.keys_of(&agent.id).into_iter();
    let tokens: Vec<_> = tokens.map(|record| Token::new(&hub, record)).collect();
    Ok(Json(Tokens { count: tokens.len(), tokens }))
}

/// A token that was made.
#[derive(Debug, Serialize)]
pub(super) struct Issued {
    auth_token: String,
    workspace_id: AgentId,
    #[serde(flatten)]
    token: Token,
}

pub(super) async fn create(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<Issued>), Refused> {
    let agent = visible(&hub, &who, &id)?;
    who.itself_or_administrator(&agent.id)?;
    let issued = hub.directory.new_token(&who.organisation, &agent.id, &who.actor()).await?;
    let auth_token = issued.key.to_string();
    let token = Token::new(&hub, &issued.record);
    let workspace_id = agent.id.clone();
    Ok((StatusCode::CREATED, Json(Issued { auth_token, workspace_id, token })))
}

pub(super) async fn revoke(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path((id, token)): Path<(String, String)>,
) -> Result<Json<Done>, Refused> {
    let agent = visible(&hub, &who, &id)?;
    who.itself_or_administrator(&agent.id)?;
    let is_its = hub.directory.state().keys_of(&agent.id).iter().any(|key| key.id() == token);
    if !is_its {
        return Err(Error::Unknown { what: "token" }.into());
    }
    hub.directory.revoke(&who.organisation, &token, &who.actor()).await?;
    Ok(Done::new("revoked"))
}

//! Messages and parts.

use bytes::Bytes;
use nuncio_protocol::message::{Content, Message, Part, Role};
use proptest::prelude::*;

use super::{few, id, json, optional_id, some, text, url};

/// Any content.
pub(crate) fn content() -> impl Strategy<Value = Content> {
    prop_oneof![
        text().prop_map(Content::Text),
        prop::collection::vec(any::<u8>(), 0..8).prop_map(|bytes| Content::Raw(Bytes::from(bytes))),
        url().prop_map(Content::Url),
        json::canonical().prop_map(Content::Data),
    ]
}

/// Any part.
pub(crate) fn part() -> impl Strategy<Value = Part> {
    (content(), json::optional_object(), text(), text()).prop_map(
        |(content, metadata, filename, media_type)| Part {
            content,
            metadata,
            filename,
            media_type,
        },
    )
}

/// Somebody.
pub(crate) fn role() -> impl Strategy<Value = Role> {
    prop::sample::select(vec![Role::User, Role::Agent])
}

/// Any message that may be sent.
pub(crate) fn message() -> impl Strategy<Value = Message> {
    (
        id(),
        optional_id(),
        optional_id(),
        role(),
        some(part()),
        json::optional_object(),
        few(url()),
        few(id()),
    )
        .prop_map(|fields| {
            let (message_id, context_id, task_id, role, parts, metadata, extensions, tasks) =
                fields;
            Message {
                message_id,
                context_id,
                task_id,
                role,
                parts,
                metadata,
                extensions,
                reference_task_ids: tasks,
            }
        })
}

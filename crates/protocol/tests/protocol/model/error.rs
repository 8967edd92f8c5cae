//! Errors.

use std::time::Duration;

use nuncio_protocol::error::{Error, ErrorKind};
use proptest::prelude::*;

use super::{few, json, named, text};

/// Any kind that has a code of its own.
pub(crate) fn kind() -> impl Strategy<Value = ErrorKind> {
    prop::sample::select(ErrorKind::ALL)
}

/// Any error with the usual reason of its kind.
pub(crate) fn error() -> impl Strategy<Value = Error> {
    let delay = (0..100_000_u64, 0..1_000_u32)
        .prop_map(|(seconds, millis)| Duration::new(seconds, millis * 1_000_000));
    (
        kind(),
        text(),
        named(text()),
        few((text(), text())),
        prop::option::of(delay),
        few(json::object()),
    )
        .prop_map(|(kind, message, metadata, violations, delay, details)| {
            let mut error = Error::new(kind, message);
            for (key, value) in metadata {
                error = error.with_metadata(key, value);
            }
            for (field, description) in violations {
                error = error.with_violation(field, description);
            }
            if let Some(delay) = delay {
                error = error.with_retry_after(delay);
            }
            details.into_iter().fold(error, Error::with_detail)
        })
}

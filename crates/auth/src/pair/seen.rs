//! Tokens that have been used, where each counts once.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use crate::{
    jwt::LEEWAY,
    refusal::{Refusal, Why},
};

/// More are not remembered: then nobody is let in until some have expired.
const MAX: usize = 100_000;

/// Remembers tokens until they have expired.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// By id, with the second in which the token ends.
    ids: Mutex<HashMap<String, i64>>,
}

impl Seen {
    /// Notes a token, and refuses one that was noted before.
    pub(super) fn note(&self, id: &str, expires: i64, now: i64) -> Result<(), Refusal> {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        if ids.contains_key(id) {
            return Err(Why::Replayed.into());
        }
        if ids.len() >= MAX {
            ids.retain(|_, expires| now - *expires <= LEEWAY);
        }
        if ids.len() >= MAX {
            return Err(Refusal::Unavailable);
        }
        ids.insert(id.to_owned(), expires);
        Ok(())
    }
}

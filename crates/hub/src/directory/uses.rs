//! When keys were last shown: what somebody wants to know before revoking an old one (MD-27).

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use nuncio_protocol::time::Timestamp;

use super::Directory;

/// When keys were last shown here, since the process began.
#[derive(Debug, Default)]
pub(super) struct Uses(Mutex<HashMap<Box<str>, Timestamp>>);

impl Directory {
    /// Notes that a key was shown, and was good.
    pub fn note_use(&self, key: &str) {
        let mut uses = self.0.uses.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Timestamp::now();
        match uses.get_mut(key) {
            Some(last) => *last = now,
            None => drop(uses.insert(key.into(), now)),
        }
    }

    /// Returns when a key was last shown to this hub since it was started.
    pub fn last_use(&self, key: &str) -> Option<Timestamp> {
        self.0.uses.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).copied()
    }
}

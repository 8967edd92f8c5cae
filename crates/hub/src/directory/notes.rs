//! What hubs on one database tell one another: the keys they sign with, and when the keys of
//! callers were last shown.

use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;
use nuncio_protocol::{card::sign::KeySet, json, time::Timestamp};

use super::{Actor, Change, Directory};
use crate::{error::Error, state::State, store::Kind};

/// Before the name of a key that signs pair tokens.
const SIGNS: &str = "signs/";

/// Before the name of a key that callers show (MD-27).
const USED: &str = "used/";

/// When keys were last shown here, since that was last written down.
#[derive(Debug, Default)]
pub(super) struct Uses(Mutex<HashMap<Box<str>, Timestamp>>);

impl Uses {
    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Timestamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Directory {
    /// Notes that a key was shown, and was good.
    pub fn note_use(&self, key: &str) {
        let mut uses = self.0.uses.lock();
        let now = Timestamp::now();
        match uses.get_mut(key) {
            Some(last) => *last = now,
            None => drop(uses.insert(key.into(), now)),
        }
    }

    /// Returns when a key was last shown to a hub of this database. What others have seen in the
    /// last minute may not be known yet.
    pub fn last_use(&self, key: &str) -> Option<Timestamp> {
        let here = self.0.uses.lock().get(key).copied();
        here.max(written_use(&self.state(), key))
    }

    /// Writes down when keys were last shown.
    pub async fn keep_uses(&self) -> Result<(), Error> {
        let shown: Vec<(Box<str>, Timestamp)> = {
            let uses = self.0.uses.lock();
            uses.iter().map(|(key, last)| (key.clone(), *last)).collect()
        };
        if shown.is_empty() {
            return Ok(());
        }
        self.change(|state| {
            let mut change = Change::new(&Actor::hub());
            for (key, last) in &shown {
                // Keys that are gone take their notes with them.
                let is_news = written_use(state, key).is_none_or(|written| written < *last);
                if is_news && state.key(key).is_some() {
                    let name = format!("{USED}{key}");
                    change.put(Kind::Note, &name, Some(last.as_millis().to_string()));
                }
            }
            Ok((change, ()))
        })
        .await?;
        let mut uses = self.0.uses.lock();
        for (key, last) in shown {
            if uses.get(&key) == Some(&last) {
                uses.remove(&key);
            }
        }
        Ok(())
    }

    /// Lets the hubs of this database know which keys this one signs with.
    pub async fn publish_keys(&self, keys: &KeySet) -> Result<(), Error> {
        let Some(name) = keys.iter().next().map(|key| format!("{SIGNS}{}", key.kid())) else {
            return Ok(());
        };
        let body = json::to_string(keys);
        self.change(|state| {
            let mut change = Change::new(&Actor::hub());
            if state.note(&name).is_none_or(|known| **known != *body) {
                change.put(Kind::Note, &name, Some(body.clone()));
            }
            Ok((change, ()))
        })
        .await
    }

    /// Returns the keys that the hubs of this database sign with, beside some.
    pub fn published_keys(&self, own: KeySet) -> KeySet {
        let mut all = own;
        for (_, text) in self.state().notes(SIGNS) {
            // What another version has written and this one cannot read is not for this one.
            let Ok(keys) = json::from_str::<KeySet>(text) else { continue };
            for key in
                keys.iter().filter(|key| !all.contains(key.kid())).cloned().collect::<Vec<_>>()
            {
                all.insert(key);
            }
        }
        all
    }
}

fn written_use(state: &State, key: &str) -> Option<Timestamp> {
    let millis = state.note(&format!("{USED}{key}"))?.parse().ok()?;
    Timestamp::from_millis(millis)
}

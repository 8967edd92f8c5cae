//! Signatures that were found to be right, so that a token which is shown again costs a hash
//! instead of a check.
//!
//! Only the signature is remembered. Times, audience and all else are checked each time, and
//! a signature counts for the very set of keys by which it was checked: when an issuer's keys
//! change, everything is forgotten.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use aws_lc_rs::digest;
use nuncio_protocol::card::sign::KeySet;

/// How many tokens are remembered; two that meet in one slot take turns.
const SLOTS: u16 = 4096;

/// Remembers tokens of one issuer, in a table of fixed size.
#[derive(Default)]
pub(crate) struct Verified {
    /// Empty until the first token.
    slots: Mutex<Vec<Option<Entry>>>,
}

#[derive(Clone)]
struct Entry {
    fingerprint: Fingerprint,
    /// Weak, so that keys which are gone take no memory; a set at the same address is the
    /// same set as long as somebody points at it.
    keys: Weak<KeySet>,
}

/// Stands for the text of a token, signature included.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint([u8; 32]);

impl Fingerprint {
    pub(crate) fn of(token: &str) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest::digest(&digest::SHA256, token.as_bytes()).as_ref());
        Self(bytes)
    }

    fn slot(self) -> usize {
        let [first, second, ..] = self.0;
        usize::from(u16::from_be_bytes([first, second]) % SLOTS)
    }
}

impl Verified {
    /// Tells whether a token's signature was found to be right by these keys.
    pub(crate) fn holds(&self, fingerprint: Fingerprint, keys: &Arc<KeySet>) -> bool {
        let slots = self.slots();
        let entry = slots.get(fingerprint.slot()).and_then(Option::as_ref);
        entry.is_some_and(|entry| {
            entry.fingerprint == fingerprint && std::ptr::eq(entry.keys.as_ptr(), Arc::as_ptr(keys))
        })
    }

    pub(crate) fn remember(&self, fingerprint: Fingerprint, keys: &Arc<KeySet>) {
        let mut slots = self.slots();
        if slots.is_empty() {
            slots.resize(usize::from(SLOTS), None);
        }
        slots[fingerprint.slot()] = Some(Entry { fingerprint, keys: Arc::downgrade(keys) });
    }

    fn slots(&self) -> MutexGuard<'_, Vec<Option<Entry>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verified").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_counts_for_the_keys_that_checked_it() {
        let verified = Verified::default();
        let (keys, equal) = (Arc::new(KeySet::default()), Arc::new(KeySet::default()));
        let token = Fingerprint::of("a.b.c");
        assert!(!verified.holds(token, &keys));
        verified.remember(token, &keys);
        assert!(verified.holds(token, &keys));
        assert!(!verified.holds(Fingerprint::of("a.b.d"), &keys));
        assert!(!verified.holds(token, &equal));
    }

    #[test]
    fn keys_that_are_gone_leave_nothing_that_others_could_take_for_theirs() {
        let verified = Verified::default();
        let token = Fingerprint::of("a.b.c");
        let mut keys = Arc::new(KeySet::default());
        for _ in 0..100 {
            verified.remember(token, &keys);
            drop(keys);
            keys = Arc::new(KeySet::default());
            assert!(!verified.holds(token, &keys));
        }
    }

    #[test]
    fn the_table_does_not_grow() {
        let verified = Verified::default();
        let keys = Arc::new(KeySet::default());
        for number in 0..10_000 {
            let token = Fingerprint::of(&format!("a.b.{number}"));
            verified.remember(token, &keys);
            assert!(verified.holds(token, &keys));
        }
        assert_eq!(verified.slots().len(), usize::from(SLOTS));
    }
}

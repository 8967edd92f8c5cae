//! Secrets that a store can keep and not read.

use std::{fmt, sync::Arc};

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use nuncio_protocol::ids::{PushConfigId, TaskId};

use crate::store::Sealed;

/// The first byte of everything that is sealed: what follows is a nonce, then the text
/// encrypted by AES-256-GCM, with its tag.
const FORMAT: u8 = 1;

/// Seals the secrets of webhooks. Cheap to clone.
///
/// What is sealed for one webhook cannot be opened for another: the identifiers of the task
/// and of the webhook are sealed with it.
#[derive(Clone)]
pub struct SealingKey(Arc<RandomizedNonceKey>);

/// What was sealed with another key or for another webhook, or has been changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the secrets of the webhook cannot be read with this sealing key; register it again")]
pub struct Unsealable;

impl SealingKey {
    /// Takes 32 bytes that nobody else knows and nobody can guess.
    #[expect(clippy::missing_panics_doc, reason = "it cannot panic")]
    pub fn new(bytes: &[u8; 32]) -> Self {
        let key = RandomizedNonceKey::new(&AES_256_GCM, bytes);
        Self(Arc::new(key.expect("a key of AES-256 has 32 bytes")))
    }

    /// Makes a key that nobody else has: for a store that does not outlive the process.
    ///
    /// # Panics
    /// If the system has no randomness to give.
    pub fn generate() -> Self {
        Self::new(&Self::random_bytes())
    }

    /// Makes the bytes of a key, to be kept secret and given to [`new`](Self::new) again.
    ///
    /// # Panics
    /// If the system has no randomness to give.
    pub fn random_bytes() -> [u8; 32] {
        let mut bytes = [0; 32];
        // Straight from the system: the library's own generator takes 50 ms to start.
        getrandom::fill(&mut bytes).expect("the system gives randomness");
        bytes
    }

    /// Seals secrets for one webhook. Never gives the same twice.
    pub(super) fn seal(
        &self,
        task: &TaskId,
        id: &PushConfigId,
        text: &[u8],
    ) -> Result<Sealed, Unsealable> {
        let mut text = text.to_vec();
        let nonce = self
            .0
            .seal_in_place_append_tag(Aad::from(belonging(task, id)), &mut text)
            .map_err(|_| Unsealable)?;
        let mut sealed = Vec::with_capacity(1 + NONCE_LEN + text.len());
        sealed.push(FORMAT);
        sealed.extend_from_slice(nonce.as_ref());
        sealed.append(&mut text);
        Ok(Sealed(sealed))
    }

    /// Opens what was sealed for this webhook.
    pub(super) fn open(
        &self,
        task: &TaskId,
        id: &PushConfigId,
        sealed: &Sealed,
    ) -> Result<Vec<u8>, Unsealable> {
        let Some((&FORMAT, rest)) = sealed.0.split_first() else { return Err(Unsealable) };
        let (nonce, text) = rest.split_at_checked(NONCE_LEN).ok_or(Unsealable)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| Unsealable)?;
        let mut text = text.to_vec();
        let opened = self
            .0
            .open_in_place(nonce, Aad::from(belonging(task, id)), &mut text)
            .map_err(|_| Unsealable)?;
        let length = opened.len();
        text.truncate(length);
        Ok(text)
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealingKey")
    }
}

/// Two webhooks have the same only if they are the same: the length keeps the two apart.
fn belonging(task: &TaskId, id: &PushConfigId) -> Vec<u8> {
    let (task, id) = (task.as_str().as_bytes(), id.as_str().as_bytes());
    let mut bytes = Vec::with_capacity(1 + 8 + task.len() + id.len());
    bytes.push(FORMAT);
    bytes.extend_from_slice(&(task.len() as u64).to_be_bytes());
    bytes.extend_from_slice(task);
    bytes.extend_from_slice(id);
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(task: &str, id: &str) -> (TaskId, PushConfigId) {
        (TaskId::parse(task).unwrap(), PushConfigId::parse(id).unwrap())
    }

    proptest! {
        #[test]
        fn any_bytes_come_back(key: [u8; 32], text: Vec<u8>, task in ".{1,20}", id in ".{1,20}") {
            let (task, id) = names(&task, &id);
            let key = SealingKey::new(&key);
            let sealed = key.seal(&task, &id, &text).unwrap();
            prop_assert_eq!(key.open(&task, &id, &sealed), Ok(text));
        }

        #[test]
        fn any_flipped_bit_is_refused(text: Vec<u8>, place: prop::sample::Index, bit in 0..8) {
            let (task, id) = names("t", "w");
            let key = SealingKey::new(&[7; 32]);
            let mut sealed = key.seal(&task, &id, &text).unwrap();
            let place = place.index(sealed.0.len());
            sealed.0[place] ^= 1u8 << bit;
            prop_assert_eq!(key.open(&task, &id, &sealed), Err(Unsealable));
        }

        #[test]
        fn any_shortening_is_refused(text: Vec<u8>, place: prop::sample::Index) {
            let (task, id) = names("t", "w");
            let key = SealingKey::new(&[7; 32]);
            let mut sealed = key.seal(&task, &id, &text).unwrap();
            sealed.0.truncate(place.index(sealed.0.len()));
            prop_assert_eq!(key.open(&task, &id, &sealed), Err(Unsealable));
        }
    }

    #[test]
    fn nothing_is_sealed_alike_twice() {
        let (task, id) = names("t", "w");
        let key = SealingKey::new(&[7; 32]);
        assert_ne!(key.seal(&task, &id, b"same"), key.seal(&task, &id, b"same"));
    }

    #[test]
    fn what_is_sealed_opens_for_its_own_webhook_and_key_only() {
        let (task, id) = names("ab", "c");
        let key = SealingKey::new(&[7; 32]);
        let sealed = key.seal(&task, &id, b"secret").unwrap();
        for (task, id) in [names("a", "bc"), names("ab", "d"), names("x", "c")] {
            assert_eq!(key.open(&task, &id, &sealed), Err(Unsealable));
        }
        assert_eq!(SealingKey::new(&[8; 32]).open(&task, &id, &sealed), Err(Unsealable));
    }
}

//! Ids of agents with their hashes, so that a decision reads no text that it need not.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, BuildHasherDefault, Hash, Hasher},
    sync::LazyLock,
};

use foldhash::fast::RandomState;
use nuncio_protocol::ids::AgentId;

/// One for all keys of the process: those of a directory are looked up among those of rules.
static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// The id of an agent, and its hash.
///
/// Hashing an id means to read it, from memory that nobody has touched for a while: that takes
/// longer than all the rest of a look-up. So everything that names agents keeps keys.
#[derive(Clone, Debug)]
pub struct AgentKey {
    hash: u64,
    id: AgentId,
}

/// A map by keys.
pub type KeyMap<V> = HashMap<AgentKey, V, BuildHasherDefault<Ready>>;

/// Hands on a hash that is there already.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ready(u64);

impl AgentKey {
    /// Makes the key of an agent.
    pub fn new(id: &AgentId) -> Self {
        Self { hash: SEED.hash_one(id.as_str()), id: id.clone() }
    }

    /// Returns the id.
    pub fn id(&self) -> &AgentId {
        &self.id
    }

    /// Returns the hash. It is another in every process.
    pub fn hash(&self) -> u64 {
        self.hash
    }
}

impl PartialEq for AgentKey {
    fn eq(&self, other: &Self) -> bool {
        let (one, two) = (self.id.as_str(), other.id.as_str());
        self.hash == other.hash && (std::ptr::eq(one, two) || one == two)
    }
}

impl Eq for AgentKey {}

impl Hash for AgentKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl Hasher for Ready {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn write(&mut self, bytes: &[u8]) {
        // A key writes one number and nothing else.
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }
}

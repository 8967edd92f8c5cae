//! How a directory behaves.

use std::time::Duration;

use nuncio_auth::rules::Settings;

use crate::signatures::CardSignatures;

/// How a directory behaves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// What the hierarchy allows by itself.
    pub settings: Settings,
    /// When agents count as gone.
    pub liveness: Liveness,
    /// Whether a card that changes skills, security or addresses takes effect only when somebody
    /// has agreed.
    pub hold_cards: bool,
    /// Whose signatures on cards are believed.
    pub signatures: CardSignatures,
    /// How long an agent's request for leave waits before it is denied (MD-56).
    pub approval_wait: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            liveness: Liveness::default(),
            hold_cards: false,
            signatures: CardSignatures::default(),
            approval_wait: Duration::from_secs(600),
        }
    }
}

/// When agents count as gone (C-34).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Liveness {
    /// How often agents are to say how they are.
    pub beat: Duration,
    /// After how long without a word they are offline.
    pub offline: Duration,
    /// How often that is looked after.
    pub sweep: Duration,
    /// How often agents are asked that say nothing by themselves.
    pub probe: Duration,
    /// How often changes of other processes are looked for.
    pub refresh: Duration,
}

impl Default for Liveness {
    fn default() -> Self {
        Self {
            beat: Duration::from_secs(30),
            offline: Duration::from_secs(90),
            sweep: Duration::from_secs(15),
            probe: Duration::from_secs(30),
            refresh: Duration::from_secs(1),
        }
    }
}

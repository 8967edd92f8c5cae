//! The lowest epoch whose tokens still count. It only ever rises.

use std::fmt;

use tokio::sync::watch;

/// What a verifier knows about the epoch.
#[derive(Debug)]
pub(super) struct Epochs {
    state: watch::Sender<State>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) lowest: u64,
    /// Whether the hub has been asked since the verifier began.
    pub(super) is_asked: bool,
}

/// For how long the rules stay as they were when a token was issued.
#[derive(Clone)]
pub struct Lease {
    epoch: u64,
    changes: watch::Receiver<State>,
}

impl Epochs {
    pub(super) fn new(lowest: u64) -> Self {
        Self { state: watch::Sender::new(State { lowest, is_asked: false }) }
    }

    pub(super) fn lowest(&self) -> u64 {
        self.state.borrow().lowest
    }

    /// Refuses everything older from now on. Returns false if that would be a step back.
    pub(super) fn raise(&self, epoch: u64) -> bool {
        self.state.send_if_modified(|state| {
            let rises = epoch > state.lowest;
            state.lowest = state.lowest.max(epoch);
            rises
        });
        epoch >= self.lowest()
    }

    /// Notes that the hub was asked, whatever came of it.
    pub(super) fn asked(&self) {
        self.state.send_if_modified(|state| !std::mem::replace(&mut state.is_asked, true));
    }

    pub(super) fn changes(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    pub(super) fn lease(&self, epoch: u64) -> Lease {
        Lease { epoch, changes: self.state.subscribe() }
    }
}

impl Lease {
    /// Returns the epoch of the token.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Tells whether the rules are still those of the token.
    pub fn holds(&self) -> bool {
        self.changes.borrow().lowest <= self.epoch
    }

    /// Waits until the rules have changed.
    pub async fn ended(mut self) {
        let Self { epoch, changes } = &mut self;
        if changes.wait_for(|state| state.lowest > *epoch).await.is_err() {
            // The verifier is gone, and with it whoever could tell.
            std::future::pending::<()>().await;
        }
    }
}

impl PartialEq for Lease {
    fn eq(&self, other: &Self) -> bool {
        self.epoch == other.epoch
    }
}

impl Eq for Lease {}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

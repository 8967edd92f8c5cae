//! Ending a listener without ending what its callers are in the middle of.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

/// Tells listeners, and everybody who answers slowly, that the process is about to stop.
///
/// Clones are one and the same drain; any number of listeners may share it.
#[derive(Clone, Debug, Default)]
pub struct Drain {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    begun: CancellationToken,
    cut: CancellationToken,
    patience: OnceLock<Duration>,
}

impl Drain {
    /// Makes a drain that has not begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins: no new connection is taken, each connection ends with the answers it owes,
    /// and what is left after `patience` is cut.
    ///
    /// Only the first call counts, except that one with no patience always cuts at once.
    pub fn begin(&self, patience: Duration) {
        // A patience that is set already stays.
        let _ = self.shared.patience.set(patience);
        self.shared.begun.cancel();
        if patience.is_zero() {
            self.shared.cut.cancel();
        }
    }

    /// Returns whether it has begun.
    pub fn has_begun(&self) -> bool {
        self.shared.begun.is_cancelled()
    }

    /// Waits until it begins. Cheap, even for thousands who wait.
    pub async fn begun(&self) {
        self.shared.begun.cancelled().await;
    }

    /// Waits until what is left is cut.
    pub async fn cut(&self) {
        self.shared.cut.cancelled().await;
    }

    pub(super) fn begun_token(&self) -> &CancellationToken {
        &self.shared.begun
    }

    pub(super) fn cut_token(&self) -> &CancellationToken {
        &self.shared.cut
    }

    /// Cuts what is left after the patience. Waits for it to begin first.
    pub(super) async fn run(&self) {
        self.begun().await;
        let patience = self.shared.patience.get().copied().unwrap_or_default();
        // A later call without patience ends the wait.
        let cut = self.shared.cut.cancelled();
        if tokio::time::timeout(patience, cut).await.is_err() {
            self.shared.cut.cancel();
        }
    }
}

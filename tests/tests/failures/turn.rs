//! Who may break things now: much of this is measured, and must not measure what others do.

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

static TURN: RwLock<()> = RwLock::const_new(());

/// Waits until nobody else runs.
pub(crate) async fn alone() -> RwLockWriteGuard<'static, ()> {
    TURN.write().await
}

/// Waits until only tests run that mind each other as little as this one.
pub(crate) async fn beside_its_kind() -> RwLockReadGuard<'static, ()> {
    TURN.read().await
}

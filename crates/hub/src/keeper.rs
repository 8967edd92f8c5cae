//! What a hub does unasked: it notices who went silent, and what other processes have written.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::{error::Error, http, hub::Hub, probe, triggers};

/// So often is looked whether a trigger is due.
const TRIGGERS: Duration = Duration::from_secs(1);

/// So often is looked whether work has ended that agents have given to others.
const DELEGATIONS: Duration = Duration::from_secs(1);

/// So often is looked whether somebody has waited too long for leave.
const APPROVALS: Duration = Duration::from_secs(1);

/// So often is written down which keys were shown.
const USES: Duration = Duration::from_secs(60);

/// So often is looked whether the others know our keys.
const KEYS: Duration = Duration::from_secs(600);

/// Looks after a hub until its drain begins.
pub(crate) async fn keep(hub: &Hub) {
    let liveness = hub.directory.options().liveness;
    let work = async {
        tokio::join!(
            every(liveness.sweep, "sweep", || sweep(hub)),
            every(liveness.refresh, "refresh", || refresh(hub)),
            every(TRIGGERS, "triggers", || triggers::fire_due(hub)),
            every(DELEGATIONS, "delegations", || http::tell_ended(hub)),
            every(APPROVALS, "approvals", || hub.directory.deny_overdue()),
            every(USES, "uses of keys", || hub.directory.keep_uses()),
            every(KEYS, "signing keys", || publish(hub)),
            probe::run(hub),
            tidy(hub),
        )
    };
    tokio::select! {
        () = hub.drain.begun() => {}
        _ = work => {}
    }
    if let Err(error) = hub.directory.keep_uses().await {
        tracing::warn!(error = &error as &dyn std::error::Error, "uses of keys are lost");
    }
}

async fn publish(hub: &Hub) -> Result<(), Error> {
    hub.directory.publish_keys(&hub.minter.key_set()).await
}

/// Does something now and at each interval. What fails is tried again the next time.
async fn every<F>(period: Duration, what: &'static str, mut work: impl FnMut() -> F)
where
    F: Future<Output = Result<(), Error>>,
{
    let mut ticks = interval(period.max(Duration::from_millis(10)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut has_failed = false;
    loop {
        ticks.tick().await;
        match work().await {
            Ok(()) => has_failed = false,
            // A database that is gone for an hour is one line, not thousands.
            Err(_) if has_failed => {}
            Err(error) => {
                has_failed = true;
                tracing::error!(error = &error as &dyn std::error::Error, what, "trying on");
            }
        }
    }
}

/// Forgets callers who have not called for a while.
async fn tidy(hub: &Hub) {
    let mut ticks = interval(Duration::from_secs(60));
    loop {
        hub.meter.tidy(ticks.tick().await);
    }
}

async fn sweep(hub: &Hub) -> Result<(), Error> {
    if !hub.directory.store().is_shared() {
        // All beats came in here; but whoever sent one may have gone before it was noted.
        hub.directory.read_beats().await?;
    }
    let count = hub.directory.sweep().await?;
    if count > 0 {
        tracing::info!(count, "agents went silent");
    }
    Ok(())
}

async fn refresh(hub: &Hub) -> Result<(), Error> {
    hub.directory.refresh().await?;
    if hub.directory.store().is_shared() {
        hub.directory.read_beats().await?;
    }
    Ok(())
}

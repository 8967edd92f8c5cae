//! How a node sends webhooks: soon again, and also to loopback.

use std::time::Duration;

use nuncio_net::{
    Client,
    egress::{Errand, Guard, Policy, Purpose},
};
use nuncio_tasks::push::{Push, Schedule, SealingKey};

/// Shorter than a hanging receiver is patient, longer than a busy machine is slow.
const TIMEOUT: Duration = Duration::from_secs(1);

/// If the process dies, others go on after so long.
const LEASE: Duration = Duration::from_secs(3);

/// How often an event is tried: once, and after each pause.
pub const ATTEMPTS: u32 = 3;

pub(super) fn push() -> Push {
    let errand = Errand::caller(Purpose::Webhook);
    let policy = Policy::default().dangerously_open_loopback_to_callers().allow_http(errand);
    let pauses = [100, 300].map(Duration::from_millis);
    Push::new(Client::new(Guard::new(policy)), SealingKey::new(&[7; 32]))
        .schedule(Schedule::new(pauses))
        .timeout(TIMEOUT)
        .lease(LEASE)
}

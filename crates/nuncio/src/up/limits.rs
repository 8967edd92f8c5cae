//! How much of everything there may be, as the configuration says.

use std::num::NonZeroU32;

use nuncio::configuration::Configuration;
use nuncio_client::Clocks;
use nuncio_hub::{Hub, Limits, gateway};
use nuncio_tasks::engine;

/// Returns what one caller may cost.
pub(super) fn of_callers(configuration: &Configuration) -> Limits {
    let written = &configuration.limits;
    let mut limits = Limits::default();
    limits.requests = written.calls_per_minute.get();
    limits.strangers = written.unauthenticated_calls_per_minute.get();
    limits.streams = size(written.streams_per_caller);
    limits
}

/// Returns what the gateway carries.
pub(super) fn of_gateway(configuration: &Configuration) -> gateway::Limits {
    let written = &configuration.limits;
    let whole = written.call_timeout.get();
    gateway::Limits {
        in_flight: size(written.calls_in_flight_per_agent),
        queue: size(written.queue_per_agent),
        queue_wait: written.queue_wait.get(),
        depth: size(written.call_depth),
        unfinished_tasks: written.unfinished_tasks_per_caller.get(),
        clocks: Clocks {
            first_byte: written.first_byte_timeout.get(),
            // How long our caller waits is for the engine to say; the agent may take longer.
            wait: whole,
            idle: written.idle_timeout.get(),
            whole,
        },
        budgets: configuration.budgets.of_gateway(),
    }
}

/// Returns how long callers wait for their tasks.
pub(super) fn of_tasks(configuration: &Configuration) -> engine::Settings {
    let mut settings = engine::Settings::default();
    settings.wait = configuration.limits.wait_timeout.get();
    settings.longest_wait = configuration.limits.longest_wait.get();
    settings
}

/// Puts them in force while the hub runs.
pub(super) fn put_in_force(hub: &Hub, configuration: &Configuration) {
    hub.limit(of_callers(configuration));
    if let Some(gateway) = &hub.gateway {
        gateway.limit(of_gateway(configuration));
    }
}

fn size(count: NonZeroU32) -> usize {
    usize::try_from(count.get()).unwrap_or(usize::MAX)
}

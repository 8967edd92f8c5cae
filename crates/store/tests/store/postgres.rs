//! The Postgres store against a real Postgres.

mod commit;
mod concurrency;
mod contract;
mod hints;
mod hub;
mod latency;
mod opening;
mod outage;
mod plans;
mod proxy;
mod slow_line;
mod story;
mod tls;

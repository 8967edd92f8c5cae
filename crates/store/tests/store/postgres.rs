//! The Postgres store against a real Postgres.

mod commit;
mod concurrency;
mod contract;
mod hints;
mod hub;
mod opening;
mod outage;
mod plans;
mod proxy;
mod story;
mod tls;

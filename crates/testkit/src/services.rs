//! Real Postgres and real Redis, from the system's packages, private to the test process.
//!
//! ```no_run
//! # use nuncio_testkit::services;
//! # async fn test() {
//! let Some(postgres) = services::postgres().await else { return };
//! let database = postgres.database().await;
//! # let _ = database.url();
//! # }
//! ```
//!
//! A service that is not installed fails the test. Only `NUNCIO_WITHOUT=postgres,redis` leaves
//! it out, and says so.

pub mod postgres;
pub mod redis;

mod server;

pub use postgres::Postgres;
pub use redis::Redis;

use std::io::Write as _;

/// Returns the Postgres that all tests of this process share: each makes its own database on
/// it. `None`: left out by `NUNCIO_WITHOUT`.
pub async fn postgres() -> Option<&'static Postgres> {
    Postgres::shared().await
}

/// Starts a Redis for the caller alone. `None`: left out by `NUNCIO_WITHOUT`.
pub async fn redis() -> Option<Redis> {
    Redis::start().await
}

/// Whether the environment leaves a service out; if so, says it where the test harness does
/// not swallow it.
fn is_left_out(service: &str) -> bool {
    let without = std::env::var("NUNCIO_WITHOUT").unwrap_or_default();
    let left_out = without.split(',').any(|name| name.trim() == service);
    if left_out {
        // A closed standard error is no reason to fail.
        let _ = writeln!(std::io::stderr(), "not tested here: {service} (NUNCIO_WITHOUT)");
    }
    left_out
}

/// Ends the test: it needs a service that is not there.
fn missing(service: &str, places: &str) -> ! {
    panic!(
        "this test needs {service}, which is not in {places}: `make services` installs it, \
         NUNCIO_WITHOUT={service} leaves it out"
    )
}

/// Runs work that blocks, so that a paused clock of the test does not run on meanwhile.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

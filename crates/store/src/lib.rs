//! Keeps tasks in SQLite or Postgres, with Redis as a carrier of hints.

#[cfg(feature = "postgres")]
pub mod postgres;
pub mod sqlite;

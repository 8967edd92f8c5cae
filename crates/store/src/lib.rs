//! Keeps tasks, and what a hub knows, in SQLite or Postgres, with Redis as a carrier of hints.

mod piece;
pub mod sqlite;

#[cfg(feature = "postgres")]
pub mod postgres;

#[cfg(feature = "redis")]
pub mod redis;

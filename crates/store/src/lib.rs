//! Keeps tasks in SQLite or Postgres, with Redis as a carrier of hints.

pub mod sqlite;

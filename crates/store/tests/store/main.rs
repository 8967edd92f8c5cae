//! The stores from outside. One program, since each costs a link.

#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
mod sqlite;
mod sqlite_contract;
mod sqlite_hub;

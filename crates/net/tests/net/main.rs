//! The way out, seen by its users: what is refused, what is sent, and where.

mod address;
mod connect;
mod exchange;
mod name;
mod pool;
mod reference;
mod spelling;
mod support;
mod tls;

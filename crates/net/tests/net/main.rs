//! The way out, seen by its users: what is refused, what is sent, and where.

mod address;
mod connect;
mod corpus;
mod exchange;
mod http1;
mod name;
mod pool;
mod protocol;
mod reference;
mod spelling;
mod support;
mod tls;

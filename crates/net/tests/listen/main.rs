//! The way in, seen by callers: what is served, what is refused, and when it ends.

mod answers;
mod bodies;
mod clocks;
mod drain;
mod heads;
mod http2;
mod places;
mod reference;
mod support;
mod tls;
mod upgrade;

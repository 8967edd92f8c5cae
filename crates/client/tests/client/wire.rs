//! The wire half, from outside: our own server on every binding, and peers that misbehave.

mod agents;
mod dialects;
mod hostile;
mod operations;
mod retries;
mod scripted;
mod streams;
mod support;

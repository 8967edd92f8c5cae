//! The server from outside. One program, since each costs a link.

mod dialects;
mod examples;
mod outside;
mod refused_streams;

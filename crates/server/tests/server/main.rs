//! The server from outside. One program, since each costs a link.

mod conformance;
mod corpus;
mod dialects;
mod examples;
mod kinds;
mod outside;
mod refused_streams;

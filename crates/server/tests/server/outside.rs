//! A server from outside: real sockets, every binding, both versions.

mod callers;
mod cards;
mod endpoints;
mod floods;
mod keys;
mod operations;
mod pairs;
mod streams;
mod support;
mod wire;

//! Discovery and credentials, over real sockets.

mod cache;
mod look;
mod oauth;
mod signatures;
mod ssrf;
mod support;

//! Discovery and credentials, over real sockets.

mod cache;
mod look;
mod oauth;
mod peers;
mod signatures;
mod ssrf;
mod support;

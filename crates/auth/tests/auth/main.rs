//! What callers and attackers see, through the public door.

mod issuer;
mod support;

mod admit;
mod api_key;
mod certificate;
mod corpus;
mod key_file;
mod key_server;
mod log;
mod pair;
mod refusal;
mod token;

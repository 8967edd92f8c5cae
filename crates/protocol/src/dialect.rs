//! Every wire form other than A2A 1.0: each a tolerant reader and an exact writer.

mod choose;
mod form;
mod loose;

pub mod harbor;
pub mod molecule;
pub mod opportunity;
pub mod pocketpaw;
pub mod upal;
pub mod v02;
pub mod v03;
pub mod v03_http;

pub use choose::{Incoming, Legacy, Offered, Refused, choose, is_endpoint};
pub use form::WireForm;

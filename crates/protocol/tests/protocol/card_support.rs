//! Cards for the tests of cards.

#[cfg(feature = "signing")]
pub(crate) mod signed;
pub(crate) mod strategy;

//! Signatures over cards.

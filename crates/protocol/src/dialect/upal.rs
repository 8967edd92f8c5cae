//! The form of Upal.

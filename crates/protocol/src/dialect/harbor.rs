//! The form of Harbor.

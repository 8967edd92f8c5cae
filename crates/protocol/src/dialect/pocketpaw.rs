//! The form of PocketPaw.

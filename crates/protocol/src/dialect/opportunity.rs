//! The form of the opportunity agents.

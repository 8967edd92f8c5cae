//! Which agents exist, how they are, and who may call whom.

//! The form of molecule.

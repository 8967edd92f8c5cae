//! Puts a card together step by step.

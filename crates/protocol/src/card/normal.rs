//! Reads a card of any form into that of 1.0.

//! Cards in the form of 0.3, alone or together with 1.0.

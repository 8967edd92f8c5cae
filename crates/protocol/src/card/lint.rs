//! What is wrong with a card, and how to mend it.

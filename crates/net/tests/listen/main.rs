//! The way in, seen by callers: what is served, what is refused, and when it ends.

mod clocks;
mod drain;
mod heads;
mod places;
mod support;

//! The kit from outside. One program, since each costs a link.

mod faults;
mod process;
mod services;
mod webhook;

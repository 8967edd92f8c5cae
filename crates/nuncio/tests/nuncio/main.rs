//! The program from outside. One program, since each costs a link.

mod cli;
mod doctor;
mod hub;
mod kills;
mod mock;
mod program;
mod reload;

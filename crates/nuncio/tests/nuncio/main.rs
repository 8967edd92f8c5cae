//! The program from outside. One program, since each costs a link.

mod cli;
mod demo;
mod doctor;
mod hub;
mod insight;
mod kills;
mod kinds;
mod mcp;
mod mock;
mod program;
mod reload;
mod stories;
mod workflow;

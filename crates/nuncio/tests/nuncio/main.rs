//! The program from outside. One program, since each costs a link.

mod backup;
mod certificates;
mod cli;
mod demo;
mod doctor;
mod guides;
mod hosting;
mod hub;
mod insight;
mod kills;
mod kinds;
mod mcp;
mod mock;
mod program;
mod reference;
mod reload;
mod serving;
mod stories;
mod workflow;

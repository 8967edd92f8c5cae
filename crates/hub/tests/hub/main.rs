//! The hub from outside. One program, since each costs a link.

mod api;
mod contract;
mod directory;
mod facade;
mod gateway;
mod lines;
mod tasks;
mod together;
mod triggers;
mod upal;
mod workflows;

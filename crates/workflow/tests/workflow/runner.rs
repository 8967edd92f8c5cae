//! Runs on a real engine, with agents that do what tests need.

mod asking;
mod faults;
mod graphs;
mod outages;
mod site;
mod store;

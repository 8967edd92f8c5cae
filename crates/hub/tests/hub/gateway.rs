//! Calls through a hub, by callers of every form to agents of every form.

mod agents;
mod callers;
mod cutter;
mod delivery;
mod dialects;
mod matrix;
mod operations;
mod pull;
mod relay;
mod stage;
mod streams;
mod tree;
mod world;

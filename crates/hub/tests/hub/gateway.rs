//! Calls through a hub, by callers of every form to agents of every form.

mod agents;
mod attacks;
mod brief;
mod budgets;
mod callers;
mod capability;
mod cards;
mod crash;
mod cutter;
mod delivery;
mod dialects;
mod hostile;
mod matrix;
mod operations;
mod pull;
mod relay;
mod slow;
mod stage;
mod stand_in;
mod strangers;
mod streams;
mod tree;
mod unnamed;
mod wire;
mod world;

//! Webhooks from registration to receipt, over real HTTP on loopback and a real store.

mod failing;
mod legacy;
mod registering;
mod sending;
mod starving;
mod world;

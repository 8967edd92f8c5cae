//! Endpoints behind somebody else's listener.

mod calls;
mod cards;
mod entrance;
mod tenants;
mod world;

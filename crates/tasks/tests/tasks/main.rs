//! Tasks from outside. One program, since each costs a link.

mod contract;
mod engine;
mod gated;
mod gateway;
mod inspecting;
mod model;
mod notes;
mod overseeing;
mod parents;
mod push;

//! Tasks that go through a hub, as people see and steer them: a real agent behind the gateway.

mod inbox;
pub(crate) mod office;
mod seeing;
mod steering;
mod telling;

//! For tests only: real services, killable processes, contract suites.
//!
//! Everything here panics where a test could do nothing but fail, and names what is wrong in
//! the panic. Nothing that is started here outlives the test process, however that ends.

pub mod contract;
pub mod hub_contract;

pub mod services;

pub mod process;
pub mod program;

pub mod faults;

pub mod broken;

pub mod disk;

pub mod webhook;

pub mod llm;
pub mod mcp;

pub mod wire;

pub mod journal;

pub mod random;

mod leftovers;

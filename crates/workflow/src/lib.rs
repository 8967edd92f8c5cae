//! Workflows: a graph of agents in one file, and what is to run next.
//!
//! ```
//! use nuncio_workflow::graph::Workflow;
//!
//! let workflow = Workflow::read(
//!     "
//! name: greet
//! version: 1
//! nodes:
//!   - {id: who, type: input}
//!   - {id: hello, type: external, config: {agent: greeter, prompt: 'Greet {{who}}'}}
//!   - {id: out, type: output}
//! edges:
//!   - {from: who, to: hello}
//!   - {from: hello, to: out}
//! ",
//! )?;
//! assert_eq!(workflow.name(), "greet");
//! # Ok::<(), nuncio_workflow::problem::Invalid>(())
//! ```
//!
//! The modules stand in reading order: the text ([`document`], [`problem`]), what it says
//! ([`graph`], [`template`], [`condition`]), whether that can work ([`validate`]), a run of it
//! ([`plan`]), and what carries that out ([`runner`]).
//!
//! Everything up to the plan is pure: nothing is called, read from a disk or waited for. The runner
//! asks the plan what is to be done, does it, and tells what happened.

pub mod document;
mod nearest;
pub mod problem;

pub mod condition;
pub mod template;

pub mod graph;
pub mod schema;
pub mod validate;

pub mod plan;

pub mod runner;

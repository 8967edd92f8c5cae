//! Pair tokens: for 300 seconds, one agent may call one other.
//!
//! The hub signs one ([`Minter`]) when an agent asks where another is and may know it. The
//! agent that is called checks it on every request ([`Verifier`]), with the hub's public keys
//! and without asking the hub. A token says who calls whom, in which organisation, for which
//! operations and skills, and at which epoch of the rules: when a rule or the hierarchy
//! changes, the epoch rises and all older tokens end.
//!
//! A token is never handed on. An agent that calls another on somebody's behalf gets a token
//! of its own, whose `chain` names those for whom it acts.
//!
//! ```
//! use nuncio_auth::{Gatekeeper, pair::{Minter, Pair, Verifier}};
//! use nuncio_protocol::{ids::{AgentId, Organisation}, time::Timestamp};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let minter = Minter::generate("https://hub.example")?;
//! let (lead, writer) = (AgentId::parse("lead")?, AgentId::parse("writer")?);
//! let acme = Organisation::parse("acme")?;
//! let minted = minter.mint(&Pair::new(&lead, &writer, &acme, 7), Timestamp::now())?;
//!
//! // At the writer:
//! let verifier = Verifier::with_keys("https://hub.example", writer, acme, minter.key_set());
//! let gatekeeper = Gatekeeper::builder().pair_tokens(verifier).build()?;
//! # Ok(())
//! # }
//! ```

mod claims;
mod epoch;
mod hub;
mod mint;
mod seen;
mod tickets;
mod verify;

use std::time::Duration;

pub use epoch::Lease;
pub use hub::Hub;
pub use mint::{MintError, Minted, Minter, Pair};
pub use tickets::{NoRoom, Tickets};
pub use verify::Verifier;

/// The type in the header of a pair token.
pub const TYPE: &str = "a2a-pair+jwt";

/// How long a pair token lives at most.
pub const LIFETIME: Duration = Duration::from_secs(300);

/// How often a task may be handed on from agent to agent.
pub const MAX_CHAIN: usize = 8;

pub(crate) use claims::is_pair;

/// Reads a pair token as far as that goes without any key. For fuzzing.
#[doc(hidden)]
pub fn read(text: &str) -> Result<(), crate::Why> {
    let parts = crate::jwt::token::Parts::split(text)?;
    claims::Claims::parse(&parts.claims).map(drop)
}

#[cfg(test)]
mod tests;

//! What an agent speaks beside A2A.

use std::path::Path;

use anyhow::Context as _;
use clap::ValueEnum;
use nuncio_server::{
    Dialects,
    dialects::{Molecule, Opportunity, PocketPaw},
};

use super::capabilities::Capabilities;

/// A system whose agents and clients are answered in their own form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Dialect {
    Molecule,
    Harbor,
    Opportunity,
    Upal,
    Pocketpaw,
}

/// Switches on what is named, in that order, and last those that have settings of their own.
pub(super) fn dialects(
    named: &[Dialect],
    opportunity: Option<&Capabilities>,
    pocketpaw: Option<&Path>,
) -> anyhow::Result<Dialects> {
    let mut dialects = named.iter().fold(Dialects::default(), |dialects, named| match named {
        Dialect::Molecule => dialects.molecule(Molecule::default()),
        Dialect::Harbor => dialects.harbor(),
        Dialect::Opportunity => dialects.opportunity(Opportunity::default()),
        Dialect::Upal => dialects.upal(),
        Dialect::Pocketpaw => dialects.pocketpaw(PocketPaw::default()),
    });
    if let Some(capabilities) = opportunity {
        dialects = dialects.opportunity(capabilities.envelope()?);
    }
    let Some(path) = pocketpaw else { return Ok(dialects) };
    let text = std::fs::read_to_string(path);
    let text = text.with_context(|| format!("read {}", path.display()))?;
    let settings = PocketPaw::from_json(&text).with_context(|| path.display().to_string())?;
    Ok(dialects.pocketpaw(settings))
}

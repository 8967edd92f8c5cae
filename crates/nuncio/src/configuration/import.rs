//! Files of other programs, as `nuncio.yaml`.
//!
//! What has no place in it is named in a comment: nothing is dropped in silence. Values that
//! were not taken over are not repeated, since they may be secrets.

mod address;
mod draft;
mod harbor;
mod opportunity;
mod pocketpaw;

use std::collections::BTreeMap;

use crate::inert::inert;
use serde_json::{Map, Value};

use self::draft::Draft;
use super::Environment;

/// Whose file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Harbor's configuration, with `tools.a2a_peers`.
    Harbor,
    /// `PocketPaw`'s `config.json`, or lines of `POCKETPAW_A2A_*`.
    PocketPaw,
    /// The `agent.yaml` of an opportunity agent.
    Opportunity,
}

/// Why a file is not taken over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// It is neither YAML nor JSON.
    #[error("it is neither YAML nor JSON: {0}")]
    Unreadable(String),
    /// Nothing in it tells whose it is.
    #[error(
        "nothing tells whose file it is: Harbor's has `tools.a2a_peers`, PocketPaw's keys that \
         begin with `a2a_`, an opportunity agent's `a2a`"
    )]
    Unknown,
    /// Something in it is not as its program takes it.
    #[error("{0}")]
    Invalid(String),
}

/// Writes a file of another program as `nuncio.yaml`.
///
/// The environment counts for `PocketPaw`, whose variables overrule its file.
pub fn import(
    text: &str,
    kind: Option<Kind>,
    environment: &Environment,
) -> Result<String, ImportError> {
    let variables = pocketpaw::variables(text);
    let document = if variables.is_empty() { read(text)? } else { Map::new() };
    let kind = match kind {
        Some(kind) => kind,
        None if !variables.is_empty() => Kind::PocketPaw,
        None => recognise(&document).ok_or(ImportError::Unknown)?,
    };
    let mut draft = Draft::default();
    match kind {
        Kind::Harbor => harbor::import(text, &document, &mut draft)?,
        Kind::PocketPaw => {
            let overruling = environment.clone().into_iter().chain(variables);
            pocketpaw::import(&document, &overruling.collect(), &mut draft)?;
        }
        Kind::Opportunity => opportunity::import(&document, &mut draft)?,
    }
    Ok(draft.finish(kind))
}

impl Kind {
    /// Returns its name on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Harbor => "harbor",
            Self::PocketPaw => "pocketpaw",
            Self::Opportunity => "opportunity",
        }
    }
}

fn recognise(document: &Map<String, Value>) -> Option<Kind> {
    if document.get("tools").is_some_and(|tools| tools.get("a2a_peers").is_some()) {
        Some(Kind::Harbor)
    } else if document.keys().any(|key| key.starts_with("a2a_")) {
        Some(Kind::PocketPaw)
    } else if document.get("a2a").is_some_and(Value::is_object) {
        Some(Kind::Opportunity)
    } else {
        None
    }
}

fn read(text: &str) -> Result<Map<String, Value>, ImportError> {
    let document: BTreeMap<String, Value> = serde_saphyr::from_str(text).map_err(|error| {
        let text = error.without_snippet().to_string();
        ImportError::Unreadable(inert(text.lines().next().unwrap_or_default()).into_owned())
    })?;
    Ok(document.into_iter().collect())
}

#[cfg(test)]
mod tests;

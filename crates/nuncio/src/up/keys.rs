//! The secrets of a hub: its administrator's key, and the key that signs pair tokens.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use nuncio::configuration::{Configuration, Database};
use nuncio_auth::{ApiKey, pair::Minter};
use nuncio_hub::{Hub, directory::ADMINISTRATOR};

use crate::data::{Data, write_secret};

/// The administrator's key, and where it is.
pub(super) struct Key {
    pub(super) path: PathBuf,
    /// Whether this start has made it.
    pub(super) is_new: bool,
}

/// Lets the administrator in: with the key that was set from outside, or with the one in the
/// data folder, which the first start makes.
///
/// There is one such key: whatever else the database lets in as the administrator's is revoked.
/// Only hubs that share a database have one each, unless one is set for them.
pub(super) async fn administrator(
    hub: &Hub,
    configuration: &Configuration,
    data: &Data,
) -> anyhow::Result<Key> {
    let set = match &configuration.authentication.admin_key {
        Some(text) => Some(text.0.expose().parse().context("authentication.admin_key")?),
        None => None,
    };
    // What is in memory is soon forgotten, and the key of the database on disk is not to be.
    let name = match (&set, &configuration.database) {
        (Some(_), Database::Memory) => "admin-in-memory.key",
        _ => "admin.key",
    };
    let path = data.directory().join(name);
    let kept = read_key(&path)?;
    let is_new = set.is_none() && kept.is_none();
    let is_only = set.is_some() || !matches!(configuration.database, Database::Postgres(_));
    let key = set.or_else(|| kept.clone()).unwrap_or_else(|| ApiKey::generate(ADMINISTRATOR).0);

    let organisation = &hub.settings.organisation;
    if is_only {
        hub.directory.admit_only_administrator(organisation, &key, ADMINISTRATOR).await?;
    } else {
        hub.directory.admit_administrator(organisation, &key, ADMINISTRATOR).await?;
    }
    // Last, so that a start that was broken off does all of it again.
    if kept.as_ref() != Some(&key) {
        write_secret(&path, format!("{key}\n").as_bytes())?;
    }
    Ok(Key { path, is_new })
}

fn read_key(path: &Path) -> anyhow::Result<Option<ApiKey>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("read {}", path.display())),
    };
    let key = text.trim().parse().with_context(|| {
        format!("{} holds no key; remove it to have a new one made", path.display())
    })?;
    Ok(Some(key))
}

/// Returns what signs pair tokens; the first start makes its key.
pub(super) fn minter(data: &Data, issuer: &str) -> anyhow::Result<Minter> {
    let path = data.directory().join("pair.pem");
    match fs::read_to_string(&path) {
        Ok(text) => {
            Minter::from_pem(issuer, [text.as_str()]).with_context(|| path.display().to_string())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let minter = Minter::generate(issuer)?;
            let pem = minter.to_pem()?;
            let pem = pem.first().context("a new minter has a key")?;
            write_secret(&path, pem.expose().as_bytes())?;
            Ok(minter)
        }
        Err(error) => Err(error).with_context(|| format!("read {}", path.display())),
    }
}

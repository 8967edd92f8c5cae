//! The secrets of a hub: its administrator's key, and the key that signs pair tokens.

use std::{fs, io};

use anyhow::Context as _;
use nuncio::configuration::Configuration;
use nuncio_auth::{ApiKey, pair::Minter};
use nuncio_hub::Hub;

use crate::data::{Data, write_secret};

/// What the audit trail calls whoever has the key of the first start.
pub(super) const ADMINISTRATOR: &str = "administrator";

/// The administrator's key, and where it is.
pub(super) struct Key {
    pub(super) path: std::path::PathBuf,
    /// Whether this start has made it.
    pub(super) is_new: bool,
}

/// Lets the administrator in: with the key that was set from outside, or with the one in the
/// data folder, which the first start makes.
pub(super) async fn administrator(
    hub: &Hub,
    configuration: &Configuration,
    data: &Data,
) -> anyhow::Result<Key> {
    let path = data.directory().join("admin.key");
    let organisation = &hub.settings.organisation;
    if let Some(text) = &configuration.authentication.admin_key {
        let key: ApiKey = text.0.expose().parse().context("authentication.admin_key")?;
        hub.directory.admit_administrator(organisation, &key, ADMINISTRATOR).await?;
    }
    let (key, is_new) = match fs::read_to_string(&path) {
        Ok(text) => {
            let key: ApiKey = text.trim().parse().with_context(|| {
                format!("{} holds no key; remove it to have a new one made", path.display())
            })?;
            (key, false)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let (key, _) = ApiKey::generate(ADMINISTRATOR);
            write_secret(&path, format!("{key}\n").as_bytes())?;
            (key, true)
        }
        Err(error) => return Err(error).with_context(|| format!("read {}", path.display())),
    };
    hub.directory.admit_administrator(organisation, &key, ADMINISTRATOR).await?;
    Ok(Key { path, is_new })
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

//! Where the program keeps things.

use std::{
    env, fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use nuncio_tasks::push::SealingKey;
use serde::{Deserialize, Serialize};

/// The folder of one agent.
pub(crate) struct Data(PathBuf);

impl Data {
    /// Makes the folder if it is not there.
    pub(crate) fn open(given: Option<&Path>, agent: &str) -> anyhow::Result<Self> {
        let directory = match given {
            Some(directory) => directory.to_owned(),
            None => users_data()?.join("nuncio").join("agents").join(file_name(agent)),
        };
        fs::create_dir_all(&directory)
            .with_context(|| format!("make the folder {}", directory.display()))?;
        Ok(Self(directory))
    }

    /// Makes the folder of the hub if it is not there.
    pub(crate) fn of_hub(given: Option<&Path>) -> anyhow::Result<Self> {
        let directory = folder_of_hub(given)?;
        fs::create_dir_all(&directory)
            .with_context(|| format!("make the folder {}", directory.display()))?;
        Ok(Self(directory))
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.0
    }

    /// Returns the key that seals secrets of webhooks; the first time it is made.
    pub(crate) fn sealing_key(&self) -> anyhow::Result<SealingKey> {
        let path = self.0.join("sealing.key");
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => make_secret(&path)?,
            Err(error) => return Err(error).with_context(|| format!("read {}", path.display())),
        };
        let bytes: [u8; 32] = bytes.try_into().ok().with_context(|| {
            format!("{} does not hold 32 bytes; restore it from a backup", path.display())
        })?;
        Ok(SealingKey::new(&bytes))
    }
}

/// Writes 32 random bytes that only the user may read.
fn make_secret(path: &Path) -> anyhow::Result<Vec<u8>> {
    let bytes = SealingKey::random_bytes();
    write_secret(path, &bytes)?;
    Ok(bytes.to_vec())
}

/// Writes a file that only the user may read, all of it or none.
pub(crate) fn write_secret(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let written = || {
        let folder = path.parent().unwrap_or_else(|| Path::new("."));
        fs::create_dir_all(folder)?;
        let draft = path.with_extension(format!("new-{}", std::process::id()));
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        fs::File::open(folder)?.sync_all()
    };
    written().with_context(|| format!("write {}", path.display()))
}

/// Where a hub of this user is, for the other commands.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HubNote {
    pub(crate) url: String,
    /// The process that has left the note, and takes it away when it ends.
    #[serde(default)]
    pub(crate) process: Option<u32>,
    /// Where its administrator's key is.
    pub(crate) key_file: PathBuf,
    /// The file with its settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) configuration: Option<PathBuf>,
}

/// Returns where a hub leaves its note.
pub(crate) fn hub_note() -> anyhow::Result<PathBuf> {
    Ok(users_data()?.join("nuncio").join("hub.json"))
}

/// Returns the folder of the hub: the given one, or one of the user's.
pub(crate) fn folder_of_hub(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    match given {
        Some(directory) => Ok(directory.to_owned()),
        None => Ok(users_data()?.join("nuncio").join("hub")),
    }
}

/// Returns where it is kept who an agent of this machine is to a hub.
pub(crate) fn connected(name: &str) -> anyhow::Result<PathBuf> {
    let file = format!("{}.json", file_name(name));
    Ok(users_data()?.join("nuncio").join("connected").join(file))
}

/// Returns the folder in which programs of this user keep their data.
fn users_data() -> anyhow::Result<PathBuf> {
    if let Some(directory) = env::var_os("XDG_DATA_HOME").filter(|value| !value.is_empty()) {
        return Ok(directory.into());
    }
    match env::var_os("HOME").filter(|value| !value.is_empty()) {
        Some(home) => Ok(PathBuf::from(home).join(".local").join("share")),
        None => bail!("neither XDG_DATA_HOME nor HOME is set; name a folder with --data-dir"),
    }
}

/// Makes a file name of a name that may be anything.
fn file_name(name: &str) -> String {
    let fit = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    name.chars().map(|letter| if fit(letter) { letter } else { '_' }).collect()
}

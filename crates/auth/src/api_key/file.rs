//! Keys in a file of JSON: `{"keys":[…]}`.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use nuncio_protocol::json;

use super::KeyRecord;

/// The largest file that is read, in bytes: some 50,000 keys.
pub const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// Why a key file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read.
    #[error("read key file {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("write key file {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Others than the owner can read or change the file.
    #[error("key file {} is open to others (mode {mode:04o}); run `chmod 600 {}`", path.display(), path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The file is larger than any that makes sense.
    #[error("key file {} has more than {MAX_FILE_BYTES} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The file is not a key file.
    #[error("key file {} is not one", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: json::Error,
    },
    /// The records were peppered, and no pepper is configured.
    #[error("key file {} was made with a pepper; configure the same one", path.display())]
    NeedsPepper {
        /// The file.
        path: PathBuf,
    },
}

pub(super) fn read(path: &Path) -> Result<Vec<KeyRecord>, Error> {
    let failed = |source| Error::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    // The open file is judged, not the path, which may lead elsewhere by then.
    check_mode(path, &file)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Error::TooLarge { path: path.to_owned() });
    }
    parse_file(&bytes).map_err(|source| Error::Format { path: path.to_owned(), source })
}

/// Reads the text of a key file, for those who keep it elsewhere than in one.
pub fn parse_file(bytes: &[u8]) -> Result<Vec<KeyRecord>, json::Error> {
    let mut keys = None;
    json::read_with(json::text(bytes)?, |reader| {
        reader.members(|reader, key| {
            if key != "keys" {
                return Err(json::Error::shape("expected nothing but `keys`"));
            }
            keys = Some(json::FromJson::read(reader)?);
            Ok(())
        })
    })?;
    keys.ok_or_else(|| json::Error::missing("keys"))
}

/// Writes a key file whole or not at all.
pub(super) fn write(path: &Path, records: &[Arc<KeyRecord>]) -> Result<(), Error> {
    let failed = |source| Error::Write { path: path.to_owned(), source };
    let records: Vec<&KeyRecord> = records.iter().map(AsRef::as_ref).collect();
    let mut text =
        json::write_with(|writer| writer.object(|object| object.member("keys", &records)));
    text.push('\n');
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    let replace = || {
        let mut file = private().open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&beside, path)?;
        // The new name is on disk only when its directory is.
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(directory.unwrap_or_else(|| Path::new(".")))?.sync_all()
    };
    // A leftover of a write that was cut short may have other permissions.
    match std::fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
        _ => replace().map_err(failed),
    }
}

/// Options for a new file that only its owner can read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(unix)]
fn check_mode(path: &Path, file: &File) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata =
        file.metadata().map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let mode = metadata.permissions().mode() & 0o7777;
    let others = mode & 0o077;
    if others == 0 { Ok(()) } else { Err(Error::Exposed { path: path.to_owned(), mode }) }
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same shape as where there are modes")]
fn check_mode(_: &Path, _: &File) -> Result<(), Error> {
    Ok(())
}

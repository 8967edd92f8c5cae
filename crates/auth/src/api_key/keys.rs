//! Keys in memory.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use super::{Error, KeyRecord, KeySource, Pepper, file};

/// Keys in memory. Cheap to clone; every clone sees every change at once.
#[derive(Clone, Debug, Default)]
pub struct ApiKeys {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    records: RwLock<Records>,
    pepper: Option<Pepper>,
}

type Records = HashMap<Box<str>, Arc<KeyRecord>>;

impl ApiKeys {
    /// Makes an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes an empty set that peppers each record it is given.
    pub fn peppered(pepper: Pepper) -> Self {
        Self { shared: Arc::new(Shared { records: RwLock::default(), pepper: Some(pepper) }) }
    }

    /// Adds a key, or takes the place of the one with its id. It is good from now on.
    pub fn add(&self, record: KeyRecord) {
        let record = self.season(record);
        self.write().insert(record.id().into(), Arc::new(record));
    }

    /// Revokes a key: from now on nobody is let in by it. Says whether there was one.
    pub fn revoke(&self, id: &str) -> bool {
        let mut records = self.write();
        let Some(record) = records.get_mut(id) else { return false };
        *record = Arc::new(KeyRecord::clone(record).into_revoked());
        true
    }

    /// Returns every key, revoked ones too, the oldest first.
    pub fn list(&self) -> Vec<Arc<KeyRecord>> {
        let mut records: Vec<_> = self.read().values().cloned().collect();
        records.sort_by(|a, b| (a.created(), a.id()).cmp(&(b.created(), b.id())));
        records
    }

    /// Puts other keys in place of all these, in one step.
    pub fn replace(&self, records: impl IntoIterator<Item = KeyRecord>) {
        let records = records.into_iter().map(|record| {
            let record = self.season(record);
            (record.id().into(), Arc::new(record))
        });
        let records = records.collect();
        *self.write() = records;
    }

    /// Reads a key file in place of all keys. If it cannot be read, the keys stay.
    ///
    /// Reads the disk, so it does not belong into the midst of asynchronous work.
    pub fn read_file(&self, path: &Path) -> Result<(), Error> {
        let records = file::read(path)?;
        if self.shared.pepper.is_none() && records.iter().any(KeyRecord::is_peppered) {
            return Err(Error::NeedsPepper { path: path.to_owned() });
        }
        self.replace(records);
        Ok(())
    }

    /// Writes all keys to a file that only its owner can read, in place of one that is there.
    ///
    /// Writes to the disk, so it does not belong into the midst of asynchronous work.
    pub fn write_file(&self, path: &Path) -> Result<(), Error> {
        file::write(path, &self.list())
    }

    fn season(&self, record: KeyRecord) -> KeyRecord {
        match &self.shared.pepper {
            Some(pepper) => record.with_pepper(pepper),
            None => record,
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Records> {
        self.shared.records.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Records> {
        self.shared.records.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeySource for ApiKeys {
    fn find(&self, id: &str) -> Option<Arc<KeyRecord>> {
        self.read().get(id).cloned()
    }

    fn pepper(&self) -> Option<&Pepper> {
        self.shared.pepper.as_ref()
    }
}

impl FromIterator<KeyRecord> for ApiKeys {
    fn from_iter<T: IntoIterator<Item = KeyRecord>>(records: T) -> Self {
        let keys = Self::new();
        keys.replace(records);
        keys
    }
}

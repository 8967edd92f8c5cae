//! Requests that were made before.

use std::{collections::BTreeMap, sync::Arc};

use nuncio_protocol::ids::TaskId;
use tokio::time::{Duration, Instant};

use super::places::Places;
use crate::{
    log::Seq,
    scope::Place,
    store::{Error, Key, RefMap, TaskRef},
};

/// The entry that a key stands for which has opened a task.
const OPENING: Seq = Seq(1);

/// What a key stands for.
#[derive(Debug)]
pub(super) struct Used {
    request: [u8; 32],
    pub reference: TaskRef,
    /// Known also when the task is gone.
    pub task: TaskId,
    pub seq: Seq,
}

/// All keys in the order of their first use. What they stand for is kept with their place.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// By a number that grows with every use.
    used: BTreeMap<u64, (Instant, Arc<Place>, Arc<str>)>,
    /// Of these, the ones that opened tasks which are there.
    openings: RefMap<u64>,
    uses: u64,
}

/// Finds what the same request has become.
pub(super) fn find<'a>(
    places: &'a Places,
    place: &Place,
    key: Option<&Key>,
) -> Result<Option<&'a Used>, Error> {
    let Some(key) = key else { return Ok(None) };
    match places.room(place).and_then(|room| room.keys.get(&*key.text)) {
        Some(used) if used.request != key.request => Err(Error::KeyReused),
        used => Ok(used),
    }
}

impl Keys {
    /// Keeps what a request has become.
    pub(super) fn insert(
        &mut self,
        places: &mut Places,
        place: &Arc<Place>,
        key: Option<Key>,
        became: (TaskRef, &TaskId, Seq),
        now: Instant,
    ) {
        let Some(Key { text, request }) = key else { return };
        let (reference, task, seq) = became;
        let text: Arc<str> = text.into();
        let used = Used { request, reference, task: task.clone(), seq };
        places.room_mut(place).keys.insert(Arc::clone(&text), used);
        self.uses += 1;
        self.used.insert(self.uses, (now, Arc::clone(place), text));
        if seq == OPENING {
            self.openings.insert(reference, self.uses);
        }
    }

    /// Lets go of the key that opened a task.
    pub(super) fn forget(&mut self, places: &mut Places, task: TaskRef) {
        let number = self.openings.remove(&task);
        // The task itself is still there, so the place is not left.
        if let Some((_, place, text)) = number.and_then(|number| self.used.remove(&number)) {
            places.room_mut(&place).keys.remove(&text);
        }
    }

    /// Learns that a task is gone. Its keys stay.
    pub(super) fn outlive(&mut self, task: TaskRef) {
        self.openings.remove(&task);
    }

    /// Removes what was first used so long ago.
    pub(super) fn sweep(
        &mut self,
        places: &mut Places,
        age: Duration,
        most: usize,
        now: Instant,
    ) -> usize {
        let mut removed = 0;
        while removed < most
            && let Some(entry) = self.used.first_entry()
            && now.duration_since(entry.get().0) >= age
        {
            let (_, place, text) = entry.remove();
            let used = places.room_mut(&place).keys.remove(&text);
            if let Some(used) = used.filter(|used| used.seq == OPENING) {
                self.openings.remove(&used.reference);
            }
            places.leave(&place);
            removed += 1;
        }
        removed
    }
}

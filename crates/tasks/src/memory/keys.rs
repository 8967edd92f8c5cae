//! Requests that were made before.

use std::{collections::VecDeque, sync::Arc};

use nuncio_protocol::ids::TaskId;
use tokio::time::{Duration, Instant};

use super::places::Places;
use crate::{
    log::Seq,
    scope::Place,
    store::{Error, Key, TaskRef},
};

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
pub(super) struct Keys(VecDeque<(Instant, Arc<Place>, Arc<str>)>);

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
        self.0.push_back((now, Arc::clone(place), text));
    }

    /// Removes what was first used so long ago.
    pub(super) fn sweep(
        &mut self,
        places: &mut Places,
        age: Duration,
        most: usize,
        now: Instant,
    ) -> usize {
        let old = self.0.iter().take(most);
        let old = old.take_while(|(first, ..)| now.duration_since(*first) >= age).count();
        for (_, place, text) in self.0.drain(..old) {
            places.room_mut(&place).keys.remove(&text);
            places.leave(&place);
        }
        old
    }
}

//! Opens connections, and leaves a database alone that could not be reached.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use nuncio_tasks::store;
use tokio::{runtime::Handle, task::JoinSet, time::Instant};

use super::{
    connection::{Address, Connection},
    error::{Failure, TooSlow},
};

/// How long to leave a database alone that could not be reached: at first, and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(800));

/// Opens connections.
pub(super) struct Opener {
    address: Address,
    trouble: Mutex<Option<Trouble>>,
}

/// The database could not be reached.
struct Trouble {
    pause: Duration,
    until: Instant,
    what: String,
}

/// Nobody asks a database that could not be reached a moment ago.
#[derive(Debug, thiserror::Error)]
#[error("the database could not be reached a moment ago: {0}")]
struct Resting(String);

impl Opener {
    pub(super) fn new(address: Address) -> Self {
        Self { address, trouble: Mutex::default() }
    }

    /// Opens a connection, which may take longer than a call. Whoever asks therefore lets it go
    /// on in the [`Background`]: far from the database, the next call needs what this one did
    /// not wait for.
    pub(super) async fn open(&self) -> Result<Connection, Failure> {
        if let Some(trouble) = &*lock(&self.trouble)
            && Instant::now() < trouble.until
        {
            let resting = Resting(trouble.what.clone());
            return Err(store::Error::Unavailable(resting.into()).into());
        }
        let connected = self.address.connect().await;
        let mut trouble = lock(&self.trouble);
        match &connected {
            Ok(_) => *trouble = None,
            Err(failure) => {
                let pause = trouble.as_ref().map_or(PAUSE.0, |trouble| trouble.pause * 2);
                let pause = pause.min(PAUSE.1);
                let what = match failure {
                    Failure::Database(error) => error.to_string(),
                    _ => TooSlow.to_string(),
                };
                *trouble = Some(Trouble { pause, until: Instant::now() + pause, what });
            }
        }
        connected
    }
}

/// Work that goes on when a caller has gone. It ends with its owner.
#[derive(Default)]
pub(super) struct Background(Mutex<JoinSet<()>>);

impl Background {
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        // Without a runtime, connections are of no use either.
        let Ok(runtime) = Handle::try_current() else { return };
        let mut tasks = lock(&self.0);
        while tasks.try_join_next().is_some() {}
        tasks.spawn_on(work, &runtime);
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

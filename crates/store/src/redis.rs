//! Hints by way of Redis.
//!
//! Nothing is kept there. While Redis is away hints are lost, and readers wait for their next
//! look at the store instead.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use nuncio_tasks::hints::{Arrivals, Complaints, Departures, Heard, Hint, Hints, decode, encode};
use redis::{
    Client, ErrorKind, RedisError, RedisResult,
    aio::{ConnectionManager, ConnectionManagerConfig},
};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::task::AbortOnDropHandle;

/// How many bytes of hints go into one message.
const MOST_BYTES: usize = 16 << 10;

/// How long an answer may take.
const CALL: Duration = Duration::from_secs(1);

/// How often a silent listener asks whether Redis is still there.
const PING: Duration = Duration::from_secs(5);

/// How long to leave a Redis alone that could not be reached: at first, and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// Why hints cannot be carried.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address is no Redis URL, or names what this program cannot do.
    #[error("the address of Redis cannot be used")]
    Address(#[source] RedisError),
}

/// Carries hints by `PUBLISH` and `SUBSCRIBE`.
pub struct RedisHints {
    departures: Arc<Departures>,
    arrivals: Arrivals,
    _tasks: [AbortOnDropHandle<()>; 2],
}

impl RedisHints {
    /// Begins to carry hints on a channel. Redis need not be there yet.
    ///
    /// Everybody who shares a store names the same channel, and nobody else does: handles of
    /// tasks mean something only within one store.
    pub fn start(url: &str, channel: impl Into<String>) -> Result<Self, Error> {
        let client = Client::open(url).map_err(Error::Address)?;
        let config = ConnectionManagerConfig::new()
            .set_number_of_retries(1)
            .set_connection_timeout(Some(CALL))
            .set_response_timeout(Some(CALL));
        let manager = ConnectionManager::new_lazy_with_config(client.clone(), config)
            .map_err(Error::Address)?;
        let (departures, arrivals) = (Arc::new(Departures::default()), Arrivals::new());
        let channel = channel.into();
        let teller = tell(manager, channel.clone(), Arc::clone(&departures));
        let listener = listen(client, channel, arrivals.clone());
        let tasks = [tokio::spawn(teller), tokio::spawn(listener)].map(AbortOnDropHandle::new);
        Ok(Self { departures, arrivals, _tasks: tasks })
    }
}

impl Hints for RedisHints {
    fn publish(&self, hints: Vec<Hint>) {
        self.departures.add(hints);
    }

    fn subscribe(&self) -> Heard {
        self.arrivals.listen()
    }
}

impl fmt::Debug for RedisHints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisHints").finish_non_exhaustive()
    }
}

/// What cannot be told is lost: it would be no news later.
async fn tell(mut manager: ConnectionManager, channel: String, departures: Arc<Departures>) {
    let mut complaints = Complaints::new("redis publish");
    loop {
        let mut pipeline = redis::pipe();
        for payload in encode(&departures.take().await, MOST_BYTES) {
            pipeline.cmd("PUBLISH").arg(&channel).arg(payload).ignore();
        }
        let told = timeout(CALL * 2, pipeline.query_async::<()>(&mut manager)).await;
        match told.unwrap_or_else(|_| Err(too_slow())) {
            Ok(()) => complaints.back(),
            Err(error) => {
                complaints.away(&error);
                sleep(PAUSE.0).await;
            }
        }
    }
}

async fn listen(client: Client, channel: String, arrivals: Arrivals) {
    let mut complaints = Complaints::new("redis subscribe");
    let mut pause = PAUSE.0;
    loop {
        let mut is_listening = || {
            complaints.back();
            pause = PAUSE.0;
        };
        let error = match hear(&client, &channel, &arrivals, &mut is_listening).await {
            Ok(()) => RedisError::from((ErrorKind::Io, "the connection has ended")),
            Err(error) => error,
        };
        complaints.away(&error);
        sleep(pause).await;
        pause = (pause * 2).min(PAUSE.1);
    }
}

/// Hears until the connection ends, or Redis no longer answers.
async fn hear(
    client: &Client,
    channel: &str,
    arrivals: &Arrivals,
    is_listening: &mut (dyn FnMut() + Send),
) -> RedisResult<()> {
    let connected = timeout(CALL, client.get_async_pubsub()).await;
    let (mut sink, mut messages) = connected.map_err(|_| too_slow())??.split();
    timeout(CALL, sink.subscribe(channel)).await.map_err(|_| too_slow())??;
    is_listening();
    let mut next_ping = Instant::now() + PING;
    loop {
        match timeout_at(next_ping, messages.next()).await {
            Ok(Some(message)) => {
                // Whoever publishes something else is no reason to stop.
                let payload: String = message.get_payload().unwrap_or_default();
                decode(&payload).for_each(|hint| arrivals.tell(hint));
            }
            Ok(None) => return Ok(()),
            Err(_) => {
                timeout(CALL, sink.ping::<redis::Value>()).await.map_err(|_| too_slow())??;
                next_ping = Instant::now() + PING;
            }
        }
    }
}

fn too_slow() -> RedisError {
    RedisError::from((ErrorKind::Io, "Redis did not answer in time"))
}

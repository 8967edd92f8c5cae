//! Hints by `NOTIFY`, for those who have a database and nothing else.
//!
//! Never within the transaction of a write: every commit with a notification waits for all
//! others of the server. Here one connection tells, a statement at a time, what has gathered
//! meanwhile, and another listens.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::{StreamExt as _, future::try_join, stream};
use nuncio_tasks::hints::{Arrivals, Complaints, Departures, Heard, Hint, Hints, decode, encode};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::{sleep, timeout},
};
use tokio_postgres::{AsyncMessage, Client, NoTls};
use tokio_util::task::AbortOnDropHandle;

use super::{
    Options,
    connection::{Address, CALL, Connection, OPENING},
    error::{Error, Failure},
};

/// The server refuses payloads of 8,000 bytes.
const MOST_BYTES: usize = 7900;

/// How long to leave a database alone that could not be reached: at first, and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

const TELL: &str = "SELECT pg_notify($1, payload) FROM unnest($2::text[]) payload";

/// Carries hints by `LISTEN` and `NOTIFY`.
pub struct NotifyHints {
    departures: Arc<Departures>,
    arrivals: Arrivals,
    _tasks: [AbortOnDropHandle<()>; 2],
}

impl NotifyHints {
    /// Begins to carry hints. The database need not be there yet.
    pub fn start(options: &Options) -> Result<Self, Error> {
        let address = Address::new(options)?;
        let (departures, arrivals) = (Arc::new(Departures::default()), Arrivals::new());
        let teller = tell(address.clone(), Arc::clone(&departures));
        let listener = listen(address, arrivals.clone());
        let tasks = [tokio::spawn(teller), tokio::spawn(listener)].map(AbortOnDropHandle::new);
        Ok(Self { departures, arrivals, _tasks: tasks })
    }
}

impl Hints for NotifyHints {
    fn publish(&self, hints: Vec<Hint>) {
        self.departures.add(hints);
    }

    fn subscribe(&self) -> Heard {
        self.arrivals.listen()
    }
}

impl fmt::Debug for NotifyHints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotifyHints").finish_non_exhaustive()
    }
}

/// What cannot be told is lost: it would be no news later.
async fn tell(address: Address, departures: Arc<Departures>) {
    let channel = channel(&address);
    let mut complaints = Complaints::new("NOTIFY");
    let mut connection: Option<Connection> = None;
    let mut pause = PAUSE.0;
    loop {
        let payloads = encode(&departures.take().await, MOST_BYTES);
        let told = async {
            let known = connection.take().filter(|connection| !connection.is_closed());
            let known = match known {
                Some(known) => known,
                None => address.connect().await?,
            };
            let tell = timeout(CALL, known.execute(TELL, &[&channel, &payloads])).await;
            tell.unwrap_or(Err(Failure::TooSlow))?;
            Ok::<_, Failure>(known)
        };
        match told.await {
            Ok(known) => {
                connection = Some(known);
                pause = PAUSE.0;
                complaints.back();
            }
            Err(failure) => {
                complaints.away(&failure);
                sleep(pause).await;
                pause = (pause * 2).min(PAUSE.1);
            }
        }
    }
}

async fn listen(address: Address, arrivals: Arrivals) {
    let mut complaints = Complaints::new("LISTEN");
    let mut pause = PAUSE.0;
    loop {
        let failure = match connect_and_hear(&address, &arrivals, &mut complaints, &mut pause).await
        {
            Ok(()) => Failure::Lost("the connection has ended"),
            Err(failure) => failure,
        };
        complaints.away(&failure);
        sleep(pause).await;
        pause = (pause * 2).min(PAUSE.1);
    }
}

async fn connect_and_hear(
    address: &Address,
    arrivals: &Arrivals,
    complaints: &mut Complaints,
    pause: &mut Duration,
) -> Result<(), Failure> {
    let (config, tls) = address.config();
    let mut is_listening = || {
        complaints.back();
        *pause = PAUSE.0;
    };
    let channel = channel(address);
    if let Some(tls) = tls {
        let connected = timeout(OPENING, config.connect(tls.clone())).await;
        let (client, connection) = connected.map_err(|_| Failure::TooSlow)??;
        hear(client, connection, &channel, arrivals, &mut is_listening).await
    } else {
        let connected = timeout(OPENING, config.connect(NoTls)).await;
        let (client, connection) = connected.map_err(|_| Failure::TooSlow)??;
        hear(client, connection, &channel, arrivals, &mut is_listening).await
    }
}

/// Hears until the connection ends. A silent cut is noticed by its keepalives.
async fn hear<S, T>(
    client: Client,
    mut connection: tokio_postgres::Connection<S, T>,
    channel: &str,
    arrivals: &Arrivals,
    is_listening: &mut (dyn FnMut() + Send),
) -> Result<(), Failure>
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    let listen = async {
        let listen = format!("LISTEN {channel}");
        let listening = timeout(CALL, client.batch_execute(&listen)).await;
        listening.map_err(|_| Failure::TooSlow)??;
        is_listening();
        Ok::<_, Failure>(())
    };
    let hear = async {
        let mut messages = stream::poll_fn(|context| connection.poll_message(context));
        while let Some(message) = messages.next().await {
            if let AsyncMessage::Notification(notification) = message? {
                decode(notification.payload()).for_each(|hint| arrivals.tell(hint));
            }
        }
        Ok(())
    };
    try_join(listen, hear).await.map(drop)
}

/// A schema has its own hints.
fn channel(address: &Address) -> String {
    format!("{}_hints", address.schema())
}

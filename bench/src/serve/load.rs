//! Load on one server: so many connections, each with one request after the other.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use tokio::{
    task::JoinSet,
    time::{Instant, timeout},
};

use super::{
    child::Server,
    client::Connection,
    wire::{self, EchoEvents},
};

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// What one point of load showed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    /// Requests that were answered, or events that came; every one was judged.
    pub(crate) count: u64,
    /// How long it took.
    pub(crate) elapsed: Duration,
    /// Processor time of the server, whole.
    pub(crate) processor_time: Duration,
    /// The median latency: until the answer was whole, or until the first event.
    pub(crate) latency: Duration,
}

impl Sample {
    pub(crate) fn per_second(&self) -> f64 {
        as_f64(self.count) / self.elapsed.as_secs_f64()
    }

    /// Microseconds of processor time of the server for each.
    pub(crate) fn processor_micros(&self) -> f64 {
        self.processor_time.as_secs_f64() * 1e6 / as_f64(self.count.max(1))
    }
}

/// What is asked, over and over.
#[derive(Clone, Debug)]
pub(crate) enum Question {
    Send,
    Get { id: String },
    List,
}

impl Question {
    fn text(&self) -> String {
        match self {
            Self::Send => wire::message("SendMessage", wire::TEXT),
            Self::Get { id } => wire::get_task(id),
            Self::List => wire::list_tasks(),
        }
    }

    fn is_answered_by(&self, body: &[u8]) -> bool {
        match self {
            Self::Send | Self::Get { .. } => wire::is_echo(body),
            Self::List => wire::is_page(body),
        }
    }
}

/// What a server says to one question each, read in whole.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) id: String,
    pub(crate) sent: Vec<u8>,
    pub(crate) got: Vec<u8>,
}

/// Asks once and reads the answers in whole.
pub(crate) async fn check(server: &Server) -> Result<Said> {
    let checked = async {
        let mut connection = Connection::open(server.address()).await?;
        let sent = connection.call(&Question::Send.text()).await?.to_vec();
        let id = wire::read_sent(&sent)?;
        let got = connection.call(&wire::get_task(&id)).await?.to_vec();
        wire::read_task(&got, &id)?;
        Ok::<_, anyhow::Error>(Said { id, sent, got })
    };
    checked.await.with_context(|| format!("{} does not echo", server.name()))
}

/// Reads a page in whole and returns it as it was sent.
pub(crate) async fn check_page(server: &Server) -> Result<Vec<u8>> {
    let mut connection = Connection::open(server.address()).await?;
    let page = connection.call(&wire::list_tasks()).await?.to_vec();
    wire::read_page(&page).with_context(|| format!("{} does not list", server.name()))?;
    Ok(page)
}

/// Asks for so long.
pub(crate) async fn ask(
    server: &Server,
    question: &Question,
    connections: usize,
    duration: Duration,
) -> Result<Sample> {
    let end = Instant::now() + duration;
    drive(server, connections, |address| asker(address, question.clone(), Until::Time(end))).await
}

/// Sends so many messages.
pub(crate) async fn grow(server: &Server, tasks: u64, connections: usize) -> Result<Sample> {
    let left = Arc::new(AtomicU64::new(tasks));
    let until = || Until::Count(Arc::clone(&left));
    let sample =
        drive(server, connections, |address| asker(address, Question::Send, until())).await?;
    ensure!(sample.count == tasks, "{} took {} of {tasks} tasks", server.name(), sample.count);
    Ok(sample)
}

/// Streams echoes for so long, `streams` at a time; counts events.
pub(crate) async fn stream(
    server: &Server,
    streams: usize,
    chunks: usize,
    duration: Duration,
) -> Result<Sample> {
    let end = Instant::now() + duration;
    drive(server, streams, |address| streamer(address, chunks, end)).await
}

/// What one connection has seen.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) count: u64,
    pub(super) latencies: Vec<u32>,
}

/// Runs so many workers at once and adds up what they have seen, and what it cost the server.
pub(super) async fn drive<F>(
    server: &Server,
    workers: usize,
    worker: impl Fn(SocketAddr) -> F,
) -> Result<Sample>
where
    F: Future<Output = Result<Tally>> + Send + 'static,
{
    let before = server.processor_time()?;
    let begun = Instant::now();
    let mut running = JoinSet::new();
    for _ in 0..workers {
        running.spawn(worker(server.address()));
    }
    let mut all = Tally::default();
    while let Some(tally) = running.join_next().await {
        let tally = tally?.with_context(|| format!("load on {}", server.name()))?;
        all.count += tally.count;
        all.latencies.extend(tally.latencies);
    }
    let elapsed = begun.elapsed();
    all.latencies.sort_unstable();
    let latency = all.latencies.get(all.latencies.len() / 2).copied().unwrap_or_default();
    Ok(Sample {
        count: all.count,
        elapsed,
        processor_time: server.processor_time()?.saturating_sub(before),
        latency: Duration::from_micros(latency.into()),
    })
}

/// When a worker stops.
enum Until {
    Time(Instant),
    Count(Arc<AtomicU64>),
}

impl Until {
    /// Whether there is nothing more to ask, for one who has asked so often. Everybody asks
    /// once, however late it is: a point without answers says nothing.
    fn is_over(&self, asked: u64) -> bool {
        match self {
            Self::Time(end) => asked > 0 && Instant::now() >= *end,
            Self::Count(left) => {
                let less = |left: u64| left.checked_sub(1);
                left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_err()
            }
        }
    }
}

async fn asker(address: SocketAddr, question: Question, until: Until) -> Result<Tally> {
    let mut connection = Connection::open(address).await?;
    let mut tally = Tally::default();
    while !until.is_over(tally.count) {
        let begun = Instant::now();
        let text = question.text();
        let body = timeout(PATIENCE, connection.call(&text)).await.context("no answer")??;
        ensure!(question.is_answered_by(body), "wrong: {}", String::from_utf8_lossy(body));
        tally.latencies.push(micros(begun.elapsed()));
        tally.count += 1;
    }
    Ok(tally)
}

async fn streamer(address: SocketAddr, chunks: usize, end: Instant) -> Result<Tally> {
    let mut connection = Connection::open(address).await?;
    let mut tally = Tally::default();
    let ask = format!("chunks:{chunks}");
    loop {
        let (events, first) = timeout(PATIENCE, stream_once(&mut connection, &ask, chunks))
            .await
            .context("a stream does not end")??;
        tally.count += events;
        tally.latencies.push(micros(first));
        if Instant::now() >= end {
            return Ok(tally);
        }
    }
}

/// Follows one stream to its end. Returns how many events it had and when the first came.
async fn stream_once(
    connection: &mut Connection,
    ask: &str,
    chunks: usize,
) -> Result<(u64, Duration)> {
    let begun = Instant::now();
    let mut stream = connection.stream(&wire::message("SendStreamingMessage", ask)).await?;
    let mut seen = EchoEvents::of(chunks);
    let mut first = Duration::ZERO;
    while let Some(event) = stream.next().await? {
        if seen.seen() == 0 {
            first = begun.elapsed();
        }
        seen.take(event)?;
    }
    ensure!(seen.is_complete(), "a stream ended after {} events", seen.seen());
    Ok((seen.seen() as u64, first))
}

/// Streams that stay open with nothing to say.
#[derive(Debug)]
pub(crate) struct Held(Vec<Connection>);

impl Held {
    /// Opens streams of tasks of their own, and waits until each of them is being worked on.
    pub(crate) async fn open(server: &Server, streams: usize) -> Result<Self> {
        let mut held = Vec::with_capacity(streams);
        for _ in 0..streams {
            let mut connection = Connection::open(server.address()).await?;
            let opened = async {
                let ask = wire::message("SendStreamingMessage", "hold");
                let mut stream = connection.stream(&ask).await?;
                let mut seen = EchoEvents::of(0);
                for _ in 0..2 {
                    seen.take(stream.next().await?.context("a held stream ended")?)?;
                }
                Ok::<_, anyhow::Error>(())
            };
            timeout(PATIENCE, opened).await.context("a held stream says nothing")??;
            held.push(connection);
        }
        Ok(Self(held))
    }

    /// How many are still open.
    pub(crate) fn open_streams(&self) -> usize {
        self.0.iter().filter(|connection| !connection.is_closed()).count()
    }
}

pub(super) fn micros(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
pub(super) fn as_f64(count: u64) -> f64 {
    count as f64
}

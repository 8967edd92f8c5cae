//! The client that benchmarks measure.
//!
//! Sends messages to `URL` for `SECONDS`, `IN_FLIGHT` at a time, reads every answer, and prints
//! how many came and in how many seconds. With `STREAMS`, it opens so many streams instead,
//! keeps them open, and prints how many kibibytes of memory it has then.

use std::{env, str::FromStr, time::Duration};

use futures_util::StreamExt as _;
use nuncio_client::{Interface, Options, Remote};
use nuncio_net::{Client, Errand, Guard, Policy, Purpose};
use nuncio_protocol::{
    dialect::WireForm,
    message::Message,
    operation::{Request, SendMessageRequest},
    service::{A2aService as _, CallContext, Caller},
};
use tokio::{task::JoinSet, time::Instant};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the figures are what it is run for")]
async fn main() -> Result<(), Failure> {
    let in_flight: usize = setting("IN_FLIGHT")?;
    let errand = Errand::administrator(Purpose::Agent);
    let policy = Policy::default().open(Purpose::Agent, "127.0.0.0/8".parse()?).allow_http(errand);
    let client = Client::builder(Guard::new(policy))
        .connections(in_flight.max(8192))
        .idle_connections(in_flight, Duration::from_secs(30))
        .build()?;
    let url = client.guard().check_url(&env::var("URL")?, errand)?;
    let remote = Remote::builder(client, Interface { url, form: WireForm::V1, tenant: None })
        .options(Options::default())
        .build();
    if let Ok(streams) = setting::<usize>("STREAMS") {
        println!("{}", keep(&remote, streams).await?);
        return Ok(());
    }
    let begun = Instant::now();
    let end = begun + Duration::try_from_secs_f64(setting("SECONDS")?)?;
    let mut callers = JoinSet::new();
    for _ in 0..in_flight {
        callers.spawn(call(remote.clone(), end));
    }
    let mut calls = 0;
    while let Some(count) = callers.join_next().await {
        calls += count??;
    }
    println!("{calls} {:.6}", begun.elapsed().as_secs_f64());
    Ok(())
}

async fn call(remote: Remote, end: Instant) -> Result<u64, Failure> {
    let mut calls = 0;
    while Instant::now() < end {
        let request = SendMessageRequest::new(Message::user("hello"));
        let ctx = CallContext::new(Caller::Anonymous);
        let answer = remote.send_message(ctx, request).await?;
        answer.value().map_err(|error| error.to_string())?;
        calls += 1;
    }
    Ok(calls)
}

/// Keeps streams open, and returns how much memory that takes, in KiB.
async fn keep(remote: &Remote, streams: usize) -> Result<u64, Failure> {
    let mut open = Vec::with_capacity(streams);
    for _ in 0..streams {
        let request = SendMessageRequest::new(Message::user("hold"));
        let request = Request::SendStreamingMessage(request);
        let mut events = remote.stream(CallContext::new(Caller::Anonymous), request).await?;
        events.next().await.ok_or("no event")??;
        open.push(events);
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let text = line.and_then(|line| line.split_whitespace().next()).ok_or("no VmRSS")?;
    Ok(text.parse()?)
}

fn setting<T: FromStr<Err: std::error::Error + Send + Sync + 'static>>(
    name: &str,
) -> Result<T, Failure> {
    Ok(env::var(name)?.parse()?)
}

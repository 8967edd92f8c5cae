//! The load of [`super::load`] over gRPC: several calls in flight on each connection.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context as _, Result, ensure};
use bytes::{BufMut as _, Bytes, BytesMut};
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use nuncio_protocol::grpc::v1;
use prost::Message as _;
use tokio::{net::TcpStream, time::Instant};

use super::{
    child::Server,
    load::{Sample, Tally, drive, micros},
    wire,
};

const METHOD: &str = "/lf.a2a.v1.A2AService/SendMessage";

type Sender = http2::SendRequest<Full<Bytes>>;

/// Sends messages for so long, `in_flight` at a time over all connections.
pub(crate) async fn send(
    server: &Server,
    connections: usize,
    in_flight: usize,
    duration: Duration,
) -> Result<Sample> {
    let address = server.grpc();
    let each = in_flight.div_ceil(connections);
    check(&mut connect(address).await?, address).await?;
    let end = Instant::now() + duration;
    drive(server, connections, |_| caller(address, each, end)).await
}

/// One connection with all its calls.
async fn caller(address: SocketAddr, in_flight: usize, end: Instant) -> Result<Tally> {
    let sender = connect(address).await?;
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..in_flight {
        let mut sender = sender.clone();
        running.spawn(async move {
            let mut tally = Tally::default();
            while tally.count == 0 || Instant::now() < end {
                let begun = Instant::now();
                let message = call(&mut sender, address).await?;
                // The text of the request stands in the history, too.
                let echoes = memchr::memmem::find_iter(&message, wire::TEXT).count();
                ensure!(echoes > 0, "the text is not echoed");
                tally.latencies.push(micros(begun.elapsed()));
                tally.count += 1;
            }
            Ok(tally)
        });
    }
    let mut all = Tally::default();
    while let Some(tally) = running.join_next().await {
        let tally: Tally = tally??;
        all.count += tally.count;
        all.latencies.extend(tally.latencies);
    }
    Ok(all)
}

async fn connect(address: SocketAddr) -> Result<Sender> {
    let stream = TcpStream::connect(address).await.context("connect for gRPC")?;
    stream.set_nodelay(true)?;
    let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
    // It ends with its last sender; what goes wrong is told to the callers.
    tokio::spawn(connection);
    Ok(sender)
}

/// Reads one answer in whole.
async fn check(sender: &mut Sender, address: SocketAddr) -> Result<()> {
    let framed = call(sender, address).await?;
    let message = framed.get(5..).context("an answer without a message")?;
    let answer = v1::SendMessageResponse::decode(message)?;
    let Some(v1::send_message_response::Payload::Task(task)) = answer.payload else {
        anyhow::bail!("the answer is no task: {answer:?}");
    };
    let state = task.status.as_ref().map(|status| status.state);
    ensure!(state == Some(v1::TaskState::Completed.into()), "not completed: {task:?}");
    let part = task.artifacts.first().and_then(|artifact| artifact.parts.first());
    let content = part.and_then(|part| part.content.clone());
    ensure!(content == Some(v1::part::Content::Text(wire::TEXT.into())), "no echo: {task:?}");
    Ok(())
}

/// Returns the answer with its length ahead.
async fn call(sender: &mut Sender, address: SocketAddr) -> Result<Bytes> {
    let request = Request::post(format!("http://{address}{METHOD}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("a2a-version", "1.0")
        .body(Full::new(framed_request()))?;
    sender.ready().await?;
    let response = sender.send_request(request).await?;
    let early = response.headers().get("grpc-status").cloned();
    let body = response.into_body().collect().await?;
    let status = body.trailers().and_then(|trailers| trailers.get("grpc-status").cloned());
    let status = status.or(early).context("a call without a status")?;
    ensure!(status == "0", "gRPC status {status:?}: {:?}", body.trailers());
    Ok(body.to_bytes())
}

fn framed_request() -> Bytes {
    let text = v1::part::Content::Text(wire::TEXT.to_owned());
    let message = v1::Message {
        message_id: wire::message_id(),
        role: v1::Role::User.into(),
        parts: vec![v1::Part { content: Some(text), ..Default::default() }],
        ..Default::default()
    };
    let request = v1::SendMessageRequest { message: Some(message), ..Default::default() };
    let length = request.encoded_len();
    let mut framed = BytesMut::with_capacity(length + 5);
    framed.put_u8(0);
    framed.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    request.encode(&mut framed).expect("a buffer grows");
    framed.freeze()
}

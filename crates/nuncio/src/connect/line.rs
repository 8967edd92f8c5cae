//! How work comes to us: over a stream that stays open, or by asking a hub that has none.

use std::time::Duration;

use http::{StatusCode, header::CONTENT_TYPE};
use nuncio_net::{
    client::ResponseBody,
    sse::{Decoder, Limits},
};
use nuncio_protocol::json::Raw;
use serde::Deserialize;
use tokio::time::timeout;

use crate::{
    failure::Failure,
    hub::{Hub, parse},
};

/// How long a hub is asked to wait that has no streams, in seconds.
const WAIT: u32 = 20;

/// A stream that says nothing for so long is dead: the hub shows three times as often that it is
/// there.
const SILENCE: Duration = Duration::from_secs(45);

/// Something to be done, or to be ended.
#[derive(Deserialize)]
pub(super) struct Work {
    pub(super) task: String,
    #[serde(default)]
    pub(super) request: Option<Raw>,
    #[serde(default)]
    pub(super) cancel: bool,
}

/// The way to a hub's desk.
#[derive(Default)]
pub(super) enum Line {
    /// To be opened.
    #[default]
    Closed,
    /// Work comes as it is there.
    Stream(Box<Stream>),
    /// The hub is older than streams, and is asked over and over.
    Polls,
}

pub(super) struct Stream {
    body: ResponseBody,
    decoder: Decoder,
}

impl Line {
    /// Waits for something to do. Nothing means that the hub has answered, and is to be asked
    /// again. After a failure, and after the end of a stream, the line is opened anew.
    pub(super) async fn next(&mut self, hub: &Hub, room: usize) -> Result<Option<Work>, Failure> {
        let next = match self {
            Self::Closed => {
                *self = Self::open(hub, room).await?;
                return Ok(None);
            }
            Self::Stream(stream) => stream.next().await,
            Self::Polls => poll(hub).await.map(Next::of),
        };
        match next {
            Ok(Next::Work(work)) => Ok(Some(work)),
            Ok(Next::Nothing) => Ok(None),
            Ok(Next::End) => {
                *self = Self::Closed;
                Err(Failure::internal("the stream has ended"))
            }
            Err(failure) => {
                *self = Self::Closed;
                Err(failure)
            }
        }
    }

    async fn open(hub: &Hub, room: usize) -> Result<Self, Failure> {
        let response = match hub.follow(&format!("/api/v1/work?room={room}")).await {
            Ok(response) => response,
            // It does not know what `room` is.
            Err(failure) if failure.is_hub_status(StatusCode::BAD_REQUEST) => {
                return Ok(Self::Polls);
            }
            Err(failure) => return Err(failure),
        };
        let kind = response.headers().get(CONTENT_TYPE).map(http::HeaderValue::as_bytes);
        if !kind.is_some_and(|kind| kind.starts_with(b"text/event-stream")) {
            return Ok(Self::Polls);
        }
        let stream =
            Stream { body: response.into_body(), decoder: Decoder::new(Limits::default()) };
        Ok(Self::Stream(Box::new(stream)))
    }
}

/// What a wait for work has brought.
enum Next {
    Work(Work),
    Nothing,
    End,
}

impl Next {
    fn of(work: Option<Work>) -> Self {
        work.map_or(Self::Nothing, Self::Work)
    }
}

impl Stream {
    async fn next(&mut self) -> Result<Next, Failure> {
        loop {
            let event = self.decoder.next_event();
            let event = event.map_err(|error| Failure::internal(error.to_string()))?;
            if let Some(event) = event {
                return parse(&event.data).map(Next::Work);
            }
            let chunk = timeout(SILENCE, self.body.chunk()).await;
            let chunk = chunk.map_err(|_| Failure::internal("the hub has gone silent"))?;
            match chunk.map_err(|error| Failure::net(&error))? {
                Some(chunk) => self.decoder.push(chunk),
                None => return Ok(Next::End),
            }
        }
    }
}

async fn poll(hub: &Hub) -> Result<Option<Work>, Failure> {
    let bytes = hub.get(&format!("/api/v1/work?wait={WAIT}")).await?;
    if bytes.is_empty() { Ok(None) } else { parse(&bytes).map(Some) }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;

    /// Starts something that answers one request after the other with these words, each on a
    /// connection of its own.
    async fn hub(answers: &'static [&'static str]) -> Hub {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            for answer in answers {
                let (mut connection, _) = listener.accept().await.unwrap();
                let mut heard = Vec::new();
                while !heard.ends_with(b"\r\n\r\n") {
                    connection.read_buf(&mut heard).await.unwrap();
                }
                let answer = format!("HTTP/1.1 {answer}");
                connection.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        Hub::new(&url, None).unwrap()
    }

    #[tokio::test]
    async fn a_hub_without_streams_is_asked_over_and_over() {
        let hub = hub(&[
            "400 Bad Request\r\nconnection: close\r\ncontent-length: 56\r\n\r\n\
             {\"code\":\"INVALID\",\"detail\":\"unknown field\",\"status\":400}",
            "204 No Content\r\nconnection: close\r\n\r\n",
            "200 OK\r\nconnection: close\r\ncontent-length: 12\r\n\r\n{\"task\":\"t\"}",
        ])
        .await;
        let mut line = Line::default();
        assert!(line.next(&hub, 8).await.unwrap().is_none());
        assert!(matches!(line, Line::Polls));
        assert!(line.next(&hub, 8).await.unwrap().is_none(), "there is nothing to do");
        assert_eq!(line.next(&hub, 8).await.unwrap().unwrap().task, "t");
        // Whoever answers next may be a newer one.
        assert!(line.next(&hub, 8).await.is_err());
        assert!(matches!(line, Line::Closed));
    }

    #[tokio::test]
    async fn a_stream_that_ends_is_opened_anew() {
        const STREAM: &str = "200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n\
            retry: 2000\n: the hub is listening\n\ndata: {\"task\":\"t\",\"cancel\":true}\n\n";
        let hub = hub(&[STREAM, STREAM]).await;
        let mut line = Line::default();
        for _ in 0..2 {
            assert!(line.next(&hub, 8).await.unwrap().is_none(), "it is open");
            let work = line.next(&hub, 8).await.unwrap().unwrap();
            assert!(work.cancel && work.task == "t");
            assert!(line.next(&hub, 8).await.is_err(), "it has ended");
        }
    }
}

//! Server-sent events, as their standard says.

use std::collections::VecDeque;

use http::Response;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

/// One event, or comments that came before any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Its number, if it has one.
    pub id: Option<u64>,
    /// Its name, if it has one.
    pub event: String,
    /// What it says; empty if it is only comments.
    pub data: String,
    /// Comments within it.
    pub comments: Vec<String>,
    /// How long to wait before coming back, if it says so.
    pub retry: Option<u64>,
}

/// The events of one answer.
#[derive(Debug)]
pub struct Frames {
    /// The headers of the answer.
    pub headers: http::HeaderMap,
    body: Incoming,
    /// What has come of the next frame.
    text: Vec<u8>,
    ready: VecDeque<Frame>,
}

impl Frames {
    /// Reads an answer.
    ///
    /// # Panics
    /// If it is no stream of events.
    pub fn of(response: Response<Incoming>) -> Self {
        let (head, body) = response.into_parts();
        let kind = head.headers.get("content-type").map(|value| value.as_bytes().to_vec());
        assert_eq!(
            (head.status.as_u16(), kind.as_deref()),
            (200, Some(&b"text/event-stream"[..])),
            "a stream is expected"
        );
        Self { headers: head.headers, body, text: Vec::new(), ready: VecDeque::new() }
    }

    /// Returns the next frame with data, `None` at the end or when the connection breaks.
    pub async fn next(&mut self) -> Option<Frame> {
        loop {
            let frame = self.next_of_any_kind().await?;
            if !frame.data.is_empty() {
                return Some(frame);
            }
        }
    }

    /// Returns the next frame, comments included.
    ///
    /// # Panics
    /// If it is not as the standard says.
    pub async fn next_of_any_kind(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            let piece = self.body.frame().await?.ok()?.into_data().ok()?;
            // What was looked through before has no end of a frame, but for its last byte.
            let mut from = self.text.len().saturating_sub(1);
            self.text.extend_from_slice(&piece);
            while let Some(at) = self.text[from..].windows(2).position(|pair| pair == b"\n\n") {
                let frame: Vec<u8> = self.text.drain(..from + at + 2).collect();
                self.ready.push_back(read(str::from_utf8(&frame).expect("events are text")));
                from = 0;
            }
        }
    }

    /// Reads to the end.
    pub async fn rest(mut self) -> Vec<Frame> {
        let mut all = Vec::new();
        while let Some(frame) = self.next().await {
            all.push(frame);
        }
        all
    }
}

fn read(text: &str) -> Frame {
    let mut frame = Frame::default();
    for line in text.trim_end().lines() {
        match line.split_once(':').map(|(name, value)| (name, value.trim_start())) {
            Some(("", comment)) => frame.comments.push(comment.to_owned()),
            Some(("id", id)) => frame.id = Some(id.parse().expect("our ids are numbers")),
            Some(("event", name)) => name.clone_into(&mut frame.event),
            Some(("retry", delay)) => frame.retry = delay.parse().ok(),
            Some(("data", data)) => {
                assert!(frame.data.is_empty(), "our data has one line");
                data.clone_into(&mut frame.data);
            }
            _ => panic!("no line of an event: {line:?}"),
        }
    }
    frame
}

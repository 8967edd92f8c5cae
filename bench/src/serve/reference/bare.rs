//! Answers that were there before.

use std::{fs, path::Path, sync::Arc};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use memchr::memmem;

use super::{
    Answer, Ask,
    body::Burst,
    is_about,
    typed::{self, Event, Identity},
};
use crate::serve::wire;

/// How many chunks the burst has that is at hand; others are written when asked for.
const CHUNKS: usize = 100;

pub(super) struct Answers {
    sent: Bytes,
    got: Bytes,
    listed: Bytes,
    burst: Arc<[Bytes]>,
}

impl Answers {
    /// Takes `sent.json`, `got.json` and `listed.json` as far as they are in the directory: what
    /// the measured server said, so that a bare answer is of the same size.
    pub(super) fn read(directory: Option<&Path>) -> Result<Self> {
        let read = |name: &str, otherwise: String| match directory.map(|path| path.join(name)) {
            Some(path) if path.exists() => {
                let text = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
                Ok::<_, anyhow::Error>(Bytes::from(text))
            }
            _ => Ok(Bytes::from(otherwise)),
        };
        let task = String::from_utf8(typed::echo(&Identity::new(), "m-0000000000000001"))?;
        let result = |result| format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        let page = format!(
            r#"{{"tasks":[{}],"nextPageToken":"next","pageSize":50,"totalSize":10000}}"#,
            vec![&*task; wire::PAGE].join(",")
        );
        Ok(Self {
            sent: read("sent.json", result(format!(r#"{{"task":{task}}}"#)))?,
            got: read("got.json", result(task))?,
            listed: read("listed.json", result(page))?,
            burst: burst(CHUNKS),
        })
    }

    pub(super) fn to(&self, request: &[u8]) -> Answer {
        if is_about(request, "SendStreamingMessage") {
            return Answer::Burst(self.burst_for(request));
        }
        Answer::Whole(if is_about(request, "GetTask") {
            self.got.clone()
        } else if is_about(request, "ListTasks") {
            self.listed.clone()
        } else {
            self.sent.clone()
        })
    }

    /// The same with the id of the request in it. Streams have it already: it is 1.
    pub(super) fn to_numbered(&self, request: &[u8]) -> Answer {
        let (answer, id) = match (self.to(request), request_id(request)) {
            (Answer::Whole(answer), Some(id)) => (answer, id),
            (answer, _) => return answer,
        };
        let rest = memmem::find(&answer, br#","result""#).unwrap_or(answer.len());
        let ahead: &[u8] = br#"{"jsonrpc":"2.0","id":"#;
        Answer::Whole(Bytes::from([ahead, id, &answer[rest..]].concat()))
    }

    fn burst_for(&self, request: &[u8]) -> Burst {
        match Ask::read(text_of(request)) {
            Ask::Chunks(CHUNKS) => Burst { events: Arc::clone(&self.burst), sent: 0, hold: false },
            Ask::Chunks(chunks) => Burst { events: burst(chunks), sent: 0, hold: false },
            Ask::Echo => Burst { events: burst(1), sent: 0, hold: false },
            Ask::Hold => Burst { events: self.burst[..2].into(), sent: 0, hold: true },
        }
    }
}

/// The text of the message: what stands behind the first `"text":"`.
fn text_of(request: &[u8]) -> &str {
    let Some(at) = memmem::find(request, br#""text":""#) else { return "" };
    let rest = &request[at + 8..];
    let end = memchr::memchr(b'"', rest).unwrap_or(rest.len());
    std::str::from_utf8(&rest[..end]).unwrap_or_default()
}

/// The id of a request as it is written, if it stands before the parameters or behind them.
fn request_id(request: &[u8]) -> Option<&[u8]> {
    let before = memmem::find(request, br#""params""#).unwrap_or(request.len());
    let at = memmem::find(&request[..before], br#""id":"#)
        .or_else(|| memmem::rfind(request, br#""id":"#))?;
    let rest = &request[at + 5..];
    let end = rest.iter().position(|byte| matches!(byte, b',' | b'}'))?;
    Some(&rest[..end])
}

/// All events of an echo.
fn burst(chunks: usize) -> Arc<[Bytes]> {
    let identity = Identity::new();
    let task = typed::echo(&identity, "m-0000000000000001");
    let chunk = |index| Event::chunk(&identity, index, chunks).write();
    [Event::task(task).write(), Event::working(&identity).write()]
        .into_iter()
        .chain((0..chunks).map(chunk))
        .chain([Event::completed(&identity).write()])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_says_the_id_of_the_request() {
        let answers = Answers::read(None).unwrap();
        for (request, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":{"id":"t"}}"#, "7"),
            (r#"{"jsonrpc":"2.0","method":"SendMessage","params":{},"id":"a-1"}"#, r#""a-1""#),
        ] {
            let Answer::Whole(answer) = answers.to_numbered(request.as_bytes()) else {
                panic!("a message is answered at once")
            };
            let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"task""#);
            assert!(answer.starts_with(start.as_bytes()), "{answer:?}");
            wire::read_sent(&answer).unwrap();
        }
    }
}

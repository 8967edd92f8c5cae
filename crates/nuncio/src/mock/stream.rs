//! A stream of events, changed on its way.

use std::future::pending;

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt as _, stream};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody, combinators::UnsyncBoxBody};

use super::{
    document::{self, Asked, Kind},
    fault::Plan,
};

/// The body of an answer.
pub(super) type Body = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// Why a body ends before its end.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the script cuts it here")]
struct Cut;

/// Says nothing, for ever.
pub(super) fn silent() -> Body {
    let frames = stream::pending::<Result<Frame<Bytes>, _>>();
    UnsyncBoxBody::new(StreamBody::new(frames))
}

/// How much of an endless line is written at once.
static LETTERS: [u8; 64 << 10] = [b'x'; 64 << 10];

/// Begins a line that never ends, as fast as it is read.
pub(super) fn endless() -> Body {
    let begin = stream::iter([Bytes::from_static(b"data: {\"")]);
    let lines = begin.chain(stream::repeat(Bytes::from_static(&LETTERS)));
    UnsyncBoxBody::new(StreamBody::new(lines.map(|text| Ok(Frame::data(text)))))
}

/// Lets so many bytes pass, then breaks the connection.
pub(super) fn cut_after_bytes(body: Body, count: usize) -> Body {
    let frames = stream::unfold(Some((body, count)), |state| async move {
        let (mut body, left) = state?;
        if left == 0 {
            return Some((Err(cut().await), None));
        }
        let frame = match body.frame().await? {
            Ok(frame) => frame,
            Err(error) => return Some((Err(error), None)),
        };
        let frame = frame.map_data(|data| data.slice(..data.len().min(left)));
        let left = left - frame.data_ref().map_or(0, Bytes::len);
        Some((Ok(frame), Some((body, left))))
    });
    UnsyncBoxBody::new(StreamBody::new(frames))
}

/// Changes events as a plan wants it.
pub(super) fn change(body: Body, asked: Option<Asked>, plan: Plan) -> Body {
    let state = Changing { body, waiting: BytesMut::new(), asked, plan, seen: 0, passed: 0 };
    let frames = stream::unfold(Some(state), |state| async move {
        let mut state = state?;
        match state.next().await {
            Some(Ok(event)) => Some((Ok(Frame::data(event)), Some(state))),
            Some(Err(error)) => Some((Err(error), None)),
            None => None,
        }
    });
    UnsyncBoxBody::new(StreamBody::new(frames))
}

/// What is written before is sent first: whoever writes to the wire does so when it has to
/// wait for more.
async fn cut() -> Box<dyn std::error::Error + Send + Sync> {
    tokio::task::yield_now().await;
    Cut.into()
}

struct Changing {
    body: Body,
    /// What is no whole event yet.
    waiting: BytesMut,
    asked: Option<Asked>,
    plan: Plan,
    /// How many events have come.
    seen: usize,
    /// How many of them were let pass.
    passed: usize,
}

impl Changing {
    async fn next(&mut self) -> Option<Result<Bytes, Box<dyn std::error::Error + Send + Sync>>> {
        loop {
            if self.plan.first(|does| does.cut_after_events) == Some(self.passed) {
                return Some(Err(cut().await));
            }
            if self.plan.first(|does| does.silence_after_events) == Some(self.passed) {
                pending::<()>().await;
            }
            if let Some(event) = self.whole() {
                match self.changed(&event) {
                    Some(event) => return Some(Ok(event)),
                    None => continue,
                }
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.waiting.extend_from_slice(&data);
                    }
                }
                Some(Err(error)) => return Some(Err(error)),
                None if self.plan.any(|does| does.never_end) => pending::<()>().await,
                None => return None,
            }
        }
    }

    /// Takes the first whole event.
    fn whole(&mut self) -> Option<Bytes> {
        let end = self.waiting.windows(2).position(|pair| pair == b"\n\n")?;
        Some(self.waiting.split_to(end + 2).freeze())
    }

    /// Changes an event, or drops it.
    fn changed(&mut self, event: &Bytes) -> Option<Bytes> {
        let text = String::from_utf8_lossy(event);
        let data = text.lines().find_map(|line| line.strip_prefix("data:"));
        // Comments keep the connection alive and are no events.
        let Some(data) = data.map(str::trim_start) else { return Some(event.clone()) };
        self.seen += 1;
        let plan = &self.plan;
        let is_dropped = (self.seen == 1 && plan.any(|does| does.drop_first_event))
            || (plan.any(|does| does.drop_terminal_event) && document::ends_task(data));
        if is_dropped {
            return None;
        }
        self.passed += 1;
        let changed = if plan.first(|does| does.garbage_event) == Some(self.seen) {
            "{\"statusUpdate\": {\"taskId\": ".to_owned()
        } else {
            document::change(data, Kind::Event, self.asked.as_ref(), plan)
        };
        if changed == data {
            return Some(event.clone());
        }
        Some(Bytes::from(text.replace(data, &changed)))
    }
}

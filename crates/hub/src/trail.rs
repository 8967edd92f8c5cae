//! Refusals on their way to the audit trail, and what people did to tasks.
//!
//! Changes are in the trail with what they change. Refusals change nothing, and no request waits
//! until one is written: they stand in a queue, and those that find it full are counted instead.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use nuncio_protocol::{ids::Organisation, time::Timestamp};
use serde::Serialize;
use tokio::sync::{Notify, mpsc};

use crate::{directory::Actor, store::HubStore};

/// So many lines wait to be written.
const ROOM: usize = 1024;

/// So many are written at once.
const BATCH: usize = 128;

/// The longest text of a line, in characters.
const MOST_TEXT: usize = 256;

/// Takes refusals to the audit trail.
#[derive(Debug)]
pub(crate) struct Trail {
    lines: mpsc::Sender<String>,
    /// For whoever writes them.
    waiting: Mutex<Option<mpsc::Receiver<String>>>,
    lost: AtomicU64,
    end: Notify,
}

#[derive(Serialize)]
struct Line<'a> {
    at: Timestamp,
    by: &'a str,
    action: &'a str,
    subject: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    organisation: Option<&'a Organisation>,
}

impl Trail {
    pub(crate) fn new() -> Self {
        let (lines, waiting) = mpsc::channel(ROOM);
        let waiting = Mutex::new(Some(waiting));
        Self { lines, waiting, lost: AtomicU64::new(0), end: Notify::new() }
    }

    /// Notes that somebody was refused something. Never waits.
    pub(crate) fn refused(
        &self,
        actor: &Actor,
        organisation: Option<&Organisation>,
        (action, subject, detail): (&str, &str, &str),
    ) {
        let by = clean(actor.as_str());
        let (subject, detail) = (clean(subject), clean(detail));
        let (at, by, subject, detail) = (Timestamp::now(), &*by, &*subject, &*detail);
        let line = Line { at, by, action, subject, detail, organisation };
        self.push(&line);
    }

    /// Writes down what somebody did, and waits until it is written.
    pub(crate) async fn note(
        store: &dyn HubStore,
        actor: &Actor,
        organisation: &Organisation,
        (action, subject, detail): (&str, &str, &str),
    ) {
        let by = clean(actor.as_str());
        let (subject, detail) = (clean(subject), clean(detail));
        let (at, by, subject, detail) = (Timestamp::now(), &*by, &*subject, &*detail);
        let line = Line { at, by, action, subject, detail, organisation: Some(organisation) };
        let line = serde_json::to_string(&line).unwrap_or_default();
        if let Err(error) = store.audit(vec![line]).await {
            // It is done, and the task's own log says by whom.
            let error: &dyn std::error::Error = &error;
            tracing::error!(error, action, "a deed is missing in the audit trail");
        }
    }

    fn push(&self, line: &Line<'_>) {
        let line = serde_json::to_string(line).unwrap_or_default();
        if self.lines.try_send(line).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes what comes until the end, and then the rest.
    pub(crate) async fn write(&self, store: &dyn HubStore) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Somebody else writes already.
        let Some(mut waiting) = waiting else { return };
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            tokio::select! {
                count = waiting.recv_many(&mut batch, BATCH) => if count == 0 { return },
                () = self.end.notified() => {
                    waiting.close();
                    continue;
                }
            }
            let lost = self.lost.swap(0, Ordering::Relaxed);
            if lost > 0 {
                let by = Actor::hub();
                let detail = format!("{lost} refusals found the queue full");
                let (at, by, detail) = (Timestamp::now(), by.as_str(), detail.as_str());
                let line =
                    Line { at, by, action: "trail.lost", subject: "", detail, organisation: None };
                batch.push(serde_json::to_string(&line).unwrap_or_default());
            }
            let count = batch.len();
            if let Err(error) = store.audit(std::mem::take(&mut batch)).await {
                let error: &dyn std::error::Error = &error;
                tracing::error!(error, count, "refusals are missing in the audit trail");
            }
        }
    }

    /// Says that nothing more comes.
    pub(crate) fn finish(&self) {
        self.end.notify_one();
    }
}

/// Takes out what could garble a line for its reader (A-LOG).
fn clean(text: &str) -> String {
    let fit = text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter });
    fit.take(MOST_TEXT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryHub;

    #[tokio::test]
    async fn what_finds_the_queue_full_is_counted_and_nobody_waits() {
        let trail = Trail::new();
        for _ in 0..ROOM + 5 {
            trail.refused(&Actor::hub(), None, ("request.deny", "x\r\ny\u{1b}[31m", ""));
        }
        let store = MemoryHub::default();
        trail.finish();
        trail.write(&store).await;
        let lines = store.audit_trail(0, 10_000).await.unwrap();
        assert_eq!(lines.len(), ROOM + 1);
        assert!(lines.iter().any(|line| line.body.contains("5 refusals found the queue full")));
        assert!(!lines[0].body.contains("\\u001b") && !lines[0].body.contains("\\n"));
        crate::audit::verify(0, crate::audit::Link::START, &lines).unwrap();
    }
}

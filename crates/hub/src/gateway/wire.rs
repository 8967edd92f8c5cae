//! What the hub and an agent say to each other, for those who want to see it.
//!
//! Whoever sends a message with the extension [`WIRE`] has the wire between hub and agent kept
//! for a while: in memory, within limits, and without credentials, which the client never shows.
//! Calls that do not ask for it cost nothing.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use nuncio_client::watch::{Header, Observer, Passed, Sighting, Text};
use nuncio_protocol::{ids::TaskId, service::Caller, time::Timestamp};
use nuncio_tasks::{
    agent::{Cause, Turn},
    scope::{Name, Place},
};
use serde::Serialize;
use tokio::time::{Instant, MissedTickBehavior, interval};

/// Asks for the wire between hub and agent to be kept.
pub(crate) const WIRE: &str = "urn:nuncio:extension:wire:v1";

/// How long a record is kept behind the last thing in it.
pub(crate) const KEPT: Duration = Duration::from_secs(15 * 60);

/// So often is looked for records that are old.
const SWEEP: Duration = Duration::from_secs(60);

/// How many tasks have a record. The one that was silent for longest makes room.
const MOST_TASKS: usize = 64;

/// How much a record holds: things, and bytes of text.
const MOST_ITEMS: usize = 1_000;
const MOST_BYTES: usize = 1 << 20;

/// The records of all tasks that have one.
#[derive(Debug, Default)]
pub(crate) struct Wires(Mutex<HashMap<(Name, TaskId), Arc<Record>>>);

/// What went over the wire for one task.
#[derive(Debug)]
pub(crate) struct Record(Mutex<Kept>);

#[derive(Debug)]
struct Kept {
    items: Vec<WireItem>,
    bytes: usize,
    left_out: u64,
    /// The numbers of the client, in the order in which they first came.
    exchanges: Vec<u64>,
    touched: Instant,
}

/// Something that went over the wire.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct WireItem {
    /// Its place in the record.
    pub(crate) seq: u64,
    /// Which request it belongs to: the first is 1.
    exchange: usize,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// `request`, `answer`, `event` (a frame of a stream, or a message of gRPC), `ended` (the
    /// agent has said all), `failed`, or `left`: the hub has hung up.
    #[schema(value_type = String)]
    kind: &'static str,
    /// What the agent speaks, such as `a2a-0.3-http`.
    #[schema(value_type = String)]
    form: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    headers: Vec<WireHeader>,
    /// The `id:` of a frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The body; what is too long is cut. Messages of gRPC are written out.
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// How long the body is, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    /// Whether there is more of the body than is shown.
    is_cut: bool,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// A header.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct WireHeader {
    name: String,
    /// Its value; `null` if that may be a secret.
    value: Option<String>,
}

impl Wires {
    /// Returns where the wire of a turn is written down, if somebody wants that. Agents do not
    /// get to see how others are called.
    pub(crate) fn of_turn(&self, turn: &Turn, caller: &Caller) -> Option<Arc<Record>> {
        let is_asked = turn.asked.extensions.contains(WIRE) && !matches!(caller, Caller::Agent(_));
        if is_asked {
            return Some(self.begin(&turn.place, &turn.task.id));
        }
        // What goes on by itself belongs to the message before it.
        if turn.cause == Cause::Message { None } else { self.of(&turn.place, &turn.task.id) }
    }

    /// Returns the record of a task.
    pub(crate) fn of(&self, place: &Place, task: &TaskId) -> Option<Arc<Record>> {
        let records = self.lock();
        if records.is_empty() {
            return None;
        }
        let record = records.get(&(place.tenant.clone(), task.clone()))?;
        (!record.is_old()).then(|| Arc::clone(record))
    }

    /// Lets go of what is old. Never returns.
    pub(crate) async fn sweep(self: Arc<Self>) {
        let mut ticks = interval(SWEEP);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.lock().retain(|_, record| !record.is_old());
        }
    }

    fn begin(&self, place: &Place, task: &TaskId) -> Arc<Record> {
        let key = (place.tenant.clone(), task.clone());
        let mut records = self.lock();
        if let Some(record) = records.get(&key) {
            return Arc::clone(record);
        }
        if records.len() >= MOST_TASKS {
            let oldest = records.iter().min_by_key(|(_, record)| record.lock().touched);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                records.remove(&oldest);
            }
        }
        let record = Arc::new(Record(Mutex::new(Kept {
            items: Vec::new(),
            bytes: 0,
            left_out: 0,
            exchanges: Vec::new(),
            touched: Instant::now(),
        })));
        records.insert(key, Arc::clone(&record));
        record
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(Name, TaskId), Arc<Record>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record {
    /// Returns what is behind a place, and how much there was no room for.
    pub(crate) fn after(&self, seq: u64) -> (Vec<WireItem>, u64) {
        let kept = self.lock();
        let behind = kept.items.iter().filter(|item| item.seq > seq);
        (behind.cloned().collect(), kept.left_out)
    }

    fn is_old(&self) -> bool {
        self.lock().touched.elapsed() >= KEPT
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Record {
    fn saw(&self, sighting: Sighting) {
        let mut item = WireItem::from(sighting.what);
        let mut kept = self.lock();
        kept.touched = Instant::now();
        let bytes = kept.bytes + item.size();
        if kept.items.len() >= MOST_ITEMS || bytes > MOST_BYTES {
            kept.left_out += 1;
            return;
        }
        kept.bytes = bytes;
        if !kept.exchanges.contains(&sighting.exchange) {
            kept.exchanges.push(sighting.exchange);
        }
        let place = kept.exchanges.iter().position(|known| *known == sighting.exchange);
        item.exchange = place.map_or(0, |place| place + 1);
        item.seq = kept.items.len() as u64 + 1;
        item.form = sighting.form.name();
        kept.items.push(item);
    }
}

impl WireItem {
    fn new(kind: &'static str) -> Self {
        Self {
            seq: 0,
            exchange: 0,
            at: Timestamp::now(),
            kind,
            form: "",
            method: None,
            path: None,
            status: None,
            headers: Vec::new(),
            id: None,
            body: None,
            bytes: None,
            is_cut: false,
            why: None,
        }
    }

    fn with(self, text: Text) -> Self {
        Self { is_cut: text.is_cut(), bytes: Some(text.bytes), body: Some(text.shown), ..self }
    }

    /// Returns about how much memory it takes.
    fn size(&self) -> usize {
        let headers = self
            .headers
            .iter()
            .map(|header| 64 + header.name.len() + header.value.as_ref().map_or(0, String::len));
        let texts = [&self.path, &self.id, &self.body, &self.why];
        let texts = texts.into_iter().flatten().map(String::len);
        256 + headers.sum::<usize>() + texts.sum::<usize>()
    }
}

impl From<Passed> for WireItem {
    fn from(passed: Passed) -> Self {
        let headers = |headers: Vec<Header>| {
            let headers = headers.into_iter();
            headers.map(|Header { name, value, .. }| WireHeader { name, value }).collect()
        };
        match passed {
            Passed::Request { method, path, headers: told, body } => Self {
                method: Some(method),
                path: Some(path),
                headers: headers(told),
                ..Self::new("request").with(body)
            },
            Passed::Answer { status, headers: told, body } => {
                let answer = Self::new("answer");
                let answer = match body {
                    Some(body) => answer.with(body),
                    None => answer,
                };
                Self { status: Some(status), headers: headers(told), ..answer }
            }
            Passed::Event { id, body } => Self { id, ..Self::new("event").with(body) },
            Passed::Failed { why } => Self { why: Some(why), ..Self::new("failed") },
            Passed::Left => Self::new("left"),
            _ => Self::new("ended"),
        }
    }
}

#[cfg(test)]
mod tests {
    use nuncio_protocol::dialect::WireForm;

    use super::*;

    fn place() -> Place {
        let name = |text| Name::parse(text).expect("a name");
        Place { tenant: name("main"), agent: name("a"), caller: name("user:ann") }
    }

    fn task(number: usize) -> TaskId {
        TaskId::parse(&format!("task-{number}")).expect("an id")
    }

    #[tokio::test(start_paused = true)]
    async fn a_record_is_gone_after_a_while() {
        let wires = Wires::default();
        wires.begin(&place(), &task(1));
        tokio::time::advance(KEPT - Duration::from_secs(1)).await;
        assert!(wires.of(&place(), &task(1)).is_some());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(wires.of(&place(), &task(1)).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn old_records_do_not_stay_in_memory() {
        let wires = Arc::new(Wires::default());
        wires.begin(&place(), &task(1));
        let sweeping = tokio::spawn(Arc::clone(&wires).sweep());
        tokio::time::sleep(KEPT + SWEEP).await;
        assert!(wires.lock().is_empty());
        sweeping.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_tasks_have_a_record_and_the_oldest_makes_room() {
        let wires = Wires::default();
        for number in 0..=MOST_TASKS {
            wires.begin(&place(), &task(number));
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        assert!(wires.of(&place(), &task(0)).is_none());
        assert!(wires.of(&place(), &task(1)).is_some());
        assert_eq!(wires.lock().len(), MOST_TASKS);
    }

    #[tokio::test]
    async fn what_there_is_no_room_for_is_counted() {
        let wires = Wires::default();
        let record = wires.begin(&place(), &task(1));
        for _ in 0..MOST_ITEMS + 3 {
            record.saw(Sighting::new(7, WireForm::V1, Passed::Ended));
        }
        let (items, left_out) = record.after(0);
        assert_eq!((items.len(), left_out), (MOST_ITEMS, 3));
        assert_eq!((items[0].seq, items[0].exchange), (1, 1));
        assert_eq!(record.after(MOST_ITEMS as u64 - 2).0.len(), 2);
    }
}

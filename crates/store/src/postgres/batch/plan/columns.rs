//! Rows turned into columns, one array for each.

use std::{borrow::Cow, collections::BTreeMap};

use nuncio_protocol::ids::TaskId;
use nuncio_tasks::{
    log::{Seq, Snapshot},
    store::{Head, Key, NewWebhook, Wake},
};
use tokio_postgres::types::ToSql;

use super::{ChangedTask, NewTask};
use crate::{
    piece::Piece,
    postgres::{
        batch::lease::{Change, HELD, NONE},
        row::{micros, moment_columns, signed, state_number},
        text::quote,
    },
};

type Parameter<'a> = &'a (dyn ToSql + Sync);

/// Heads of tasks.
#[derive(Default)]
pub(super) struct TaskColumns<'p> {
    keys: Vec<i64>,
    tenants: Vec<i64>,
    places: Vec<i64>,
    ids: Vec<Cow<'p, str>>,
    contexts: Vec<Cow<'p, str>>,
    states: Vec<i16>,
    updated: Vec<i64>,
    updated_nanos: Vec<i16>,
    seqs: Vec<i64>,
    bytes: Vec<i64>,
    epochs: Vec<i64>,
    /// `None`: the lease stays as it is.
    leases: Vec<Option<i16>>,
    owners: Vec<Option<Cow<'p, str>>>,
    lasts: Vec<i64>,
    /// `None`: the wake-up stays as it is; negative: there is none.
    wakes: Vec<Option<i64>>,
    ends: Vec<bool>,
    /// `None`: the snapshot stays as it is.
    snapshots: Vec<Option<i64>>,
    texts: [Vec<Option<&'p [u8]>>; 3],
}

type Snapshots<'p> = BTreeMap<i64, &'p Snapshot>;

impl<'p> TaskColumns<'p> {
    pub(super) fn of_new(tasks: &'p [NewTask], snapshots: &Snapshots<'p>) -> Self {
        let mut columns = Self::default();
        for task in tasks {
            columns.head(&task.head, snapshots);
            columns.tenants.push(task.place.tenant);
            columns.places.push(task.place.place);
            columns.ids.push(quote(task.head.id.as_str()));
            columns.contexts.push(quote(task.head.context.as_str()));
            columns.lease(&task.lease);
            columns.wakes.push(wake(task.wake));
            columns.ends.push(task.head.state.is_terminal());
        }
        for lease in &mut columns.leases {
            lease.get_or_insert(NONE);
        }
        columns
    }

    pub(super) fn of_changed(tasks: &'p [ChangedTask], snapshots: &Snapshots<'p>) -> Self {
        let mut columns = Self::default();
        for task in tasks {
            columns.head(&task.head, snapshots);
            columns.lease(&task.lease);
            columns.wakes.push(wake(task.wake));
            columns.ends.push(task.ends);
        }
        columns
    }

    fn head(&mut self, head: &Head, snapshots: &Snapshots<'p>) {
        let snapshot = snapshots.get(&head.reference.0).copied();
        self.snapshots.push(snapshot.map(|snapshot| signed(snapshot.seq.0)));
        let texts: [Option<&'p [u8]>; 3] = match snapshot {
            Some(Snapshot { task, history, artifacts, .. }) => {
                [task, history, artifacts].map(|text| Some(&text[..]))
            }
            None => [None; 3],
        };
        for (column, text) in self.texts.iter_mut().zip(texts) {
            column.push(text);
        }
        let (updated, nanos) = moment_columns(head.updated);
        self.keys.push(head.reference.0);
        self.states.push(state_number(head.state));
        self.updated.push(updated);
        self.updated_nanos.push(nanos);
        self.seqs.push(signed(head.seq.0));
        self.bytes.push(signed(head.bytes));
        self.epochs.push(signed(head.epoch.0));
    }

    fn lease(&mut self, change: &'p Change) {
        let (lease, owner, lasts) = match change {
            Change::Keep => (None, None, 0),
            Change::To(lease) => (Some(*lease), None, 0),
            Change::Take(lease) => {
                (Some(HELD), Some(quote(lease.owner.as_str())), micros(lease.lasts))
            }
        };
        self.leases.push(lease);
        self.owners.push(owner);
        self.lasts.push(lasts);
    }

    pub(super) fn to_insert(&self) -> Vec<Parameter<'_>> {
        let [head, history, artifacts] = &self.texts;
        vec![
            &self.keys,
            &self.tenants,
            &self.places,
            &self.ids,
            &self.contexts,
            &self.states,
            &self.updated,
            &self.updated_nanos,
            &self.seqs,
            &self.bytes,
            &self.epochs,
            &self.leases,
            &self.owners,
            &self.lasts,
            &self.wakes,
            &self.ends,
            &self.snapshots,
            head,
            history,
            artifacts,
        ]
    }

    pub(super) fn to_update(&self) -> Vec<Parameter<'_>> {
        let [head, history, artifacts] = &self.texts;
        vec![
            &self.keys,
            &self.states,
            &self.updated,
            &self.updated_nanos,
            &self.seqs,
            &self.bytes,
            &self.epochs,
            &self.leases,
            &self.owners,
            &self.lasts,
            &self.wakes,
            &self.ends,
            &self.snapshots,
            head,
            history,
            artifacts,
        ]
    }
}

fn wake(wake: Wake) -> Option<i64> {
    match wake {
        Wake::Keep => None,
        Wake::Never => Some(-1),
        Wake::After(duration) => Some(micros(duration)),
    }
}

/// Pieces of logs.
#[derive(Default)]
pub(in super::super) struct Pieces {
    pub(super) tasks: Vec<i64>,
    lasts: Vec<i64>,
    bodies: Vec<Vec<u8>>,
}

impl Pieces {
    pub(in super::super) fn push(&mut self, task: i64, piece: Piece) {
        self.tasks.push(task);
        self.lasts.push(signed(piece.last.0));
        self.bodies.push(piece.body);
    }

    pub(super) fn parameters(&self) -> Vec<Parameter<'_>> {
        vec![&self.tasks, &self.lasts, &self.bodies]
    }
}

/// Idempotency keys.
#[derive(Default)]
pub(in super::super) struct Keys<'j> {
    places: Vec<i64>,
    texts: Vec<Cow<'j, str>>,
    requests: Vec<&'j [u8]>,
    pub(super) tasks: Vec<i64>,
    task_ids: Vec<Cow<'j, str>>,
    seqs: Vec<i64>,
}

impl<'j> Keys<'j> {
    pub(in super::super) fn push(
        &mut self,
        place: i64,
        key: &'j Key,
        task: i64,
        id: &'j TaskId,
        seq: Seq,
    ) {
        self.places.push(place);
        self.texts.push(quote(&key.text));
        self.requests.push(&key.request);
        self.tasks.push(task);
        self.task_ids.push(quote(id.as_str()));
        self.seqs.push(signed(seq.0));
    }

    pub(super) fn parameters(&self) -> Vec<Parameter<'_>> {
        vec![&self.places, &self.texts, &self.requests, &self.tasks, &self.task_ids, &self.seqs]
    }
}

/// Notes of tasks.
#[derive(Default)]
pub(super) struct NoteColumns<'j> {
    tasks: Vec<i64>,
    notes: Vec<&'j [u8]>,
}

impl<'j> NoteColumns<'j> {
    pub(super) fn of(notes: &BTreeMap<i64, &'j [u8]>) -> Self {
        let (tasks, notes) = notes.iter().map(|(task, note)| (*task, *note)).unzip();
        Self { tasks, notes }
    }

    pub(super) fn parameters(&self) -> Vec<Parameter<'_>> {
        vec![&self.tasks, &self.notes]
    }
}

/// Parents of new tasks.
#[derive(Default)]
pub(in super::super) struct Parents<'j> {
    pub(super) tasks: Vec<i64>,
    tenants: Vec<i64>,
    ids: Vec<Cow<'j, str>>,
}

impl<'j> Parents<'j> {
    pub(in super::super) fn push(&mut self, task: i64, tenant: i64, parent: &'j TaskId) {
        self.tasks.push(task);
        self.tenants.push(tenant);
        self.ids.push(quote(parent.as_str()));
    }

    pub(super) fn parameters(&self) -> Vec<Parameter<'_>> {
        vec![&self.tasks, &self.tenants, &self.ids]
    }
}

/// Webhooks.
#[derive(Default)]
pub(super) struct WebhookColumns<'j> {
    pub(super) tasks: Vec<i64>,
    ids: Vec<Cow<'j, str>>,
    urls: Vec<Cow<'j, str>>,
    secrets: Vec<&'j [u8]>,
    majors: Vec<i32>,
    minors: Vec<i32>,
    sent: Vec<i64>,
}

impl<'j> WebhookColumns<'j> {
    pub(super) fn of(webhooks: &[(i64, &'j NewWebhook, Seq)]) -> Self {
        let mut columns = Self::default();
        for (task, webhook, sent) in webhooks {
            columns.tasks.push(*task);
            columns.ids.push(quote(webhook.id.as_str()));
            columns.urls.push(quote(&webhook.url));
            columns.secrets.push(&webhook.secrets.0);
            columns.majors.push(webhook.version.major.into());
            columns.minors.push(webhook.version.minor.into());
            columns.sent.push(signed(sent.0));
        }
        columns
    }

    pub(super) fn parameters(&self) -> Vec<Parameter<'_>> {
        vec![
            &self.tasks,
            &self.ids,
            &self.urls,
            &self.secrets,
            &self.majors,
            &self.minors,
            &self.sent,
        ]
    }
}

/// Changes of counts.
#[derive(Default)]
pub(super) struct CountColumns {
    tenants: Vec<i64>,
    places: Vec<i64>,
    states: Vec<i16>,
    by: Vec<i64>,
}

impl CountColumns {
    pub(super) fn of(counts: &BTreeMap<(i64, i64, i16), i64>) -> Self {
        let mut columns = Self::default();
        for ((tenant, place, state), by) in counts {
            columns.tenants.push(*tenant);
            columns.places.push(*place);
            columns.states.push(*state);
            columns.by.push(*by);
        }
        columns
    }

    pub(super) fn parameters<'p>(&'p self, slot: &'p i32) -> Vec<Parameter<'p>> {
        vec![&self.tenants, &self.places, &self.states, &self.by, slot]
    }
}

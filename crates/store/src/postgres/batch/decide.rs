//! What becomes of each job, and what is written for it.

use std::collections::{BTreeMap, HashMap, HashSet, btree_map::Entry};

use nuncio_protocol::{
    ids::{ContextId, TaskId},
    time::Timestamp,
};
use nuncio_tasks::{
    log::{Batch, Seq, Snapshot},
    scope::Name,
    store::{
        Append, Appended, Create, Created, Epoch, Error, Head, Key, NewWebhook, TaskRef, Tenancy,
        Wake,
    },
};

use super::{
    Done, Job, Outcome,
    lease::{self, Change},
    plan::{ChangedTask, NewTask, Plan},
    survey::{Locked, Survey, UsedKey},
};
use crate::{
    piece::{self, Piece},
    postgres::place::PlaceKey,
};

/// Decides every job upon what the survey has found and what the jobs before it have done.
pub(super) fn decide<'j>(jobs: &[&'j Job], survey: Survey) -> (Plan<'j>, Vec<Outcome>) {
    let mut desk = Desk {
        survey,
        plan: Plan::default(),
        changed: BTreeMap::new(),
        keys: HashSet::new(),
        ids: HashSet::new(),
        contexts: HashMap::new(),
        opened: HashMap::new(),
        with_webhooks: HashSet::new(),
    };
    let mut outcomes = Vec::with_capacity(jobs.len());
    for (number, job) in jobs.iter().enumerate() {
        let decided = match job {
            Job::Create(create) => desk.create(number, create),
            Job::Append(append) => desk.append(number, append),
        };
        outcomes.push(match decided {
            Ok(done) => Outcome::Answer(Ok(done)),
            Err(Refusal::Later) => Outcome::Deferred,
            Err(Refusal::Never(error)) => Outcome::Answer(Err(error)),
        });
    }
    desk.plan.changed = desk.changed.into_values().collect();
    // In one order for everybody: two who insert the same must not wait for one another.
    desk.plan.new.sort_by(|one, other| {
        (one.place.tenant, &one.head.id).cmp(&(other.place.tenant, &other.head.id))
    });
    (desk.plan, outcomes)
}

/// Where jobs are decided one after the other.
struct Desk<'j> {
    survey: Survey,
    plan: Plan<'j>,
    changed: BTreeMap<i64, ChangedTask>,
    /// What the jobs so far have used or opened.
    keys: HashSet<(i64, &'j str)>,
    ids: HashSet<(i64, &'j TaskId)>,
    contexts: HashMap<(i64, &'j ContextId), &'j Name>,
    opened: HashMap<(i64, &'j Name), u64>,
    with_webhooks: HashSet<i64>,
}

enum Refusal {
    Later,
    Never(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Never(error)
    }
}

impl<'j> Desk<'j> {
    fn create(&mut self, number: usize, create: &'j Create) -> Result<Done, Refusal> {
        create.check_note()?;
        let batch = &create.batch;
        let missing = || Error::Spoilt("a place has no number".to_owned());
        let place = *self.survey.places.get(&create.place).ok_or_else(missing)?;
        if let Some(key) = &create.key {
            if let Some(used) = self.survey.keys.remove(&number) {
                check_request(key, &used)?;
                return Ok(Done::Created(Created::Repeated(used.head)));
            }
            self.check_unused(place, key)?;
        }
        let id = (place.tenant, batch.task());
        if self.survey.existing.contains(&number) || self.ids.contains(&id) {
            return Err(Error::Exists(batch.task().clone()).into());
        }
        let caller = &create.place.caller;
        let conversation = (place.tenant, batch.context());
        let others = self.contexts.get(&conversation).is_some_and(|other| *other != caller);
        if create.context_is_given && (others || self.survey.foreign.contains(&number)) {
            return Err(Error::ForeignContext.into());
        }
        if !batch.to().is_terminal() {
            let opened = self.opened.entry((place.tenant, caller)).or_default();
            let unfinished = self.survey.unfinished.get(&number).copied().unwrap_or_default();
            if unfinished + *opened >= create.most_unfinished.into() {
                let limit = create.most_unfinished;
                return Err(Error::TooMany { what: "unfinished tasks", limit }.into());
            }
            *opened += 1;
        }

        let texts = Texts::of(batch, create.snapshot.as_ref(), Seq::START)?;
        let none_left = || Error::Spoilt("a new task has no number".to_owned());
        let key = self.survey.numbers.pop_front().ok_or_else(none_left)?;
        self.ids.insert(id);
        self.contexts.insert(conversation, caller);
        let lease = create.lease.as_ref().filter(|_| !batch.to().is_terminal());
        let head = Head {
            reference: TaskRef(key),
            id: batch.task().clone(),
            context: batch.context().clone(),
            place: create.place.clone(),
            state: batch.to(),
            updated: batch.updated().unwrap_or_else(start_of_1970),
            seq: batch_end(Seq::START, batch),
            bytes: batch.bytes() as u64,
            epoch: Epoch(u64::from(create.lease.is_some())),
            owned: lease.is_some(),
        };
        self.write(key, Seq::START, batch, texts, create.key.as_ref(), place, &create.webhooks);
        self.plan.notes.extend(create.note.as_ref().map(|note| (key, &note[..])));
        if let Some(parent) = &create.parent {
            self.plan.parents.push(key, place.tenant, parent);
        }
        self.plan.count(place, None, Some(head.state));
        let tenancy = lease.cloned().map_or(Tenancy::Keep, Tenancy::Take);
        self.plan.new.push(NewTask {
            place,
            lease: lease::change(lease::NONE, false, batch.to(), &tenancy),
            wake: if batch.to().is_terminal() { Wake::Never } else { create.wake },
            head: head.clone(),
        });
        Ok(Done::Created(Created::New(head)))
    }

    fn append(&mut self, number: usize, append: &'j Append) -> Result<Done, Refusal> {
        append.check_note()?;
        let batch = &append.batch;
        let task = append.task.0;
        let Some(locked) = self.survey.tasks.get(&task) else { return Err(Error::Gone.into()) };
        let place = locked.place;
        if let Some(key) = &append.key {
            if let Some(used) = self.survey.keys.remove(&number) {
                check_request(key, &used)?;
                let UsedKey { task, seq, .. } = used;
                return Ok(Done::Appended(Appended::Repeated { task, seq }));
            }
            self.check_unused(place, key)?;
        }
        check_writable(append, &locked.head)?;
        if !append.webhooks.is_empty() && self.with_webhooks.contains(&task) {
            return Err(Refusal::Later);
        }
        let before = locked.head.seq;
        let texts = Texts::of(batch, append.snapshot.as_ref(), before)?;
        let Some(locked) = self.survey.tasks.get_mut(&task) else { return Err(Error::Gone.into()) };

        let lease = lease::change(locked.lease, locked.head.owned, batch.to(), &append.tenancy);
        let is_taken = matches!(lease, Change::Take(_));
        let ends = batch.to().is_terminal() && !locked.head.state.is_terminal();
        if !batch.is_empty() && locked.webhooks > 0 {
            self.plan.woken.insert(task);
        }
        let from = locked.head.state;
        advance(locked, batch, &lease);
        let head = locked.head.clone();
        let wake = if head.state.is_terminal() { Wake::Never } else { append.wake };
        let change = ChangedTask { head: head.clone(), lease, wake, ends };
        match self.changed.entry(task) {
            Entry::Vacant(entry) => drop(entry.insert(change)),
            Entry::Occupied(mut entry) => entry.get_mut().follow(change),
        }
        if from != head.state {
            self.plan.count(place, Some(from), Some(head.state));
        }
        self.write(task, before, batch, texts, append.key.as_ref(), place, &append.webhooks);
        if append.forget_key {
            self.plan.without_key.insert(task);
        }
        self.plan.notes.extend(append.note.as_ref().map(|note| (task, &note[..])));
        Ok(Done::Appended(Appended::Done { head, taken: is_taken }))
    }

    /// Whoever used the key in this batch must be seen first.
    fn check_unused(&self, place: PlaceKey, key: &'j Key) -> Result<(), Refusal> {
        if self.keys.contains(&(place.place, key.text.as_str())) {
            return Err(Refusal::Later);
        }
        Ok(())
    }

    /// Plans all that hangs on a task.
    #[expect(clippy::too_many_arguments, reason = "everything that hangs on a task")]
    fn write(
        &mut self,
        task: i64,
        before: Seq,
        batch: &'j Batch,
        texts: Texts<'j>,
        key: Option<&'j Key>,
        place: PlaceKey,
        webhooks: &'j [NewWebhook],
    ) {
        for piece in texts.pieces {
            self.plan.pieces.push(task, piece);
        }
        if let Some(snapshot) = texts.snapshot {
            self.plan.snapshots.insert(task, snapshot);
        }
        if let Some(key) = key {
            self.keys.insert((place.place, &key.text));
            self.plan.keys.push(place.place, key, task, batch.task(), before.next());
        }
        if !webhooks.is_empty() {
            self.with_webhooks.insert(task);
        }
        for (place, webhook) in webhooks.iter().enumerate() {
            // Of two with the same identifier the second takes the first one's place.
            let is_last = webhooks[place + 1..].iter().all(|later| later.id != webhook.id);
            if is_last {
                self.plan.webhooks.push((task, webhook, before));
            }
        }
    }
}

/// The texts of a batch, as the database takes them.
struct Texts<'j> {
    pieces: Vec<Piece>,
    snapshot: Option<&'j Snapshot>,
}

impl<'j> Texts<'j> {
    /// A snapshot is left out if it is of another place than the end.
    fn of(batch: &'j Batch, snapshot: Option<&'j Snapshot>, before: Seq) -> Result<Self, Error> {
        let end = batch_end(before, batch);
        Ok(Self {
            pieces: piece::pieces(before, batch.records())?,
            snapshot: snapshot.filter(|snapshot| snapshot.seq == end),
        })
    }
}

fn check_request(key: &Key, used: &UsedKey) -> Result<(), Error> {
    if used.request == key.request { Ok(()) } else { Err(Error::KeyReused) }
}

fn check_writable(append: &Append, head: &Head) -> Result<(), Error> {
    if let Some(held) = append.epoch
        && held != head.epoch
    {
        return Err(Error::Fenced { held, current: head.epoch });
    }
    if append.batch.from() != head.state {
        return Err(Error::StateChanged { expected: append.batch.from(), found: head.state });
    }
    Ok(())
}

/// Brings a task to where a batch leaves it.
fn advance(locked: &mut Locked, batch: &Batch, lease: &Change) {
    let head = &mut locked.head;
    head.seq = batch_end(head.seq, batch);
    head.bytes += batch.bytes() as u64;
    head.state = batch.to();
    head.updated = batch.updated().unwrap_or(head.updated);
    match lease {
        Change::Keep => {}
        Change::To(lease) => {
            locked.lease = *lease;
            head.owned = false;
        }
        Change::Take(_) => {
            locked.lease = lease::HELD;
            head.owned = true;
            head.epoch.0 += 1;
        }
    }
}

fn batch_end(before: Seq, batch: &Batch) -> Seq {
    before.plus(batch.records().len())
}

/// The time of tasks whose status has none.
fn start_of_1970() -> Timestamp {
    Timestamp::from_millis(0).expect("1970 is on the calendar")
}

//! Everything that is kept, and how tasks are opened, changed and forgotten.

use std::sync::Arc;

use nuncio_protocol::{
    ids::{ContextId, TaskId},
    time::Timestamp,
};
use tokio::time::Instant;

use super::{
    extras::Extras,
    kept::{Hold, Kept, Log, Open, later},
    keys::{self, Keys},
    needs::Needs,
    outbox::Outbox,
    packed::Packed,
    places::Places,
};
use crate::{
    log::{Entry, Seq, Snapshot},
    scope::Scope,
    store::{Append, Appended, Create, Created, Epoch, Error, RefMap, TaskRef},
};

/// Everything that is kept.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub tasks: RefMap<Box<Kept>>,
    pub places: Places,
    pub keys: Keys,
    pub needs: Needs,
    pub outbox: Outbox,
    pub extras: Extras,
    /// How many tasks there have ever been: handles are never used again.
    opened: i64,
}

/// A task that has ended, and whose log is to be packed.
#[derive(Debug)]
pub(super) struct Unpacked {
    pub task: TaskRef,
    pub id: TaskId,
    pub context: ContextId,
    pub snapshot: Option<Snapshot>,
    pub entries: Vec<Entry>,
}

impl Tables {
    /// Finds a task within a scope.
    pub(super) fn find(&self, scope: &Scope, id: &TaskId) -> Option<(TaskRef, &Kept)> {
        let task = *self.places.tenant(&scope.tenant)?.ids.get(id)?;
        let kept = &**self.tasks.get(&task)?;
        scope.sees(&kept.place).then_some((task, kept))
    }

    /// Opens a task; one that has ended with it comes packed.
    pub(super) fn create(
        &mut self,
        create: Create,
        packed: Option<Packed>,
        now: Instant,
    ) -> Result<Created, Error> {
        create.check_note()?;
        if let Some(used) = keys::find(&self.places, &create.place, create.key.as_ref())? {
            let head = self.tasks.get(&used.reference).map(|kept| kept.head(used.reference, now));
            return Ok(Created::Repeated(head));
        }
        self.check(&create)?;

        let Create { place, batch, snapshot, lease, key, webhooks, wake, note, parent, .. } =
            create;
        self.opened += 1;
        let task = TaskRef(self.opened);
        let place = self.places.share(&place);
        let epoch = Epoch(u64::from(lease.is_some()));
        let hold = match lease {
            Some(lease) => Hold::Held { until: later(now, lease.lasts) },
            None => Hold::Free { since: now },
        };
        let log = packed.map_or_else(
            || {
                let entries = Vec::new();
                let mut open = Open { entries, snapshot: None, hold, abandoned: 0, wake: None };
                open.extend(Seq::START, batch.records());
                open.set_snapshot(snapshot);
                open.set_wake(wake, now);
                Log::Open(Box::new(open))
            },
            Log::Packed,
        );
        let start_of_1970 = || Timestamp::from_millis(0).unwrap_or_else(Timestamp::now);
        let kept = Kept {
            id: batch.task().clone(),
            context: batch.context().clone(),
            place: Arc::clone(&place),
            state: batch.to(),
            updated: batch.updated().unwrap_or_else(start_of_1970),
            seq: Seq::START.plus(batch.records().len()),
            bytes: batch.bytes() as u64,
            epoch,
            log,
        };
        self.places.tenant_mut(&place.tenant).add(task, &kept, now);
        self.keys.insert(&mut self.places, &place, key, (task, &kept.id, Seq(1)), now);
        for webhook in webhooks {
            self.outbox.put(task, &kept.id, webhook, Seq::START, now);
        }
        self.outbox.reach(task, kept.seq);
        self.extras.set_note(task, note);
        self.extras.set_parent(task, &place.tenant, parent);
        self.needs.change(&place.agent, task, None, kept.need());
        let head = kept.head(task, now);
        self.tasks.insert(task, Box::new(kept));
        Ok(Created::New(head))
    }

    /// Tells why a task cannot be opened, whatever its key.
    fn check(&self, create: &Create) -> Result<(), Error> {
        let Create { place, batch, .. } = create;
        let tenant = self.places.tenant(&place.tenant);
        if tenant.is_some_and(|tenant| tenant.ids.contains_key(batch.task())) {
            return Err(Error::Exists(batch.task().clone()));
        }
        if create.context_is_given
            && let Some(tenant) = tenant
            && tenant.places_in(batch.context()).iter().any(|other| other.caller != place.caller)
        {
            return Err(Error::ForeignContext);
        }
        let unfinished = tenant.map_or(0, |tenant| tenant.unfinished(&place.caller));
        if !batch.to().is_terminal() && unfinished >= create.most_unfinished {
            return Err(Error::TooMany { what: "unfinished tasks", limit: create.most_unfinished });
        }
        Ok(())
    }

    pub(super) fn append(
        &mut self,
        append: Append,
        now: Instant,
    ) -> Result<(Appended, Option<Unpacked>), Error> {
        append.check_note()?;
        let Append { task, epoch, batch, snapshot, tenancy, key, webhooks, wake, .. } = append;
        let kept = self.tasks.get_mut(&task).ok_or(Error::Gone)?;
        if let Some(used) = keys::find(&self.places, &kept.place, key.as_ref())? {
            let repeated = Appended::Repeated { task: used.task.clone(), seq: used.seq };
            return Ok((repeated, None));
        }
        if let Some(held) = epoch.filter(|held| *held != kept.epoch) {
            return Err(Error::Fenced { held, current: kept.epoch });
        }
        if batch.from() != kept.state {
            return Err(Error::StateChanged { expected: batch.from(), found: kept.state });
        }

        let (start, from) = (kept.seq, kept.state);
        let need = kept.need();
        let updated = batch.updated().unwrap_or(kept.updated);
        if (kept.state, kept.updated) != (batch.to(), updated) {
            self.places.unshelve(kept);
            (kept.state, kept.updated) = (batch.to(), updated);
            self.places.shelve(kept);
        }
        kept.seq = start.plus(batch.records().len());
        kept.bytes += batch.bytes() as u64;
        let mut taken = false;
        let is_terminal = kept.state.is_terminal();
        let works_again = from.is_interrupted() && !kept.state.is_interrupted();
        if let Some(open) = kept.open_mut() {
            open.extend(start, batch.records());
            open.set_snapshot(snapshot);
            open.set_wake(wake, now);
            if let (Hold::Free { since }, true) = (&mut open.hold, works_again) {
                *since = now;
            }
            taken = !is_terminal && open.change_hold(&tenancy, now);
        }
        kept.epoch.0 += u64::from(taken);
        self.needs.change(&kept.place.agent, task, need, kept.need());

        if append.forget_key {
            self.keys.forget(&mut self.places, task);
        }
        let became = (task, &kept.id, start.next());
        self.keys.insert(&mut self.places, &kept.place, key, became, now);
        for webhook in webhooks {
            self.outbox.put(task, &kept.id, webhook, start, now);
        }
        self.outbox.reach(task, kept.seq);
        self.extras.set_note(task, append.note);
        let head = kept.head(task, now);
        let ends = is_terminal && !from.is_terminal();
        let unpacked = ends.then(|| self.end(task, now)).flatten();
        Ok((Appended::Done { head, taken }, unpacked))
    }

    /// Puts a task among those that have ended, and returns its log to be packed.
    fn end(&mut self, task: TaskRef, now: Instant) -> Option<Unpacked> {
        let kept = self.tasks.get_mut(&task)?;
        let tenant = self.places.tenant_mut(&kept.place.tenant);
        tenant.end(kept.state, task, now);
        tenant.finish(&kept.place.caller);
        let (id, context, seq) = (kept.id.clone(), kept.context.clone(), kept.seq);
        let open = kept.open_mut()?;
        let snapshot = open.snapshot.take().filter(|snapshot| snapshot.seq == seq);
        Some(Unpacked { task, id, context, snapshot, entries: open.entries.clone() })
    }

    /// Keeps the log of a task that has ended in one piece, and returns it as it was.
    pub(super) fn keep_packed(&mut self, task: TaskRef, packed: Packed) -> Option<Log> {
        let kept = self.tasks.get_mut(&task)?;
        Some(std::mem::replace(&mut kept.log, Log::Packed(packed)))
    }

    /// Forgets a task and all that belongs to it, but for its keys.
    pub(super) fn remove(&mut self, task: TaskRef) -> Option<Kept> {
        let kept = *self.tasks.remove(&task)?;
        self.needs.change(&kept.place.agent, task, kept.need(), None);
        self.outbox.remove(task);
        self.extras.remove(task, &kept.place.tenant);
        self.keys.outlive(task);
        self.places.unshelve(&kept);
        self.places.tenant_mut(&kept.place.tenant).ids.remove(&kept.id);
        self.places.leave(&kept.place);
        Some(kept)
    }
}

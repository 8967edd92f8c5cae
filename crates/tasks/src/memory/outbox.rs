//! Webhooks, what they are to be sent, and what they would not take.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use nuncio_protocol::{
    ids::{PushConfigId, TaskId},
    time::Timestamp,
};
use tokio::time::{Duration, Instant};

use super::{kept::later, tables::Tables};
use crate::{
    log::Seq,
    scope::Scope,
    store::{
        DeadLetter, DeadLetterId, Delivery, Epoch, Error, Lease, NewWebhook, Progress, RefMap,
        TaskRef, Webhook, WebhookRef,
    },
};

/// All webhooks and dead letters.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    hooks: HashMap<WebhookRef, Hook>,
    /// In the order of their making.
    by_task: RefMap<Vec<WebhookRef>>,
    /// By the moment from which on they can be taken.
    due: BTreeSet<(Instant, WebhookRef)>,
    letters: BTreeMap<DeadLetterId, Letter>,
    /// By the moment they were given up.
    by_age: BTreeSet<(Instant, DeadLetterId)>,
    /// How many webhooks and letters there have ever been: handles are never used again.
    made: i64,
}

#[derive(Debug)]
struct Hook {
    webhook: Webhook,
    /// The newest event of the task.
    newest: Seq,
    /// How often the event behind the last that was sent has been tried.
    attempts: u32,
    /// From when on it may be tried again.
    due: Instant,
    epoch: Epoch,
    taken: Option<Taken>,
    letters: BTreeSet<DeadLetterId>,
    /// Where it stands among those that can be taken.
    indexed: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Taken {
    until: Instant,
    again: Option<DeadLetterId>,
}

#[derive(Debug)]
struct Letter {
    hook: WebhookRef,
    seq: Seq,
    attempts: u32,
    error: String,
    at: Timestamp,
    given_up: Instant,
    /// From when on it is to be sent again, if it is.
    again: Option<Instant>,
}

impl Outbox {
    /// Keeps a webhook; a new one has been sent everything up to `sent`.
    pub(super) fn put(
        &mut self,
        task: TaskRef,
        task_id: &TaskId,
        new: NewWebhook,
        sent: Seq,
        now: Instant,
    ) -> Webhook {
        let NewWebhook { id, url, secrets, version } = new;
        if let Some(mut webhook) = self.find(task, &id).cloned() {
            (webhook.url, webhook.secrets, webhook.version) = (url, secrets, version);
            self.change(webhook.reference, |hook, _| {
                hook.webhook = webhook.clone();
                (hook.attempts, hook.due, hook.taken) = (0, now, None);
            });
            return webhook;
        }
        self.made += 1;
        let reference = WebhookRef(self.made);
        let task_id = task_id.clone();
        let webhook = Webhook { reference, task, task_id, id, url, secrets, version, sent };
        let hook = Hook {
            webhook: webhook.clone(),
            newest: sent,
            attempts: 0,
            due: now,
            epoch: Epoch(0),
            taken: None,
            letters: BTreeSet::new(),
            indexed: None,
        };
        self.hooks.insert(reference, hook);
        self.by_task.entry(task).or_default().push(reference);
        webhook
    }

    /// Refuses a new webhook if there are as many as is allowed.
    fn check_count(&self, task: TaskRef, id: &PushConfigId, most: u32) -> Result<(), Error> {
        let count = self.by_task.get(&task).map_or(0, Vec::len);
        if self.find(task, id).is_none() && count >= most as usize {
            return Err(Error::TooMany { what: "webhooks", limit: most });
        }
        Ok(())
    }

    /// Says that the log of a task has come so far.
    pub(super) fn reach(&mut self, task: TaskRef, newest: Seq) {
        let Some(hooks) = self.by_task.get(&task).cloned() else { return };
        for reference in hooks {
            self.change(reference, |hook, _| hook.newest = newest);
        }
    }

    pub(super) fn webhooks(&self, task: TaskRef) -> Vec<Webhook> {
        let hooks = self.by_task.get(&task).into_iter().flatten();
        hooks.filter_map(|hook| Some(self.hooks.get(hook)?.webhook.clone())).collect()
    }

    /// Tells whether a webhook of the task has an event to send.
    pub(super) fn needs_log(&self, task: TaskRef) -> bool {
        let mut hooks = self.by_task.get(&task).into_iter().flatten();
        hooks.any(|hook| self.hooks.get(hook).is_some_and(|hook| hook.webhook.sent < hook.newest))
    }

    pub(super) fn delete(&mut self, task: TaskRef, id: &PushConfigId) {
        if let Some(reference) = self.find(task, id).map(|webhook| webhook.reference) {
            self.forget(reference);
            if let Some(hooks) = self.by_task.get_mut(&task) {
                hooks.retain(|other| *other != reference);
                if hooks.is_empty() {
                    self.by_task.remove(&task);
                }
            }
        }
    }

    /// Forgets everything about a task.
    pub(super) fn remove(&mut self, task: TaskRef) {
        for reference in self.by_task.remove(&task).unwrap_or_default() {
            self.forget(reference);
        }
    }

    pub(super) fn claim(&mut self, lease: &Lease, most: usize, now: Instant) -> Vec<Delivery> {
        let due = self.due.range(..=(now, WebhookRef(i64::MAX))).take(most);
        let due: Vec<WebhookRef> = due.map(|(_, reference)| *reference).collect();
        let until = later(now, lease.lasts);
        due.into_iter()
            .filter_map(|reference| {
                self.change(reference, |hook, letters| hook.take(letters, until, now)).flatten()
            })
            .collect()
    }

    /// Writes down how sending went, if the delivery is still the sender's.
    pub(super) fn settle(&mut self, delivery: &Delivery, progress: Progress, now: Instant) -> bool {
        let reference = delivery.webhook.reference;
        let Some(hook) = self.hooks.get(&reference) else { return false };
        let is_current = match (hook.taken, delivery.again) {
            (Some(Taken { again: None, .. }), None) => delivery.seq == hook.webhook.sent.next(),
            (Some(Taken { again: Some(taken), .. }), Some(again)) => taken == again,
            _ => false,
        };
        if !is_current || hook.epoch != delivery.epoch {
            return false;
        }
        match delivery.again {
            Some(letter) => self.settle_letter(reference, letter, progress, now),
            None => self.settle_event(reference, progress, now),
        }
        true
    }

    fn settle_event(&mut self, reference: WebhookRef, progress: Progress, now: Instant) {
        let letter = DeadLetterId(self.made + 1);
        let dead = self.change(reference, |hook, _| {
            let seq = hook.webhook.sent.next();
            match progress {
                Progress::Sent => {
                    (hook.webhook.sent, hook.attempts) = (seq, 0);
                    if hook.webhook.sent < hook.newest {
                        return None;
                    }
                }
                Progress::Retry { after, .. } => {
                    (hook.attempts, hook.due) = (hook.attempts + 1, later(now, after));
                }
                Progress::Dead { error } => {
                    let attempts = hook.attempts + 1;
                    (hook.webhook.sent, hook.attempts, hook.due) = (seq, 0, now);
                    hook.taken = None;
                    hook.letters.insert(letter);
                    return Some((seq, attempts, error));
                }
                Progress::Released => hook.due = now,
            }
            hook.taken = None;
            None
        });
        if let Some((seq, attempts, error)) = dead.flatten() {
            self.made += 1;
            let at = Timestamp::now();
            let hook = reference;
            let dead = Letter { hook, seq, attempts, error, at, given_up: now, again: None };
            self.letters.insert(letter, dead);
            self.by_age.insert((now, letter));
        }
    }

    fn settle_letter(
        &mut self,
        reference: WebhookRef,
        id: DeadLetterId,
        progress: Progress,
        now: Instant,
    ) {
        let by_age = &mut self.by_age;
        if let (Some(letter), false) = (self.letters.get_mut(&id), progress == Progress::Sent) {
            match progress {
                Progress::Retry { after, .. } => {
                    letter.attempts += 1;
                    letter.again = Some(later(now, after));
                }
                Progress::Dead { error } => {
                    by_age.remove(&(letter.given_up, id));
                    by_age.insert((now, id));
                    letter.attempts += 1;
                    (letter.error, letter.at) = (error, Timestamp::now());
                    (letter.given_up, letter.again) = (now, None);
                }
                Progress::Sent | Progress::Released => {}
            }
        } else {
            self.forget_letter(id);
        }
        self.change(reference, |hook, _| hook.taken = None);
    }

    /// Returns dead letters with their tasks, the newest first.
    pub(super) fn dead_letters(&self) -> impl Iterator<Item = (TaskRef, DeadLetter)> {
        self.by_age.iter().rev().filter_map(|(_, id)| self.dead_letter(*id))
    }

    /// Returns a dead letter with its task.
    pub(super) fn dead_letter(&self, id: DeadLetterId) -> Option<(TaskRef, DeadLetter)> {
        let letter = self.letters.get(&id)?;
        let webhook = &self.hooks.get(&letter.hook)?.webhook;
        let dead = DeadLetter {
            id,
            task: webhook.task_id.clone(),
            webhook: webhook.id.clone(),
            url: webhook.url.clone(),
            seq: letter.seq,
            attempts: letter.attempts,
            error: letter.error.clone(),
            at: letter.at,
        };
        Some((webhook.task, dead))
    }

    /// Has a dead letter sent again.
    pub(super) fn resend(&mut self, id: DeadLetterId, now: Instant) {
        if let Some(letter) = self.letters.get_mut(&id) {
            letter.again = Some(now);
            let hook = letter.hook;
            self.change(hook, |_, _| ());
        }
    }

    /// Removes dead letters that were given up so long ago.
    pub(super) fn sweep(&mut self, age: Duration, most: usize, now: Instant) -> usize {
        let old = self.by_age.iter().take(most);
        let old = old.take_while(|(given_up, _)| now.duration_since(*given_up) >= age);
        let old: Vec<DeadLetterId> = old.map(|(_, id)| *id).collect();
        for id in &old {
            if let Some(hook) = self.forget_letter(*id) {
                self.change(hook, |hook, _| {
                    hook.taken = hook.taken.filter(|taken| taken.again != Some(*id));
                });
            }
        }
        old.len()
    }

    fn find(&self, task: TaskRef, id: &PushConfigId) -> Option<&Webhook> {
        let hooks = self.by_task.get(&task)?.iter();
        let mut webhooks = hooks.filter_map(|hook| Some(&self.hooks.get(hook)?.webhook));
        webhooks.find(|webhook| webhook.id == *id)
    }

    /// Changes a webhook, and finds anew when it can be taken.
    fn change<T>(
        &mut self,
        reference: WebhookRef,
        change: impl FnOnce(&mut Hook, &BTreeMap<DeadLetterId, Letter>) -> T,
    ) -> Option<T> {
        let hook = self.hooks.get_mut(&reference)?;
        if let Some(before) = hook.indexed.take() {
            self.due.remove(&(before, reference));
        }
        let changed = change(hook, &self.letters);
        hook.indexed = hook.next(&self.letters);
        self.due.extend(hook.indexed.map(|after| (after, reference)));
        Some(changed)
    }

    fn forget(&mut self, reference: WebhookRef) {
        let Some(hook) = self.hooks.remove(&reference) else { return };
        if let Some(indexed) = hook.indexed {
            self.due.remove(&(indexed, reference));
        }
        for letter in hook.letters {
            self.forget_letter(letter);
        }
    }

    /// Forgets a letter, and returns the webhook that would not take it.
    fn forget_letter(&mut self, id: DeadLetterId) -> Option<WebhookRef> {
        let letter = self.letters.remove(&id)?;
        self.by_age.remove(&(letter.given_up, id));
        if let Some(hook) = self.hooks.get_mut(&letter.hook) {
            hook.letters.remove(&id);
        }
        Some(letter.hook)
    }
}

impl Hook {
    /// Returns from when on it can be taken, if there is anything to be sent.
    fn next(&self, letters: &BTreeMap<DeadLetterId, Letter>) -> Option<Instant> {
        if let Some(taken) = self.taken {
            return Some(taken.until);
        }
        let event = (self.webhook.sent < self.newest).then_some(self.due);
        event.into_iter().chain(self.again(letters).map(|(due, _)| due)).min()
    }

    /// Returns the dead letter that is to be sent again first.
    fn again(&self, letters: &BTreeMap<DeadLetterId, Letter>) -> Option<(Instant, DeadLetterId)> {
        let wanted = |id: &DeadLetterId| Some((letters.get(id)?.again?, *id));
        self.letters.iter().filter_map(wanted).min()
    }

    fn take(
        &mut self,
        letters: &BTreeMap<DeadLetterId, Letter>,
        until: Instant,
        now: Instant,
    ) -> Option<Delivery> {
        // A delivery that is over may have been for either; what is due first comes first.
        let letter = self.again(letters).filter(|(due, _)| *due <= now).map(|(_, id)| id);
        let has_event = self.webhook.sent < self.newest && self.due <= now;
        let (seq, attempts, again) = match letter.and_then(|id| Some((id, letters.get(&id)?))) {
            _ if has_event => (self.webhook.sent.next(), self.attempts, None),
            Some((id, letter)) => (letter.seq, letter.attempts, Some(id)),
            None => return None,
        };
        self.epoch.0 += 1;
        self.taken = Some(Taken { until, again });
        Some(Delivery { webhook: self.webhook.clone(), epoch: self.epoch, seq, attempts, again })
    }
}

impl Tables {
    pub(super) fn put_webhook(
        &mut self,
        task: TaskRef,
        new: NewWebhook,
        most: u32,
        now: Instant,
    ) -> Result<Webhook, Error> {
        let kept = self.tasks.get(&task).ok_or(Error::Gone)?;
        self.outbox.check_count(task, &new.id, most)?;
        let webhook = self.outbox.put(task, &kept.id, new, kept.seq, now);
        Ok(webhook)
    }

    pub(super) fn dead_letters(&self, scope: &Scope, most: usize) -> Vec<DeadLetter> {
        let seen = self.outbox.dead_letters().filter(|(task, _)| self.sees(scope, *task));
        seen.map(|(_, letter)| letter).take(most).collect()
    }

    pub(super) fn resend(&mut self, scope: &Scope, letter: DeadLetterId, now: Instant) -> bool {
        let is_seen =
            self.outbox.dead_letter(letter).is_some_and(|(task, _)| self.sees(scope, task));
        if is_seen {
            self.outbox.resend(letter, now);
        }
        is_seen
    }

    fn sees(&self, scope: &Scope, task: TaskRef) -> bool {
        self.tasks.get(&task).is_some_and(|kept| scope.sees(&kept.place))
    }
}

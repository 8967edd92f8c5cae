//! Keeping house.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    kept::{Kept, Log},
    read::Found,
    tables::Tables,
};
use crate::{
    log::Snapshot,
    store::{Retention, Swept, TaskRef, Want},
};

impl Tables {
    /// Removes tasks, keys and dead letters. The tasks are returned, to be dropped without the
    /// lock.
    pub(super) fn sweep(
        &mut self,
        retention: &Retention,
        most: usize,
        now: Instant,
    ) -> (Swept, Vec<Kept>) {
        let old = self.old_tasks(retention, most, now);
        let removed: Vec<_> = old.into_iter().filter_map(|task| self.remove(task)).collect();
        let letters = retention.dead_letters;
        let swept = Swept {
            tasks: removed.len(),
            logs: 0,
            keys: retention.keys.map_or(0, |age| self.keys.sweep(&mut self.places, age, most, now)),
            dead_letters: letters.map_or(0, |age| self.outbox.sweep(age, most, now)),
        };
        (swept, removed)
    }

    /// Takes tasks that have been kept long enough from among those that have ended.
    fn old_tasks(&mut self, retention: &Retention, most: usize, now: Instant) -> Vec<TaskRef> {
        let mut old = Vec::new();
        for tenant in self.places.tenants_mut() {
            for (state, keep) in &retention.tasks {
                let Some(ended) = tenant.ended.get_mut(state) else { continue };
                let surplus = keep.count.map_or(0, |count| {
                    ended.tasks.len().saturating_sub(usize::try_from(count).unwrap_or(usize::MAX))
                });
                let is_old =
                    |at: Instant| keep.age.is_some_and(|age| now.duration_since(at) >= age);
                // Those that ended first are in front, so the first that stays is followed by
                // others that stay.
                let aged = ended.tasks.iter().take(most).take_while(|(at, _)| is_old(*at)).count();
                let count = surplus.max(aged).min(most - old.len());
                old.extend(ended.tasks.drain(..count).map(|(_, task)| task));
                ended.trimmed = ended.trimmed.saturating_sub(count);
            }
        }
        old
    }

    /// Finds tasks whose logs have been kept long enough.
    pub(super) fn old_logs(&self, age: Duration, most: usize, now: Instant) -> Vec<Found> {
        let ended = self.places.tenants().flat_map(|tenant| tenant.ended.values());
        let old = ended.flat_map(|ended| {
            let untrimmed = ended.tasks.iter().skip(ended.trimmed);
            untrimmed.take_while(|(at, _)| now.duration_since(*at) >= age)
        });
        let found = old.filter_map(|(_, task)| {
            let kept = self.tasks.get(task).filter(|kept| matches!(kept.log, Log::Packed(_)))?;
            let is_needed = self.outbox.needs_log(*task);
            (!is_needed).then(|| Found::new(*task, kept, Want::ALL, now))
        });
        found.take(most).collect()
    }

    /// Keeps only the ends of logs, which are returned as they were.
    pub(super) fn trim(&mut self, ends: Vec<(TaskRef, Snapshot)>) -> Vec<Log> {
        let mut trimmed = Vec::new();
        for (task, end) in ends {
            // The log of a task that has ended cannot have changed since it was found.
            if let Some(kept) = self.tasks.get_mut(&task)
                && matches!(kept.log, Log::Packed(_))
            {
                trimmed.push(std::mem::replace(&mut kept.log, Log::Trimmed(Box::new(end))));
            }
        }
        for ended in self.places.tenants_mut().flat_map(|tenant| tenant.ended.values_mut()) {
            let rest = ended.tasks.iter().skip(ended.trimmed);
            let is_trimmed =
                |task| self.tasks.get(task).is_some_and(|kept| matches!(kept.log, Log::Trimmed(_)));
            ended.trimmed += rest.take_while(|(_, task)| is_trimmed(task)).count();
        }
        trimmed
    }
}

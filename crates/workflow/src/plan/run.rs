//! Where each node of a run stands.

use std::time::Duration;

use super::{Items, Question};
use crate::template::Output;

/// Where a node stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NodeRun {
    pub(super) state: State,
    /// How often it has been reached, this time included.
    pub(super) iteration: u32,
    /// What it has brought about when it last did.
    pub(super) output: Option<Output>,
    /// The loop that runs it again although it had succeeded.
    pub(super) kept_by: Option<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum State {
    /// It is yet to be decided whether it runs.
    Pending,
    One(Unit),
    Each(Items),
    Ended(Ending),
}

/// How a node has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// With success.
    Completed,
    /// With a failure.
    Failed {
        /// Why.
        reason: String,
        /// Whether an edge leads on from it.
        is_handled: bool,
    },
    /// It was canceled, or something before it failed.
    Canceled {
        /// Why.
        reason: String,
    },
    /// No edge led to it.
    Skipped {
        /// Why.
        reason: String,
    },
}

/// A node, or an item of a list, that is to be worked on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unit {
    pub(super) progress: Progress,
    /// From 1.
    pub(super) attempt: u32,
    /// How long to wait before it.
    pub(super) delay: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// There is no room for it yet.
    Waiting,
    /// It may be started.
    Ready,
    Running {
        asked: Option<Question>,
        is_canceling: bool,
    },
    /// Of an item: it has ended.
    Done,
}

impl NodeRun {
    pub(super) const fn new(output: Option<Output>) -> Self {
        Self { state: State::Pending, iteration: 1, output, kept_by: None }
    }

    pub(super) const fn ending(&self) -> Option<&Ending> {
        match &self.state {
            State::Ended(ending) => Some(ending),
            _ => None,
        }
    }

    pub(super) fn unit(&self, item: Option<u32>) -> Option<&Unit> {
        match (&self.state, item) {
            (State::One(unit), None) => Some(unit),
            (State::Each(items), Some(item)) => items.units.get(item as usize),
            _ => None,
        }
    }

    pub(super) fn unit_mut(&mut self, item: Option<u32>) -> Option<&mut Unit> {
        match (&mut self.state, item) {
            (State::One(unit), None) => Some(unit),
            (State::Each(items), Some(item)) => items.units.get_mut(item as usize),
            _ => None,
        }
    }

    /// Returns what is or will be worked on, with the numbers of items.
    pub(super) fn units(&self) -> impl Iterator<Item = (Option<u32>, &Unit)> {
        let (one, each): (Option<&Unit>, &[Unit]) = match &self.state {
            State::One(unit) => (Some(unit), &[]),
            State::Each(items) => (None, &items.units),
            State::Pending | State::Ended(_) => (None, &[]),
        };
        one.into_iter().map(|unit| (None, unit)).chain((0..).map(Some).zip(each))
    }
}

impl Unit {
    pub(super) const fn new(progress: Progress) -> Self {
        Self { progress, attempt: 1, delay: Duration::ZERO }
    }

    pub(super) const fn question(&self) -> Option<Question> {
        match self.progress {
            Progress::Running { asked, .. } => asked,
            _ => None,
        }
    }
}

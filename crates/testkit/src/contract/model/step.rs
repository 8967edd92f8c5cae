//! What can be done to a store.

use nuncio_protocol::state::TaskState;
use proptest::{bool::weighted, collection::vec, option, prelude::*, sample::select};

/// One call. Tasks are named by the order of their opening, modulo how many there are.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Create(Opening),
    Write(Write),
    Renew {
        task: usize,
        epoch: Guess,
    },
    /// The owner is gone.
    Expire {
        task: usize,
        epoch: Guess,
    },
    Release {
        task: usize,
        epoch: Guess,
    },
    Claim {
        most: usize,
    },
    Sweep {
        state: TaskState,
        keep: u64,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Opening {
    pub by_bob: bool,
    pub state: TaskState,
    pub is_leased: bool,
    pub has_wake_up: bool,
    pub key: Option<Key>,
    pub note: Option<u8>,
    /// The task that it is opened for.
    pub parent: Option<usize>,
}

/// An append, by somebody who may be wrong about the task.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub task: usize,
    /// `None` for a signal.
    pub epoch: Option<Guess>,
    /// The state that the writer takes for granted; the right one if `None`.
    pub state: Option<TaskState>,
    pub changes: Vec<Change>,
    pub snapshot: Snapshot,
    pub tenancy: Tenancy,
    /// Sets a wake-up that is due at once, or takes it back.
    pub wake: Option<bool>,
    pub key: Option<Key>,
    pub note: Option<u8>,
    /// Whether the key that opened the task is let go.
    pub forgets_key: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    Status(TaskState),
    Artifact(u8),
    Input,
    Cancel,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Guess {
    Right,
    Older,
    Newer,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Snapshot {
    None,
    Right,
    /// Of another place, and unreadable.
    Wrong,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Tenancy {
    Keep,
    End,
    Take,
}

/// Which key, and which request.
pub(super) type Key = (u8, u8);

pub(super) fn sequences() -> impl Strategy<Value = Vec<Step>> {
    vec(step(), 1..60)
}

fn step() -> impl Strategy<Value = Step> {
    let task = || 0..8_usize;
    prop_oneof![
        3 => opening().prop_map(Step::Create),
        12 => write().prop_map(Step::Write),
        1 => (task(), guess()).prop_map(|(task, epoch)| Step::Renew { task, epoch }),
        2 => (task(), guess()).prop_map(|(task, epoch)| Step::Expire { task, epoch }),
        2 => (task(), guess()).prop_map(|(task, epoch)| Step::Release { task, epoch }),
        2 => prop_oneof![Just(1), Just(2), Just(100)].prop_map(|most| Step::Claim { most }),
        1 => (state(), 0..3_u64).prop_map(|(state, keep)| Step::Sweep { state, keep }),
    ]
}

fn opening() -> impl Strategy<Value = Opening> {
    let state = prop_oneof![4 => Just(TaskState::Working), 2 => state()];
    let parent = option::weighted(0.3, 0..8_usize);
    (any::<bool>(), state, any::<bool>(), any::<bool>(), key(), note(), parent).prop_map(
        |(by_bob, state, is_leased, has_wake_up, key, note, parent)| Opening {
            by_bob,
            // A task cannot begin without a state.
            state: if state == TaskState::Unspecified { TaskState::Submitted } else { state },
            is_leased,
            has_wake_up,
            key,
            note,
            parent,
        },
    )
}

fn write() -> impl Strategy<Value = Write> {
    let epoch = option::weighted(0.7, guess());
    let guessed = option::weighted(0.15, state());
    let snapshot = select(&[Snapshot::None, Snapshot::Right, Snapshot::Wrong][..]);
    let tenancy = select(&[Tenancy::Keep, Tenancy::Keep, Tenancy::End, Tenancy::Take][..]);
    let wake = option::weighted(0.2, any::<bool>());
    let changes = vec(change(), 0..4);
    let forgets = weighted(0.1);
    (0..8_usize, epoch, guessed, changes, snapshot, tenancy, wake, key(), note(), forgets).prop_map(
        |(task, epoch, state, changes, snapshot, tenancy, wake, key, note, forgets_key)| Write {
            task,
            epoch,
            state,
            changes,
            snapshot,
            tenancy,
            wake,
            key,
            note,
            forgets_key,
        },
    )
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => prop_oneof![3 => Just(TaskState::Working), 3 => state()].prop_map(Change::Status),
        2 => (0..2_u8).prop_map(Change::Artifact),
        2 => Just(Change::Input),
        1 => Just(Change::Cancel),
    ]
}

fn guess() -> impl Strategy<Value = Guess> {
    prop_oneof![6 => Just(Guess::Right), 1 => Just(Guess::Older), 1 => Just(Guess::Newer)]
}

fn state() -> impl Strategy<Value = TaskState> {
    select(TaskState::ALL)
}

fn note() -> impl Strategy<Value = Option<u8>> {
    option::weighted(0.2, any::<u8>())
}

fn key() -> impl Strategy<Value = Option<Key>> {
    option::weighted(0.2, (0..3_u8, 0..2_u8))
}

//! Any sequence of calls, against a store and against a model that is too simple to be wrong.
//!
//! The model has a vector of records for each task, the table of legal changes written out, and
//! neither transactions nor indexes. After every step all heads are compared, in the end
//! everything is: logs without a gap, every prefix of them, folds, lists. Time plays no part: a
//! lease runs out by being renewed for no time at all.

mod expected;
mod step;

use std::{fmt::Debug, time::Duration};

use bytes::Bytes;
use nuncio_protocol::{message::Message, state::TaskState};
use nuncio_tasks::{
    log::{Batch, Folded, Seq, Snapshot},
    store::{
        Append, Appended, Claim, Claimed, Create, Created, Epoch, Error, Filter, Head, Keep, Lease,
        Page, Position, Retention, Store, Tenancy, Tenure, Wake, Want, order,
    },
};
use proptest::test_runner::{Config, TestRunner};
use tokio::runtime::Runtime;

use self::{
    expected::{Hold, Known, Lookup, Model, Outcome, is_legal},
    step::{Change, Guess, Opening, Step, Write},
};
use super::{
    Fixture,
    story::{acme, ann, bob, chunk, claim, folded, key, lease, log, moment, name, opening_as},
};

/// Runs so many sequences of calls, each on a new store, and shows the shortest that goes wrong.
/// The factory is one as for the [checks](super::contract_tests).
pub fn check<T: Into<Option<Fixture>>>(cases: u32, factory: impl AsyncFn() -> T) {
    let runtime = Runtime::new().expect("a runtime can be started");
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let run = TestRunner::new(config).run(&step::sequences(), |steps| {
        runtime.block_on(async {
            let Some(fixture) = factory().await.into() else { return };
            let mut run = Run { store: fixture.store(), model: Model::default(), now: 0 };
            for step in steps {
                run.step(step).await;
                run.compare_heads().await;
            }
            run.compare_everything().await;
        });
        Ok(())
    });
    if let Err(error) = run {
        panic!("{error}");
    }
}

/// A store, and what it should be like.
struct Run<'a> {
    store: &'a dyn Store,
    model: Model,
    /// In seconds; goes on with every step.
    now: i64,
}

impl Run<'_> {
    async fn step(&mut self, step: Step) {
        self.now += 1;
        match step {
            Step::Create(opening) => self.create(opening).await,
            Step::Claim { most } => self.claim(most).await,
            Step::Sweep { state, keep } => self.sweep(state, keep).await,
            _ if self.model.tasks.is_empty() => {}
            Step::Write(write) => self.write(write).await,
            Step::Renew { task, epoch } => self.renew(task, epoch, Hold::Held).await,
            Step::Expire { task, epoch } => self.renew(task, epoch, Hold::RunOut).await,
            Step::Release { task, epoch } => self.release(task, epoch).await,
        }
    }

    async fn create(&mut self, opening: Opening) {
        let Opening { by_bob, state, is_leased, has_wake_up, key: named, note, parent } = opening;
        let parent = parent.filter(|_| !self.model.tasks.is_empty());
        let parent =
            parent.map(|parent| self.model.tasks[parent % self.model.tasks.len()].head.id.clone());
        let place = if by_bob { bob() } else { ann() };
        let create = Create {
            lease: is_leased.then(|| lease("one")),
            wake: if has_wake_up { Wake::After(Duration::ZERO) } else { Wake::Keep },
            key: named.map(|(text, request)| key(&text.to_string(), request)),
            note: note.map(bytes_of),
            parent: parent.clone(),
            ..opening_as(&place, state, moment(self.now))
        };
        let batch = create.batch.clone();
        let created = self.store.create(create).await;
        match (self.model.look_up(&place, named), created) {
            (Lookup::New, Ok(Created::New(head))) => {
                let expected = Head {
                    reference: head.reference,
                    id: batch.task().clone(),
                    context: batch.context().clone(),
                    place: place.clone(),
                    state,
                    updated: moment(self.now),
                    seq: Seq(1),
                    bytes: batch.bytes() as u64,
                    epoch: Epoch(u64::from(is_leased)),
                    owned: is_leased && !state.is_terminal(),
                };
                assert_eq!(head, expected);
                self.model.keep_key(&place, named, self.model.tasks.len(), Seq(1));
                let hold = if is_leased { Hold::Held } else { Hold::Free };
                self.model.open(head, &batch, hold, has_wake_up);
                let known = self.model.tasks.last_mut().expect("it was opened just now");
                (known.note, known.parent) = (note, parent);
            }
            (Lookup::Repeated { task, .. }, Ok(Created::Repeated(head))) => {
                let known = &self.model.tasks[task];
                assert_eq!(head.as_ref(), (!known.is_gone).then_some(&known.head));
            }
            (Lookup::Reused, Err(Error::KeyReused)) => {}
            (expected, found) => differ(&expected, &found),
        }
    }

    async fn write(&mut self, mut write: Write) {
        let task = write.task % self.model.tasks.len();
        let known = &self.model.tasks[task];
        let mut guessed = known.head.clone();
        guessed.state = write.state.unwrap_or(guessed.state);
        let batch = build(&guessed, &write.changes, self.now);
        // A key stands for entries, so it comes with some.
        write.key = write.key.filter(|_| !batch.is_empty());
        let held = write.epoch.map(|guess| known.guess(guess));
        let append = Append {
            task: known.head.reference,
            epoch: held,
            snapshot: match write.snapshot {
                step::Snapshot::None => None,
                step::Snapshot::Right => Some(known.fold_with(&batch).snapshot()),
                step::Snapshot::Wrong => Some(unreadable(known.head.seq.plus(7))),
            },
            tenancy: match write.tenancy {
                step::Tenancy::Keep => Tenancy::Keep,
                step::Tenancy::End => Tenancy::End,
                step::Tenancy::Take => Tenancy::Take(lease("one")),
            },
            key: write.key.map(|(text, request)| key(&text.to_string(), request)),
            webhooks: Vec::new(),
            wake: match write.wake {
                None => Wake::Keep,
                Some(true) => Wake::After(Duration::ZERO),
                Some(false) => Wake::Never,
            },
            note: write.note.map(bytes_of),
            forget_key: write.forgets_key,
            batch: batch.clone(),
        };
        let appended = self.store.append(append).await;
        match (self.model.append(task, &write, &batch), appended) {
            (Outcome::Done { taken: expected }, Ok(Appended::Done { head, taken })) => {
                assert_eq!((&head, taken), (&self.model.tasks[task].head, expected));
            }
            (
                Outcome::Repeated { task: first, seq: place },
                Ok(Appended::Repeated { task, seq }),
            ) => assert_eq!((&task, seq), (&self.model.tasks[first].head.id, place)),
            (Outcome::Fenced { current: expected }, Err(Error::Fenced { held: told, current })) => {
                assert_eq!((Some(told), current), (held, expected));
            }
            (Outcome::StateChanged { found: is }, Err(Error::StateChanged { expected, found })) => {
                assert_eq!((expected, found), (batch.from(), is));
            }
            (Outcome::Gone, Err(Error::Gone)) | (Outcome::KeyReused, Err(Error::KeyReused)) => {}
            (expected, found) => differ(&expected, &found),
        }
    }

    async fn renew(&mut self, task: usize, guess: Guess, hold: Hold) {
        let lasts = if hold == Hold::Held { lease("one").lasts } else { Duration::ZERO };
        let (task, tenure) = self.tenure(task, guess);
        let renewal = Lease { owner: name("one"), lasts };
        let lost = self.store.renew(renewal, vec![tenure]).await.expect("renewed");
        let is_kept = self.model.tasks[task].change_hold(tenure.epoch, hold);
        assert_eq!(lost.is_empty(), is_kept);
    }

    async fn release(&mut self, task: usize, guess: Guess) {
        let (task, tenure) = self.tenure(task, guess);
        self.store.release(vec![tenure]).await.expect("released");
        self.model.tasks[task].change_hold(tenure.epoch, Hold::Released);
    }

    fn tenure(&self, task: usize, guess: Guess) -> (usize, Tenure) {
        let task = task % self.model.tasks.len();
        let known = &self.model.tasks[task];
        (task, Tenure { task: known.head.reference, epoch: known.guess(guess) })
    }

    async fn claim(&mut self, most: usize) {
        let needy = self.model.tasks.iter().filter(|known| known.need().is_some()).count();
        let claim = Claim { most, ..claim("one") };
        let claimed = self.store.claim(claim).await.expect("claimed");
        assert_eq!(claimed.len(), needy.min(most));
        for Claimed { head, reason } in claimed {
            let known = self.model.tasks.iter_mut().find(|known| known.head.id == head.id);
            let known = known.expect("only what was opened is claimed");
            assert_eq!(Some(reason), known.need());
            known.claim(reason);
            assert_eq!(head, known.head);
        }
    }

    async fn sweep(&mut self, state: TaskState, keep: u64) {
        let rule = (state, Keep { age: None, count: Some(keep) });
        let retention = Retention { tasks: [rule].into(), ..Retention::default() };
        let swept = self.store.sweep(&retention, 100).await.expect("swept");
        assert_eq!(swept.tasks, self.model.sweep(state, keep));
    }

    async fn compare_heads(&self) {
        for known in &self.model.tasks {
            let found = self.store.find(&acme(), &known.head.id).await.expect("found");
            assert_eq!(found.as_ref(), (!known.is_gone).then_some(&known.head));
        }
    }

    async fn compare_everything(&self) {
        for known in &self.model.tasks {
            let entries = log(self.store, known.head.reference).await;
            self.compare_extras(known).await;
            if known.is_gone {
                assert!(entries.is_empty());
                continue;
            }
            assert_eq!(entries, known.entries());
            let now = folded(self.store, &known.head, Want::ALL).await;
            assert_eq!(Folded::from_log(None, &entries).as_ref(), Ok(&now));
            for place in 1..=entries.len() {
                let (before, _) = entries.split_at(place);
                let at = folded(self.store, &known.head, Want::at(Seq(place as u64))).await;
                assert_eq!(Folded::from_log(None, before), Ok(at), "as of {place}");
            }
        }
        for state in TaskState::ALL {
            self.compare_list(&[*state]).await;
        }
        self.compare_list(&[TaskState::InputRequired, TaskState::Working]).await;
        self.compare_list(&[]).await;
    }

    /// Compares what only some tasks have, and what was opened for a task, gone or not.
    async fn compare_extras(&self, known: &Known) {
        let task = known.head.reference;
        let note = known.note.map(bytes_of).filter(|_| !known.is_gone);
        assert_eq!(self.store.note(task).await.expect("read"), note);
        let parent = known.parent.as_ref().filter(|_| !known.is_gone);
        assert_eq!(self.store.parent(task).await.expect("read").as_ref(), parent);
        let there = self.model.tasks.iter().filter(|other| !other.is_gone);
        let children = there.filter(|other| other.parent.as_ref() == Some(&known.head.id));
        let expected: Vec<&Head> = children.map(|child| &child.head).collect();
        let found = self.store.children(&acme(), &known.head.id, 100).await.expect("read");
        assert_eq!(found.iter().collect::<Vec<_>>(), expected);
    }

    /// Compares the tasks in some states, or all if there are none.
    async fn compare_list(&self, states: &[TaskState]) {
        let there = self.model.tasks.iter().filter(|known| !known.is_gone);
        let heads = there.map(|known| &known.head);
        let mut expected: Vec<&Head> =
            heads.filter(|head| states.is_empty() || states.contains(&head.state)).collect();
        let place = |head: &&Head| (order(head.updated), head.id.clone());
        expected.sort_by_key(|head| std::cmp::Reverse(place(head)));
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = Page { after, size: 3, history: false, artifacts: false };
            let filter = Filter { states: states.to_vec(), ..Filter::default() };
            let listed = self.store.list(&acme(), filter, page).await.expect("listed");
            assert_eq!(listed.total, expected.len() as u64);
            found.extend(listed.tasks.into_iter().map(|task| task.head));
            if !listed.more {
                break;
            }
            after = found
                .last()
                .map(|head: &Head| Position { updated: order(head.updated), id: head.id.clone() });
        }
        assert_eq!(found.iter().collect::<Vec<_>>(), expected);
    }
}

/// Makes a batch of what the rules allow, and checks that it holds nothing else.
fn build(head: &Head, changes: &[Change], now: i64) -> Batch {
    let mut state = head.state;
    let mut batch = Batch::follow(head.id.clone(), head.context.clone(), state);
    for change in changes {
        let is_over = state.is_terminal();
        let (made, allowed) = match *change {
            Change::Status(next) => {
                let word = Some(Message::agent("a word"));
                let allowed = is_legal(state, next);
                state = if allowed { next } else { state };
                (batch.status(next, word, moment(now)), allowed)
            }
            Change::Artifact(id) => {
                (batch.output(chunk(head, &id.to_string(), "a piece")), !is_over)
            }
            Change::Input => {
                state = if state.is_interrupted() { TaskState::Working } else { state };
                (batch.input(Message::user("a message"), moment(now)), !is_over)
            }
            Change::Cancel => (batch.cancel(moment(now)), !is_over),
        };
        assert_eq!(made.is_ok(), allowed, "{change:?} in {state:?}: {made:?}");
        assert_eq!(batch.to(), state);
    }
    batch
}

/// A note of its own for every number.
fn bytes_of(note: u8) -> Bytes {
    Bytes::from(vec![note; usize::from(note)])
}

fn unreadable(seq: Seq) -> Snapshot {
    let text = Bytes::from_static(b"not a task");
    Snapshot { seq, task: text.clone(), history: text.clone(), artifacts: text }
}

fn differ(expected: &dyn Debug, found: &dyn Debug) {
    panic!("expected {expected:?}, found {found:?}");
}

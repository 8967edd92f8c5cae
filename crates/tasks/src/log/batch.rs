//! Records that are written together, checked before they are.

use nuncio_protocol::{
    ids::{ContextId, TaskId},
    json::{self, Object, Raw, Shared},
    message::Message,
    state::{IllegalTransition, TaskState},
    task::{StreamResponse, TASK_METADATA, Task, TaskStatus, TaskStatusUpdateEvent},
    time::Timestamp,
};

use super::{Kind, Record};

/// The member of an event's metadata that says that somebody wants the work to end.
pub(crate) const CANCEL_REQUESTED: &str = "cancelRequested";

/// The member of an event's metadata that says that the work cannot be ended, and why.
pub(crate) const CANCEL_REFUSED: &str = "cancelRefused";

/// Records that go into a log as one: all or none.
///
/// Invariant: the states inside follow the rules of A2A from [`from`](Self::from) to
/// [`to`](Self::to), and every event names the task. A store only compares `from` with the
/// state it finds.
#[derive(Clone, Debug)]
pub struct Batch {
    task: TaskId,
    context: ContextId,
    /// Unspecified for a batch that opens a task.
    from: TaskState,
    to: TaskState,
    /// The time of the newest status in it.
    updated: Option<Timestamp>,
    records: Vec<Record>,
    bytes: usize,
}

/// Why a record cannot go into a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// Nothing can follow a terminal state.
    #[error("the task has ended as {}", .0.as_str())]
    AfterEnd(TaskState),
    /// The rules do not allow this change.
    #[error(transparent)]
    Illegal(#[from] IllegalTransition),
    /// The event is about another task or context.
    #[error("the event names {member} {found}, but the task has {expected}")]
    Foreign {
        /// `taskId` or `contextId`.
        member: &'static str,
        /// What the event says.
        found: String,
        /// What it should say.
        expected: String,
    },
    /// The event is not what it should be.
    #[error("the event cannot be read: {what}")]
    Unreadable {
        /// What is wrong.
        what: String,
    },
    /// Only status and artifact updates can follow in a log.
    #[error("a {0} cannot follow in the log of a task")]
    NotAnUpdate(&'static str),
    /// The event is larger than is allowed.
    #[error("the event has {bytes} bytes, at most {limit} are allowed")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The task has as many events, or as many bytes, as is allowed.
    #[error("the task has reached its limit of {limit} {what}")]
    Full {
        /// `events` or `bytes`.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
}

impl Refused {
    /// Tells whether there is nothing wrong with it but the moment: the task is not, or no
    /// longer, where it could follow.
    pub const fn is_out_of_turn(&self) -> bool {
        matches!(self, Self::AfterEnd(_) | Self::Illegal(_))
    }
}

impl Batch {
    /// Opens a task. Its history holds the message that asked for it.
    pub fn open(task: &Task, context: ContextId) -> Result<Self, Refused> {
        let to = task.status.state.open()?.to();
        let mut batch = Self {
            task: task.id.clone(),
            context,
            from: TaskState::Unspecified,
            to,
            updated: task.status.timestamp,
            records: Vec::with_capacity(4),
            bytes: 0,
        };
        let event = StreamResponse::of_task(task);
        batch.push(Record { kind: Kind::Opened, event, message: None });
        Ok(batch)
    }

    /// Continues a task that is in state `from`.
    pub fn follow(task: TaskId, context: ContextId, from: TaskState) -> Self {
        Self { task, context, from, to: from, updated: None, records: Vec::new(), bytes: 0 }
    }

    /// Adds what the agent says.
    pub fn output(&mut self, event: Shared<StreamResponse>) -> Result<(), Refused> {
        let response = event.value().map_err(|error| unreadable(&error))?;
        let (task, context) = match response {
            StreamResponse::StatusUpdate(update) => (&update.task_id, &update.context_id),
            StreamResponse::ArtifactUpdate(update) => (&update.task_id, &update.context_id),
            StreamResponse::Task(_) => return Err(Refused::NotAnUpdate("task")),
            StreamResponse::Message(_) => return Err(Refused::NotAnUpdate("message")),
        };
        check_name("taskId", task.as_str(), self.task.as_str())?;
        check_name("contextId", context.as_str(), self.context.as_str())?;
        if self.to.is_terminal() {
            return Err(Refused::AfterEnd(self.to));
        }
        if let StreamResponse::StatusUpdate(update) = response {
            let next = update.status.state;
            // A word about why it has not begun is no change, nor is what the task's metadata is.
            let says = update.status.message.is_some() || update.metadata.is_some();
            let is_word = self.to == TaskState::Submitted && says;
            if !is_word || next != TaskState::Submitted {
                self.to = self.to.advance(next)?.to();
            }
            self.updated = update.status.timestamp.or(self.updated);
        }
        self.push(Record { kind: Kind::Output, event, message: None });
        Ok(())
    }

    /// Adds what somebody says to the agent. A task that waited for it goes on.
    pub fn input(&mut self, message: Message, now: Timestamp) -> Result<(), Refused> {
        if self.to.is_interrupted() {
            self.to = self.to.advance(TaskState::Working)?.to();
        }
        self.signal(Kind::Input, Some(message), None, now)
    }

    /// Adds that somebody wants the work to end.
    pub fn cancel(&mut self, now: Timestamp) -> Result<(), Refused> {
        self.cancel_with(&Object::default(), now)
    }

    /// Adds that somebody wants the work to end, and the metadata of that wish.
    pub fn cancel_with(&mut self, wish: &Object, now: Timestamp) -> Result<(), Refused> {
        // What is said to the agent is not what becomes of the task.
        let metadata = wish.without(TASK_METADATA).with(CANCEL_REQUESTED, Raw::bool(true));
        self.signal(Kind::Cancel, None, Some(metadata), now)
    }

    /// Adds a status of the given state, with or without a word about it.
    pub fn status(
        &mut self,
        state: TaskState,
        message: Option<Message>,
        now: Timestamp,
    ) -> Result<(), Refused> {
        let mut status = TaskStatus::new(state, now);
        status.message = message.map(|mut message| {
            message.task_id = Some(self.task.clone());
            message.context_id = Some(self.context.clone());
            Box::new(message)
        });
        self.output(Shared::new(StreamResponse::StatusUpdate(self.update(status, None))))
    }

    /// Returns the same records for a task that turns out to be in another state. Signals say
    /// that state then.
    pub fn rebase(&self, from: TaskState) -> Result<Self, Refused> {
        let mut batch = Self::follow(self.task.clone(), self.context.clone(), from);
        for record in &self.records {
            let Record { kind, event, message } = record;
            let response = event.value().map_err(|error| unreadable(&error))?;
            let at = match response {
                StreamResponse::StatusUpdate(update) => update.status.timestamp,
                _ => None,
            };
            let at = at.or(self.updated);
            match (kind, at, message) {
                (Kind::Input, Some(at), Some(message)) => {
                    batch
                        .input(message.value().map_err(|error| unreadable(&error))?.clone(), at)?;
                }
                (Kind::Cancel, Some(at), _) => {
                    batch.cancel_with(&record.cancel_wish().unwrap_or_default(), at)?;
                }
                _ => batch.output(event.clone())?,
            }
        }
        Ok(batch)
    }

    /// Returns the task.
    pub fn task(&self) -> &TaskId {
        &self.task
    }

    /// Returns the conversation.
    pub fn context(&self) -> &ContextId {
        &self.context
    }

    /// Returns the state that the task must be in; unspecified if the batch opens it.
    pub fn from(&self) -> TaskState {
        self.from
    }

    /// Returns the state that the task is in afterwards.
    pub fn to(&self) -> TaskState {
        self.to
    }

    /// Returns the time of the newest status in it, if there is one.
    pub fn updated(&self) -> Option<Timestamp> {
        self.updated
    }

    /// Returns the records, in order.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Returns about how much text is in it.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes all texts that nobody has asked for yet: for stores that keep them, where one thread
    /// writes for all and has enough to do.
    pub fn spell(&self) {
        for record in &self.records {
            record.event.json();
            record.message.as_ref().map(Shared::json);
        }
    }

    /// Tells whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// A signal repeats the state that the task is in: it is an event that readers see, but
    /// only the owner changes the state of running work.
    fn signal(
        &mut self,
        kind: Kind,
        message: Option<Message>,
        metadata: Option<Object>,
        now: Timestamp,
    ) -> Result<(), Refused> {
        if self.to.is_terminal() {
            return Err(Refused::AfterEnd(self.to));
        }
        self.updated = Some(now);
        let event = self.update(TaskStatus::new(self.to, now), metadata);
        self.push(Record {
            kind,
            event: Shared::new(StreamResponse::StatusUpdate(event)),
            message: message.map(Shared::new),
        });
        Ok(())
    }

    fn update(&self, status: TaskStatus, metadata: Option<Object>) -> TaskStatusUpdateEvent {
        TaskStatusUpdateEvent {
            task_id: self.task.clone(),
            context_id: self.context.clone(),
            status,
            metadata,
        }
    }

    fn push(&mut self, record: Record) {
        self.bytes += record.bytes();
        self.records.push(record);
    }
}

fn unreadable(error: &json::Error) -> Refused {
    Refused::Unreadable { what: error.to_string() }
}

fn check_name(member: &'static str, found: &str, expected: &str) -> Result<(), Refused> {
    if found == expected {
        return Ok(());
    }
    Err(Refused::Foreign { member, found: found.to_owned(), expected: expected.to_owned() })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use nuncio_protocol::{
        ids::ArtifactId,
        message::Part,
        task::{Artifact, TaskArtifactUpdateEvent},
    };
    use proptest::prelude::*;

    use super::*;
    use crate::log::{Entry, Folded, Seq};

    fn task_id() -> TaskId {
        TaskId::parse("task").expect("a short text is an identifier")
    }

    fn context_id() -> ContextId {
        ContextId::parse("context").expect("a short text is an identifier")
    }

    fn moment(seconds: i64) -> Timestamp {
        Timestamp::from_parts(seconds, 0).expect("on the calendar")
    }

    fn opened(state: TaskState) -> Task {
        let mut task = Task::new(task_id(), context_id(), TaskStatus::new(state, moment(0)));
        task.history.push(Message::user("hello"));
        task
    }

    fn follow(from: TaskState) -> Batch {
        Batch::follow(task_id(), context_id(), from)
    }

    fn status(task: &str, context: &str, state: TaskState) -> Shared<StreamResponse> {
        Shared::new(StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
            task_id: TaskId::parse(task).expect("a short text is an identifier"),
            context_id: ContextId::parse(context).expect("a short text is an identifier"),
            status: TaskStatus::new(state, moment(1)),
            metadata: None,
        }))
    }

    fn artifact(task: &str, context: &str) -> Shared<StreamResponse> {
        let id = ArtifactId::parse("a").expect("a short text is an identifier");
        Shared::new(StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: TaskId::parse(task).expect("a short text is an identifier"),
            context_id: ContextId::parse(context).expect("a short text is an identifier"),
            artifact: Artifact::new(id, vec![Part::text("text")]),
            append: false,
            last_chunk: true,
            metadata: None,
        }))
    }

    #[track_caller]
    fn refuses(from: TaskState, event: Shared<StreamResponse>, expected: &Refused) {
        let mut batch = follow(from);
        assert_eq!(batch.output(event), Err(expected.clone()));
        assert!(batch.is_empty(), "what is refused leaves nothing");
        assert_eq!((batch.to(), batch.bytes(), batch.updated()), (from, 0, None));
    }

    #[test]
    fn nothing_follows_a_terminal_state() {
        for state in TaskState::ALL.iter().copied().filter(|state| state.is_terminal()) {
            let ended = Refused::AfterEnd(state);
            refuses(state, artifact("task", "context"), &ended);
            refuses(state, status("task", "context", TaskState::Working), &ended);
            let mut batch = follow(state);
            assert_eq!(batch.input(Message::user("late"), moment(1)), Err(ended.clone()));
            assert_eq!(batch.cancel(moment(1)), Err(ended.clone()));
            assert!(batch.is_empty());

            let mut batch = follow(TaskState::Working);
            batch.status(state, None, moment(1)).unwrap();
            assert_eq!(batch.output(artifact("task", "context")), Err(ended.clone()));
            assert_eq!(batch.cancel(moment(1)), Err(ended));
            assert_eq!((batch.records().len(), batch.to()), (1, state));
        }
    }

    #[test]
    fn an_illegal_change_is_refused() {
        let (from, to) = (TaskState::Working, TaskState::Submitted);
        let illegal = Refused::Illegal(IllegalTransition { from, to });
        refuses(from, status("task", "context", to), &illegal);
        let unspecified = TaskState::Unspecified;
        let illegal = IllegalTransition { from: unspecified, to: unspecified };
        let opening = Batch::open(&opened(unspecified), context_id());
        assert_eq!(opening.unwrap_err(), Refused::Illegal(illegal));
    }

    #[test]
    fn an_event_of_another_task_or_context_is_refused() {
        let foreign = |member, expected: &str| Refused::Foreign {
            member,
            found: "other".to_owned(),
            expected: expected.to_owned(),
        };
        for event in [status("other", "context", TaskState::Working), artifact("other", "context")]
        {
            refuses(TaskState::Working, event, &foreign("taskId", "task"));
        }
        for event in [status("task", "other", TaskState::Working), artifact("task", "other")] {
            refuses(TaskState::Working, event, &foreign("contextId", "context"));
        }
    }

    #[test]
    fn only_updates_follow() {
        let task = Shared::new(StreamResponse::Task(opened(TaskState::Working)));
        refuses(TaskState::Working, task, &Refused::NotAnUpdate("task"));
        let message = Shared::new(StreamResponse::Message(Message::agent("hello")));
        refuses(TaskState::Working, message, &Refused::NotAnUpdate("message"));
    }

    #[test]
    fn an_event_that_cannot_be_read_is_refused() {
        let mut batch = follow(TaskState::Working);
        let spoilt = Shared::from_json(Bytes::from_static(b"{\"statusUpdate\":"));
        assert!(matches!(batch.output(spoilt), Err(Refused::Unreadable { .. })));
        assert!(batch.is_empty());
    }

    #[test]
    fn a_batch_opens_in_any_state_with_the_task_itself() {
        for state in TaskState::ALL.iter().copied().skip(1) {
            let batch = Batch::open(&opened(state), context_id()).unwrap();
            assert_eq!((batch.from(), batch.to()), (TaskState::Unspecified, state));
            assert_eq!(batch.updated(), Some(moment(0)));
            let [record] = batch.records() else { panic!("one record opens a task") };
            assert_eq!((record.kind, &record.message), (Kind::Opened, &None));
            assert!(batch.bytes().abs_diff(record.event.json().len()) < 16, "it is about that");
        }
    }

    #[test]
    fn an_input_wakes_a_waiting_task_and_leaves_a_working_one_at_work() {
        for (from, to) in [
            (TaskState::InputRequired, TaskState::Working),
            (TaskState::AuthRequired, TaskState::Working),
            (TaskState::Working, TaskState::Working),
            (TaskState::Submitted, TaskState::Submitted),
        ] {
            let mut batch = follow(from);
            batch.input(Message::user("this"), moment(5)).unwrap();
            assert_eq!((batch.to(), batch.updated()), (to, Some(moment(5))));
            let [record] = batch.records() else { panic!("one record is one input") };
            assert_eq!(record.kind, Kind::Input);
            assert_eq!(record.event.value().unwrap().state(), Some(to), "readers see the state");
            assert_eq!(record.message.as_ref().unwrap().value().unwrap().text(), "this");
        }
    }

    #[test]
    fn a_wish_to_cancel_changes_no_state_and_says_what_it_is() {
        for from in [TaskState::Working, TaskState::InputRequired, TaskState::Submitted] {
            let mut batch = follow(from);
            batch.cancel(moment(5)).unwrap();
            assert_eq!((batch.to(), batch.updated()), (from, Some(moment(5))));
            let record = &batch.records()[0];
            assert_eq!((record.kind, &record.message), (Kind::Cancel, &None));
            let json = String::from_utf8_lossy(record.event.json());
            assert!(json.contains(r#""metadata":{"cancelRequested":true}"#), "{json}");
        }
    }

    #[test]
    fn what_is_said_with_a_wish_to_cancel_is_kept_and_is_nothing_about_the_task() {
        let wish = Object::from_members([("why", Raw::string("late"))]);
        let mut batch = follow(TaskState::Working);
        batch.cancel_with(&wish.with(TASK_METADATA, Raw::bool(true)), moment(5)).unwrap();
        for batch in [batch.rebase(TaskState::InputRequired).unwrap(), batch] {
            let [record] = batch.records() else { panic!("one record is one wish") };
            assert_eq!(record.cancel_wish(), Some(wish.clone()));
            let StreamResponse::StatusUpdate(update) = record.event.value().unwrap() else {
                panic!("a wish is a status update")
            };
            assert_eq!(update.task_metadata(), None);
        }
    }

    #[test]
    fn a_word_about_a_status_names_task_and_context() {
        let mut batch = follow(TaskState::Working);
        batch.status(TaskState::Failed, Some(Message::agent("broken")), moment(1)).unwrap();
        let StreamResponse::StatusUpdate(update) = batch.records()[0].event.value().unwrap() else {
            panic!("a status is a status update")
        };
        let message = update.status.message.as_ref().expect("the word");
        assert_eq!(message.task_id, Some(task_id()));
        assert_eq!(message.context_id, Some(context_id()));
    }

    #[test]
    fn the_time_is_that_of_the_newest_status_that_has_one() {
        let mut batch = follow(TaskState::Working);
        batch.status(TaskState::Working, None, moment(9)).unwrap();
        batch.status(TaskState::Working, None, moment(3)).unwrap();
        batch.output(artifact("task", "context")).unwrap();
        assert_eq!(batch.updated(), Some(moment(3)));
        let mut timeless = TaskStatus::new(TaskState::Working, moment(0));
        timeless.timestamp = None;
        let event = StreamResponse::StatusUpdate(batch.update(timeless, None));
        batch.output(Shared::new(event)).unwrap();
        assert_eq!(batch.updated(), Some(moment(3)));
    }

    #[test]
    fn bytes_are_those_of_all_records() {
        let mut batch = follow(TaskState::Working);
        batch.input(Message::user("żółć"), moment(1)).unwrap();
        batch.output(artifact("task", "context")).unwrap();
        let sum: usize = batch.records().iter().map(Record::bytes).sum();
        assert_eq!(batch.bytes(), sum);
        batch.spell();
        let spelled: usize = batch.records().iter().map(Record::bytes).sum();
        assert!(sum.abs_diff(spelled) < 48, "{sum} is about {spelled}");
        let events = batch.records().iter().map(|record| record.event.json().len());
        assert!(sum > events.sum(), "what was said counts, too");
    }

    #[test]
    fn outputs_are_rebased_as_far_as_the_rules_allow() {
        let mut batch = follow(TaskState::InputRequired);
        batch.output(artifact("task", "context")).unwrap();
        batch.status(TaskState::Working, None, moment(2)).unwrap();
        let rebased = batch.rebase(TaskState::Working).unwrap();
        assert_eq!((rebased.from(), rebased.to()), (TaskState::Working, TaskState::Working));
        assert_eq!(rebased.records(), batch.records());
        assert_eq!((rebased.bytes(), rebased.updated()), (batch.bytes(), batch.updated()));

        let ended = batch.rebase(TaskState::Canceled).unwrap_err();
        assert_eq!(ended, Refused::AfterEnd(TaskState::Canceled));
        let mut asks = follow(TaskState::Working);
        asks.status(TaskState::InputRequired, None, moment(1)).unwrap();
        let (from, to) = (TaskState::AuthRequired, TaskState::InputRequired);
        let illegal = asks.rebase(from).unwrap_err();
        assert_eq!(illegal, Refused::Illegal(IllegalTransition { from, to }));
        let nothing = follow(TaskState::Working).rebase(TaskState::Canceled).unwrap();
        assert!(nothing.is_empty());
    }

    #[test]
    fn signals_are_rebased_to_say_the_state_they_find() {
        let mut batch = follow(TaskState::Working);
        batch.cancel(moment(5)).unwrap();
        batch.input(Message::user("this"), moment(6)).unwrap();
        let rebased = batch.rebase(TaskState::InputRequired).unwrap();
        assert_eq!((rebased.to(), rebased.updated()), (TaskState::Working, Some(moment(6))));
        let states: Vec<_> =
            rebased.records().iter().map(|record| record.event.value().unwrap().state()).collect();
        assert_eq!(states, [Some(TaskState::InputRequired), Some(TaskState::Working)]);
        assert_eq!(rebased.records()[1].message, batch.records()[1].message);
        let kinds: Vec<Kind> = rebased.records().iter().map(|record| record.kind).collect();
        assert_eq!(kinds, [Kind::Cancel, Kind::Input]);
    }

    #[test]
    fn an_opening_cannot_be_rebased() {
        let batch = Batch::open(&opened(TaskState::Working), context_id()).unwrap();
        let refused = batch.rebase(TaskState::Working).unwrap_err();
        assert_eq!(refused, Refused::NotAnUpdate("task"));
    }

    #[derive(Clone, Copy, Debug)]
    enum Change {
        Status(TaskState),
        Artifact,
        Input,
        Cancel,
    }

    fn changes() -> impl Strategy<Value = Vec<Change>> {
        let change = prop_oneof![
            prop::sample::select(TaskState::ALL).prop_map(Change::Status),
            Just(Change::Artifact),
            Just(Change::Input),
            Just(Change::Cancel),
        ];
        prop::collection::vec(change, 0..12)
    }

    /// Makes as many of the changes as the rules allow.
    fn make(batch: &mut Batch, changes: &[Change]) {
        for change in changes {
            // What the rules do not allow is left out.
            let _ = match change {
                Change::Status(state) => batch.status(*state, None, moment(1)),
                Change::Artifact => batch.output(artifact("task", "context")),
                Change::Input => batch.input(Message::user("this"), moment(1)),
                Change::Cancel => batch.cancel(moment(1)),
            };
        }
    }

    proptest! {
        /// The state a batch promises is the one that its records fold to, also when the batch
        /// was made for another.
        #[test]
        fn a_batch_ends_in_the_state_of_its_fold(
            opening in prop::sample::select(&TaskState::ALL[1..]),
            assumed in prop::sample::select(&TaskState::ALL[1..]),
            later in changes(),
        ) {
            let opening = Batch::open(&opened(opening), context_id()).unwrap();
            let mut batch = follow(assumed);
            make(&mut batch, &later);
            if let Ok(batch) = batch.rebase(opening.to()) {
                let records = opening.records().iter().chain(batch.records()).cloned();
                let entries: Vec<Entry> =
                    (1..).map(Seq).zip(records).map(|(seq, record)| Entry { seq, record }).collect();
                let folded = Folded::from_log(None, &entries).unwrap();
                prop_assert_eq!(folded.task.status.state, batch.to());
                prop_assert_eq!(folded.seq, Seq(entries.len() as u64));
            }
        }
    }
}

//! Goes round between the plan of a run and the world.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use nuncio_protocol::{
    ids::{ContextId, MessageId},
    json,
    message::Message,
    operation::SendMessageRequest,
    state::TaskState,
    task::{Artifact, StreamResponse, TaskStatus, TaskStatusUpdateEvent},
    time::Timestamp,
};
use nuncio_tasks::{
    agent::{Failure, Turn},
    engine::Call as TaskCall,
    output::{self, Output},
    scope::Scope,
};
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    RunId, Runner, Settings,
    entry::{Begun, Entry, Happened, Log},
    job::{self, Doing},
    names,
    objection::{addressee, inward},
    patience,
    work::{Ended, Errand, News},
};
use crate::{
    graph::Workflow,
    plan::{Call, Cause, Event, Outcome, Plan, Question, Step},
};

/// A run under way.
pub(super) struct Drive<'r> {
    runner: &'r Runner,
    run: RunId,
    context: ContextId,
    output: Output,
    plan: Plan,
    began: Timestamp,
    /// Calls that were started and have not ended, and what they do.
    calls: BTreeMap<Call, Underway>,
    working: JoinSet<()>,
    news: mpsc::UnboundedReceiver<(Call, News)>,
    tell: mpsc::UnboundedSender<(Call, News)>,
    /// What calls ask.
    questions: HashMap<Call, Message>,
    /// Calls that are being told the answer.
    answered: HashSet<Call>,
    /// When calls have last failed, or were started.
    times: HashMap<Call, Timestamp>,
    /// When the next attempt is due.
    alarm: Option<Instant>,
    /// What was said to the run, and is for nobody in particular or for one of the calls.
    messages: VecDeque<(Message, Option<Call>)>,
    heard: HashSet<MessageId>,
    /// What we have last said about the state of the run.
    said: TaskState,
    /// How much nodes have brought about, in bytes of JSON.
    brought: usize,
}

/// A call that was started.
struct Underway {
    at: Timestamp,
    doing: Option<Doing>,
    stop: CancellationToken,
}

impl<'r> Drive<'r> {
    fn new(
        runner: &'r Runner,
        turn: &Turn,
        output: Output,
        run: RunId,
        (plan, began): (Plan, Timestamp),
    ) -> Self {
        let (tell, news) = mpsc::unbounded_channel();
        let context = turn.task.context_id.clone();
        Self {
            runner,
            run,
            // Every task of the engine has one.
            context: context.unwrap_or_else(ContextId::generate),
            output,
            plan,
            began,
            calls: BTreeMap::new(),
            working: JoinSet::new(),
            news,
            tell,
            questions: HashMap::new(),
            answered: HashSet::new(),
            times: HashMap::new(),
            alarm: None,
            messages: VecDeque::new(),
            heard: HashSet::new(),
            said: turn.task.status.state,
            brought: 0,
        }
    }

    /// Begins a run.
    pub(super) async fn begin(
        runner: &'r Runner,
        turn: &Turn,
        output: Output,
        run: RunId,
        begun: Begun,
        plan: Plan,
        decided: Vec<Event>,
    ) -> Result<Self, Failure> {
        let mut drive = Self::new(runner, turn, output, run, (plan, Timestamp::now()));
        drive.write(&Entry::Begun(begun)).await?;
        for event in decided {
            drive.note(&event, drive.began, None);
            drive.write(&Entry::Happened(event.into())).await?;
        }
        Ok(drive)
    }

    /// Goes on with a run that another process has left.
    pub(super) fn go_on(
        runner: &'r Runner,
        turn: &Turn,
        output: Output,
        run: RunId,
        log: Log,
    ) -> Result<Self, Failure> {
        let Log { begun, began_at, happened, unheard, heard, .. } = log;
        let begun = begun.ok_or_else(|| Failure::new("the run has not begun"))?;
        let spoilt = |error: &dyn std::fmt::Display| {
            Failure::new(format!("the run cannot go on from its log: {error}"))
        };
        let workflow = Workflow::read(&begun.source).map_err(|error| spoilt(&error))?;
        let plan = Plan::new(Arc::new(workflow), begun.inputs).map_err(|error| spoilt(&error))?;
        let since = began_at.unwrap_or_else(Timestamp::now);
        let mut drive = Self::new(runner, turn, output, run, (plan, since));
        for dated in happened {
            drive.plan.apply(dated.event.clone()).map_err(|error| spoilt(&error))?;
            drive.note(&dated.event, dated.at, dated.question);
        }
        drive.messages = unheard.into();
        drive.heard = heard.into_iter().collect();
        Ok(drive)
    }

    /// Runs until the run has ended.
    pub(super) async fn run(mut self, turn: &Turn) -> Result<(), Failure> {
        // What was decided and is not in the log yet.
        for event in self.plan.decided() {
            self.write(&Entry::Happened(event.into())).await?;
        }
        let resumed: Vec<Call> = self.calls.keys().cloned().collect();
        for call in resumed {
            self.go_again(call).await?;
        }
        let limit = self.plan.workflow().timeout();
        let deadline = limit.map(|limit| after(self.began, limit.get()));
        let mut is_stopping = false;
        loop {
            self.answer().await?;
            self.start().await?;
            if let Some(outcome) = self.plan.outcome() {
                return self.finish(outcome).await;
            }
            let (alarm, late) = (self.alarm, deadline.filter(|_| !is_stopping));
            let now = Instant::now();
            tokio::select! {
                biased;
                () = turn.cancelled(), if !is_stopping => {
                    is_stopping = true;
                    self.happen(Event::StopRequested { cause: Cause::Canceled }.into()).await?;
                }
                Some((call, news)) = self.news.recv() => {
                    self.take(call, news).await?;
                    // What else is heard at this moment is written with it.
                    while let Ok((call, news)) = self.news.try_recv() {
                        self.take(call, news).await?;
                    }
                }
                message = turn.input() => self.hear(message, None),
                () = sleep_until(alarm.unwrap_or(now)), if alarm.is_some() => {}
                () = sleep_until(late.unwrap_or(now)), if late.is_some() => {
                    is_stopping = true;
                    self.happen(Event::StopRequested { cause: Cause::TimedOut }.into()).await?;
                }
                Some(_) = self.working.join_next() => {}
            }
        }
    }

    /// Starts what is to be started, and cancels what is to be canceled.
    async fn start(&mut self) -> Result<(), Failure> {
        loop {
            let steps = self.next_steps();
            let (mut started, mut has_failed) = (Vec::new(), false);
            self.alarm = None;
            for step in steps {
                match step {
                    Step::Cancel { call } => self.cancel(&call).await?,
                    Step::Start { call, delay } => {
                        if let Some(due) = self.due(&call, delay) {
                            self.alarm = Some(self.alarm.map_or(due, |alarm| alarm.min(due)));
                            continue;
                        }
                        match job::prepare(&self.plan, &self.run, &call) {
                            Ok(doing) => {
                                self.happen(Event::Started { call: call.clone() }.into()).await?;
                                started.push((call, doing));
                            }
                            Err(reason) => {
                                let event = Event::Failed { call, reason, is_final: true };
                                self.happen(event.into()).await?;
                                has_failed = true;
                            }
                        }
                    }
                }
            }
            if started.is_empty() && !has_failed {
                return Ok(());
            }
            // Nothing is sent before it is on disk that it will be.
            self.output.flush().await?;
            for (call, doing) in started {
                self.go(call, doing, false).await?;
            }
        }
    }

    /// Returns what there is to do, with no more starts than there is room for. Those that are
    /// not due take none.
    fn next_steps(&self) -> Vec<Step> {
        let mut room = self.runner.settings.per_run.saturating_sub(self.calls.len());
        let fits = |step: &Step| match step {
            Step::Cancel { .. } => true,
            Step::Start { .. } if room == 0 => false,
            Step::Start { call, delay } => {
                room -= usize::from(self.due(call, *delay).is_none());
                true
            }
        };
        self.plan.steps().take_while(fits).collect()
    }

    /// Returns when another attempt is due, unless it is now.
    fn due(&self, call: &Call, delay: Duration) -> Option<Instant> {
        if delay.is_zero() {
            return None;
        }
        let before = Call { attempt: call.attempt.saturating_sub(1), ..call.clone() };
        let failed = self.times.get(&before)?;
        let due = after(*failed, delay);
        (due > Instant::now()).then_some(due)
    }

    /// Goes on with a call that another process has started.
    async fn go_again(&mut self, call: Call) -> Result<(), Failure> {
        match job::prepare(&self.plan, &self.run, &call) {
            Ok(doing) => self.go(call, doing, true).await,
            Err(reason) => self.happen(Event::Failed { call, reason, is_final: true }.into()).await,
        }
    }

    /// Does what a call is to do.
    async fn go(&mut self, call: Call, doing: Doing, is_resumed: bool) -> Result<(), Failure> {
        let Some(underway) = self.calls.get_mut(&call) else { return Ok(()) };
        let (at, stop) = (underway.at, underway.stop.clone());
        underway.doing = Some(doing.clone());
        let tell = self.tell.clone();
        match doing {
            Doing::Work(work) => {
                let node = self.plan.workflow().node(call.node.as_str());
                let limit = node.and_then(|node| node.settings().timeout);
                let errand = Errand {
                    site: Arc::clone(&self.runner.site),
                    run: self.run.clone(),
                    call,
                    work: *work,
                    settings: self.runner.settings,
                    room: Arc::clone(&self.runner.room),
                    timeout: limit.map(|limit| (after(at, limit.get()), limit.get())),
                    stop,
                    tell,
                    is_resumed,
                };
                self.working.spawn(errand.run());
            }
            Doing::Wait(length) => {
                let due = after(at, length);
                self.working.spawn(async move {
                    sleep_until(due).await;
                    tell.send((call, News::Ended(Ended::Finished(Vec::new())))).ok();
                });
            }
            Doing::WaitUntil(moment) => {
                let due = after(moment, Duration::ZERO);
                self.working.spawn(async move {
                    sleep_until(due).await;
                    tell.send((call, News::Ended(Ended::Finished(Vec::new())))).ok();
                });
            }
            Doing::Ask(question, _) => {
                if !self.questions.contains_key(&call) {
                    let event = Event::Asked { call, question: Question::Input };
                    let happened = Happened { event, answer: None, question: Some(*question) };
                    self.happen(happened).await?;
                }
            }
        }
        Ok(())
    }

    /// Tells a call to end.
    async fn cancel(&mut self, call: &Call) -> Result<(), Failure> {
        let Some(underway) = self.calls.get(call) else { return Ok(()) };
        if let Some(Doing::Work(_)) = underway.doing {
            underway.stop.cancel();
            return Ok(());
        }
        // Nobody works on it but time, or a person.
        let reason = "the run does not need it any more".to_owned();
        self.happen(Event::Canceled { call: call.clone(), reason }.into()).await
    }

    /// Takes in what is heard of a call.
    async fn take(&mut self, call: Call, news: News) -> Result<(), Failure> {
        if let News::Told(message, result) = news {
            if let Err(reason) = result {
                self.answered.remove(&call);
                tracing::warn!(run = %self.run.task, %call, reason, "an answer was not taken");
            }
            return self.write(&Entry::Heard(message)).await;
        }
        if !self.calls.contains_key(&call) {
            return Ok(());
        }
        let asks = self.questions.contains_key(&call);
        let happened = match news {
            News::Asked(question, message) => {
                let event = Event::Asked { call, question };
                Happened { event, answer: None, question: message }
            }
            News::Resumed if asks => Event::Answered { call }.into(),
            News::Resumed | News::Told(..) => return Ok(()),
            News::Ended(Ended::Finished(artifacts)) => match self.too_much(size(&artifacts)) {
                Some(reason) => Event::Failed { call, reason, is_final: true }.into(),
                None => Event::Finished { call, artifacts }.into(),
            },
            News::Ended(Ended::Failed { reason, is_final }) => {
                Event::Failed { call, reason, is_final }.into()
            }
            News::Ended(Ended::Canceled(reason)) => Event::Canceled { call, reason }.into(),
        };
        self.happen(happened).await
    }

    /// Tells why nodes may not bring about so much more, if they may not.
    fn too_much(&self, bytes: usize) -> Option<String> {
        let Settings { node_output, run_output, .. } = self.runner.settings;
        if bytes > node_output {
            let (bytes, most) = (as_read(bytes), as_read(node_output));
            return Some(format!("it brought about {bytes}; a node may bring about {most}"));
        }
        if self.brought + bytes > run_output {
            let before = as_read(self.brought);
            let (bytes, most) = (as_read(bytes), as_read(run_output));
            return Some(format!(
                "it brought about {bytes}, and the nodes before it {before}; a run may bring \
                 about {most}"
            ));
        }
        None
    }

    /// Takes what somebody says to the run.
    fn hear(&mut self, message: Message, call: Option<Call>) {
        // It has made the task go on.
        self.said = TaskState::Working;
        let is_new = !self.heard.contains(&message.message_id)
            && self.messages.iter().all(|(other, _)| other.message_id != message.message_id);
        if is_new {
            self.messages.push_back((message, call));
        }
    }

    /// Hands messages on to the calls that they are for.
    async fn answer(&mut self) -> Result<(), Failure> {
        while let Some((message, call)) = self.messages.pop_front() {
            self.heard.insert(message.message_id.clone());
            let call = match call {
                Some(call) => Some(call),
                None => addressee(self.open_questions().map(|(call, _)| call), &message),
            };
            let doing = call.as_ref().and_then(|call| self.calls.get(call)?.doing.clone());
            match (call, doing) {
                (Some(call), Some(Doing::Ask(_, options))) => {
                    self.decide(call, &message, &options).await?;
                }
                (Some(call), Some(Doing::Work(work))) => {
                    self.answered.insert(call.clone());
                    let entry = Entry::Addressed(message.message_id.clone(), call.clone());
                    self.write(&entry).await?;
                    self.output.flush().await?;
                    self.pass_on(call, work.task.clone(), message);
                }
                // Nothing asks: it is in the history, and that is all.
                _ => self.write(&Entry::Heard(message.message_id.clone())).await?,
            }
        }
        Ok(())
    }

    /// Returns the calls that wait for an answer, and for what.
    fn open_questions(&self) -> impl Iterator<Item = (Call, Question)> {
        let asking = self.plan.questions().into_iter();
        asking.filter(|(call, _)| !self.answered.contains(call))
    }

    /// Takes a person's word about a node that waits for it.
    async fn decide(
        &mut self,
        call: Call,
        message: &Message,
        options: &[String],
    ) -> Result<(), Failure> {
        let answer = Some(message.message_id.clone());
        let event = match job::choose(message, options) {
            Ok(artifact) => Event::Finished { call, artifacts: vec![artifact] },
            Err(job::NotChosen::Rejected(reason)) => Event::Failed { call, reason, is_final: true },
            Err(job::NotChosen::Unclear(told)) => {
                // The question stays, with what can be answered.
                let metadata = self.questions.get(&call).and_then(|asked| asked.metadata.clone());
                self.questions.insert(call, Message { metadata, ..Message::agent(told) });
                return self.write(&Entry::Heard(message.message_id.clone())).await;
            }
        };
        self.happen(Happened { event, answer, question: None }).await
    }

    /// Tells a call what was said to the run.
    fn pass_on(&mut self, call: Call, task: nuncio_protocol::ids::TaskId, message: Message) {
        let (tasks, tell) = (self.runner.site.tasks(), self.tell.clone());
        let scope = Scope::tenant(self.run.place.tenant.clone());
        self.working.spawn(async move {
            let id = message.message_id.clone();
            let message =
                Message { task_id: Some(task.clone()), context_id: None, ..inward(message) };
            // Its key makes it one message, however often it is said.
            let told = patience::until_there(|| async {
                let place = tasks.find(&scope, &task).await?.place;
                let to = TaskCall { key: Some(format!("run:{id}")), ..TaskCall::new(place) };
                tasks.stream(&to, SendMessageRequest::new(message.clone())).await.map(drop)
            });
            let told = match told.await {
                // Nobody refuses it, but we are about to stop: whoever goes on says it again.
                Err(_) if tasks.is_stopping() => std::future::pending().await,
                told => told.map_err(|error| error.to_string()),
            };
            tell.send((call, News::Told(id, told))).ok();
        });
    }

    /// Takes in what has happened, and writes it with what follows from it.
    async fn happen(&mut self, happened: Happened) -> Result<(), Failure> {
        if let Err(refused) = self.plan.apply(happened.event.clone()) {
            tracing::debug!(run = %self.run.task, %refused, "heard too late");
            return Ok(());
        }
        let now = Timestamp::now();
        self.note(&happened.event, now, happened.question.clone());
        let decided = self.plan.decided();
        for event in &decided {
            self.note(event, now, None);
        }
        self.write(&Entry::Happened(happened)).await?;
        for event in decided {
            self.write(&Entry::Happened(event.into())).await?;
        }
        Ok(())
    }

    /// Keeps what is needed of an event beside the plan.
    fn note(&mut self, event: &Event, at: Timestamp, question: Option<Message>) {
        let Some(call) = event.call() else { return };
        match event {
            Event::Started { .. } => {
                let underway = Underway { at, doing: None, stop: CancellationToken::new() };
                self.calls.insert(call.clone(), underway);
            }
            Event::Asked { .. } => {
                let question = question.unwrap_or_else(|| Message::agent("it asks for something"));
                self.questions.insert(call.clone(), question);
            }
            Event::Answered { .. } => {
                self.questions.remove(call);
                self.answered.remove(call);
            }
            Event::Failed { .. } | Event::Finished { .. } | Event::Canceled { .. } => {
                if let Event::Finished { artifacts, .. } = event {
                    self.brought += size(artifacts);
                }
                self.calls.remove(call);
                self.questions.remove(call);
                self.answered.remove(call);
                self.times.insert(call.clone(), at);
            }
            Event::Skipped { .. } | Event::StopRequested { .. } => {}
        }
    }

    /// Writes an entry to the log, with the state that the run is in.
    async fn write(&mut self, entry: &Entry) -> Result<(), Failure> {
        let (state, message) = match self.open_questions().next() {
            Some((call, question)) => {
                let said = self.questions.get(&call).cloned();
                let said = said.map(|said| self.asked(&call, said));
                match question {
                    Question::Input => (TaskState::InputRequired, said),
                    Question::Credential => (TaskState::AuthRequired, said),
                }
            }
            None => (TaskState::Working, None),
        };
        if self.said.is_interrupted() && state.is_interrupted() && self.said != state {
            self.output.status(TaskState::Working, None).await?;
        }
        let mut status = TaskStatus::new(state, Timestamp::now());
        status.message = message.map(Box::new);
        let update = TaskStatusUpdateEvent {
            task_id: self.run.task.clone(),
            context_id: self.context.clone(),
            status,
            metadata: Some(entry.metadata()),
        };
        let said = self.output.event(StreamResponse::StatusUpdate(update.clone())).await;
        match said {
            Err(output::Error::Refused(refused)) if refused.is_out_of_turn() => {
                self.output.status(TaskState::Working, None).await?;
                self.output.event(StreamResponse::StatusUpdate(update)).await?;
            }
            other => other?,
        }
        self.said = state;
        Ok(())
    }

    /// Returns a question as the run asks it: it says which node wants to know.
    fn asked(&self, call: &Call, said: Message) -> Message {
        let node = json::Raw::string(call.node.as_str());
        let metadata = said.metadata.clone().unwrap_or_else(|| json::Object::from_members([]));
        Message {
            task_id: Some(self.run.task.clone()),
            context_id: Some(self.context.clone()),
            message_id: names::question_of(&self.run.task, call, &said.message_id),
            metadata: Some(metadata.with("node", node)),
            ..said
        }
    }

    /// Says what came of the run.
    async fn finish(self, outcome: Outcome) -> Result<(), Failure> {
        for artifact in outcome.artifacts {
            self.output.artifact(artifact).await?;
        }
        let word = outcome.reason.map(Message::agent);
        self.output.status(outcome.state, word).await?;
        Ok(())
    }
}

/// Returns how much artifacts are, in bytes of JSON.
fn size(artifacts: &Vec<Artifact>) -> usize {
    json::to_string(artifacts).len()
}

/// Says a size as people read it.
fn as_read(bytes: usize) -> String {
    const MIB: usize = 1 << 20;
    match (bytes / MIB, bytes % MIB * 10 / MIB) {
        (0, _) => format!("{bytes} bytes"),
        (whole, 0) => format!("{whole} MiB"),
        (whole, tenth) => format!("{whole}.{tenth} MiB"),
    }
}

/// Returns the moment that is so long after a time.
fn after(time: Timestamp, length: Duration) -> Instant {
    let length = i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
    let left = time.as_millis().saturating_add(length) - Timestamp::now().as_millis();
    let left = u64::try_from(left).unwrap_or(0);
    Instant::now() + Duration::from_millis(left.min(100 * 365 * 24 * 3600 * 1000))
}

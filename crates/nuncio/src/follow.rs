//! Staying with a task until it has ended or wants something.

use futures_util::StreamExt as _;
use nuncio_client::Followed;
use nuncio_protocol::{
    ids::{ContextId, TaskId},
    json::Shared,
    operation::{GetTaskRequest, Request},
    service::{Answered, Event},
    state::TaskState,
    task::{StreamResponse, Task},
};
use tokio::{
    signal::ctrl_c,
    time::{sleep, timeout_at},
};

use crate::{
    again,
    agent::{Connected, is_over},
    failure::Failure,
    output::{Output, note},
    settings::Settings,
    show::{self, state_name},
    terminal::Waiting,
};

/// What a stream has told so far.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) task: Option<TaskId>,
    pub(crate) context: Option<ContextId>,
    pub(crate) state: Option<TaskState>,
    /// The number of the last event, if events are numbered.
    seq: Option<u64>,
}

/// Follows a stream to its end, and hands on each event.
pub(crate) async fn follow(
    connected: &Connected,
    stream: Followed,
    mut each: impl FnMut(&StreamResponse, &Event) -> Result<(), Failure>,
) -> Result<Told, Failure> {
    let mut told = Told::default();
    match run(connected, stream, &mut told, &mut each).await {
        Ok(()) => Ok(told),
        Err(failure) => Err(told.come_back(connected, failure)),
    }
}

/// Follows a stream until the agent has done what it can, and shows nothing of it. Returns the
/// reply, if there is one in place of a task.
pub(crate) async fn quietly(
    connected: &Connected,
    mut stream: Followed,
    told: &mut Told,
) -> Result<Option<Shared<StreamResponse>>, Failure> {
    let waiting = Waiting::start(&connected.settings, "waiting for the agent");
    loop {
        let event = match next(connected, &mut stream).await {
            Ok(Some(event)) => event,
            Ok(None) => return Ok(None),
            Err(failure) => return Err(told.come_back(connected, failure)),
        };
        let response = read_event(&event).map_err(|failure| told.come_back(connected, failure))?;
        told.learn(response, event.seq);
        waiting.say(told.state.map_or("waiting for the agent", doing));
        match response {
            StreamResponse::Message(_) => return Ok(Some(event.response)),
            // Some agents keep the stream open for what the user may do.
            StreamResponse::StatusUpdate(update) if update.status.state.is_interrupted() => {
                return Ok(None);
            }
            _ => {}
        }
    }
}

/// Waits for something, unless the user breaks it off.
pub(crate) async fn unless_broken_off<T>(
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::select! {
        done = work => done,
        _ = ctrl_c() => Err(Failure::interrupted("broken off")),
    }
}

async fn run(
    connected: &Connected,
    mut stream: Followed,
    told: &mut Told,
    each: &mut impl FnMut(&StreamResponse, &Event) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut has_text = false;
    let mut waiting = Some(Waiting::start(&connected.settings, "waiting for the agent"));
    loop {
        let event = next(connected, &mut stream).await?;
        drop(waiting.take());
        let Some(event) = event else { return Ok(()) };
        let response = read_event(&event)?;
        told.learn(response, event.seq);
        each(response, &event)?;
        // A text that grows may have left its line open.
        has_text |= is_text(response);
        if !has_text {
            let state = told.state.map_or("waiting for the agent", doing);
            waiting = Some(Waiting::start(&connected.settings, state));
        }
    }
}

/// Waits for the next event, as long as the user does.
async fn next(connected: &Connected, stream: &mut Followed) -> Result<Option<Event>, Failure> {
    let coming = async {
        match connected.deadline {
            Some(deadline) => {
                timeout_at(deadline, stream.next()).await.map_err(|_| Failure::timeout())
            }
            None => Ok(stream.next().await),
        }
    };
    let event = match unless_broken_off(coming).await? {
        None => return Ok(None),
        Some(Err(_)) if is_over(connected.deadline) => return Err(Failure::timeout()),
        Some(event) => event?,
    };
    connected.debug("<", &String::from_utf8_lossy(event.response.json()));
    Ok(Some(event))
}

fn read_event(event: &Event) -> Result<&StreamResponse, Failure> {
    event.response.value().map_err(|error| {
        Failure::internal(format!("an event of the stream cannot be read: {error}"))
    })
}

fn is_text(event: &StreamResponse) -> bool {
    match event {
        StreamResponse::StatusUpdate(update) => update.status.message.is_some(),
        StreamResponse::Task(task) => task.status.message.is_some() || !task.artifacts.is_empty(),
        StreamResponse::ArtifactUpdate(_) | StreamResponse::Message(_) => true,
    }
}

/// Says what an agent does with a task that has not ended.
const fn doing(state: TaskState) -> &'static str {
    match state {
        TaskState::Submitted => "the agent has the task",
        TaskState::Working => "the agent is working",
        _ => "waiting for the agent",
    }
}

impl Told {
    fn learn(&mut self, event: &StreamResponse, seq: Option<u64>) {
        let (task, context) = match event {
            StreamResponse::Task(task) => (Some(&task.id), task.context_id.as_ref()),
            StreamResponse::Message(message) => (None, message.context_id.as_ref()),
            StreamResponse::StatusUpdate(update) => {
                (Some(&update.task_id), Some(&update.context_id))
            }
            StreamResponse::ArtifactUpdate(update) => {
                (Some(&update.task_id), Some(&update.context_id))
            }
        };
        self.task = task.cloned().or_else(|| self.task.take());
        self.context = context.cloned().or_else(|| self.context.take());
        self.state = event.state().or(self.state);
        self.seq = seq.or(self.seq);
    }

    /// Says how to come back to a task of which the stream has broken off.
    fn come_back(&self, connected: &Connected, failure: Failure) -> Failure {
        let failure = connected.explain(failure);
        match &self.task {
            // What the task does next does not depend on us.
            Some(task) if self.state.is_none_or(|state| !state.is_terminal()) => {
                let command = again::subscribe(&connected.settings, task, self.seq);
                failure.hint(format!("the task goes on; follow it with: {command}"))
            }
            _ => failure,
        }
    }
}

/// Writes an event as it comes.
pub(crate) fn write(
    output: &mut Output,
    response: &StreamResponse,
    event: &Event,
) -> Result<(), Failure> {
    if output.is_json() {
        output.json(&String::from_utf8_lossy(event.response.json()))?;
    } else {
        show::event(output, response)?;
    }
    Ok(())
}

/// Asks for a task.
pub(crate) async fn get(
    connected: &Connected,
    id: &TaskId,
    history_length: Option<i32>,
) -> Result<Shared<Task>, Failure> {
    let request = GetTaskRequest { tenant: None, id: id.clone(), history_length };
    match connected.call(Request::GetTask(request)).await? {
        Answered::Task(task) => Ok(task),
        _ => Err(Failure::internal("the answer is no task")),
    }
}

/// Asks for a task until it has ended or wants something.
pub(crate) async fn wait(
    connected: &Connected,
    id: &TaskId,
    history_length: Option<i32>,
) -> Result<Shared<Task>, Failure> {
    let waiting = Waiting::start(&connected.settings, "waiting for the agent");
    loop {
        let asking = async {
            let task = get(connected, id, history_length).await?;
            let state = read(&task)?.status.state;
            waiting.say(doing(state));
            if state.is_terminal() || state.is_interrupted() {
                return Ok::<_, Failure>(Some(task));
            }
            sleep(connected.poll_interval).await;
            Ok(None)
        };
        let limited = async {
            match connected.deadline {
                Some(end) => {
                    timeout_at(end, asking).await.unwrap_or_else(|_| Err(Failure::timeout()))
                }
                None => asking.await,
            }
        };
        let done = unless_broken_off(limited).await;
        let goes_on = || {
            let command = again::wait(&connected.settings, id);
            format!("the task goes on; wait for it with: {command}")
        };
        if let Some(task) = done.map_err(|failure| failure.or_hint(goes_on))? {
            return Ok(task);
        }
    }
}

/// Reads what came as text.
pub(crate) fn read(task: &Shared<Task>) -> Result<&Task, Failure> {
    task.value().map_err(|error| {
        Failure::internal(format!("the agent's answer is no task: {error}"))
            .hint("`nuncio doctor` tells what else is wrong with the agent")
    })
}

/// Says what people would want to know or to do next.
pub(crate) fn tell_next(connected: &Connected, task: &TaskId, state: TaskState) {
    let settings: &Settings = &connected.settings;
    match state {
        TaskState::InputRequired => note(&format!("Reply: {}", again::reply(settings, task))),
        TaskState::AuthRequired => {
            note("the agent needs an authorization of yours before it goes on");
            note(&format!("Wait: {}", again::wait(settings, task)));
        }
        state if state.is_failure() => {
            note(&format!("warning: the task ended {}", state_name(state)));
        }
        state if state.is_terminal() => {}
        _ if connected.streams() => {
            note(&format!("Follow: {}", again::subscribe(settings, task, None)));
        }
        _ => note(&format!("Wait: {}", again::wait(settings, task))),
    }
}

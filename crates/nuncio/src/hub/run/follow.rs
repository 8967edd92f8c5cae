//! Staying with a run until it has ended or wants something.

use std::{
    collections::BTreeMap,
    future::pending,
    io::{self, IsTerminal as _},
    pin::{Pin, pin},
    time::Duration,
};

use nuncio_protocol::time::Timestamp;
use serde::Deserialize;
use tokio::{
    signal::ctrl_c,
    time::{Sleep, sleep},
};

use super::{
    answer,
    desk::Desk,
    events::{Event, Events},
    path,
    view::{Question, Run, between},
};
use crate::{
    failure::Failure,
    hub::{Hub, json, parse, segment},
    output::{Output, note},
    settings::{Flags, Settings},
    terminal::Waiting,
};

/// How long it takes a run to take an answer, in general.
const UNDERSTOOD: Duration = Duration::from_secs(1);

/// Follows a run that has begun, as the hub said it has, and writes what came of it.
pub(crate) async fn to_end(hub: &Hub, begun: &[u8], output: &mut Output) -> Result<(), Failure> {
    let Run { id, workflow, version, .. } = parse(begun)?;
    let mut progress = Progress::new(output);
    progress.say(&format!("run {id} of {workflow} version {version}"));
    let mut desk = Desk::new(output);
    let mut events = Events::new(hub, &id, 0);
    let mut interrupted = pin!(ctrl_c());
    let mut recheck = pin!(None);
    loop {
        progress.wait(&desk);
        let happened = tokio::select! {
            happened = events.next() => happened?,
            line = desk.line() => {
                match line {
                    Some(text) => {
                        tell(hub, &id, &mut desk, &text).await?;
                        recheck.set(Some(sleep(UNDERSTOOD)));
                    }
                    // Whoever ends the input wants to answer later, or never.
                    None => return wait_later(hub, &id, output).await,
                }
                continue;
            }
            () = wait(recheck.as_mut()) => {
                recheck.set(None);
                progress.pause();
                ask_again(hub, &id, &mut desk).await?;
                continue;
            }
            _ = &mut interrupted => {
                let hint = format!("the run goes on; come back: nuncio run watch {id}");
                return Err(Failure::interrupted("broken off").hint(hint));
            }
        };
        let Some(happened) = happened else { break };
        progress.take(&happened.event);
        let is_asked = desk.take(&happened.event);
        if is_asked && !desk.is_manned() {
            // Somebody may have answered in the meantime.
            let (run, _): (Run, _) = hub.read(&path(&id)).await?;
            if run.is_waiting() {
                return wait_later(hub, &id, output).await;
            }
        }
    }
    drop(progress);
    finish(hub, &id, output).await
}

/// Writes what came of a run. One that has not succeeded is a failure.
async fn finish(hub: &Hub, id: &str, output: &mut Output) -> Result<(), Failure> {
    let (run, bytes): (Run, _) = hub.read(&path(id)).await?;
    if output.is_json() {
        json(output, &bytes)?;
    } else {
        run.show_output(output)?;
    }
    succeeded(&run)
}

/// Tells whether a run that is over has done what it was to do.
pub(super) fn succeeded(run: &Run) -> Result<(), Failure> {
    if run.state == "completed" {
        return Ok(());
    }
    let (id, state) = (&run.id, &run.state);
    let message = match &run.reason {
        Some(reason) => format!("the run ended {state}: {reason}"),
        None => format!("the run ended {state}"),
    };
    Err(Failure::run(message)
        .hint(format!("see where: nuncio run show {id}; go on from there: nuncio run retry {id}")))
}

/// Says what a run waits for, and how to answer.
async fn wait_later(hub: &Hub, id: &str, output: &mut Output) -> Result<(), Failure> {
    let (run, bytes): (Run, _) = hub.read(&path(id)).await?;
    if output.is_json() {
        json(output, &bytes)?;
    } else {
        output.field("Run", id)?;
        output.field("State", &run.state)?;
        for question in &run.questions {
            output.field("Question", &question.told())?;
        }
    }
    tell_questions(&run);
    Ok(())
}

/// Says how to answer what a run asks, and how to go on then.
pub(super) fn tell_questions(run: &Run) {
    for question in &run.questions {
        note(&format!("Reply: {}", question.command(&run.id)));
    }
    if !run.questions.is_empty() {
        note(&format!("Follow: nuncio run watch {}", run.id));
    }
}

/// Answers the question that was asked last.
async fn tell(hub: &Hub, run: &str, desk: &mut Desk, text: &str) -> Result<(), Failure> {
    let Some(asked) = desk.asked() else { return Ok(()) };
    match answer(hub, run, (&asked.node, asked.item), Some(text), None).await {
        Ok(_) => {}
        // It is no answer, and the hub says what is.
        Err(failure) if failure.is_hub_status(http::StatusCode::BAD_REQUEST) => {
            note(failure.message());
            desk.ask(asked);
        }
        // Somebody else has been faster.
        Err(failure) if failure.is_hub_status(http::StatusCode::CONFLICT) => {
            note(failure.message());
        }
        Err(failure) => return Err(failure),
    }
    Ok(())
}

/// Waits for something, or for ever if there is nothing to wait for.
async fn wait(what: Pin<&mut Option<Sleep>>) {
    match what.as_pin_mut() {
        Some(sleep) => sleep.await,
        None => pending().await,
    }
}

/// Asks again what is still asked after an answer: it was not understood, of which no event tells.
async fn ask_again(hub: &Hub, id: &str, desk: &mut Desk) -> Result<(), Failure> {
    let (run, _): (Run, _) = hub.read(&path(id)).await?;
    let left = run.questions.into_iter().filter(|question| !desk.has(question));
    let left: Vec<Question> = left.collect();
    if left.is_empty() {
        return Ok(());
    }
    let (task, _): (Standing, _) = hub.read(&format!("/api/v1/tasks/{}", segment(id))).await?;
    if !task.said.is_empty() {
        note(&task.said);
    }
    for question in left {
        desk.ask(question);
    }
    Ok(())
}

/// What was last said about a run.
#[derive(Deserialize)]
struct Standing {
    said: String,
}

/// What people see of a run that goes on: nothing, unless they look at a terminal.
struct Progress {
    settings: Option<Settings>,
    /// Since when what runs has run.
    running: BTreeMap<String, Timestamp>,
    waiting: Option<Waiting>,
}

impl Progress {
    fn new(output: &Output) -> Self {
        let is_shown = !output.is_json() && io::stderr().is_terminal();
        let settings = is_shown.then(|| Settings::load(&Flags::default()).ok()).flatten();
        Self { settings, running: BTreeMap::new(), waiting: None }
    }

    /// Shows what is waited for, unless somebody is being asked.
    fn wait(&mut self, desk: &Desk) {
        let Some(settings) = self.settings.as_ref().filter(|_| !desk.is_asking()) else { return };
        let names: Vec<&str> = self.running.keys().map(String::as_str).collect();
        let text = match names.as_slice() {
            [] => "waiting for the run".to_owned(),
            [first, second, third, _, ..] => {
                format!("{first}, {second}, {third} and {} more", names.len() - 3)
            }
            few => few.join(", "),
        };
        self.waiting.get_or_insert_with(|| Waiting::start(settings, &text));
    }

    /// Makes room for something else.
    fn pause(&mut self) {
        drop(self.waiting.take());
    }

    fn say(&mut self, line: &str) {
        if self.settings.is_some() {
            self.pause();
            note(line);
        }
    }

    /// Shows what has happened, in a line if something has ended or waits.
    fn take(&mut self, event: &Event) {
        self.pause();
        let Some(name) = event.asker() else { return };
        let Some(state) = event.kind.strip_prefix("node.") else { return };
        if matches!(state, "started" | "resumed") {
            self.running.entry(name).or_insert(event.time);
            return;
        }
        let since = self.running.get(&name).copied();
        if state != "waiting" {
            self.running.remove(&name);
        }
        let took = since.map(|since| format!("  {} s", between(since, event.time)));
        let attempt = event.attempt.filter(|attempt| *attempt > 1);
        let attempt = attempt.map(|attempt| format!("  attempt {attempt}"));
        let reason = event.payload.reason.as_ref().map(|reason| format!("  {reason}"));
        let rest = [took, attempt, reason].into_iter().flatten().collect::<String>();
        let line = format!("{name}  {state}{rest}");
        self.say(&line);
    }
}

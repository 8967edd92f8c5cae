//! Tasks that an agent works on and has not named yet.
//!
//! Who cannot stream names its task when all is done, if its caller waits for that. To end such a
//! task before, the hub looks for it among those of the agent: it is the one that begins with our
//! message. Callers use identifiers of messages again, so one that could be somebody else's is
//! left alone.

use std::{collections::HashSet, time::Duration};

use nuncio_client::{Agent as Line, Error as ClientError};
use nuncio_protocol::{
    error::Error,
    message::{Message, Role},
    operation::{ListTasksRequest, Request},
    service::{Answered, read},
    state::TaskState,
    task::Task,
    time::Timestamp,
};
use nuncio_tasks::{scope::Scope, store::Filter};
use tokio::time::sleep;

use super::{
    forward::{FIRST_LOOK, Forwarding},
    note::Note,
    translate,
    way::{Way, unexpected},
};

/// How often a list is read: our message may have got there a moment ago, and a task counts as
/// ours only if it is the only one on two looks in a row.
const LOOKS: u32 = 3;

/// How many pages of a list are read, and how many tasks are on each.
const PAGES: usize = 5;
const PAGE: i32 = 50;

/// How many messages of each task are asked for, so that ours is among them.
const HISTORY: i32 = 50;

/// How far the agent's clock may be behind ours.
const BEHIND: Duration = Duration::from_secs(60);

/// How many open tasks an agent may have of us.
const MOST_OPEN: usize = 1_000;

impl Forwarding<'_> {
    /// Finds the task that our message has begun. `None` if the agent shows none or several that
    /// could be it, or not all that it has; and if its name is known.
    pub(super) async fn find_unnamed(&self, way: &Way) -> Option<Task> {
        // A list has what others have said, which is for nobody who reads this task's wire.
        let line = way.lists().filter(|_| self.note.task.is_none())?.unwatched();
        let mut pause = FIRST_LOOK;
        let mut before = None;
        for look in 1..=LOOKS {
            let mut found = self.candidates(&line).await?;
            if found.len() > 1 {
                return None;
            }
            // What has ended is counted, and is nothing to be ended.
            let only = found.pop().filter(|task| !task.status.state.is_terminal());
            if only.is_some() && only.as_ref().map(|task| &task.id) == before.as_ref() {
                return only;
            }
            before = only.map(|task| task.id);
            if look < LOOKS {
                sleep(pause).await;
                pause *= 2;
            }
        }
        None
    }

    /// Returns the tasks of the agent that our message may have begun. `None` if nobody can tell.
    async fn candidates(&self, line: &Line) -> Option<Vec<Task>> {
        let mut found = self.listed(line).await.ok()??;
        if !found.is_empty() {
            let others = self.named_by_others().await.ok()??;
            found.retain(|task| !others.contains(task.id.as_str()));
        }
        Some(found)
    }

    /// Lists the tasks that begin with our message. `None` if there are more than are read.
    async fn listed(&self, line: &Line) -> Result<Option<Vec<Task>>, ClientError> {
        let opened = self.turn.task.status.timestamp;
        let behind = i64::try_from(BEHIND.as_millis()).unwrap_or_default();
        let mut request = ListTasksRequest {
            page_size: Some(PAGE),
            history_length: Some(HISTORY),
            status_timestamp_after: opened
                .and_then(|opened| Timestamp::from_millis(opened.as_millis() - behind)),
            ..ListTasksRequest::default()
        };
        let mut found = Vec::new();
        for _ in 0..PAGES {
            let asked = Request::ListTasks(request.clone());
            let Answered::Tasks(page) = line.call(self.context(), asked).await? else {
                return Err(unexpected());
            };
            let page = read(page).map_err(ClientError::Peer)?;
            found.extend(page.tasks.into_iter().filter(|task| self.may_be_ours(task)));
            if page.next_page_token.is_empty() {
                return Ok(Some(found));
            }
            request.page_token = page.next_page_token;
        }
        Ok(None)
    }

    /// Returns by which names the agent knows what others have asked of it. `None` if that is too
    /// much to be read.
    async fn named_by_others(&self) -> Result<Option<HashSet<String>>, Error> {
        let Some(tasks) = self.forwarder.tasks.get() else { return Ok(None) };
        let scope = Scope { caller: None, ..Scope::from(&self.turn.place) };
        let open = TaskState::ALL.iter().copied().filter(|state| !state.is_terminal());
        let filter = Filter { states: open.collect(), ..Filter::default() };
        let page = tasks.notes(&scope, filter, MOST_OPEN).await?;
        let others = page.notes.into_iter().filter(|(id, _)| *id != self.ours.task);
        let names = others.filter_map(|(_, note)| Note::read(note.as_ref()).task);
        Ok((!page.more).then(|| names.collect()))
    }

    fn may_be_ours(&self, task: &Task) -> bool {
        let ours = &self.turn.message;
        let context = translate::context(ours, &self.note, &self.turn.asked);
        let is_ours = |said: &Message| {
            said.role == Role::User
                && said.message_id == ours.message_id
                && said.parts == ours.parts
        };
        // Without one of ours the agent has begun a conversation, which has any name.
        let is_there = context.is_none() || task.context_id == context;
        is_there && task.history.iter().any(is_ours)
    }
}

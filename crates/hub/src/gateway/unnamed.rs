//! Tasks that an agent works on and has not named yet.
//!
//! Who cannot stream names its task when all is done, if its caller waits for that. To end such a
//! task before, the hub looks for it among those of the agent: it is the one that begins with our
//! message. Callers use identifiers of messages again, so one that could be somebody else's is
//! left alone.

use std::time::Duration;

use nuncio_client::{Agent as Line, Error as ClientError};
use nuncio_protocol::{
    message::{Message, Role},
    operation::{ListTasksRequest, Request},
    service::{Answered, read},
    task::Task,
    time::Timestamp,
};
use tokio::time::sleep;

use super::{
    forward::{FIRST_LOOK, Forwarding},
    way::{Way, unexpected},
};

/// How often a list is read: our message may have got there a moment ago.
const LOOKS: u32 = 3;

/// How many pages of a list are read, and how many tasks are on each.
const PAGES: usize = 5;
const PAGE: i32 = 50;

/// How many messages of each task are asked for, so that ours is among them.
const HISTORY: i32 = 50;

/// How far the agent's clock may be behind ours.
const BEHIND: Duration = Duration::from_secs(60);

impl Forwarding<'_> {
    /// Finds the task that our message has begun. `None` if the agent shows none or several that
    /// could be it, or no list at all; and if its name is known.
    pub(super) async fn find_unnamed(&self, way: &Way) -> Option<Task> {
        // A list has what others have said, which is for nobody who reads this task's wire.
        let line = way.lists().filter(|_| self.note.task.is_none())?.unwatched();
        let mut pause = FIRST_LOOK;
        for look in 1..=LOOKS {
            let mut found = self.candidates(&line).await.ok()?;
            match found.len() {
                0 if look < LOOKS => sleep(pause).await,
                1 => return found.pop(),
                _ => break,
            }
            pause *= 2;
        }
        None
    }

    /// Lists the tasks that our message may have begun and that have not ended.
    async fn candidates(&self, line: &Line) -> Result<Vec<Task>, ClientError> {
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
                break;
            }
            request.page_token = page.next_page_token;
        }
        Ok(found)
    }

    fn may_be_ours(&self, task: &Task) -> bool {
        let ours = &self.turn.message;
        let is_ours = |said: &Message| {
            said.role == Role::User
                && said.message_id == ours.message_id
                && said.text() == ours.text()
        };
        !task.status.state.is_terminal() && task.history.iter().any(is_ours)
    }
}

//! What happens, as it happens, and from wherever a reader left off.

use std::sync::Arc;

use nuncio_protocol::{
    ids::{AgentId, Organisation},
    time::Timestamp,
};
use tokio::sync::{broadcast, watch};

use crate::{
    error::Error,
    store::{EventQuery, HubStore, LoggedEvent},
};

/// So many passing events wait for a slow reader, who then misses the oldest.
const PASSING: usize = 256;

/// So many events are read from the log at once.
const PAGE: u32 = 256;

/// Tells readers what happens.
///
/// A reader is a place in the log, and costs nothing while it is slow. Events that do not last
/// are sent beside it, to whoever listens.
#[derive(Clone, Debug)]
pub struct Feed {
    store: Arc<dyn HubStore>,
    tip: watch::Sender<u64>,
    passing: broadcast::Sender<Arc<Passing>>,
}

/// An event that does not last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passing {
    /// In which organisation it happened.
    pub organisation: Organisation,
    /// What it is called.
    pub name: &'static str,
    /// The agent that it is about.
    pub agent: AgentId,
    /// When it happened.
    pub at: Timestamp,
    /// A JSON object with the rest.
    pub payload: String,
}

/// A reader's place in the log of an organisation.
#[derive(Debug)]
pub struct Reader {
    feed: Feed,
    organisation: Organisation,
    agent: Option<AgentId>,
    at: u64,
    tip: watch::Receiver<u64>,
    passing: broadcast::Receiver<Arc<Passing>>,
    ready: std::collections::VecDeque<LoggedEvent>,
}

/// What a reader gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// An event of the log.
    Logged(LoggedEvent),
    /// One that does not last.
    Passing(Arc<Passing>),
}

impl Feed {
    pub(super) fn new(store: Arc<dyn HubStore>, last: u64) -> Self {
        Self { store, tip: watch::Sender::new(last), passing: broadcast::Sender::new(PASSING) }
    }

    /// Returns the number of the last event.
    pub fn last(&self) -> u64 {
        *self.tip.borrow()
    }

    /// Reads from behind an event on; from now on, if none is named.
    pub fn read(
        &self,
        organisation: Organisation,
        agent: Option<AgentId>,
        after: Option<u64>,
    ) -> Reader {
        Reader {
            at: after.unwrap_or_else(|| self.last()),
            organisation,
            agent,
            tip: self.tip.subscribe(),
            passing: self.passing.subscribe(),
            ready: std::collections::VecDeque::new(),
            feed: self.clone(),
        }
    }

    /// Tells what does not last, in all organisations.
    pub(crate) fn passing(&self) -> broadcast::Receiver<Arc<Passing>> {
        self.passing.subscribe()
    }

    /// Tells whenever there is something new.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.tip.subscribe()
    }

    pub(super) fn reached(&self, seq: u64) {
        self.tip.send_if_modified(|tip| {
            let is_new = seq > *tip;
            *tip = seq.max(*tip);
            is_new
        });
    }

    pub(super) fn pass(&self, passing: Passing) {
        // Nobody has to listen.
        let _ = self.passing.send(Arc::new(passing));
    }
}

impl Reader {
    /// Waits for the next event. Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> Result<Item, Error> {
        loop {
            if let Some(logged) = self.ready.pop_front() {
                return Ok(Item::Logged(logged));
            }
            let tip = *self.tip.borrow_and_update();
            if self.at < tip {
                self.fill(tip).await?;
                continue;
            }
            tokio::select! {
                // What is in the log happened before what is told beside it.
                biased;
                // The feed lives as long as its readers.
                _ = self.tip.changed() => {}
                passing = self.passing.recv() => match passing {
                    Ok(passing) if self.concerns(&passing) => return Ok(Item::Passing(passing)),
                    // Too slow for what does not last, or not meant.
                    _ => {}
                },
            }
        }
    }

    async fn fill(&mut self, tip: u64) -> Result<(), Error> {
        let query = EventQuery {
            organisation: self.organisation.clone(),
            agent: self.agent.clone(),
            name: None,
            after: self.at,
            limit: PAGE,
        };
        let events = self.feed.store.events(query).await?;
        let is_page = events.len() == PAGE as usize;
        // What others did lies in between.
        let last = events.last().map_or(tip, |logged| logged.seq);
        self.at = if is_page { last } else { last.max(tip) };
        self.ready.extend(events);
        Ok(())
    }

    fn concerns(&self, passing: &Passing) -> bool {
        passing.organisation == self.organisation
            && self.agent.as_ref().is_none_or(|agent| *agent == passing.agent)
    }
}

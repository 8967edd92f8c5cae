//! What happened, as far as the reader may know (MD-50, MD-51).

use std::collections::{HashSet, VecDeque};

use axum::{
    Json,
    extract::{Path, State},
};
use nuncio_protocol::ids::{AgentId, Organisation};
use serde::Deserialize;

use super::{
    asked::{Caller, Params, visible},
    refused::Refused,
};
use crate::{
    agent::Status,
    error::Error,
    event,
    http::{view::EventView, who::Who},
    hub::Hub,
    store::{EventQuery, LoggedEvent},
};

/// How many events are shown, unless it is said, and at most.
const USUAL: usize = 100;
const MOST: usize = 500;

/// So many events are read at once.
const PAGE: u32 = 256;

/// Which events are asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    /// Those behind this one, the oldest first; otherwise the newest, the newest first.
    after: Option<u64>,
    limit: Option<usize>,
}

pub(super) async fn all(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Params(asked): Params<Asked>,
) -> Result<Json<Vec<EventView>>, Refused> {
    who.somebody()?;
    Ok(Json(read(&hub, who, None, &asked).await?))
}

pub(super) async fn of_one(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
    Params(asked): Params<Asked>,
) -> Result<Json<Vec<EventView>>, Refused> {
    let agent = visible(&hub, &who, &id)?;
    Ok(Json(read(&hub, who, Some(&agent.id), &asked).await?))
}

async fn read(
    hub: &Hub,
    who: Who,
    agent: Option<&AgentId>,
    asked: &Asked,
) -> Result<Vec<EventView>, Error> {
    let limit = asked.limit.unwrap_or(USUAL).clamp(1, MOST);
    let organisation = who.organisation.clone();
    let sight = Sight::new(hub, who);
    let mut search = Search { hub, organisation, agent, name: None, sight, limit };
    if let Some(after) = asked.after {
        let found = search.behind(after, Keep::First).await?;
        return Ok(found.iter().map(|logged| search.sight.view(hub, logged)).collect());
    }
    let found = search.newest().await?;
    Ok(found.iter().rev().map(|logged| search.sight.view(hub, logged)).collect())
}

/// Reads the newest events of a name about an agent, the newest first.
pub(super) async fn newest(
    hub: &Hub,
    who: &Who,
    agent: &AgentId,
    name: event::Name,
    limit: usize,
) -> Result<Vec<LoggedEvent>, Error> {
    let organisation = who.organisation.clone();
    let sight = Sight::new(hub, who.clone());
    let (agent, name) = (Some(agent), Some(name));
    let mut search = Search { hub, organisation, agent, name, sight, limit };
    Ok(search.newest().await?.into_iter().rev().collect())
}

/// Reads the events of a name about an agent behind a place in the log, the oldest first; of too
/// many the newest.
pub(super) async fn behind(
    hub: &Hub,
    who: &Who,
    agent: &AgentId,
    (name, after): (event::Name, u64),
    limit: usize,
) -> Result<VecDeque<LoggedEvent>, Error> {
    let organisation = who.organisation.clone();
    let sight = Sight::new(hub, who.clone());
    let (agent, name) = (Some(agent), Some(name));
    let mut search = Search { hub, organisation, agent, name, sight, limit };
    search.behind(after, Keep::Last).await
}

/// Which events are kept of more than enough.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    First,
    Last,
}

struct Search<'a> {
    hub: &'a Hub,
    organisation: Organisation,
    agent: Option<&'a AgentId>,
    name: Option<event::Name>,
    sight: Sight,
    limit: usize,
}

impl Search<'_> {
    /// Looks back further and further, until there are enough or there is no more.
    async fn newest(&mut self) -> Result<VecDeque<LoggedEvent>, Error> {
        let last = self.hub.directory.feed().last();
        let mut span = u64::from(PAGE);
        loop {
            let after = last.saturating_sub(span);
            let found = self.behind(after, Keep::Last).await?;
            if found.len() >= self.limit || after == 0 {
                return Ok(found);
            }
            span = span.saturating_mul(8);
        }
    }

    async fn behind(&mut self, mut after: u64, keep: Keep) -> Result<VecDeque<LoggedEvent>, Error> {
        let mut found = VecDeque::new();
        loop {
            let query = EventQuery {
                organisation: self.organisation.clone(),
                agent: self.agent.cloned(),
                name: self.name.map(|name| name.as_str().to_owned()),
                after,
                limit: PAGE,
            };
            let page = self.hub.directory.store().events(query).await?;
            let is_last = page.len() < PAGE as usize;
            after = page.last().map_or(after, |logged| logged.seq);
            for logged in page {
                if !self.sight.sees(self.hub, logged.event.agent.as_ref()) {
                    continue;
                }
                found.push_back(logged);
                if found.len() > self.limit {
                    found.pop_front();
                }
                if keep == Keep::First && found.len() == self.limit {
                    return Ok(found);
                }
            }
            if is_last {
                return Ok(found);
            }
        }
    }
}

/// What a reader of events may know of.
#[derive(Debug)]
pub(super) struct Sight {
    who: Who,
    /// Agents of which the reader has known: that one is removed is the last it hears of it.
    known: HashSet<AgentId>,
}

impl Sight {
    pub(super) fn new(hub: &Hub, who: Who) -> Self {
        let known = if who.overseer().is_ok() {
            HashSet::new()
        } else {
            let reachable = hub.directory.reachable(who.asker());
            reachable.iter().map(|agent| agent.id.clone()).collect()
        };
        Self { who, known }
    }

    /// Tells whether the reader may hear of something that happened to an agent, or to the
    /// whole organisation.
    pub(super) fn sees(&mut self, hub: &Hub, agent: Option<&AgentId>) -> bool {
        if self.who.overseer().is_ok() {
            return true;
        }
        let Some(agent) = agent else { return false };
        let state = hub.directory.state();
        let is_there = state.agent(agent).is_some_and(|agent| agent.status != Status::Removed);
        if !is_there {
            return self.known.contains(agent);
        }
        let sees = hub.directory.sees(self.who.asker(), agent);
        if !sees {
            self.known.remove(agent);
        } else if !self.known.contains(agent) {
            self.known.insert(agent.clone());
        }
        sees
    }

    /// Returns what the reader may see of an event.
    pub(super) fn view(&self, hub: &Hub, event: impl Into<EventView>) -> EventView {
        event.into().seen_by(hub, &self.who)
    }

    /// Tells whether the reader would still be let in.
    pub(super) fn lasts(&self, hub: &Hub) -> bool {
        self.who.is_let_in(hub)
    }
}

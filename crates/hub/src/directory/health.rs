//! How agents are: what they say, and what follows from silence.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use nuncio_protocol::{ids::AgentId, json::Raw, time::Timestamp};

use super::{Actor, Change, Directory, Passing};
use crate::{
    agent::{Agent, Status, Watch},
    beat::{Beat, LastBeat},
    error::Error,
    event,
    store::StoredBeat,
};

/// What an agent is told when it says how it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// How it is, as the directory sees it.
    pub status: Status,
    /// Pair tokens older than this are no longer good.
    pub min_epoch: u64,
}

/// What came of asking an agent that says nothing by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probed {
    /// It answered.
    Answered,
    /// It did not, often enough.
    Silent,
}

/// The last beats of all agents, with a clock of its own for when they came in here.
#[derive(Debug, Default)]
pub(super) struct Beats(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    tick: u64,
    beats: HashMap<AgentId, LastBeat>,
}

impl Beats {
    fn table(&self) -> std::sync::MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last(&self, agent: &AgentId) -> Option<LastBeat> {
        self.table().beats.get(agent).cloned()
    }

    /// Returns the one before.
    fn put(&self, agent: AgentId, beat: LastBeat) -> Option<LastBeat> {
        self.table().beats.insert(agent, beat)
    }

    pub(super) fn forget(&self, agent: &AgentId) {
        self.table().beats.remove(agent);
    }
}

impl Directory {
    /// Returns what an agent last said of itself.
    pub fn last_beat(&self, agent: &AgentId) -> Option<LastBeat> {
        self.0.beats.last(agent)
    }

    /// Takes the word of an agent about itself (MD-02).
    ///
    /// Whether that makes a difference is decided on what is in the database, and only a
    /// difference makes an event. An agent that was removed is told so.
    pub async fn heartbeat(&self, id: &AgentId, beat: Beat) -> Result<Heartbeat, Error> {
        let beat = beat.check()?;
        let agent = self.standing(id)?;
        let body = serde_json::to_string(&beat)
            .map_err(|error| Error::invalid("heartbeat", error.to_string()))?;
        let store = &*self.0.store;
        let at = match beat.changes(agent.status) {
            // What makes a difference waits for nobody.
            Some(_) => store.beat(id.clone(), body).await?,
            None => self.0.gathering.write(store, id, &body).await?,
        };
        let last = self.0.beats.put(id.clone(), LastBeat { beat: beat.clone(), at });
        if beat.changes(agent.status).is_some() {
            self.change(|state| {
                let mut change = Change::new(&Actor::hub());
                let agent = state.agent(id).ok_or(Error::no_agent())?;
                if let Some(status) = beat.changes(agent.status) {
                    let rate = Raw::from_value(&beat.error_rate).ok();
                    let error =
                        (!beat.sample_error.is_empty()).then(|| Raw::string(&beat.sample_error));
                    let payload = [
                        rate.map(|rate| ("error_rate", rate)),
                        error.map(|text| ("sample_error", text)),
                    ];
                    let payload: Vec<_> = payload.into_iter().flatten().collect();
                    set_status(&mut change, agent, status, &payload);
                }
                Ok((change, ()))
            })
            .await?;
        }
        self.tell_beat(&agent, &beat, at, last.as_ref());
        let state = self.state();
        let status = state.agent(id).map_or(Status::Removed, |agent| agent.status);
        Ok(Heartbeat { status, min_epoch: state.epoch(&agent.organisation) })
    }

    /// Counts an agent as heard of now.
    pub(super) async fn heard_of(&self, id: &AgentId) -> Result<(), Error> {
        let beat = self.last_beat(id).map(|last| last.beat).unwrap_or_default();
        let body = serde_json::to_string(&beat)
            .map_err(|error| Error::invalid("heartbeat", error.to_string()))?;
        let at = self.0.store.beat(id.clone(), body).await?;
        self.0.beats.put(id.clone(), LastBeat { beat, at });
        Ok(())
    }

    /// Returns an agent that was not removed.
    fn standing(&self, id: &AgentId) -> Result<std::sync::Arc<Agent>, Error> {
        let state = self.state();
        let agent = state.agent(id).ok_or(Error::no_agent())?;
        if agent.status == Status::Removed {
            let forwarded_to = agent.forwarded_to.clone();
            return Err(Error::Gone { agent: id.clone(), forwarded_to });
        }
        Ok(std::sync::Arc::clone(agent))
    }

    fn tell_beat(&self, agent: &Agent, beat: &Beat, at: Timestamp, last: Option<&LastBeat>) {
        let pass = |name: event::Name, payload: String| {
            self.0.feed.pass(Passing {
                organisation: agent.organisation.clone(),
                name: name.as_str(),
                agent: agent.id.clone(),
                at,
                payload,
            });
        };
        let is_new = last.is_none_or(|last| {
            last.beat.current_task != beat.current_task
                || last.beat.active_tasks != beat.active_tasks
        });
        if is_new {
            let payload = nuncio_protocol::json::Object::from_members([
                ("current_task", Raw::string(&beat.current_task)),
                (
                    "active_tasks",
                    Raw::from_value(&beat.active_tasks).unwrap_or_else(|_| Raw::string("")),
                ),
            ]);
            pass(event::Name::TaskUpdated, payload.as_str().to_owned());
        }
        pass(event::Name::Heartbeat, serde_json::to_string(beat).unwrap_or_default());
    }

    /// Marks agents offline that were not heard of for too long, by the clock of the database
    /// (MG-08). Returns how many.
    pub async fn sweep(&self) -> Result<usize, Error> {
        let is_watched = |agent: &Agent| agent.status.is_up() && agent.watch == Watch::Heartbeat;
        let before: HashMap<AgentId, Option<Timestamp>> = {
            let state = self.state();
            let watched = state.agents().filter(|agent| is_watched(agent));
            watched
                .map(|agent| (agent.id.clone(), self.last_beat(&agent.id).map(|last| last.at)))
                .collect()
        };
        if before.is_empty() {
            return Ok(0);
        }
        let silent = self.0.store.silent(self.0.options.liveness.offline).await?;
        self.change(|state| {
            let mut change = Change::new(&Actor::hub());
            let mut count = 0;
            for id in &silent {
                // One that has spoken since it was asked for is not silent.
                let is_silent =
                    before.get(id).is_some_and(|at| *at == self.last_beat(id).map(|last| last.at));
                if let Some(agent) = state.agent(id)
                    && is_silent
                    && is_watched(agent)
                {
                    set_status(&mut change, agent, Status::Offline, &[]);
                    count += 1;
                }
            }
            Ok((change, count))
        })
        .await
    }

    /// Takes in what came of asking an agent.
    pub async fn probed(&self, id: &AgentId, probed: Probed) -> Result<(), Error> {
        self.change(|state| {
            let mut change = Change::new(&Actor::hub());
            let agent = state.agent(id).ok_or(Error::no_agent())?;
            let status = match (agent.watch, probed, agent.status) {
                (
                    Watch::Probe,
                    Probed::Answered,
                    Status::Provisioning | Status::Offline | Status::Failed,
                ) => Status::Online,
                (Watch::Probe, Probed::Silent, Status::Online | Status::Degraded) => {
                    Status::Offline
                }
                _ => return Ok((change, ())),
            };
            set_status(&mut change, agent, status, &[]);
            Ok((change, ()))
        })
        .await
    }

    /// Reads the heartbeats that came in at other processes.
    pub async fn read_beats(&self) -> Result<(), Error> {
        let after = self.0.beats.table().tick;
        let fresh = self.0.store.beats(after).await?;
        let mut table = self.0.beats.table();
        table.tick = fresh.tick;
        for StoredBeat { agent, body, at } in fresh.beats {
            // A beat that cannot be read is as good as an empty one: its time counts.
            let beat = serde_json::from_str(&body).unwrap_or_default();
            let is_newer = table.beats.get(&agent).is_none_or(|last| last.at < at);
            if is_newer {
                table.beats.insert(agent, LastBeat { beat, at });
            }
        }
        Ok(())
    }
}

/// Says in a change that an agent is otherwise than before.
pub(super) fn set_status(
    change: &mut Change,
    agent: &Agent,
    status: Status,
    payload: &[(&str, Raw)],
) {
    let name = match status {
        Status::Provisioning => event::Name::Provisioning,
        Status::Online => event::Name::Online,
        Status::Degraded => event::Name::Degraded,
        Status::Offline => event::Name::Offline,
        Status::Failed => event::Name::Failed,
        Status::Paused => event::Name::Paused,
        Status::Hibernated => event::Name::Hibernated,
        Status::Removed => event::Name::Removed,
    };
    let mut agent = agent.clone();
    agent.status = status;
    agent.status_since = change.now;
    agent.updated = change.now;
    change.agent(&agent);
    change.event(name, &agent, payload);
}

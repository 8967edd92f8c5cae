//! Somebody who follows what happens, for as long as they may.

use std::{pin::Pin, time::Duration};

use nuncio_protocol::ids::AgentId;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::{problem::Problem, view::EventView, who::Who};
use crate::{
    directory::{Item, Reader},
    hub::Hub,
    limits::Place,
    metrics::OpenStream,
};

/// So often is looked whether a reader is still let in when nothing happens.
const LOOK: Duration = Duration::from_secs(1);

/// A reader of what happens. What they may see is decided when it is sent.
pub(crate) struct Following {
    hub: Hub,
    who: Who,
    name: Option<String>,
    reader: Reader,
    ended: Pin<Box<dyn Future<Output = ()> + Send>>,
    look: Interval,
    _place: Place,
    _open: OpenStream,
}

/// Why nothing more comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The hub stops.
    Draining,
    /// The reader's credential is no longer good.
    Refused,
    /// The log cannot be read.
    Failed,
}

impl Following {
    /// Begins behind an event, or now. Narrowed down to an agent and to a name of events.
    pub(crate) fn new(
        hub: &Hub,
        who: Who,
        (agent, name): (Option<AgentId>, Option<String>),
        after: Option<u64>,
    ) -> Result<Self, Problem> {
        let place = hub.meter.stream(&who.meter_name()).ok_or_else(|| {
            hub.metrics.rate_limited("streams");
            Problem::too_many_streams()
        })?;
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self {
            reader: hub.directory.feed().read(who.organisation.clone(), agent, after),
            ended: Box::pin(who.identity.ended()),
            name,
            look,
            _place: place,
            _open: hub.metrics.stream(),
            hub: hub.clone(),
            who,
        })
    }

    /// Waits for the next event that the reader may see. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> Result<EventView, End> {
        loop {
            let item = tokio::select! {
                biased;
                () = self.hub.drain.begun() => return Err(End::Draining),
                () = &mut self.ended => return Err(End::Refused),
                _ = self.look.tick() => None,
                item = self.reader.next() => Some(item),
            };
            if !self.who.is_let_in(&self.hub) {
                return Err(End::Refused);
            }
            match item {
                Some(Ok(item)) if self.wants(&item) => {
                    return Ok(EventView::from(&item).seen_by(&self.hub, &self.who));
                }
                Some(Err(error)) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::error!(error, "a reader's events cannot be read");
                    return Err(End::Failed);
                }
                _ => {}
            }
        }
    }

    fn wants(&self, item: &Item) -> bool {
        let (name, agent) = match item {
            Item::Logged(logged) => (logged.event.name.as_str(), logged.event.agent.as_ref()),
            Item::Passing(passing) => (passing.name, Some(&passing.agent)),
        };
        self.name.as_deref().is_none_or(|wanted| wanted == name) && self.who.sees(&self.hub, agent)
    }
}

//! What agents tell of themselves that changes nothing, and is kept all the same.

use nuncio_protocol::{ids::AgentId, json::Raw};

use super::{Actor, Change, Directory};
use crate::{error::Error, event};

impl Directory {
    /// Keeps an event about an agent (MD-50).
    pub(crate) async fn tell(
        &self,
        agent: &AgentId,
        name: event::Name,
        payload: &[(&str, Raw)],
        actor: &Actor,
    ) -> Result<(), Error> {
        self.change(|state| {
            let mut change = Change::new(actor);
            let agent = state.agent(agent).ok_or(Error::no_agent())?;
            change.event(name, agent, payload);
            Ok((change, ()))
        })
        .await
    }
}

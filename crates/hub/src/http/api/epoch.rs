//! How often access was taken from somebody: what agents that check pair tokens wait for.

use std::time::Duration;

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::{
    http::{problem::Problem, query::Query, who::Who},
    hub::Hub,
};

/// The longest wait.
const MOST_WAIT: Duration = Duration::from_secs(30);

#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Asked {
    organisation: Option<String>,
    /// Waits until the epoch is beyond this.
    after: Option<u64>,
    /// For at most so many seconds.
    wait: u32,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Epoch {
    epoch: u64,
}

#[utoipa::path(
    get,
    path = "/api/v1/epoch",
    operation_id = "epoch",
    tag = "rules",
    summary = "Waits until access was taken from somebody",
    params(Asked),
    responses((status = 200, description = "Done", body = Epoch)),
)]
pub(crate) async fn epoch(
    State(hub): State<Hub>,
    who: Who,
    Query(asked): Query<Asked>,
) -> Result<Json<Epoch>, Problem> {
    who.somebody()?;
    if asked.organisation.is_some_and(|name| name != who.organisation.as_str()) {
        return Err(Problem::forbidden("the credential is for another organisation"));
    }
    let wait = Duration::from_secs(asked.wait.into()).min(MOST_WAIT);
    let now = || hub.directory.state().epoch(&who.organisation);
    if let Some(after) = asked.after {
        let mut changed = hub.directory.feed().changes();
        let raised = async { while now() <= after && changed.changed().await.is_ok() {} };
        // Whoever waited long enough is told how it is.
        tokio::select! {
            _ = timeout(wait, raised) => {}
            () = hub.drain.begun() => {}
        }
    }
    Ok(Json(Epoch { epoch: now() }))
}

//! The audit trail, for whoever runs the hub.

use axum::{Json, extract::State};
use nuncio_protocol::json::Raw;
use serde::{Deserialize, Serialize};

use crate::{
    audit::{self, Link},
    error::Error,
    http::{problem::Problem, query::Query, who::Who},
    hub::Hub,
};

/// How many lines a page has at most.
const MOST: u32 = 1000;

#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Asked {
    after: u64,
    limit: Option<u32>,
    /// Whether to check that the lines hang together.
    verify: bool,
}

/// A page of the trail.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct TrailPage {
    lines: Vec<LineView>,
    /// What to ask with as `after` for what comes behind.
    last: u64,
    /// Whether there is more already.
    more: bool,
    /// Whether the lines hang together with the one before them, if that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    whole: Option<bool>,
    /// The first line that does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    broken_at: Option<u64>,
}

/// A line of the trail.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct LineView {
    seq: u64,
    link: String,
    #[schema(value_type = Object)]
    line: Raw,
}

#[utoipa::path(
    get,
    path = "/api/v1/audit",
    operation_id = "listAudit",
    tag = "audit",
    summary = "Lists the audit trail",
    params(Asked),
    responses((status = 200, description = "Done", body = TrailPage)),
)]
pub(crate) async fn list(
    State(hub): State<Hub>,
    who: Who,
    Query(asked): Query<Asked>,
) -> Result<Json<TrailPage>, Problem> {
    who.administrator()?;
    // The trail is that of the whole hub.
    if who.organisation != hub.settings.organisation {
        return Err(Problem::forbidden("only the hub's own organisation may read the trail"));
    }
    let store = hub.directory.store();
    let limit = asked.limit.unwrap_or(100).clamp(1, MOST);
    let lines = store.audit_trail(asked.after, limit).await.map_err(Error::from)?;
    let checked = if asked.verify {
        let before = match asked.after {
            0 => Some(Link::START),
            after => {
                let line = store.audit_trail(after - 1, 1).await.map_err(Error::from)?;
                line.first().map(|line| line.link)
            }
        };
        // Behind the end there is nothing that could be broken.
        before.map(|link| audit::verify(asked.after, link, &lines).map_err(|broken| broken.seq))
    } else {
        None
    };
    Ok(Json(TrailPage {
        last: lines.last().map_or(asked.after, |line| line.seq),
        more: lines.len() == limit as usize,
        whole: checked.as_ref().map(Result::is_ok),
        broken_at: checked.and_then(Result::err),
        lines: lines
            .into_iter()
            .map(|line| LineView {
                seq: line.seq,
                link: line.link.to_string(),
                line: Raw::parse_text(&line.body).unwrap_or_else(|_| Raw::string(&line.body)),
            })
            .collect(),
    }))
}

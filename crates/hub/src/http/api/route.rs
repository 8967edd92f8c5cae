//! Who would be called for a capability, and why.

use axum::{Json, extract::State};
use nuncio_protocol::ids::AgentId;
use serde::{Deserialize, Serialize};

use crate::{
    gateway::route::{LeftOut, Ranked},
    http::{problem::Problem, query::Query, who::Who},
    hub::Hub,
    name::AgentName,
};

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Asked {
    /// The id of a skill, or a tag.
    capability: String,
}

/// Who would be called for a capability.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Route {
    capability: String,
    /// The best first.
    agents: Vec<Choice>,
    /// Who offers it, and is not called.
    left_out: Vec<Omission>,
}

/// An agent that can be called.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct Choice {
    #[schema(value_type = String)]
    id: AgentId,
    #[schema(value_type = String)]
    name: AgentName,
    /// 100 for one that is well, 10 for each step of trust, 4 for the id of a skill or 2 for a
    /// tag, and up to 1 for a quick answer.
    score: f64,
    why: String,
}

/// An agent that is not called.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct Omission {
    #[schema(value_type = String)]
    id: AgentId,
    #[schema(value_type = String)]
    name: AgentName,
    why: String,
}

#[utoipa::path(
    get,
    path = "/api/v1/route",
    operation_id = "explainRoute",
    tag = "agents",
    summary = "Says who would be called for a capability, and why",
    params(Asked),
    responses((status = 200, description = "Done", body = Route)),
)]
pub(crate) async fn route(
    State(hub): State<Hub>,
    who: Who,
    Query(Asked { capability }): Query<Asked>,
) -> Result<Json<Route>, Problem> {
    who.somebody()?;
    let gateway = hub.gateway.as_ref().ok_or_else(Problem::not_found)?;
    let ranking = gateway.rank(who.asker(), &capability);
    let agents = ranking.ranked.into_iter().map(Choice::from).collect();
    let left_out = ranking.left_out.into_iter().map(Omission::from).collect();
    Ok(Json(Route { capability, agents, left_out }))
}

impl From<Ranked> for Choice {
    fn from(Ranked { agent, score, why }: Ranked) -> Self {
        Self { id: agent.id.clone(), name: agent.name.clone(), score, why }
    }
}

impl From<LeftOut> for Omission {
    fn from(LeftOut { agent, why, .. }: LeftOut) -> Self {
        Self { id: agent.id.clone(), name: agent.name.clone(), why }
    }
}

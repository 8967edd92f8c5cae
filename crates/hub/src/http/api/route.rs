//! Which agent would be called for a capability, and why.

use axum::{Json, extract::State};
use nuncio_protocol::ids::AgentId;
use serde::{Deserialize, Serialize};

use crate::{
    gateway::route::{LeftOut, Ranked},
    http::{problem::Problem, query::Query, who::Who},
    hub::Hub,
    name::AgentName,
};

/// What is looked for.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Asked {
    /// The id of a skill, or a tag.
    capability: String,
}

/// Who can be called for a capability.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Route {
    /// The best first.
    agents: Vec<Choice>,
    /// Who offers it and is not called.
    left_out: Vec<Obstacle>,
}

/// An agent that can be called.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct Choice {
    #[schema(value_type = String)]
    id: AgentId,
    #[schema(value_type = String)]
    name: AgentName,
    /// What agents are ordered by, the highest first.
    score: f64,
    why: String,
}

/// An agent that is not called.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct Obstacle {
    #[schema(value_type = String)]
    id: AgentId,
    #[schema(value_type = String)]
    name: AgentName,
    why: String,
}

#[utoipa::path(
    get,
    path = "/api/v1/route",
    operation_id = "route",
    tag = "agents",
    summary = "Says which agents are called for a capability, in which order and why",
    params(Asked),
    responses((status = 200, description = "Done", body = Route)),
)]
pub(crate) async fn show(
    State(hub): State<Hub>,
    who: Who,
    Query(asked): Query<Asked>,
) -> Result<Json<Route>, Problem> {
    who.somebody()?;
    let gateway = hub.gateway.as_ref().ok_or_else(Problem::not_found)?;
    let ranking = gateway.rank(who.asker(), &asked.capability);
    let choice = |ranked: Ranked| {
        let Ranked { agent, score, why } = ranked;
        Choice { id: agent.id.clone(), name: agent.name.clone(), score, why }
    };
    let obstacle = |left: LeftOut| {
        let LeftOut { agent, why } = left;
        Obstacle { id: agent.id.clone(), name: agent.name.clone(), why }
    };
    Ok(Json(Route {
        agents: ranking.ranked.into_iter().map(choice).collect(),
        left_out: ranking.left_out.into_iter().map(obstacle).collect(),
    }))
}

//! Cards, with their history and what waits for agreement.

use axum::{
    Json,
    extract::{Path, State},
};
use nuncio_protocol::{
    card::{Problem as Flaw, lint_text},
    json::Raw,
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

use super::agents::{fetch_card, find};
use crate::{
    agent::Card,
    error::Error,
    event,
    http::{
        body,
        problem::Problem,
        view::{AgentView, EventView},
        who::Who,
    },
    hub::Hub,
    name::AgentName,
    store::EventQuery,
};

/// How many cards a history shows.
const HISTORY: u32 = 100;

#[utoipa::path(
    get,
    path = "/api/v1/agents/{agent}/card",
    operation_id = "showCard",
    tag = "cards",
    summary = "Shows the card of an agent as it was sent",
    params(("agent" = String, Path, description = "The name or id of an agent")),
    responses((status = 200, description = "Done", body = Object)),
)]
pub(crate) async fn show(
    State(hub): State<Hub>,
    who: Who,
    Path(agent): Path<String>,
) -> Result<Json<Raw>, Problem> {
    who.somebody()?;
    let agent = hub.directory.visible(who.asker(), &agent)?;
    let card = agent.card.as_ref().ok_or(Error::Unknown { what: "card" })?;
    Ok(Json(text(card)))
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Updated {
    /// Whether the card is in force, or waits for agreement.
    #[schema(value_type = String)]
    status: &'static str,
}

#[utoipa::path(
    put,
    path = "/api/v1/agents/{agent}/card",
    operation_id = "updateCard",
    tag = "cards",
    summary = "Takes a new card",
    params(("agent" = String, Path, description = "The name or id of an agent")),
    request_body = Object,
    responses((status = 200, description = "Done", body = Updated)),
)]
pub(crate) async fn update(
    State(hub): State<Hub>,
    who: Who,
    Path(agent): Path<String>,
    body::Raw(body): body::Raw,
) -> Result<Json<Updated>, Problem> {
    who.somebody()?;
    let agent = hub.directory.visible(who.asker(), &agent)?;
    who.itself_or_administrator(&agent.id)?;
    let text = nuncio_protocol::json::text(&body);
    let text = text.map_err(|error| Problem::invalid("", error.to_string()))?;
    let card = Card::parse(text).map_err(Error::from)?;
    let is_in_force =
        hub.directory.update_card(&who.organisation, &agent.id, &card, &who.actor()).await?;
    Ok(Json(Updated { status: if is_in_force { "updated" } else { "held" } }))
}

/// A card that an agent had.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct PastCard {
    seq: u64,
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
    #[schema(value_type = Object)]
    card: Raw,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct History {
    cards: Vec<PastCard>,
}

#[utoipa::path(
    get,
    path = "/api/v1/agents/{agent}/card/history",
    operation_id = "listCards",
    tag = "cards",
    summary = "Lists the cards that an agent had",
    params(("agent" = String, Path, description = "The name or id of an agent")),
    responses((status = 200, description = "Done", body = History)),
)]
pub(crate) async fn history(
    State(hub): State<Hub>,
    who: Who,
    Path(agent): Path<String>,
) -> Result<Json<History>, Problem> {
    who.overseer()?;
    let agent = find(&hub, &who, &agent)?;
    let query = EventQuery {
        organisation: who.organisation.clone(),
        agent: Some(agent.id.clone()),
        name: Some(event::Name::CardUpdated.as_str().to_owned()),
        after: 0,
        limit: HISTORY,
    };
    let events = hub.directory.store().events(query).await.map_err(Error::from)?;
    let cards = events.iter().map(|logged| {
        let view = EventView::from(logged);
        let card = view.payload.as_object().and_then(|payload| payload.get("agent_card"));
        PastCard { seq: logged.seq, since: view.timestamp, card: card.unwrap_or(view.payload) }
    });
    Ok(Json(History { cards: cards.collect() }))
}

#[utoipa::path(
    get,
    path = "/api/v1/agents/{agent}/card/held",
    operation_id = "showHeldCard",
    tag = "cards",
    summary = "Shows a card that waits for agreement",
    params(("agent" = String, Path, description = "The name or id of an agent")),
    responses((status = 200, description = "Done", body = Object)),
)]
pub(crate) async fn held(
    State(hub): State<Hub>,
    who: Who,
    Path(agent): Path<String>,
) -> Result<Json<Raw>, Problem> {
    who.overseer()?;
    let agent = find(&hub, &who, &agent)?;
    let card = agent.held_card.as_ref().ok_or(Error::Unknown { what: "held card" })?;
    Ok(Json(text(card)))
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Agreement {
    accept: bool,
}

#[utoipa::path(
    post,
    path = "/api/v1/agents/{agent}/card/held",
    operation_id = "decideCard",
    tag = "cards",
    summary = "Agrees to a card that waits, or drops it",
    params(("agent" = String, Path, description = "The name or id of an agent")),
    request_body = Agreement,
    responses((status = 200, description = "Done", body = AgentView)),
)]
pub(crate) async fn decide(
    State(hub): State<Hub>,
    who: Who,
    Path(agent): Path<String>,
    body::Json(agreement): body::Json<Agreement>,
) -> Result<Json<AgentView>, Problem> {
    who.administrator()?;
    let agent = find(&hub, &who, &agent)?;
    let agent = hub
        .directory
        .decide_card(&who.organisation, &agent.id, agreement.accept, &who.actor())
        .await?;
    Ok(Json(AgentView::new(&hub.directory, &agent)))
}

/// A card to look at.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Look {
    /// The card, as a JSON value.
    #[schema(value_type = Option<Object>)]
    card: Option<Raw>,
    /// Where it is found, or the agent itself: it is fetched now.
    card_url: Option<String>,
}

/// A card that was looked at.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Looked {
    /// The card as it was sent.
    #[schema(value_type = Object)]
    card: Raw,
    /// What its agent would be called here; absent if its name makes none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    name: Option<AgentName>,
    /// What is wrong with it, in the order of its members.
    problems: Vec<ProblemView>,
}

/// Something wrong with a card.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct ProblemView {
    /// The stable name of the rule that is broken, `no-interface`.
    code: &'static str,
    /// `error` or `warning`.
    severity: &'static str,
    /// Where, `skills[0].tags`; empty for the card as a whole.
    field: String,
    /// What is wrong there.
    what: String,
    /// How to mend it.
    fix: &'static str,
}

#[utoipa::path(
    post,
    path = "/api/v1/cards/check",
    operation_id = "checkCard",
    tag = "cards",
    summary = "Says what is wrong with a card, and keeps nothing",
    request_body = Look,
    responses((status = 200, description = "Done", body = Looked)),
)]
pub(crate) async fn check(
    State(hub): State<Hub>,
    who: Who,
    body::Json(look): body::Json<Look>,
) -> Result<Json<Looked>, Problem> {
    let card = match (&look.card, &look.card_url) {
        (Some(card), None) => {
            who.somebody()?;
            Card::parse(card.as_str()).map_err(Error::from)?
        }
        (None, Some(url)) => {
            // The hub goes where it is sent, so not everybody may send it.
            who.administrator()?;
            fetch_card(&hub, url).await?
        }
        _ => return Err(Problem::invalid("card", "either `card` or `card_url` is needed")),
    };
    let problems = lint_text(card.text()).unwrap_or_default();
    Ok(Json(Looked {
        name: AgentName::from_title(&card.card().name),
        problems: problems.into_iter().map(ProblemView::from).collect(),
        card: text(&card),
    }))
}

impl From<Flaw> for ProblemView {
    fn from(problem: Flaw) -> Self {
        Self {
            code: problem.code(),
            severity: problem.severity().as_str(),
            fix: problem.fix(),
            field: problem.field,
            what: problem.what,
        }
    }
}

fn text(card: &Card) -> Raw {
    Raw::parse_text(card.text()).unwrap_or_else(|_| Raw::string(card.text()))
}

//! Keys and tokens. A secret is in the answer that makes it, and nowhere else.

use std::time::Duration;

use axum::{
    Json,
    extract::{Path, State},
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use nuncio_protocol::{
    ids::{AgentId, Organisation},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

use super::agents::find;
use crate::{
    directory::Enrolment,
    error::Error,
    http::{
        body,
        login::set_cookie,
        problem::Problem,
        view::{IssuedView, KeyView},
        who::{Role, Who},
    },
    hub::Hub,
    session::{Login, Session},
};

/// How long an enrolment token is good, unless it is said.
const ENROLMENT_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Keys {
    keys: Vec<KeyView>,
}

#[utoipa::path(
    get,
    path = "/api/v1/agents/{agent}/tokens",
    operation_id = "listTokens",
    tag = "keys",
    summary = "Lists the tokens of an agent",
    params(("agent" = String, Path, description = "The name or id of an agent")),
    responses((status = 200, description = "Done", body = Keys)),
)]
pub(crate) async fn tokens(
    State(hub): State<Hub>,
    who: Who,
    Path(agent): Path<String>,
) -> Result<Json<Keys>, Problem> {
    who.somebody()?;
    let agent = hub.directory.visible(who.asker(), &agent)?;
    who.itself_or_administrator(&agent.id)?;
    let state = hub.directory.state();
    let keys = state.keys_of(&agent.id).into_iter();
    let keys = keys.map(|record| KeyView::new(&hub.directory, record)).collect();
    Ok(Json(Keys { keys }))
}

#[utoipa::path(
    post,
    path = "/api/v1/agents/{agent}/tokens",
    operation_id = "newToken",
    tag = "keys",
    summary = "Makes one more token for an agent",
    params(("agent" = String, Path, description = "The name or id of an agent")),
    responses((status = 201, description = "Made", body = IssuedView)),
)]
pub(crate) async fn new_token(
    State(hub): State<Hub>,
    who: Who,
    Path(agent): Path<String>,
) -> Result<(StatusCode, Json<IssuedView>), Problem> {
    who.somebody()?;
    let agent = hub.directory.visible(who.asker(), &agent)?;
    who.itself_or_administrator(&agent.id)?;
    let issued = hub.directory.new_token(&who.organisation, &agent.id, &who.actor()).await?;
    Ok((StatusCode::CREATED, Json((&issued).into())))
}

#[utoipa::path(
    delete,
    path = "/api/v1/agents/{agent}/tokens/{key}",
    operation_id = "revokeToken",
    tag = "keys",
    summary = "Revokes a token of an agent",
    params(("agent" = String, Path, description = "The name or id of an agent"), ("key" = String, Path, description = "The id of a key")),
    responses((status = 204, description = "Done")),
)]
pub(crate) async fn revoke_token(
    State(hub): State<Hub>,
    who: Who,
    Path((agent, key)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    who.somebody()?;
    let agent = hub.directory.visible(who.asker(), &agent)?;
    who.itself_or_administrator(&agent.id)?;
    let is_its = hub.directory.state().keys_of(&agent.id).iter().any(|record| record.id() == key);
    if !is_its {
        return Err(Error::Unknown { what: "key" }.into());
    }
    hub.directory.revoke(&who.organisation, &key, &who.actor()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A token for newcomers.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NewEnrolment {
    /// The id of the one agent that may use it.
    #[schema(value_type = Option<String>)]
    agent: Option<AgentId>,
    /// The name or id of the agent below which the newcomer comes to stand.
    parent: Option<String>,
    /// Whether more than one may use it.
    reusable: bool,
    /// For how many seconds it is good; for a day, if it is not said.
    lifetime_seconds: Option<u32>,
}

#[utoipa::path(
    post,
    path = "/api/v1/enrolments",
    operation_id = "newEnrolment",
    tag = "keys",
    summary = "Makes a token for newcomers",
    request_body = NewEnrolment,
    responses((status = 201, description = "Made", body = IssuedView)),
)]
pub(crate) async fn new_enrolment(
    State(hub): State<Hub>,
    who: Who,
    body::Json(new): body::Json<NewEnrolment>,
) -> Result<(StatusCode, Json<IssuedView>), Problem> {
    who.administrator()?;
    let parent = new.parent.map(|text| find(&hub, &who, &text)).transpose()?;
    let lifetime = new.lifetime_seconds.map(|seconds| Duration::from_secs(seconds.into()));
    let enrolment = Enrolment {
        key: String::new(),
        agent: new.agent,
        parent: parent.map(|parent| parent.id.clone()),
        is_reusable: new.reusable,
        expires: after(lifetime.unwrap_or(ENROLMENT_LIFETIME)),
    };
    let issued = hub.directory.new_enrolment(&who.organisation, &enrolment, &who.actor()).await?;
    Ok((StatusCode::CREATED, Json((&issued).into())))
}

#[utoipa::path(
    get,
    path = "/api/v1/keys",
    operation_id = "listKeys",
    tag = "keys",
    summary = "Lists keys",
    responses((status = 200, description = "Done", body = Keys)),
)]
pub(crate) async fn list(State(hub): State<Hub>, who: Who) -> Result<Json<Keys>, Problem> {
    who.administrator()?;
    let state = hub.directory.state();
    let ours = state.keys().filter(|record| {
        record.organisation().is_some_and(|found| **found == *who.organisation.as_str())
    });
    let mut keys: Vec<KeyView> = ours.map(|record| KeyView::new(&hub.directory, record)).collect();
    keys.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
    Ok(Json(Keys { keys }))
}

/// A key for a person or program.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewKey {
    name: String,
    #[serde(default)]
    scopes: Vec<String>,
    lifetime_seconds: Option<u32>,
}

#[utoipa::path(
    post,
    path = "/api/v1/keys",
    operation_id = "newKey",
    tag = "keys",
    summary = "Makes a key for a person or program",
    request_body = NewKey,
    responses((status = 201, description = "Made", body = IssuedView)),
)]
pub(crate) async fn new(
    State(hub): State<Hub>,
    who: Who,
    body::Json(new): body::Json<NewKey>,
) -> Result<(StatusCode, Json<IssuedView>), Problem> {
    who.administrator()?;
    let lifetime = new.lifetime_seconds.map(|seconds| Duration::from_secs(seconds.into()));
    let expires = lifetime.and_then(after);
    let issued = hub
        .directory
        .new_key(&who.organisation, &new.name, &new.scopes, expires, &who.actor())
        .await?;
    Ok((StatusCode::CREATED, Json((&issued).into())))
}

#[utoipa::path(
    delete,
    path = "/api/v1/keys/{key}",
    operation_id = "revokeKey",
    tag = "keys",
    summary = "Revokes a key",
    params(("key" = String, Path, description = "The id of a key")),
    responses((status = 204, description = "Done")),
)]
pub(crate) async fn revoke(
    State(hub): State<Hub>,
    who: Who,
    Path(key): Path<String>,
) -> Result<StatusCode, Problem> {
    who.administrator()?;
    hub.directory.revoke(&who.organisation, &key, &who.actor()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A link that lets a browser in, once.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct LoginLink {
    url: String,
}

#[utoipa::path(
    post,
    path = "/api/v1/login",
    operation_id = "newLoginLink",
    tag = "keys",
    summary = "Makes a link that lets a browser in, once",
    responses((status = 200, description = "Done", body = LoginLink)),
)]
pub(crate) async fn login_link(
    State(hub): State<Hub>,
    who: Who,
) -> Result<Json<LoginLink>, Problem> {
    who.overseer()?;
    let login = Login {
        name: who.identity.name().unwrap_or("browser").to_owned(),
        organisation: who.organisation.clone(),
        is_administrator: who.role == Role::Administrator,
    };
    // The browser is let in for as long as the key would be.
    let key = who.identity.key.as_ref().map(|key| key.id().into());
    let ticket = hub.sessions.invite(Session { login, key });
    let ticket = ticket.map_err(|_| Error::TooMany { what: "login links", limit: 0 })?;
    let url = format!("{}/login?ticket={}", hub.settings.public_url, ticket.expose());
    Ok(Json(LoginLink { url }))
}

#[utoipa::path(
    post,
    path = "/api/v1/logout",
    operation_id = "logOut",
    tag = "keys",
    summary = "Shows the browser out that asks for it",
    responses((status = 204, description = "Done")),
)]
pub(crate) async fn log_out(State(hub): State<Hub>, who: Who) -> Result<Response, Problem> {
    let session = who.session.ok_or_else(|| {
        Problem::new(
            StatusCode::CONFLICT,
            "NOT_A_BROWSER",
            "only a browser that came in by a login link is shown out; keys are revoked",
        )
    })?;
    hub.sessions.end(&session);
    let mut response = StatusCode::NO_CONTENT.into_response();
    set_cookie(&hub, &mut response, "", 0);
    Ok(response)
}

/// Who the hub takes the caller for.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct WhoAmI {
    #[schema(value_type = String)]
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[schema(value_type = String)]
    organisation: Organisation,
    /// Whether it is a browser that came in by a login link, and may log out.
    browser: bool,
    /// The agent that an enrolment token is for, if it is for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    enrols: Option<AgentId>,
    /// Who signs pair tokens: their `iss`. The keys are below it, at `/.well-known/jwks.json`.
    issuer: String,
}

#[utoipa::path(
    get,
    path = "/api/v1/whoami",
    operation_id = "whoAmI",
    tag = "keys",
    summary = "Says whom the hub takes the caller for",
    responses((status = 200, description = "Done", body = WhoAmI)),
)]
pub(crate) async fn who_am_i(State(hub): State<Hub>, who: Who) -> Json<WhoAmI> {
    let role = match &who.role {
        Role::Administrator => "administrator",
        Role::Viewer => "viewer",
        Role::Person => "person",
        Role::Agent(_) => "agent",
        Role::Newcomer(_) => "newcomer",
    };
    let enrols = match &who.role {
        Role::Newcomer(enrolment) => enrolment.agent.clone(),
        _ => None,
    };
    let name = who.identity.name().map(str::to_owned);
    let issuer = hub.minter.issuer().to_owned();
    let browser = who.session.is_some();
    Json(WhoAmI { role, name, organisation: who.organisation, browser, enrols, issuer })
}

fn after(lifetime: Duration) -> Option<Timestamp> {
    let millis = i64::try_from(lifetime.as_millis()).ok()?;
    Timestamp::from_millis(Timestamp::now().as_millis().checked_add(millis)?)
}

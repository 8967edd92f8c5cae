//! `/.well-known/ai-catalog.json`: what the asker may see, as the AI Catalog specification has it.

use std::collections::BTreeSet;

use aws_lc_rs::digest::{SHA256, digest};
use axum::{
    extract::{FromRequestParts, State},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, COOKIE, ETAG, IF_NONE_MATCH, VARY},
    request::Parts,
};
use nuncio_net::listen::Peer;
use nuncio_protocol::time::Timestamp;
use serde::Serialize;

use super::{
    problem::Problem,
    who::{Role, Who},
};
use crate::{
    agent::Agent,
    directory::{MAX_PAGE, Query},
    hub::Hub,
};

/// How many tags an entry has at most.
const MOST_TAGS: usize = 32;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Catalog<'a> {
    spec_version: &'static str,
    host: Host<'a>,
    entries: Vec<Entry>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Host<'a> {
    display_name: &'static str,
    identifier: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    identifier: String,
    display_name: String,
    r#type: &'static str,
    url: String,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    tags: BTreeSet<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<Timestamp>,
}

/// Somebody, or nobody in particular: a credential need not be shown, but one that is shown has
/// to be good.
pub(super) struct Visitor(pub(super) Option<Who>);

impl FromRequestParts<Hub> for Visitor {
    type Rejection = Problem;

    async fn from_request_parts(head: &mut Parts, hub: &Hub) -> Result<Self, Problem> {
        let has_header = [AUTHORIZATION.as_str(), "x-api-key", COOKIE.as_str()]
            .into_iter()
            .any(|name| head.headers.contains_key(name));
        let peer = head.extensions.get::<Peer>();
        let has_certificate = peer.and_then(Peer::certificate).is_some();
        if has_header || has_certificate || hub.settings.is_open {
            return Who::from_request_parts(head, hub).await.map(Some).map(Self);
        }
        Ok(Self(None))
    }
}

pub(super) async fn catalog(
    State(hub): State<Hub>,
    Visitor(visitor): Visitor,
    headers: HeaderMap,
) -> Response {
    let public_url = &hub.settings.public_url;
    let publisher = publisher(public_url);
    let mut entries = vec![Entry {
        identifier: format!("urn:air:{publisher}:api:nuncio"),
        display_name: "Nuncio management API".to_owned(),
        r#type: "application/vnd.oai.openapi+json",
        url: format!("{public_url}/openapi.json"),
        tags: BTreeSet::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        updated_at: None,
    }];
    if let Some(who) = visitor.filter(|who| !matches!(who.role, Role::Newcomer(_))) {
        let mut query = Query { limit: MAX_PAGE, ..Query::default() };
        loop {
            let page = hub.directory.search(who.asker(), &query);
            entries.extend(page.agents.iter().filter_map(|agent| entry(&hub, publisher, agent)));
            query.after = page.next;
            if query.after.is_none() {
                break;
            }
        }
    }
    let host = Host { display_name: "Nuncio", identifier: publisher };
    let catalog = Catalog { spec_version: "1.0", host, entries };
    answer(serde_json::to_string(&catalog).unwrap_or_default(), &headers)
}

/// An agent without a card has nothing that a catalog could point at.
fn entry(hub: &Hub, publisher: &str, agent: &Agent) -> Option<Entry> {
    let card = agent.card.as_ref()?.card();
    let (name, organisation) = (&agent.name, &agent.organisation);
    let tags = card.skills.iter().flat_map(|skill| skill.tags.iter().cloned());
    Some(Entry {
        identifier: format!("urn:air:{publisher}:{organisation}:a2a:{name}"),
        display_name: agent.title().to_owned(),
        r#type: "application/a2a-agent-card+json",
        url: format!("{}/api/v1/agents/{name}/card", hub.settings.public_url),
        tags: tags.take(MOST_TAGS).collect(),
        version: card.version.clone(),
        updated_at: Some(agent.updated),
    })
}

/// Returns the name of the host, which stands for whoever publishes.
fn publisher(public_url: &str) -> &str {
    let rest = public_url.split_once("://").map_or(public_url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or_default();
    match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => authority,
    }
}

fn answer(body: String, headers: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(digest(&SHA256, body.as_bytes())));
    let known = headers.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let is_known = known.is_some_and(|known| {
        known.split(',').any(|one| one.trim().trim_start_matches("W/") == tag)
    });
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let kind = HeaderValue::from_static("application/ai-catalog+json");
        ([(CONTENT_TYPE, kind)], body).into_response()
    };
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    // Each asker sees a catalog of their own.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    headers.insert(VARY, HeaderValue::from_static("authorization, x-api-key, cookie"));
    response
}

#[cfg(test)]
mod tests {
    use super::publisher;

    #[test]
    fn a_publisher_is_a_host_without_its_port() {
        for (url, host) in [
            ("https://hub.example", "hub.example"),
            ("https://hub.example:8443/below", "hub.example"),
            ("http://127.0.0.1:4040", "127.0.0.1"),
            ("http://[::1]:4040", "[::1]"),
        ] {
            assert_eq!(publisher(url), host);
        }
    }
}

//! The document that describes the API, held against the API.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Running, get, send};

const SNAPSHOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");

/// Every operation of a document: method, path, and whether it needs a credential.
fn operations(document: &Value) -> BTreeMap<(String, String), bool> {
    let paths = document["paths"].as_object().expect("paths");
    let all = paths.iter().flat_map(|(path, item)| {
        let item = item.as_object().expect("operations");
        item.iter().map(move |(method, operation)| {
            let is_public = operation["security"].as_array().is_some_and(|any| {
                any.iter().any(|one| one.as_object().is_some_and(serde_json::Map::is_empty))
            });
            ((method.to_uppercase(), path.clone()), !is_public)
        })
    });
    all.collect()
}

/// Every route in the text of a router.
fn routes(source: &str, below: &str) -> BTreeSet<(String, String)> {
    let mut routes = BTreeSet::new();
    for piece in source.split(".route(\"").skip(1) {
        let (path, rest) = piece.split_once('"').expect("a path ends");
        let line = rest.split('\n').next().unwrap_or_default();
        for method in ["get", "post", "put", "patch", "delete"] {
            let is_there = [" ", "."].iter().any(|sign| line.contains(&format!("{sign}{method}(")));
            if is_there {
                routes.insert((method.to_uppercase(), format!("{below}{path}")));
            }
        }
    }
    routes
}

#[tokio::test]
async fn every_route_is_described_and_everything_described_is_routed() {
    let running = Running::start().await;
    let document = get(&running.stranger, "/openapi.json").await.json();
    let described: BTreeSet<_> = operations(&document).into_keys().collect();
    let mut routed = routes(include_str!("../../../src/http/api.rs"), "/api/v1");
    routed.extend(routes(include_str!("../../../src/http.rs"), ""));
    // Calls over gRPC are described in its own language; pages for people in none.
    routed.retain(|(_, path)| !path.contains("A2AService") && !path.starts_with("/ui"));
    assert!(routed.len() > 40, "{routed:?}");
    assert_eq!(described, routed);
}

#[tokio::test]
async fn nothing_that_needs_a_credential_is_had_without_one() {
    let running = Running::with(|_, settings| settings.limits.strangers = 1000).await;
    let document = get(&running.stranger, "/openapi.json").await.json();
    let mut closed = 0;
    for ((method, path), is_closed) in operations(&document) {
        let path = path.replace(['{', '}'], "");
        let reply = send(&running.stranger, &method, &path, &Value::Null).await;
        if is_closed {
            assert_eq!(reply.status, 401, "{method} {path}: {}", reply.text());
            assert!(reply.header("www-authenticate").starts_with("Bearer"), "{method} {path}");
            closed += 1;
        } else {
            assert!(!matches!(reply.status, 401 | 403), "{method} {path}: {}", reply.status);
        }
    }
    assert!(closed > 30, "{closed}");
}

#[tokio::test]
async fn the_document_hangs_together() {
    let running = Running::start().await;
    let document = get(&running.stranger, "/openapi.json").await.json();
    assert_eq!(document["openapi"], "3.1.0");
    let text = document.to_string();
    for reference in text.split("\"$ref\":\"#").skip(1) {
        let pointer = reference.split('"').next().unwrap_or_default();
        assert!(document.pointer(pointer).is_some(), "{pointer} leads nowhere");
    }
    let mut ids = BTreeSet::new();
    for ((method, path), _) in operations(&document) {
        let operation = &document["paths"][&path][method.to_lowercase()];
        let id = operation["operationId"].as_str().expect("an id").to_owned();
        assert!(ids.insert(id), "{method} {path} has the id of another");
        assert!(operation["summary"].is_string(), "{method} {path}");
        let named = operation["parameters"].as_array().into_iter().flatten();
        let named = named.filter(|parameter| parameter["in"] == "path").count();
        assert_eq!(named, path.matches('{').count(), "{method} {path}");
    }
}

#[tokio::test]
async fn the_document_that_is_served_is_what_the_handlers_say() {
    let described = nuncio_hub::http::description();
    if std::env::var_os("NUNCIO_BLESS").is_some() {
        std::fs::write(SNAPSHOT, &described).expect("it can be written");
    }
    let kept = std::fs::read_to_string(SNAPSHOT).unwrap_or_default();
    assert!(kept == described, "run this test with NUNCIO_BLESS=1 and look at the difference");
    let running = Running::start().await;
    let served = get(&running.stranger, "/openapi.json").await;
    assert!(served.text() == kept, "the program was made before the document");
}

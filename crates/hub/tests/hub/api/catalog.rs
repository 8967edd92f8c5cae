//! The catalog of what an asker may see.

use nuncio_testkit::wire::Http;
use serde_json::Value;

use super::{Running, bearer, check_refused, get};

const PATH: &str = "/.well-known/ai-catalog.json";

async fn names(http: &Http) -> Vec<String> {
    let reply = get(http, PATH).await;
    assert_eq!(reply.header("content-type"), "application/ai-catalog+json");
    let catalog = reply.json();
    assert_eq!(catalog["specVersion"], "1.0");
    assert!(catalog["host"]["displayName"].is_string());
    let entries = catalog["entries"].as_array().expect("entries").iter();
    entries
        .map(|entry| {
            let text = |name: &str| entry[name].as_str().expect("a text").to_owned();
            assert!(text("identifier").starts_with("urn:air:127.0.0.1:"), "{entry}");
            assert!(entry.get("data").is_none() && !text("type").is_empty(), "{entry}");
            text("displayName")
        })
        .collect()
}

#[tokio::test]
async fn the_catalog_has_what_its_asker_may_see() {
    let running = Running::start().await;
    running.join("lead", None).await;
    let writer = running.join("writer", Some("lead")).await;
    running.join("hidden", None).await;
    assert_eq!(names(&running.stranger).await, ["Nuncio management API"]);
    assert_eq!(names(&writer.http).await[1..], ["lead", "writer"]);
    assert_eq!(names(&running.administrator).await[1..], ["hidden", "lead", "writer"]);
    let wrong = bearer(&running.stranger, "nk_0123456789abcdef_x");
    check_refused(&get(&wrong, PATH).await, 401, "UNAUTHENTICATED");
    let catalog = get(&writer.http, PATH).await.json();
    let url = catalog["entries"][1]["url"].as_str().unwrap().to_owned();
    let path = url.strip_prefix(&running.hub.settings.public_url).unwrap();
    assert_eq!(get(&writer.http, path).await.json()["name"], "lead");
}

#[tokio::test]
async fn a_catalog_that_is_known_is_not_sent_again() {
    let running = Running::start().await;
    running.join("lead", None).await;
    let first = get(&running.administrator, PATH).await;
    let tag = [("if-none-match", first.header("etag"))];
    let again = running.administrator.request("GET", PATH, &tag, "").await;
    assert_eq!((again.status, again.body.len()), (304, 0));
    let other = running.stranger.request("GET", PATH, &tag, "").await;
    assert_eq!(other.status, 200, "another asker has another catalog");
    running.done("DELETE", "/api/v1/agents/lead", &Value::Null).await;
    let changed = running.administrator.request("GET", PATH, &tag, "").await;
    assert_eq!(changed.status, 200);
}

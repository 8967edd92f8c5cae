//! One caller cannot use up what is everybody's (A-QUOTA).

use nuncio_auth::ApiKey;
use serde_json::{Value, json};

use super::{Running, bearer, check_refused, get, send};

#[tokio::test]
async fn a_quota_whoever_asks_too_much_waits_and_a_neighbour_does_not() {
    const LIMIT: u32 = 10;
    let running = Running::with(|_, settings| settings.limits.requests = LIMIT).await;
    let greedy = running.join("greedy", None).await;
    let modest = running.join("modest", None).await;
    let mut refused = 0;
    for round in 0..LIMIT * 50 {
        let reply = get(&greedy.http, "/api/v1/whoami").await;
        assert_eq!(reply.header("x-ratelimit-limit"), LIMIT.to_string());
        if reply.status == 429 {
            check_refused(&reply, 429, "TOO_MANY_REQUESTS");
            assert_eq!(reply.header("x-ratelimit-remaining"), "0");
            let wait: u64 = reply.header("retry-after").parse().unwrap();
            assert!((1..=6).contains(&wait), "{wait}");
            refused += 1;
        } else {
            assert_eq!(reply.status, 200, "{}", reply.text());
        }
        if round % 100 == 0 {
            assert_eq!(get(&modest.http, "/api/v1/whoami").await.status, 200);
        }
    }
    assert!(refused >= LIMIT * 40, "only {refused} were refused");
    // What keeps an agent alive has a bucket of its own.
    let reply = send(&greedy.http, "POST", "/api/v1/agents/greedy/heartbeat", &json!({})).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
}

#[tokio::test]
async fn strangers_are_counted_by_their_address_and_callers_are_not() {
    let running = Running::with(|_, settings| settings.limits.strangers = 5).await;
    for _ in 0..5 {
        check_refused(&get(&running.stranger, "/api/v1/agents").await, 401, "UNAUTHENTICATED");
    }
    let reply = get(&running.stranger, "/api/v1/agents").await;
    check_refused(&reply, 429, "TOO_MANY_REQUESTS");
    assert_eq!(get(&running.administrator, "/api/v1/agents").await.status, 200);
    assert_eq!(get(&running.stranger, "/healthz").await.status, 200);
}

#[tokio::test]
async fn whoever_guesses_keys_shuts_out_nobody_at_the_same_address() {
    let running = Running::with(|_, settings| settings.limits.strangers = 100_000).await;
    let guess = async || {
        let (key, _) = ApiKey::generate("x");
        get(&bearer(&running.stranger, &key.to_string()), "/api/v1/whoami").await
    };
    while guess().await.status != 429 {}
    check_refused(&guess().await, 429, "TOO_MANY_REQUESTS");
    assert_eq!(get(&running.administrator, "/api/v1/whoami").await.status, 200);
}

#[tokio::test]
async fn a_caller_has_so_many_event_streams_and_no_more() {
    let running = Running::with(|_, settings| settings.limits.streams = 2).await;
    let key =
        running.done("POST", "/api/v1/keys", &json!({ "name": "v", "scopes": ["read"] })).await;
    let viewer = bearer(&running.stranger, key["key"].as_str().unwrap());
    let viewer = viewer.with("accept", "text/event-stream");
    let first = viewer.frames("GET", "/api/v1/events", &[], "").await;
    let second = viewer.frames("GET", "/api/v1/events", &[], "").await;
    check_refused(&get(&viewer, "/api/v1/events").await, 429, "TOO_MANY_STREAMS");
    let administrator = running.administrator.clone().with("accept", "text/event-stream");
    drop(administrator.frames("GET", "/api/v1/events", &[], "").await);
    drop((first, second));
    // The places are free as soon as the hub has noticed.
    while viewer.open("GET", "/api/v1/events", &[], "").await.unwrap().status() == 429 {
        tokio::task::yield_now().await;
    }
    running.done("GET", "/api/v1/whoami", &Value::Null).await;
}

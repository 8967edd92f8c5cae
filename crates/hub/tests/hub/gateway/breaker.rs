//! Agents that fail again and again are left alone for a while.

use std::time::Duration;

use nuncio_protocol::dialect::WireForm;
use nuncio_testkit::wire::{Http, Reply};

use super::{
    agents::{Served, Skilled},
    callers::patiently,
    stage::Stage,
    world::World,
};

/// Says something until the answer is what is waited for: how long an agent is left alone is no
/// affair of a test.
async fn insist(http: &Http, is_it: impl Fn(&Reply) -> bool) -> Reply {
    let headers = [("content-type", "application/json"), ("a2a-version", "1.0")];
    let body = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}}"#;
    patiently(async {
        loop {
            let reply = http.request("POST", "/agents/script/message:send", &headers, body).await;
            if is_it(&reply) {
                return reply;
            }
            assert_eq!(reply.status, 503, "{}", reply.text());
            tokio::task::yield_now().await;
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_fails_is_left_alone_and_called_again_when_it_is_back() {
    let world = World::with(|settings| {
        settings.options.breaker.in_a_row = 2;
        settings.options.breaker.pause = Duration::from_millis(500);
        settings.options.retries.pause = Duration::from_millis(1);
    })
    .await;
    let stage = Stage::default();
    let mut served = Served::script(WireForm::V1, Skilled::Answers, &stage).await;
    world.add("script", &served.url()).await;
    let key = format!("Bearer {}", world.key("ann").await);
    let ann = Http::new(world.address).with("authorization", &key);
    insist(&ann, |reply| reply.status == 200).await;

    let address = served.stop().await;
    let resting = insist(&ann, |reply| reply.text().contains("failed too often")).await;
    assert_eq!(resting.status, 503, "{}", resting.text());
    assert!(resting.header("retry-after").parse::<u64>().is_ok(), "{:?}", resting.headers);
    let error = &resting.json()["error"];
    assert!(error["message"].as_str().is_some_and(|why| why.contains("asked again in")), "{error}");
    assert_eq!(error["details"][1]["reason"], "AGENT_UNAVAILABLE", "{error}");
    assert_eq!(error["details"][0]["metadata"]["delivery"], "none", "{error}");

    let _back = Served::at(address, WireForm::V1, Skilled::Answers, &stage).await;
    insist(&ann, |reply| reply.status == 200).await;
    // It is closed for good, not for one call.
    for _ in 0..3 {
        insist(&ann, |reply| {
            assert_eq!(reply.status, 200, "{}", reply.text());
            true
        })
        .await;
    }
}

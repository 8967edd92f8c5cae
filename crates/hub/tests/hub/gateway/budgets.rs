//! Budgets and limits: exact, told in every form, and changed while calls are carried.

use nuncio_hub::gateway::{Budget, Budgets, Limits, Named};
use nuncio_protocol::{
    dialect::WireForm, error::ErrorKind, operation::Request, state::TaskState,
    task::SendMessageResponse,
};
use nuncio_testkit::wire::{Http, Reply};
use serde_json::{Value, json};

use super::{
    agents::{Served, Skilled},
    callers::{FORMS, at_once, begin, message, refused, result},
    stage::Stage,
    world::World,
};

/// A hub with one agent.
struct Shop {
    world: World,
    stage: Stage,
    _agent: Served,
}

impl Shop {
    async fn new(limits: Limits) -> Self {
        let world = World::with(|settings| settings.limits = limits).await;
        let stage = Stage::default();
        let agent = Served::script(WireForm::V1, Skilled::Resumes, &stage).await;
        world.add("worker", &agent.url()).await;
        Self { world, stage, _agent: agent }
    }

    async fn send(&self, key: &str, text: &str) -> String {
        result(&begin(&self.world.remote(key, "worker", WireForm::V1), message(text)).await)
    }

    /// Sends a message on JSON-RPC or HTTP+JSON, and returns the bare answer.
    async fn post(&self, key: &str, path: &str, body: &Value) -> Reply {
        let http = Http::new(self.world.address).with("authorization", &format!("Bearer {key}"));
        let headers = [("content-type", "application/json"), ("a2a-version", "1.0")];
        http.request("POST", path, &headers, body.to_string()).await
    }
}

fn of_callers(usual: Budget, named: &[(&str, Budget)]) -> Limits {
    let named = named.iter().map(|(name, budget)| ((*name).to_owned(), *budget)).collect();
    let callers = Named { usual, named };
    Limits { budgets: Budgets { callers, ..Budgets::default() }, ..Limits::default() }
}

fn of_agents(usual: Budget) -> Limits {
    let agents = Named { usual, ..Named::default() };
    Limits { budgets: Budgets { agents, ..Budgets::default() }, ..Limits::default() }
}

fn a_day(calls: u64) -> Budget {
    Budget { calls_per_day: Some(calls), ..Budget::default() }
}

fn a_minute(calls: u32) -> Budget {
    Budget { calls_per_minute: Some(calls), ..Budget::default() }
}

fn send() -> Request {
    Request::SendMessage(message("more"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_day_that_is_used_up_is_told_in_every_form() {
    let shop = Shop::new(of_callers(Budget::default(), &[("user:ann", a_day(2))])).await;
    let (ann, bob) = (shop.world.key("ann").await, shop.world.key("bob").await);
    assert_eq!(shop.send(&ann, "one").await, "one");
    assert_eq!(shop.send(&ann, "two").await, "two");
    for form in FORMS {
        let error = refused(&shop.world.remote(&ann, "worker", form), send()).await;
        assert_eq!(error.kind(), ErrorKind::BudgetExceeded, "{}: {error:?}", form.name());
        assert!(error.message().contains("2 calls a day"), "{error:?}");
        assert!(error.retry_after().is_some(), "{}: {error:?}", form.name());
    }
    let said = json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "x" }] });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
        "params": { "message": said } });
    let reply = shop.post(&ann, "/agents/worker", &call).await;
    assert_eq!(reply.status, 402, "{}", reply.text());
    assert_eq!(reply.json()["error"]["data"][0]["reason"], "BUDGET_EXCEEDED");
    assert!(reply.header("retry-after").parse::<u64>().is_ok_and(|seconds| seconds <= 86_400));
    let reply = shop.post(&ann, "/agents/worker/message:send", &json!({ "message": said })).await;
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (402, &json!(402)));
    assert!(!reply.header("retry-after").is_empty());

    // Others have theirs, and looking costs nothing.
    assert_eq!(shop.send(&bob, "three").await, "three");
    let looked = shop.world.remote(&ann, "worker", WireForm::V1);
    let list = Request::ListTasks(nuncio_protocol::operation::ListTasksRequest::default());
    assert!(super::callers::ask(&looked, list).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_too_fast_is_told_when_to_come_back() {
    let shop = Shop::new(of_agents(a_minute(2))).await;
    let (ann, bob) = (shop.world.key("ann").await, shop.world.key("bob").await);
    shop.send(&ann, "one").await;
    shop.send(&bob, "two").await;
    let error = refused(&shop.world.remote(&ann, "worker", WireForm::V1Http), send()).await;
    assert_eq!(error.kind(), ErrorKind::RateLimited, "{error:?}");
    assert!(error.message().contains("for agent `worker` is 2 calls a minute"), "{error:?}");
    let wait = error.retry_after().expect("it says how long");
    assert!(wait.as_secs() <= 60, "{wait:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_calls_at_once_exactly_the_budget_gets_through() {
    let shop = Shop::new(of_agents(a_day(7))).await;
    let keys = [shop.world.key("ann").await, shop.world.key("bob").await];
    let calls = (0..20).map(|number: usize| {
        let remote = shop.world.remote(&keys[number % 2], "worker", WireForm::V1);
        async move { super::callers::ask(&remote, send()).await.is_ok() }
    });
    let through = futures_util::future::join_all(calls).await;
    assert_eq!(through.iter().filter(|is_through| **is_through).count(), 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_spent_today_is_spent_for_the_next_gateway_too() {
    let shop = Shop::new(of_agents(a_day(1))).await;
    let ann = shop.world.key("ann").await;
    shop.send(&ann, "one").await;
    let next = shop.world.next_gateway().await;
    next.limit(of_agents(a_day(1)));
    let service = next.service();
    let refused = service.send_message(
        nuncio_protocol::service::CallContext {
            tenant: Some(nuncio_protocol::ids::Tenant::parse("worker").expect("a name")),
            organisation: Some("acme".into()),
            ..nuncio_protocol::service::CallContext::new(nuncio_protocol::service::Caller::User(
                "ann".into(),
            ))
        },
        message("two"),
    );
    let error = refused.await.expect_err("it is used up");
    assert_eq!(error.kind(), ErrorKind::BudgetExceeded, "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_has_so_many_tasks_that_have_not_ended() {
    let own = Budget { tasks_in_flight: Some(1), ..Budget::default() };
    let mut limits = of_callers(Budget::default(), &[("user:ann", own)]);
    limits.unfinished_tasks = 2;
    let shop = Shop::new(limits).await;
    for (name, most) in [("ann", 1), ("bob", 2)] {
        let key = shop.world.key(name).await;
        let remote = shop.world.remote(&key, "worker", WireForm::V1);
        for _ in 0..most {
            let task = begin(&remote, at_once("ask:x")).await;
            assert!(!task.status.state.is_terminal(), "{task:?}");
        }
        let error = refused(&remote, send()).await;
        assert_eq!(error.kind(), ErrorKind::RateLimited, "{name}: {error:?}");
        assert!(error.retry_after().is_some(), "{name}: {error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_gets_as_many_calls_at_once_as_it_has_of_its_own() {
    let own = Budget { tasks_in_flight: Some(1), ..Budget::default() };
    let mut limits = of_agents(own);
    limits.queue = 1;
    limits.queue_wait = std::time::Duration::from_millis(50);
    let shop = Shop::new(limits.clone()).await;
    let ann = shop.world.key("ann").await;
    let remote = shop.world.remote(&ann, "worker", WireForm::V1);
    begin(&remote, at_once("hold:first")).await;
    shop.stage.runs("first").await;
    let error = refused(&remote, send()).await;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
    // More is allowed while it works.
    limits.budgets = Budgets::default();
    shop.world.gateway().limit(limits);
    assert_eq!(shop.send(&ann, "second").await, "second");
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_change_while_calls_are_carried() {
    let shop = Shop::new(of_agents(a_day(1))).await;
    let ann = shop.world.key("ann").await;
    let remote = shop.world.remote(&ann, "worker", WireForm::V1);
    shop.send(&ann, "one").await;
    assert_eq!(refused(&remote, send()).await.kind(), ErrorKind::BudgetExceeded);
    shop.world.gateway().limit(Limits::default());
    assert_eq!(shop.send(&ann, "two").await, "two");

    // An agent that does not begin to answer in time is given up.
    let mut limits = Limits::default();
    limits.clocks.first_byte = std::time::Duration::from_millis(50);
    limits.clocks.wait = std::time::Duration::from_millis(50);
    shop.world.gateway().limit(limits);
    shop.stage.hold_answers(true);
    let told = super::callers::ask(&remote, send()).await;
    shop.stage.hold_answers(false);
    let is_given_up = match &told {
        Err(_) => true,
        Ok(nuncio_protocol::operation::Response::SendMessage(SendMessageResponse::Task(task))) => {
            task.status.state == TaskState::Failed
        }
        Ok(_) => false,
    };
    assert!(is_given_up, "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_sent_again_under_its_key_costs_nothing() {
    for budget in [a_day(2), a_minute(2)] {
        let shop = Shop::new(of_callers(Budget::default(), &[("user:ann", budget)])).await;
        let ann = shop.world.key("ann").await;
        let send = async |key: &str, text: &str| {
            let said =
                json!({ "messageId": key, "role": "ROLE_USER", "parts": [{ "text": text }] });
            let http = Http::new(shop.world.address);
            let http = http.with("authorization", &format!("Bearer {ann}"));
            let headers = [
                ("content-type", "application/json"),
                ("a2a-version", "1.0"),
                ("idempotency-key", key),
            ];
            let body = json!({ "message": said }).to_string();
            http.request("POST", "/agents/worker/message:send", &headers, body).await
        };
        let first = send("k-1", "one").await;
        assert_eq!(first.status, 200, "{}", first.text());
        let task = first.json()["task"]["id"].clone();
        for _ in 0..3 {
            let again = send("k-1", "one").await;
            assert_eq!((again.status, &again.json()["task"]["id"]), (200, &task));
        }
        assert_eq!(send("k-2", "two").await.status, 200, "one of two was spent");
        assert!(matches!(send("k-3", "three").await.status, 402 | 429));
        let again = send("k-1", "one").await;
        assert_eq!(again.json()["task"]["id"], task, "also when all is spent: {}", again.text());
    }
}

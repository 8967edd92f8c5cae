//! Which agent is meant, and what happens if a request says otherwise.

use nuncio_protocol::{
    ids::Tenant,
    operation::{ListTasksRequest, Request},
    version::Version,
};
use nuncio_server::{Dialects, StreamLimits, dialects::Molecule};
use nuncio_testkit::wire::{Binding, Refused, Wire};

use super::world::{AGENTS, World, tenant};
use crate::outside::support::send;

fn list(name: Option<&str>) -> Request {
    Request::ListTasks(ListTasksRequest { tenant: name.map(tenant), ..Default::default() })
}

fn check_refused(refused: &Refused, says: &str) {
    assert_eq!(refused.error.reason(), "INVALID_PARAMS", "{refused:?}");
    assert_eq!(refused.error.violations()[0].field, "tenant", "{refused:?}");
    assert!(refused.error.message().contains(says), "{refused:?}");
}

#[tokio::test]
async fn a_request_names_the_agent_of_its_path_or_none() {
    let world = World::start().await;
    for (agent, other) in AGENTS.into_iter().zip(["two", "one"]) {
        for wire in Wire::current(&world.ann(agent)) {
            if wire.binding == Binding::Grpc {
                continue;
            }
            for named in [None, Some(agent)] {
                wire.call(list(named)).await.expect("it is the same");
                let seen = world.switchboard.last().tenant;
                assert_eq!(seen.as_ref().map(Tenant::as_str), Some(agent), "{named:?}");
            }
            let refused = wire.call(list(Some(other))).await.expect_err("it is another");
            check_refused(&refused, &format!("only `{agent}` is served here, not `{other}`"));
        }
        let version = [("a2a-version", "1.0")];
        let path = format!("/tasks?tenant={other}");
        let reply = world.ann(agent).request("GET", &path, &version, "").await;
        assert_eq!(reply.status, 400, "{}", reply.text());
    }
}

#[tokio::test]
async fn an_endpoint_of_many_agents_says_how_to_name_one() {
    let world = World::start().await;
    for wire in Wire::all(&world.ann("one").below("/shared")) {
        let name = format!("{:?} {}", wire.binding, wire.version);
        let refused = wire.call(Request::SendMessage(send("hi"))).await;
        let refused = refused.expect_err("it names nobody");
        assert_eq!(refused.error.reason(), "INVALID_PARAMS", "{name}: {refused:?}");
        let text = refused.error.message();
        assert!(text.contains("tenant") && text.contains("`a2a-agent`"), "{name}: {text}");
        if wire.version == Version::V1_0 {
            for agent in AGENTS {
                wire.call(list(Some(agent))).await.expect("it is there");
                let seen = world.switchboard.last().tenant;
                assert_eq!(seen.as_ref().map(Tenant::as_str), Some(agent), "{name}");
            }
        }
    }
}

#[tokio::test]
async fn metadata_and_request_must_not_name_two_agents() {
    let world = World::start().await;
    let wires = Wire::current(&world.ann("one"));
    let grpc = wires.iter().find(|wire| wire.binding == Binding::Grpc).expect("one");
    let wire = grpc.with("a2a-agent", "one");
    wire.call(list(Some("one"))).await.expect("they agree");
    let refused = wire.call(list(Some("two"))).await.expect_err("they do not");
    check_refused(&refused, "the metadata says `one`, the request `two`");
}

/// M-24: the last event is the whole task, for which the same agent is asked once more.
#[tokio::test]
async fn a_dialect_that_looks_a_task_up_by_itself_asks_the_same_agent() {
    let world = World::with(StreamLimits::default(), |endpoint| {
        endpoint.dialects(Dialects::default().molecule(Molecule { flat: true }))
    })
    .await;
    for agent in AGENTS {
        let body = r#"{"method":"message/stream","params":{"message":
            {"role":"user","parts":[{"type":"text","text":"hello"}]}}}"#;
        let headers = [("a2a-parent-task", "parent-1")];
        let mut frames = world.ann(agent).frames("POST", "/a2a", &headers, body).await;
        let mut last = None;
        while let Some(frame) = frames.next().await {
            last = Some(frame.data);
        }
        let last = last.expect("there are events");
        assert!(last.contains(r#""content":"hello""#), "{agent}: {last}");
        let ctx = world.switchboard.last();
        assert_eq!(ctx.tenant.as_ref().map(Tenant::as_str), Some(agent));
        assert_eq!(ctx.parent, None);
    }
}

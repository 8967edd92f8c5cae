//! Calls and streams, and what they tell the service.

use std::time::Duration;

use nuncio_protocol::{
    ids::{TaskId, Tenant},
    json::{Object, Raw},
    operation::{CancelTaskRequest, GetTaskRequest, Request, Response, SubscribeToTaskRequest},
    service::{CallContext, Caller, Priority},
    state::TaskState,
    task::{SendMessageResponse, StreamResponse, Task},
    version::Version,
};
use nuncio_server::StreamLimits;
use nuncio_testkit::wire::{Binding, Event, Events, Http, Wire};
use tokio::time::Instant;

use super::world::{AGENTS, KNOWN, World, addressed, to};
use crate::outside::support::{gate, patiently, send};

const V1: (&str, &str) = ("a2a-version", "1.0");

fn get(id: &TaskId) -> Request {
    Request::GetTask(GetTaskRequest { tenant: None, id: id.clone(), history_length: None })
}

fn subscribe(id: &TaskId) -> Request {
    Request::SubscribeToTask(SubscribeToTaskRequest { tenant: None, id: id.clone() })
}

async fn begin(wire: &Wire, agent: &str, text: &str) -> Task {
    let request = to(wire, agent, Request::SendMessage(send(text)));
    match wire.call(request).await.expect("a message is taken") {
        Response::SendMessage(SendMessageResponse::Task(task)) => task,
        other => panic!("no task, but {other:?}"),
    }
}

async fn next(events: &mut Events) -> Event {
    events.next().await.expect("the stream goes on").expect("without an error")
}

fn pieces(events: &[Event]) -> usize {
    let is_piece = |event: &&Event| matches!(event.response, StreamResponse::ArtifactUpdate(_));
    events.iter().filter(is_piece).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_binding_and_version_reaches_the_agent_that_it_names_and_no_other() {
    let world = World::start().await;
    for (agent, other) in AGENTS.into_iter().zip(["two", "one"]) {
        for (own, foreign) in world.wires(agent).iter().zip(world.wires(other)) {
            let name = format!("{agent} on {:?} {}", own.binding, own.version);
            let task = begin(own, agent, "hold").await;
            assert_eq!(world.switchboard.last().tenant.as_ref().map(Tenant::as_str), Some(agent));
            let found = own.call(to(own, agent, get(&task.id))).await;
            assert!(matches!(found, Ok(Response::Task(found)) if found.id == task.id), "{name}");
            let missed = foreign.call(to(&foreign, other, get(&task.id))).await;
            let missed = missed.expect_err("it is not there");
            assert_eq!(missed.error.reason(), "TASK_NOT_FOUND", "{name}");
            let cancel = CancelTaskRequest { tenant: None, id: task.id, metadata: None };
            let ended = own.call(to(own, agent, Request::CancelTask(cancel))).await;
            let Ok(Response::Task(ended)) = ended else { panic!("{name}: {ended:?}") };
            assert_eq!(ended.status.state, TaskState::Canceled, "{name}");
        }
    }
}

#[tokio::test]
async fn the_url_works_with_and_without_a_slash() {
    let world = World::start().await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}"#;
    for agent in AGENTS {
        for path in ["", "/", "/a2a"] {
            let reply = world.ann(agent).request("POST", path, &[V1], body).await;
            assert_eq!((reply.status, &reply.json()["id"]), (200, &1.into()), "{agent}{path}");
            assert!(reply.json()["result"]["tasks"].is_array(), "{agent}{path}: {}", reply.text());
        }
        let reply = world.ann(agent).request("GET", "/tasks?pageSize=1", &[V1], "").await;
        assert_eq!((reply.status, &reply.json()["pageSize"]), (200, &1.into()), "{agent}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keyed_message_runs_once_whichever_way_it_comes() {
    let world = World::start().await;
    for version in [Version::V1_0, Version::V0_3] {
        let request = send("once");
        let mut tasks = Vec::new();
        for wire in world.wires("one").iter().filter(|wire| wire.version == version) {
            let wire = wire.with("idempotency-key", &format!("key of {version}"));
            let request = to(&wire, "one", Request::SendMessage(request.clone()));
            match wire.call(request).await {
                Ok(Response::SendMessage(SendMessageResponse::Task(task))) => tasks.push(task.id),
                other => panic!("{:?} {version}: {other:?}", wire.binding),
            }
        }
        assert_eq!(tasks.len(), 3);
        assert!(tasks.iter().all(|task| *task == tasks[0]), "{tasks:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_resumes_behind_the_last_event_that_was_seen() {
    let world = World::start().await;
    for agent in AGENTS {
        for wire in world.wires(agent) {
            let message = send("gated:4");
            let gate = gate(message.message.message_id.as_str());
            let request = to(&wire, agent, Request::SendStreamingMessage(message));
            let mut events = wire.stream(request, None).await.expect("a stream");
            let first = next(&mut events).await;
            let StreamResponse::Task(task) = &first.response else { panic!("{first:?}") };
            let task = task.id.clone();
            let mut seen = vec![first];
            (0..2).for_each(|_| gate.send(()).expect("the agent waits"));
            while pieces(&seen) < 2 {
                seen.push(next(&mut events).await);
            }
            drop(events);
            let at = u64::try_from(seen.len()).expect("few");
            let request = to(&wire, agent, subscribe(&task));
            let mut resumed = wire.stream(request, Some(at)).await.expect("a stream");
            next(&mut resumed).await;
            (0..2).for_each(|_| gate.send(()).expect("the agent waits"));
            let rest = resumed.rest().await;
            if wire.binding != Binding::Grpc {
                let numbers: Vec<u64> = rest.iter().filter_map(|event| event.seq).collect();
                let expected: Vec<u64> = (at + 1..).take(rest.len()).collect();
                assert_eq!(numbers, expected, "{agent} on {:?} {}", wire.binding, wire.version);
            }
            assert_eq!((pieces(&seen), pieces(&rest)), (2, 2), "{agent}: {rest:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn endpoints_have_one_capacity_in_common() {
    let mut limits = StreamLimits::default();
    limits.open_per_caller = 1;
    let world = World::with(limits, |endpoint| endpoint).await;
    let ann = world.wires("one");
    let task = begin(&ann[0], "one", "hold").await.id;
    let open = ann[0].stream(subscribe(&task), None).await.expect("the first");
    for wire in world.wires("two") {
        let request = to(&wire, "two", Request::SendStreamingMessage(send("hi")));
        let refused = wire.stream(request, None).await.expect_err("the second");
        assert_eq!(refused.error.reason(), "RATE_LIMITED", "{:?}", wire.binding);
    }
    // Somebody of that name elsewhere is somebody else.
    let http = world.stranger("two").with("cookie", "ann@umbrella");
    let request = Request::SendStreamingMessage(send("hi"));
    let elsewhere = Wire { http, ..ann[0].clone() };
    elsewhere.stream(request, None).await.expect("their first").rest().await;
    drop(open);
    patiently(async { while ann[0].stream(subscribe(&task), None).await.is_err() {} }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_end_and_tell_so_when_the_drain_begins() {
    let mut world = World::start().await;
    let task = begin(&world.wires("one")[0], "one", "hold").await.id;
    let path = format!("/tasks/{task}:subscribe");
    let mut frames = world.ann("one").frames("GET", &path, &[V1], "").await;
    frames.next().await.expect("the task");
    let grpc = &world.wires("one")[2];
    let mut messages = grpc.stream(to(grpc, "one", subscribe(&task)), None).await.expect("one");
    next(&mut messages).await;
    world.drain.begin(Duration::from_secs(30));
    let told = loop {
        let frame = frames.next_of_any_kind().await.expect("it is told");
        if frame.retry.is_some() {
            break frame;
        }
    };
    assert_eq!(told.retry, Some(1000));
    let refused = loop {
        match messages.next().await.expect("it is told") {
            Ok(_) => {}
            Err(refused) => break refused,
        }
    };
    assert_eq!((refused.code, refused.error.reason()), (14, "UNAVAILABLE"));
    patiently(&mut world.running).await.expect("it has stopped");
}

#[tokio::test]
async fn a_service_hears_everything_that_a_gateway_has_to_pass_on() {
    const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let world = World::start().await;
    let wishes = [
        ("a2a-priority", "high"),
        ("a2a-extensions", "urn:test:a, urn:test:b"),
        ("traceparent", TRACE),
        ("tracestate", "a=b"),
        ("a2a-parent-task", "parent-1"),
    ];
    for wire in world.wires("one") {
        let name = format!("{:?} {}", wire.binding, wire.version);
        let timeout = match wire.binding {
            Binding::Grpc => ("grpc-timeout", "30S"),
            _ => ("a2a-request-timeout", "30000"),
        };
        let wire = wishes
            .iter()
            .chain([&timeout, &("idempotency-key", name.as_str())])
            .fold(wire, |wire, (header, value)| wire.with(header, value));
        let before = Instant::now().into_std();
        let mut first = send("hi");
        first.metadata = Some(Object::default().with("parent_task_id", Raw::string("other")));
        wire.call(to(&wire, "one", Request::SendMessage(first))).await.expect("it is taken");
        let ctx = world.switchboard.last();
        check(&name, &ctx, Some("parent-1"));
        assert_eq!(ctx.priority, Priority::High, "{name}");
        assert_eq!(ctx.idempotency_key.as_ref(), Some(&name));
        assert_eq!(ctx.version, wire.version, "{name}");
        let extensions: Vec<&str> = ctx.extensions.iter().map(String::as_str).collect();
        assert_eq!(extensions, ["urn:test:a", "urn:test:b"], "{name}");
        let trace = ctx.trace.expect("a trace");
        assert_eq!((&*trace.parent, &*trace.state), (TRACE, "a=b"), "{name}");
        let waits = ctx.deadline.expect("a deadline").duration_since(before);
        let (least, most) = (Duration::from_secs(30), Duration::from_secs(90));
        assert!((least..most).contains(&waits), "{name}: {waits:?}");

        // Reading is done for no other task.
        let unknown = TaskId::parse("none").expect("an id");
        wire.call(to(&wire, "one", get(&unknown))).await.expect_err("there is none");
        check(&name, &world.switchboard.last(), None);
        let refused = wire.stream(to(&wire, "one", subscribe(&unknown)), Some(7)).await;
        refused.expect_err("there is none");
        assert_eq!(world.switchboard.last().last_event, Some(7), "{name}");
    }
}

#[track_caller]
fn check(name: &str, ctx: &CallContext, parent: Option<&str>) {
    assert_eq!(ctx.parent.as_ref().map(TaskId::as_str), parent, "{name}");
    assert_eq!(ctx.caller, Caller::User("ann".into()), "{name}");
    assert_eq!(ctx.organisation.as_deref(), Some("acme"), "{name}");
}

/// MD-39: who cannot send headers says so in the metadata.
#[tokio::test]
async fn parent_and_trace_may_stand_in_the_metadata() {
    let world = World::start().await;
    for wire in world.wires("two") {
        let name = format!("{:?} {}", wire.binding, wire.version);
        for (metadata, parent, trace) in [
            (r#"{"parent_task_id":"p","traceparent":"00-a-b-01"}"#, Some("p"), Some("00-a-b-01")),
            (r#"{"parent_task_id":7,"traceparent":{}}"#, None, None),
            (r#"{"parent_task_id":"","traceparent":"a\r\nb: c"}"#, None, None),
            ("{}", None, None),
        ] {
            let mut request = send("hi");
            request.metadata = Some(Object::parse_text(metadata).expect("an object"));
            let request = to(&wire, "two", Request::SendMessage(request));
            wire.call(request).await.expect("it is taken");
            let ctx = world.switchboard.last();
            check(&format!("{name} {metadata}"), &ctx, parent);
            let found = ctx.trace.map(|trace| trace.parent);
            assert_eq!(found.as_deref(), trace, "{name} {metadata}");
        }
    }
}

#[tokio::test]
async fn wishes_that_cannot_be_read_are_refused() {
    let world = World::start().await;
    for wire in world.wires("one") {
        let long = "x".repeat(257);
        for (header, value) in [
            ("a2a-parent-task", ""),
            ("a2a-parent-task", &*long),
            ("a2a-priority", "urgent"),
            ("a2a-request-timeout", "soon"),
            ("grpc-timeout", "soon"),
        ] {
            // The client of gRPC refuses to send a timeout that is none.
            if wire.binding == Binding::Grpc && header == "grpc-timeout" {
                continue;
            }
            let unfit = wire.with(header, value);
            let refused = unfit.call(to(&unfit, "one", Request::SendMessage(send("hi")))).await;
            let refused = refused.expect_err("it makes no sense");
            assert_eq!(refused.error.reason(), "INVALID_PARAMS", "{header}: {refused:?}");
            assert!(refused.error.message().contains(header), "{refused:?}");
        }
    }
}

#[tokio::test]
async fn the_extensions_of_the_agent_that_is_called_are_told() {
    let world = World::start().await;
    let headers = [V1, ("a2a-extensions", "urn:test:known, urn:test:unknown")];
    for (http, path, known) in [
        (world.ann("one"), "/tasks", KNOWN),
        (world.ann("two"), "/tasks", KNOWN),
        (shared(&world), "/one/tasks", KNOWN),
        // The shared endpoint has been told that `two` knows none.
        (shared(&world), "/two/tasks", ""),
        // What is refused has none.
        (shared(&world), "/three/tasks", ""),
    ] {
        let reply = http.request("GET", path, &headers, "").await;
        assert_eq!(reply.header("a2a-extensions"), known, "{path}: {}", reply.text());
    }
    // ListTasks with field 1, the tenant.
    for (agent, known) in [(b"\x0a\x03one", KNOWN), (b"\x0a\x03two", "")] {
        let message = [&[0, 0, 0, 0, 5], &agent[..]].concat();
        let headers = [headers[1], ("content-type", "application/grpc"), ("te", "trailers")];
        let http = Http::new(world.address).with("cookie", "ann@acme").http2();
        let path = "/lf.a2a.v1.A2AService/ListTasks";
        let reply = http.request("POST", path, &headers, message).await;
        assert_eq!((reply.status, reply.header("a2a-extensions")), (200, known), "{agent:?}");
    }
}

fn shared(world: &World) -> Http {
    world.ann("one").below("/shared")
}

#[tokio::test]
async fn metadata_names_the_agent_over_grpc_in_either_version() {
    let world = World::start().await;
    let grpc = |wire: &Wire| wire.binding == Binding::Grpc;
    for wire in Wire::all(&world.ann("one")).into_iter().filter(grpc) {
        for name in ["a2a-agent", "x-a2a-agent"] {
            let wire = wire.with(name, "two");
            wire.call(Request::SendMessage(send("hi"))).await.expect("it is taken");
            let tenant = world.switchboard.last().tenant;
            assert_eq!(tenant.as_ref().map(Tenant::as_str), Some("two"), "{name}");
        }
        let twice = addressed(wire.with("x-a2a-agent", "two"), "one").with("a2a-agent", "one");
        let refused = twice.call(Request::SendMessage(send("hi"))).await;
        let refused = refused.expect_err("it names two");
        assert_eq!(refused.error.reason(), "INVALID_PARAMS", "{refused:?}");
    }
}

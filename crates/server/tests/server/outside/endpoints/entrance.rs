//! Who is let in.

use nuncio_protocol::{
    operation::{ListTasksRequest, Request},
    service::Caller,
    version::Version,
};
use nuncio_server::StreamLimits;
use nuncio_testkit::wire::{Binding, Http, Wire};

use super::world::{AGENTS, World};
use crate::outside::{callers::ROUTES, support::Callers};

#[tokio::test]
async fn without_an_identity_and_a_gatekeeper_nobody_is_let_in() {
    let world = World::start().await;
    for agent in AGENTS {
        for (method, path, body) in ROUTES {
            for version in [vec![("a2a-version", "1.0")], vec![]] {
                // Nobody becomes somebody by a header.
                let headers = [version, vec![("x-nuncio-caller", "ann")]].concat();
                let reply = world.stranger(agent).request(method, path, &headers, body).await;
                assert_eq!(reply.status, 401, "{method} {agent}{path}: {}", reply.text());
                assert_eq!(reply.header("www-authenticate"), r#"Bearer realm="nuncio""#);
            }
        }
    }
    for wire in Wire::all(&Http::new(world.address)) {
        if wire.binding == Binding::Grpc {
            let refused = wire.rpc("GetTask", b"").await.expect_err("nobody calls");
            assert_eq!(refused.code, 16, "{refused:?}");
        }
    }
}

#[tokio::test]
async fn a_listener_that_knows_the_caller_is_believed_and_the_gatekeeper_asked_otherwise() {
    let callers = Callers::new();
    let gatekeeper = callers.gatekeeper();
    let world =
        World::with(StreamLimits::default(), |endpoint| endpoint.gatekeeper(gatekeeper.clone()))
            .await;
    let wire =
        Wire { binding: Binding::HttpJson, version: Version::V1_0, http: world.stranger("one") };
    let list = || Request::ListTasks(ListTasksRequest::default());
    for (name, value, code, caller) in [
        ("cookie", "bob@acme".to_owned(), 200, "bob"),
        ("x-api-key", callers.ann.to_string(), 200, "ann"),
        ("x-api-key", "wrong".to_owned(), 401, ""),
        ("x-nothing", "nothing".to_owned(), 401, ""),
    ] {
        let answered = wire.with(name, &value).call(list()).await;
        let found = answered.as_ref().map_or_else(|refused| refused.code, |_| 200);
        assert_eq!(found, code, "{name}: {answered:?}");
        if code == 200 {
            let seen = world.switchboard.last().caller;
            let (Caller::User(seen) | Caller::Agent(seen)) = seen else { panic!("{seen:?}") };
            assert_eq!(&*seen, caller, "{name}");
        }
    }
    // Whom the listener knows needs to show nothing, and what else it shows is not looked at.
    let both = wire.with("cookie", "bob@acme").with("x-api-key", "wrong");
    both.call(list()).await.expect("it is known");
}

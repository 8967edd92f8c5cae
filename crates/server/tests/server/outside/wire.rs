//! Paths, versions, extensions, media types, envelopes.

use nuncio_protocol::{
    card::{AgentCard, AgentExtension, AgentSkill},
    ids::Tenant,
    message::{Message, Part},
    operation::{Request, SendMessageConfiguration, SendMessageRequest},
    version::Version,
};
use nuncio_server::Server;
use nuncio_testkit::wire::{Binding, Http, Refused, Reply, Wire};
use serde_json::{Value, json};

use crate::outside::support::{Script, Served, scripted, send};

const V1: (&str, &str) = ("a2a-version", "1.0");

/// A message as its text in 1.0.
fn message(text: &str) -> String {
    let id = nuncio_protocol::ids::MessageId::generate();
    json!({"message": {"messageId": id.as_str(), "role": "ROLE_USER", "parts": [{"text": text}]}})
        .to_string()
}

fn envelope(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

fn get_task(version: &str) -> (&'static str, String) {
    match version {
        "1.0" => ("/tasks/none", envelope("1", "GetTask", r#"{"id":"none"}"#)),
        _ => ("/v1/tasks/none", envelope("1", "tasks/get", r#"{"id":"none"}"#)),
    }
}

#[tokio::test]
async fn the_url_is_served_with_and_without_a_slash() {
    let served = Served::start(scripted()).await;
    for path in ["/", "//"] {
        let body = envelope("1", "SendMessage", &message("hi"));
        let reply = served.http().request("POST", path, &[V1], body).await;
        let state = &reply.json()["result"]["task"]["status"]["state"];
        assert_eq!(*state, "TASK_STATE_COMPLETED", "{path}: {}", reply.text());
    }
    for path in ["/message:send", "/message:send/"] {
        let reply = served.http().request("POST", path, &[V1], message("hi")).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
    }
}

#[tokio::test]
async fn http2_without_tls_speaks_the_same() {
    let served = Served::start(scripted()).await;
    let http = served.http().http2();
    let body = envelope("1", "SendMessage", &message("hi"));
    let reply = http.request("POST", "/", &[V1], body).await;
    let task = reply.json()["result"]["task"]["id"].as_str().expect("a task").to_owned();
    let reply = http.request("GET", &format!("/tasks/{task}"), &[V1], "").await;
    assert_eq!((reply.status, &reply.json()["id"]), (200, &json!(task)));
    let frames = http.frames("POST", "/message:stream", &[V1], message("count:3")).await;
    let numbers: Vec<_> = frames.rest().await.iter().map(|frame| frame.id).collect();
    assert_eq!(numbers, (1..).take(numbers.len()).map(Some).collect::<Vec<_>>());
    let card = http.request("GET", "/.well-known/agent-card.json", &[], "").await;
    assert_eq!(card.status, 200);
}

#[tokio::test]
async fn a_task_is_followed_by_get_and_by_post() {
    let served = Served::start(scripted()).await;
    let http = served.http();
    let mut hold: Value = serde_json::from_str(&message("hold")).expect("JSON");
    hold["configuration"] = json!({"returnImmediately": true});
    let reply = http.request("POST", "/message:send", &[V1], hold.to_string()).await.json();
    let path = format!("/tasks/{}:subscribe", reply["task"]["id"].as_str().expect("a task"));
    for method in ["GET", "POST"] {
        let mut frames = http.frames(method, &path, &[V1], "").await;
        let first = frames.next().await.expect("the task");
        assert!(first.data.starts_with(r#"{"task":"#), "{first:?}");
    }
}

#[tokio::test]
async fn ids_are_echoed_as_they_were_written() {
    let served = Served::start(scripted()).await;
    for id in [r#""x""#, "7", "1.5", "1.0", "-0", "1e3", "null", r#""\u0041""#] {
        for body in [
            envelope(id, "SendMessage", &message("hi")),
            envelope(id, "GetTask", r#"{"id":"none"}"#),
            envelope(id, "GetTask", "{}"),
            envelope(id, "Nothing", "{}"),
        ] {
            let reply = served.http().request("POST", "/", &[V1], body).await;
            let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"#);
            assert!(reply.text().starts_with(&expected), "{id}: {}", reply.text());
        }
    }
}

#[tokio::test]
async fn envelopes_that_are_none_are_refused() {
    let served = Served::start(scripted()).await;
    let call = envelope("1", "GetTask", r#"{"id":"none"}"#);
    for (body, code) in [
        (format!("[{call}]"), -32600),
        ("[]".to_owned(), -32600),
        ("7".to_owned(), -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"GetTask","params":{"id":"x"}}"#.to_owned(), -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"GetTask","params":{"id":"x"}}"#.to_owned(), -32600),
        (r#"{"jsonrpc":"2.0","id":1,"params":{"id":"x"}}"#.to_owned(), -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}"#.to_owned(), -32602),
        (envelope("1", "NoSuchThing", "{}"), -32601),
        ("{".to_owned(), -32700),
        (String::new(), -32700),
    ] {
        let reply = served.http().request("POST", "/", &[V1], body.clone()).await;
        let refused = Refused::read(Binding::JsonRpc, Version::V1_0, &reply);
        assert_eq!((reply.status, refused.code), (200, code), "{body}");
    }
}

#[tokio::test]
async fn a_notification_is_followed_and_not_answered() {
    let served = Served::start(scripted()).await;
    let params = message("told");
    let body = format!(r#"{{"jsonrpc":"2.0","method":"SendMessage","params":{params}}}"#);
    let reply = served.http().request("POST", "/", &[V1], body).await;
    assert_eq!((reply.status, reply.text()), (204, ""));
    let listed = served.http().request("GET", "/tasks", &[V1], "").await;
    assert_eq!(listed.json()["totalSize"], 1);
    // Also not when it is wrong.
    let body = r#"{"jsonrpc":"2.0","method":"GetTask","params":{"id":"none"}}"#;
    let reply = served.http().request("POST", "/", &[V1], body).await;
    assert_eq!((reply.status, reply.text()), (204, ""));
}

#[tokio::test]
async fn other_methods_and_paths_are_refused_in_form() {
    let served = Served::start(scripted()).await;
    let reply = served.http().request("GET", "/", &[V1], "").await;
    assert_eq!((reply.status, reply.header("allow")), (405, "POST"));
    for (method, path) in
        [("GET", "/nothing"), ("POST", "/tasks"), ("PUT", "/tasks/x"), ("GET", "/message:send")]
    {
        let reply = served.http().request(method, path, &[V1], "").await;
        let refused = Refused::read(Binding::HttpJson, Version::V1_0, &reply);
        assert_eq!((refused.code, refused.error.reason()), (404, "METHOD_NOT_FOUND"), "{path}");
    }
}

/// The code of a call for a task that is not there: 0 if it was read as a call at all.
async fn version_code(
    http: &Http,
    binding: Binding,
    form: &str,
    version: Option<&str>,
    by: By,
) -> i32 {
    let (path, body) = get_task(form);
    let mut headers = Vec::new();
    let mut query = String::new();
    match (version, by) {
        (Some(version), By::Header) => headers.push(("a2a-version", version)),
        (Some(version), By::Query) => query = format!("?A2A-Version={version}"),
        (None, _) => {}
    }
    let shown = if form == "1.0" { Version::V1_0 } else { Version::V0_3 };
    match binding {
        Binding::JsonRpc => {
            let reply = http.request("POST", &format!("/{query}"), &headers, body).await;
            code_of(&reply)
        }
        Binding::HttpJson => {
            let reply = http.request("GET", &format!("{path}{query}"), &headers, "").await;
            let document = reply.json();
            let reason = &document["error"]["details"][0]["reason"];
            let code = document["code"].as_i64();
            match (reason.as_str(), code) {
                (Some("TASK_NOT_FOUND"), _) | (None, Some(-32001)) => -32001,
                (Some("VERSION_NOT_SUPPORTED"), _) | (None, Some(-32009)) => -32009,
                (Some("METHOD_NOT_FOUND"), _) | (None, Some(-32601)) => -32601,
                _ => panic!("{} {}", reply.status, reply.text()),
            }
        }
        Binding::Grpc => {
            let package = if shown == Version::V1_0 { "lf.a2a.v1" } else { "a2a.v1" };
            let message: &[u8] =
                if shown == Version::V1_0 { b"\x12\x04none" } else { b"\x0a\x0atasks/none" };
            let length = u8::try_from(message.len()).expect("it is short");
            let framed = [&[0, 0, 0, 0, length][..], message].concat();
            let path = format!("/{package}.A2AService/GetTask{query}");
            headers.push(("content-type", "application/grpc"));
            let reply = http.clone().http2().request("POST", &path, &headers, framed).await;
            match reply.header("grpc-status") {
                "5" => -32001,
                "9" => -32009,
                other => panic!("{other}: {:?}", reply.headers),
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum By {
    Header,
    Query,
}

fn code_of(reply: &Reply) -> i32 {
    let code = reply.json()["error"]["code"].as_i64();
    i32::try_from(code.unwrap_or_default()).expect("a code")
}

#[tokio::test]
async fn the_version_is_taken_from_header_or_query_and_nothing_means_0_3() {
    let served = Served::start(scripted()).await;
    let http = served.http();
    // What is asked in the form of a version, and said to be of another.
    for (form, version, code) in [
        ("1.0", Some("1.0"), -32001),
        ("1.0", Some("1.0.1"), -32001),
        ("1.0", None, -32009),
        ("1.0", Some(""), -32009),
        ("1.0", Some("0.3"), -32009),
        ("1.0", Some("99.0"), -32009),
        ("1.0", Some("nonsense"), -32009),
        ("0.3", None, -32001),
        ("0.3", Some(""), -32001),
        ("0.3", Some("0.3"), -32001),
        ("0.3", Some("99.0"), -32009),
    ] {
        for binding in Binding::ALL {
            for by in [By::Header, By::Query] {
                // On gRPC the package tells; on HTTP a path of another version is just unknown.
                let expected = match (binding, form, version) {
                    (Binding::Grpc, "1.0", None | Some("")) => continue,
                    (Binding::HttpJson, "1.0", Some("0.3")) => -32601,
                    _ => code,
                };
                let found = version_code(&http, binding, form, version, by).await;
                assert_eq!(found, expected, "{form} as {version:?} on {binding:?} by {by:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_version_that_is_not_spoken_is_answered_with_those_that_are() {
    let served = Served::start(scripted()).await;
    let (path, body) = get_task("1.0");
    let headers = [("a2a-version", "99.0")];
    let reply = served.http().request("POST", "/", &headers, body).await;
    let refused = Refused::read(Binding::JsonRpc, Version::V1_0, &reply);
    assert_eq!(refused.error.metadata()["supportedVersions"], "1.0,0.3");
    let reply = served.http().request("GET", path, &headers, "").await;
    let refused = Refused::read(Binding::HttpJson, Version::V1_0, &reply);
    assert_eq!(refused.error.metadata()["supportedVersions"], "1.0,0.3");
}

#[tokio::test]
async fn an_unknown_method_is_not_found_in_the_form_of_its_version() {
    let served = Served::start(scripted()).await;
    for (method, version) in [
        ("foo/bar", Some("1.0")),
        ("Nope", Some("1.0")),
        ("Nope", Some("0.3")),
        ("Nope", None),
        ("foo/bar", None),
    ] {
        let headers: Vec<_> = version.iter().map(|version| ("a2a-version", *version)).collect();
        let body = envelope("1", method, "{}");
        let reply = served.http().request("POST", "/", &headers, body).await;
        assert_eq!(code_of(&reply), -32601, "{method} as {version:?}: {}", reply.text());
        // Details are a list in 1.0 alone.
        let is_v1 = reply.json()["error"]["data"].is_array();
        assert_eq!(is_v1, version == Some("1.0"), "{method} as {version:?}: {}", reply.text());
    }
}

#[tokio::test]
async fn tenants_come_by_path_body_or_query_and_must_agree() {
    let served = Served::start(scripted()).await;
    let http = served.http();
    let with_tenant = |tenant: &str| {
        let mut body: Value = serde_json::from_str(&message("hi")).expect("JSON");
        body["tenant"] = json!(tenant);
        body.to_string()
    };
    for (path, body, status) in [
        ("/acme/message:send", message("hi"), 200),
        ("/acme/message:send", with_tenant("acme"), 200),
        ("/acme/message:send", with_tenant("other"), 400),
        ("/message:send", with_tenant("acme"), 200),
    ] {
        let reply = http.request("POST", path, &[V1], body.clone()).await;
        assert_eq!(reply.status, status, "{path} {body}: {}", reply.text());
        if status == 400 {
            let refused = Refused::read(Binding::HttpJson, Version::V1_0, &reply);
            assert_eq!(refused.error.violations()[0].field, "tenant");
        }
    }
    for (path, status, count) in [
        ("/acme/tasks", 200, 3),
        ("/tasks?tenant=acme", 200, 3),
        ("/acme/tasks?tenant=acme", 200, 3),
        ("/acme/tasks?tenant=other", 400, 0),
        ("/other/tasks", 200, 0),
        ("/tasks", 200, 0),
    ] {
        let reply = http.request("GET", path, &[V1], "").await;
        assert_eq!(reply.status, status, "{path}: {}", reply.text());
        if status == 200 {
            assert_eq!(reply.json()["totalSize"], count, "{path}");
        }
    }
}

#[tokio::test]
async fn only_the_tenants_on_the_card_are_served() {
    let tenants = ["acme", "umbrella"].map(|name| Tenant::parse(name).expect("a fit name"));
    let served = Served::start(scripted().tenants(tenants)).await;
    for (path, status) in [("/acme/tasks", 200), ("/other/tasks", 400), ("/tasks", 400)] {
        let reply = served.http().request("GET", path, &[V1], "").await;
        assert_eq!(reply.status, status, "{path}: {}", reply.text());
        if status == 400 {
            let refused = Refused::read(Binding::HttpJson, Version::V1_0, &reply);
            assert_eq!(refused.error.violations()[0].field, "tenant");
        }
    }
    // A2A 0.3 has no tenants, so over gRPC the metadata names one.
    let grpc = Wire { binding: Binding::Grpc, version: Version::V0_3, http: served.http() };
    for (agent, code) in [(Some("acme"), 0), (Some("other"), 3), (None, 3)] {
        let wire = agent.map_or_else(|| grpc.clone(), |agent| grpc.with("a2a-agent", agent));
        let answered = wire.call(Request::SendMessage(send("hi"))).await;
        let found = answered.as_ref().map_or_else(|refused| refused.code, |_| 0);
        assert_eq!(found, code, "{agent:?}: {answered:?}");
    }
    let card = served.http().request("GET", "/.well-known/agent-card.json", &[V1], "").await.json();
    let named: Vec<&str> = card["supportedInterfaces"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|interface| interface["tenant"].as_str().expect("each has one"))
        .collect();
    assert!(named.contains(&"acme") && named.contains(&"umbrella"), "{named:?}");
}

/// A server whose card says more than that of [`scripted`].
fn particular() -> Server {
    let skill = AgentSkill::new("s", "s", "s", ["s".to_owned()]);
    let mut card = AgentCard::builder("script").description("d").skill(skill).streaming().build();
    card.default_input_modes = vec!["text/plain".to_owned(), "image/*".to_owned()];
    card.default_output_modes = vec!["text/plain".to_owned()];
    let mut needed = AgentExtension::new("urn:test:needed");
    needed.required = true;
    card.capabilities.extensions = vec![needed, AgentExtension::new("urn:test:known")];
    Server::new("script", Script).card(card)
}

#[tokio::test]
async fn extensions_that_both_know_are_echoed_and_required_ones_required() {
    let served = Served::start(particular()).await;
    let http = served.http();
    let sent = |extensions: &'static str| {
        let http = http.clone();
        async move {
            let headers = [V1, ("a2a-extensions", extensions)];
            http.request("POST", "/message:send", &headers, message("hi")).await
        }
    };
    let reply = sent("urn:test:needed, urn:test:known, urn:test:unknown").await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let echoed: Vec<&str> = reply.header("a2a-extensions").split(',').map(str::trim).collect();
    assert_eq!(echoed, ["urn:test:known", "urn:test:needed"]);

    let reply = sent("urn:test:known").await;
    let refused = Refused::read(Binding::HttpJson, Version::V1_0, &reply);
    assert_eq!((refused.code, refused.error.reason()), (400, "EXTENSION_SUPPORT_REQUIRED"));
    assert_eq!(refused.error.metadata()["requiredExtensions"], "urn:test:needed");
    let body = envelope("1", "SendMessage", &message("hi"));
    let reply = http.request("POST", "/", &[V1], body).await;
    assert_eq!(code_of(&reply), -32008);
    // Reading needs none.
    assert_eq!(http.request("GET", "/tasks", &[V1], "").await.status, 200);
}

#[tokio::test]
async fn parts_and_outputs_are_of_the_types_on_the_card() {
    let served = Served::start(particular()).await;
    let http = served.http().with("a2a-extensions", "urn:test:needed");
    let parts = |parts: Value, modes: Value| {
        let id = nuncio_protocol::ids::MessageId::generate();
        json!({
            "message": {"messageId": id.as_str(), "role": "ROLE_USER", "parts": parts},
            "configuration": {"acceptedOutputModes": modes},
        })
    };
    let fine = [
        parts(json!([{"text": "a"}]), json!([])),
        parts(json!([{"text": "a", "mediaType": "TEXT/plain; charset=utf-8"}]), json!(["text/*"])),
        parts(json!([{"raw": "aGk=", "mediaType": "image/png"}]), json!(["a/b", "text/plain"])),
        parts(json!([{"text": "a"}]), json!(["*/*"])),
        parts(json!([{"text": "a", "mediaType": "text"}]), json!(["file", "text"])),
        parts(json!([{"text": "a"}]), json!(["/", ""])),
    ];
    for body in fine {
        let reply = http.request("POST", "/message:send", &[V1], body.to_string()).await;
        assert_eq!(reply.status, 200, "{body}: {}", reply.text());
    }
    let pdf = json!([{"text": "a"}, {"raw": "aGk=", "mediaType": "application/pdf"}]);
    for (body, reason, field) in [
        (parts(pdf, json!([])), "CONTENT_TYPE_NOT_SUPPORTED", "message.parts[1].mediaType"),
        (
            parts(json!([{"text": "a"}]), json!(["image/png"])),
            "OUTPUT_MODE_NOT_SUPPORTED",
            "configuration.acceptedOutputModes",
        ),
    ] {
        let reply = http.request("POST", "/message:send", &[V1], body.to_string()).await;
        let refused = Refused::read(Binding::HttpJson, Version::V1_0, &reply);
        assert_eq!((refused.code, refused.error.reason()), (400, reason));
        assert_eq!(refused.error.violations()[0].field, field);
        let call = envelope("1", "SendMessage", &body.to_string());
        let reply = http.request("POST", "/", &[V1], call).await;
        assert_eq!((reply.status, code_of(&reply)), (200, -32005));
    }
    let named = parts(json!([{"text": "a", "mediaType": "application/pdf"}]), json!([]));
    let reply = http.request("POST", "/message:send", &[V1], named.to_string()).await;
    let refused = Refused::read(Binding::HttpJson, Version::V1_0, &reply);
    assert_eq!(refused.error.metadata()["mediaType"], "application/pdf");
}

/// What the card says is held to on every way in, with the codes of each.
#[tokio::test]
async fn the_terms_of_the_card_hold_on_every_binding_in_both_versions() {
    let served = Served::start(particular()).await;
    let text = || Message::user("hi");
    let pdf = || {
        let mut message = text();
        message.parts.push(Part::raw("a").with_media_type("application/pdf"));
        message
    };
    let needed = [("a2a-extensions", "urn:test:needed"), ("x-a2a-extensions", "urn:test:needed")];
    // The codes of JSON-RPC, of HTTP in 1.0 and in 0.3, and of gRPC.
    let extension = (-32008, 400, 400, 9);
    let content = (-32005, 400, 415, 3);
    for wire in Wire::all(&served.http()) {
        let knowing =
            needed.iter().fold(wire.clone(), |wire, (name, value)| wire.with(name, value));
        for (wire, message, accepted, reason, codes) in [
            (&wire, text(), "", "EXTENSION_SUPPORT_REQUIRED", extension),
            (&knowing, pdf(), "", "CONTENT_TYPE_NOT_SUPPORTED", content),
            (&knowing, text(), "image/png", "OUTPUT_MODE_NOT_SUPPORTED", content),
            (&knowing, text(), "text/*", "", (0, 0, 0, 0)),
        ] {
            let shown = (wire.binding, wire.version, reason);
            let mut request = SendMessageRequest::new(message);
            let accepted = Some(accepted.to_owned()).filter(|accepted| !accepted.is_empty());
            request.configuration = Some(SendMessageConfiguration {
                accepted_output_modes: accepted.into_iter().collect(),
                ..Default::default()
            });
            let answered = wire.call(Request::SendMessage(request)).await;
            let Err(refused) = answered else {
                assert!(reason.is_empty(), "{shown:?} was answered");
                continue;
            };
            let expected = match (wire.binding, wire.version) {
                (Binding::JsonRpc, _) => codes.0,
                (Binding::HttpJson, Version::V1_0) => codes.1,
                (Binding::HttpJson, _) => codes.2,
                (Binding::Grpc, _) => codes.3,
            };
            assert_eq!(refused.code, expected, "{shown:?}: {refused:?}");
            assert_eq!(refused.error.reason(), reason, "{shown:?}: {refused:?}");
        }
    }
}

#[tokio::test]
async fn bodies_are_json_and_answers_are_as_they_are_wished() {
    let served = Served::start(scripted()).await;
    let http = served.http();
    let (json, a2a) = ("application/json", "application/a2a+json");
    for (headers, expected) in [
        (vec![], json),
        (vec![("content-type", json)], json),
        (vec![("content-type", "application/json; charset=utf-8")], json),
        (vec![("content-type", a2a)], a2a),
        (vec![("content-type", json), ("accept", "application/a2a+json, application/json")], a2a),
        (vec![("accept", "*/*")], json),
    ] {
        let headers = [vec![V1], headers].concat();
        let reply = http.request("POST", "/message:send", &headers, message("hi")).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, expected), "{headers:?}");
        let reply = http.request("GET", "/tasks/none", &headers, "").await;
        assert_eq!((reply.status, reply.header("content-type")), (404, expected), "{headers:?}");
    }
    for wrong in ["text/plain", "application/x-www-form-urlencoded", "application/xml"] {
        let headers = [V1, ("content-type", wrong)];
        let reply = http.request("POST", "/message:send", &headers, message("hi")).await;
        let refused = Refused::read(Binding::HttpJson, Version::V1_0, &reply);
        assert_eq!((refused.code, refused.error.reason()), (400, "CONTENT_TYPE_NOT_SUPPORTED"));
        let body = envelope("1", "SendMessage", &message("hi"));
        let reply = http.request("POST", "/", &headers, body).await;
        assert_eq!((reply.status, code_of(&reply)), (200, -32005));
        assert_eq!(reply.json()["id"], 1);
    }
}

//! HTTP requests as agents.

use axum::{
    Router,
    body::Bytes,
    extract::Request,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Redirect, Response},
    routing::{any, get, post},
};
use nuncio_net::{Client, Guard, Policy, egress::Errand, egress::Purpose};
use nuncio_protocol::{
    json,
    message::{Message, Part, Role},
    state::TaskState,
};
use nuncio_server::{
    Agent as _, Interrupted,
    kinds::http::{Body, Carried, Http, Limits, Request as Wanted, Sender},
};
use tokio::net::TcpListener;

use super::desk::{Desk, client, failure};

/// Starts a server with something of everything.
async fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("it listens"));
    let typed = |kind: &'static str, body: &'static [u8]| {
        get(move || async move { ([(header::CONTENT_TYPE, kind)], body).into_response() })
    };
    let router =
        Router::new()
            .route("/text", typed("text/plain; charset=utf-8", "Grüße".as_bytes()))
            .route("/json", typed("application/json", br#"{"n": 12345678901234567890}"#))
            .route("/problem", typed("application/problem+json", b"{}"))
            .route("/picture", typed("image/png", b"\x89PNG"))
            .route("/latin", typed("text/plain", b"Gr\xfc\xdfe"))
            .route("/lies", typed("application/json", b"<html>"))
            .route("/large", get(|| async { "x".repeat(2_000) }))
            .route("/nothing", any(|| async { StatusCode::NO_CONTENT }))
            .route("/missing", get(|| async { (StatusCode::NOT_FOUND, "y".repeat(3_000)) }))
            .route(
                "/busy",
                get(|| async {
                    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "9")], "later")
                }),
            )
            .route("/away", get(|| async { Redirect::temporary("/text") }))
            .route(
                "/query",
                get(|request: Request| async move {
                    request.uri().query().unwrap_or_default().to_owned()
                }),
            )
            .route(
                "/body",
                post(|headers: HeaderMap, body: Bytes| async move {
                    let kind = headers[header::CONTENT_TYPE].to_str().expect("text").to_owned();
                    let key = headers.get("x-key").map_or("", |key| key.to_str().expect("text"));
                    let body = String::from_utf8_lossy(&body).into_owned();
                    Response::new(format!("{kind} {key} {body}"))
                }),
            );
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

fn sender() -> Sender {
    let limits = Limits { answer_bytes: 1_000, ..Limits::default() };
    Sender::new(client(), Errand::administrator(Purpose::Agent)).limits(limits)
}

fn wanted(method: &str, url: String) -> Wanted {
    Wanted::new(method, url).expect("a request")
}

/// Returns the parts that a request brings.
async fn parts(url: String) -> String {
    let task = Desk::hire(Http::new(sender(), wanted("get", url))).ask("go").await;
    assert_eq!(task.status.state, TaskState::Completed, "{task:?}");
    task.artifacts.first().map(|artifact| json::to_string(&artifact.parts)).unwrap_or_default()
}

#[tokio::test]
async fn an_answer_becomes_what_its_type_says() {
    let url = server().await;
    for (path, expected) in [
        ("/text", r#"[{"text":"Grüße","mediaType":"text/plain"}]"#),
        ("/json", r#"[{"data":{"n":12345678901234567890},"mediaType":"application/json"}]"#),
        ("/problem", r#"[{"data":{},"mediaType":"application/problem+json"}]"#),
        ("/picture", r#"[{"raw":"iVBORw==","mediaType":"image/png"}]"#),
        ("/latin", r#"[{"raw":"R3L832U=","mediaType":"text/plain"}]"#),
        ("/nothing", ""),
    ] {
        assert_eq!(parts(format!("{url}{path}")).await, expected, "{path}");
    }
}

#[tokio::test]
async fn an_answer_that_is_none_is_a_failure_that_says_whether_to_try_again() {
    let url = server().await;
    let fail = async |path: &str| {
        let request = wanted("GET", format!("{url}{path}"));
        failure(&Desk::hire(Http::new(sender(), request)).ask("go").await)
    };
    let missing = format!(
        "127.0.0.1 answered 404 Not Found: {}…; trying again will not help",
        "y".repeat(1_000)
    );
    assert_eq!(fail("/missing").await, missing);
    assert_eq!(
        fail("/busy").await,
        "127.0.0.1 answered 503 Service Unavailable: later; trying again in 9 s may help"
    );
    assert_eq!(
        fail("/away").await,
        "127.0.0.1 answered 307 Temporary Redirect: it sends elsewhere, which is not followed; \
         name the address it leads to; trying again will not help"
    );
    assert_eq!(
        fail("/large").await,
        "the answer has more than 1000 bytes (have the peer send less, or raise the limit); \
         trying again will not help"
    );
    assert_eq!(
        fail("/lies").await,
        "127.0.0.1 answered with a body that is not application/json: expected a value (byte 0); \
         trying again will not help"
    );
}

#[tokio::test]
async fn the_message_is_the_body_or_a_parameter_and_never_the_address() {
    let url = server().await;
    let request = wanted("POST", format!("{url}/body")).header("X-Key", "k").expect("a header");
    let desk = Desk::hire(Http::new(sender(), request.clone()));
    let said = |task: &nuncio_protocol::task::Task| super::desk::text(task);
    let data = json::Raw::parse_text(r#"{"a":[1]}"#).expect("JSON");
    let file = Part::raw("%PDF").with_media_type("application/pdf");
    assert_eq!(said(&desk.ask("hello").await), "text/plain; charset=utf-8 k hello");
    let sent = desk.send(Message::new(Role::User, Part::data(data.clone()))).await;
    assert_eq!(said(&sent), r#"application/json k {"a":[1]}"#);
    let sent = desk.send(Message::new(Role::User, file)).await;
    assert_eq!(said(&sent), "application/pdf k %PDF");
    // A body that is given stays, whatever the message says.
    let fixed = Desk::hire(Http::new(sender(), request.body(Body::Json(data))));
    assert_eq!(said(&fixed.ask("hello").await), r#"application/json k {"a":[1]}"#);
    let request = wanted("GET", format!("{url}/query?unit=c"));
    let query = Http::new(sender(), request).carry(Carried::Query("city".to_owned()));
    let asked = Desk::hire(query).ask("Köln&admin=1").await;
    assert_eq!(said(&asked), "unit=c&city=K%C3%B6ln%26admin%3D1");
}

#[tokio::test]
async fn nothing_goes_where_the_guard_does_not_let_it() {
    let url = server().await;
    let closed = Client::new(Guard::new(Policy::default()));
    let sender = Sender::new(closed, Errand::administrator(Purpose::Agent));
    let desk = Desk::hire(Http::new(sender, wanted("GET", format!("{url}/text"))));
    let said = failure(&desk.ask("go").await);
    assert!(said.contains("http") && said.ends_with("trying again will not help"), "{said}");
}

#[test]
fn only_what_is_safe_is_sent_again_after_a_crash() {
    for (method, interrupted) in [
        ("GET", Interrupted::Retry),
        ("HEAD", Interrupted::Retry),
        ("POST", Interrupted::Fail),
        ("DELETE", Interrupted::Fail),
    ] {
        let agent = Http::new(sender(), wanted(method, "https://a.example".to_owned()));
        assert_eq!(agent.conduct().interrupted, interrupted, "{method}");
    }
}

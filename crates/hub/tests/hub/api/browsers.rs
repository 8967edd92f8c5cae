//! Browsers: let in once by a link, and not to be used by pages from elsewhere.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::Request,
    response::{IntoResponse as _, Response},
};
use nuncio_auth::Gatekeeper;
use nuncio_hub::{
    http::mcp::{Answering, Mcp},
    hub::Settings,
};
use nuncio_testkit::wire::{Frames, Http, Reply};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{Running, bearer, check_refused, get, send};

async fn cookie(running: &Running) -> String {
    cookie_of(running, &running.administrator).await
}

/// Lets a browser in by a link that somebody makes.
async fn cookie_of(running: &Running, maker: &Http) -> String {
    let link = send(maker, "POST", "/api/v1/login", &Value::Null).await.json();
    let link = link["url"].as_str().expect("a link").to_owned();
    let path = link.strip_prefix(&running.hub.settings.public_url).expect("a link to the hub");
    let reply = get(&running.stranger, path).await;
    assert_eq!(reply.status, 303, "{}", reply.text());
    let again = get(&running.stranger, path).await;
    check_refused(&again, 401, "TICKET_USED");
    let cookie = reply.header("set-cookie").to_owned();
    for part in ["HttpOnly", "SameSite=Strict"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    cookie.split(';').next().expect("a cookie").to_owned()
}

#[tokio::test]
async fn a_login_link_is_good_once_and_its_cookie_until_the_end() {
    let running = Running::start().await;
    let browser = running.stranger.clone().with("cookie", &cookie(&running).await);
    let who = get(&browser, "/api/v1/whoami").await.json();
    assert_eq!((&who["role"], &who["name"]), (&json!("administrator"), &json!("ann")));
    let wrong = running.stranger.clone().with("cookie", "nuncio_session=guessed");
    check_refused(&get(&wrong, "/api/v1/whoami").await, 401, "UNAUTHENTICATED");
}

#[tokio::test]
async fn whoever_opens_a_used_link_in_a_browser_reads_how_to_get_another() {
    let running = Running::start().await;
    cookie(&running).await;
    let accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let browser = running.stranger.clone().with("accept", accept);
    for (path, status) in [("/login?ticket=used", 401), ("/login", 400)] {
        let page = get(&browser, path).await;
        assert_eq!(page.status, status, "{}", page.text());
        assert!(page.header("content-type").starts_with("text/html"), "{:?}", page.headers);
        assert!(page.text().contains("<code>nuncio login</code>"), "{}", page.text());
        let policy = page.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
    }
    for accept in ["application/json", "*/*"] {
        let program = running.stranger.clone().with("accept", accept);
        check_refused(&get(&program, "/login?ticket=used").await, 401, "TICKET_USED");
    }
}

/// Makes a key, lets a browser in by it, and has that follow what happens.
async fn browser_of_a_key(running: &Running, key: &Value) -> (Value, Http, Frames) {
    let key = running.done("POST", "/api/v1/keys", key).await;
    let maker = bearer(&running.stranger, key["key"].as_str().expect("a key"));
    let browser = running.stranger.clone().with("cookie", &cookie_of(running, &maker).await);
    let following = browser.clone().with("accept", "text/event-stream");
    let stream = following.frames("GET", "/api/v1/events", &[], "").await;
    (key, browser, stream)
}

/// Waits for the end of a stream.
async fn check_ends(mut stream: Frames) {
    let rest = async { while stream.next().await.is_some() {} };
    timeout(Duration::from_secs(30), rest).await.expect("the stream ends");
}

#[tokio::test]
async fn a_browser_goes_when_the_key_is_revoked_by_which_it_came() {
    let running = Running::start().await;
    let wanted = json!({ "name": "eve", "scopes": ["admin"] });
    let (key, browser, stream) = browser_of_a_key(&running, &wanted).await;
    // A link that the browser makes is one of the same key.
    let second = cookie_of(&running, &browser).await;
    let second = running.stranger.clone().with("cookie", &second);
    for http in [&browser, &second] {
        assert_eq!(get(http, "/api/v1/whoami").await.json()["role"], "administrator");
    }
    let path = format!("/api/v1/keys/{}", key["id"].as_str().unwrap());
    running.done("DELETE", &path, &Value::Null).await;
    for http in [&browser, &second] {
        check_refused(&get(http, "/api/v1/whoami").await, 401, "UNAUTHENTICATED");
    }
    check_ends(stream).await;
    let ours = running.stranger.clone().with("cookie", &cookie(&running).await);
    assert_eq!(get(&ours, "/api/v1/whoami").await.status, 200);
}

#[tokio::test]
async fn a_browser_goes_when_the_key_expires_by_which_it_came() {
    let running = Running::start().await;
    let wanted = json!({ "name": "eve", "scopes": ["read"], "lifetime_seconds": 2 });
    let (_, browser, stream) = browser_of_a_key(&running, &wanted).await;
    check_ends(stream).await;
    check_refused(&get(&browser, "/api/v1/whoami").await, 401, "UNAUTHENTICATED");
}

#[tokio::test]
async fn a_browser_that_logs_out_is_out_and_no_other_is() {
    let running = Running::start().await;
    let wanted = json!({ "name": "eve", "scopes": ["read"] });
    let (key, browser, stream) = browser_of_a_key(&running, &wanted).await;
    assert_eq!(get(&browser, "/api/v1/whoami").await.json()["browser"], true);
    let key = bearer(&running.stranger, key["key"].as_str().expect("a key"));
    let other = running.stranger.clone().with("cookie", &cookie_of(&running, &key).await);

    // Nobody is logged out by a page from elsewhere.
    let foreign = browser.clone().with("origin", "https://evil.example");
    let refused = send(&foreign, "POST", "/api/v1/logout", &Value::Null).await;
    check_refused(&refused, 403, "FOREIGN_ORIGIN");
    assert_eq!(get(&browser, "/api/v1/whoami").await.status, 200);

    let out = send(&browser, "POST", "/api/v1/logout", &Value::Null).await;
    assert_eq!(out.status, 204, "{}", out.text());
    let cookie = out.header("set-cookie");
    assert!(cookie.starts_with("nuncio_session=;") && cookie.contains("Max-Age=0"), "{cookie}");
    // Also if the cookie is shown again.
    check_refused(&get(&browser, "/api/v1/whoami").await, 401, "UNAUTHENTICATED");
    check_ends(stream).await;
    for http in [&other, &key] {
        assert_eq!(get(http, "/api/v1/whoami").await.status, 200);
    }
    let refused = send(&key, "POST", "/api/v1/logout", &Value::Null).await;
    check_refused(&refused, 409, "NOT_A_BROWSER");
    assert_eq!(get(&key, "/api/v1/whoami").await.json()["browser"], false);
}

#[tokio::test]
async fn a_cookie_beside_another_credential_is_one_too_many() {
    let running = Running::start().await;
    let browser = running.stranger.clone().with("cookie", &cookie(&running).await);
    for (name, value) in [("authorization", "Bearer nk_x"), ("x-api-key", "nk_x")] {
        let reply = get(&browser.clone().with(name, value), "/api/v1/whoami").await;
        check_refused(&reply, 400, "SEVERAL_CREDENTIALS");
    }
    // Cookies of others prove nothing, and are none of our business.
    let other = running.administrator.clone().with("cookie", "theme=dark");
    assert_eq!(get(&other, "/api/v1/whoami").await.status, 200);
}

#[tokio::test]
async fn pages_from_elsewhere_cannot_use_a_browser() {
    let running = Running::start().await;
    let browser = running.stranger.clone().with("cookie", &cookie(&running).await);
    let add = async |http: &Http| -> Reply {
        send(http, "POST", "/api/v1/agents", &json!({ "name": "evil" })).await
    };
    let with = |name, value| browser.clone().with(name, value);
    check_refused(&add(&with("origin", "https://evil.example")).await, 403, "FOREIGN_ORIGIN");
    check_refused(&add(&with("origin", "null")).await, 403, "FOREIGN_ORIGIN");
    // A name of theirs that leads here.
    check_refused(&add(&with("host", "evil.example")).await, 403, "FOREIGN_HOST");
    let ours = browser.clone().with("origin", &running.hub.settings.public_url);
    assert_eq!(add(&ours).await.status, 201);
    let reading = get(&with("origin", "https://evil.example"), "/api/v1/agents").await;
    check_refused(&reading, 403, "FOREIGN_ORIGIN");
}

/// A server of tools that is content with everything.
#[derive(Debug)]
struct Content;

impl Mcp for Content {
    fn answer(&self, _: Request) -> Answering<'_> {
        Box::pin(async { Response::new(Body::empty()).into_response() })
    }
}

#[tokio::test]
async fn a_page_of_another_port_is_one_from_elsewhere() {
    let adjust = |_: &mut _, settings: &mut Settings| settings.hosts.push("hub.lan:8080".into());
    let running = Running::of(adjust, |parts| parts.mcp = Some(Arc::new(Content))).await;
    let browser = running.stranger.clone().with("cookie", &cookie(&running).await);
    let port = running.address.port();
    let ask = async |http: &Http, path: &str, origin: &str| -> Reply {
        let http = http.clone().with("origin", origin);
        send(&http, "POST", path, &json!({})).await
    };
    for origin in ["http://localhost:1", "http://127.0.0.1:1", "http://127.0.0.1", "http://hub.lan"]
    {
        for path in ["/api/v1/tickets", "/mcp"] {
            check_refused(&ask(&browser, path, origin).await, 403, "FOREIGN_ORIGIN");
        }
        // Not even to read, and not with a key either.
        let tool = running.administrator.clone().with("origin", origin);
        check_refused(&get(&tool, "/mcp").await, 403, "FOREIGN_ORIGIN");
    }
    // A program in between may have ended TLS.
    let own = format!("https://127.0.0.1:{port}");
    for origin in [running.hub.settings.public_url.as_str(), &own, "https://hub.lan:8080"] {
        for (path, status) in [("/api/v1/tickets", 201), ("/mcp", 200)] {
            assert_eq!(ask(&browser, path, origin).await.status, status, "{path} from {origin}");
        }
    }
    // By whatever name the request came, if that is one of ours.
    let host = format!("localhost:{port}");
    let named = browser.clone().with("host", &host);
    let reply = ask(&named, "/api/v1/tickets", &format!("http://{host}")).await;
    assert_eq!(reply.status, 201, "{}", reply.text());
}

#[tokio::test]
async fn a_name_of_others_that_leads_to_an_open_hub_reads_nothing() {
    let adjust = |_: &mut _, settings: &mut Settings| settings.is_open = true;
    let running = Running::of(adjust, |parts| parts.gatekeeper = Gatekeeper::open()).await;
    let foreign = running.stranger.clone().with("host", "evil.example");
    for path in ["/api/v1/agents", "/api/v1/events"] {
        assert_eq!(get(&running.stranger, path).await.status, 200, "{path}");
        check_refused(&get(&foreign, path).await, 403, "FOREIGN_HOST");
    }
    let following = foreign.with("accept", "text/event-stream");
    check_refused(&get(&following, "/api/v1/events").await, 403, "FOREIGN_HOST");
}

#[tokio::test]
async fn whatever_a_browser_fetches_has_to_be_of_a_host_of_ours() {
    let running = Running::start().await;
    let program = running.administrator.clone().with("host", "hub.example");
    assert_eq!(get(&program, "/api/v1/agents").await.status, 200);
    let browser = program.with("sec-fetch-site", "same-origin");
    check_refused(&get(&browser, "/api/v1/agents").await, 403, "FOREIGN_HOST");
}

#[tokio::test]
async fn a_form_of_a_page_is_not_taken_for_json() {
    let running = Running::start().await;
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; a=json"] {
        let headers = [("content-type", kind)];
        let path = "/api/v1/agents";
        let reply =
            running.administrator.request("POST", path, &headers, r#"{"name":"evil"}"#).await;
        check_refused(&reply, 415, "NOT_JSON");
    }
}

#[tokio::test]
async fn what_does_not_fit_is_always_a_problem_with_a_code() {
    let running = Running::start().await;
    let admin = &running.administrator;
    check_refused(&get(admin, "/api/v1/agents?limit=x").await, 400, "INVALID");
    check_refused(&get(admin, "/api/v1/nothing").await, 404, "NOT_FOUND");
    let wrong = send(admin, "DELETE", "/api/v1/agents", &Value::Null).await;
    check_refused(&wrong, 405, "WRONG_METHOD");
    assert!(wrong.header("allow").contains("POST"), "{:?}", wrong.headers);
    let typo = send(admin, "POST", "/api/v1/agents", &json!({ "nam": "x" })).await;
    check_refused(&typo, 400, "INVALID");
}

#[tokio::test]
async fn every_answer_tells_browsers_to_be_careful() {
    let running = Running::start().await;
    for (path, status) in [("/healthz", 200), ("/nothing", 404), ("/api/v1/agents", 401)] {
        let reply = get(&running.stranger, path).await;
        assert_eq!(reply.status, status, "{path}");
        assert_eq!(reply.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(reply.header("x-frame-options"), "DENY", "{path}");
        assert!(reply.header("content-security-policy").contains("default-src 'none'"), "{path}");
        assert_eq!(reply.header("cache-control"), "no-store", "{path}");
    }
}

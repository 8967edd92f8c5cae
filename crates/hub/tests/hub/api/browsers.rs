//! Browsers: let in once by a link, and not to be used by pages from elsewhere.

use nuncio_testkit::wire::{Http, Reply};
use serde_json::{Value, json};

use super::{Running, check_refused, get, send};

async fn cookie(running: &Running) -> String {
    let link = running.done("POST", "/api/v1/login", &Value::Null).await;
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

//! Agents that are examined: by administrators, once at a time, and only if they are called.

use std::sync::{Arc, Mutex};

use nuncio_hub::{
    directory::Options,
    doctor::{Doctor, Patient, Report},
    hub::Settings,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{Running, card, check_refused, send};

/// A doctor who takes as long as a test wants.
#[derive(Clone, Debug)]
struct Slow {
    /// Whoever is examined now, or was.
    seen: Arc<Mutex<Vec<(String, bool)>>>,
    begun: Arc<Semaphore>,
    may_end: Arc<Semaphore>,
}

impl Slow {
    fn new() -> Self {
        let none = || Arc::new(Semaphore::new(0));
        Self { seen: Arc::default(), begun: none(), may_end: none() }
    }
}

impl Doctor for Slow {
    fn examine(&self, patient: Patient) -> Report<'_> {
        Box::pin(async move {
            let seen = (patient.url.clone(), patient.is_read_only);
            self.seen.lock().expect("nobody panics with it").push(seen);
            self.begun.add_permits(1);
            self.may_end.acquire().await.expect("it is open").forget();
            Ok(r#"{"reachable":true}"#.to_owned())
        })
    }
}

async fn hub(doctor: &Slow) -> Running {
    let doctor = doctor.clone();
    // Whoever waits asks often.
    let often = |_: &mut Options, settings: &mut Settings| settings.limits.requests = 1_000_000;
    let running = Running::of(often, |parts| parts.doctor = Some(Arc::new(doctor))).await;
    for name in ["one", "other"] {
        let url = format!("http://127.0.0.1:9/{name}");
        let agent = json!({ "name": name, "url": url, "card": card(name, &url) });
        running.done("POST", "/api/v1/agents", &agent).await;
    }
    running
}

fn path(agent: &str) -> String {
    format!("/api/v1/agents/{agent}/doctor")
}

#[tokio::test]
async fn an_agent_is_examined_once_at_a_time() {
    let doctor = Slow::new();
    let running = hub(&doctor).await;
    let http = running.administrator.clone();
    let wish = json!({ "read_only": true });
    let first = tokio::spawn(async move { send(&http, "POST", &path("one"), &wish).await });
    doctor.begun.acquire().await.expect("it is open").forget();
    let again = send(&running.administrator, "POST", &path("one"), &json!({})).await;
    check_refused(&again, 409, "BEING_EXAMINED");

    // Another one need not wait for it.
    doctor.may_end.add_permits(2);
    running.done("POST", &path("other"), &Value::Null).await;
    let first = first.await.expect("it ends");
    assert_eq!((first.status, first.json()), (200, json!({ "reachable": true })));
    doctor.may_end.add_permits(1);
    running.done("POST", &path("one"), &Value::Null).await;
    let seen = doctor.seen.lock().expect("nobody panics with it").clone();
    assert!(seen[0].0.ends_with("/one") && seen[0].1, "{seen:?}");
    assert!(seen[1].0.ends_with("/other") && !seen[1].1, "{seen:?}");
}

#[tokio::test]
async fn who_hangs_up_makes_room_for_the_next() {
    let doctor = Slow::new();
    let running = hub(&doctor).await;
    let http = running.administrator.clone();
    let first = tokio::spawn(async move { send(&http, "POST", &path("one"), &Value::Null).await });
    doctor.begun.acquire().await.expect("it is open").forget();
    first.abort();
    // That the first is gone is heard a moment later; it never ends by itself.
    loop {
        let wish = Value::Null;
        let place = path("one");
        tokio::select! {
            begun = doctor.begun.acquire() => break begun.expect("it is open").forget(),
            next = send(&running.administrator, "POST", &place, &wish) => {
                check_refused(&next, 409, "BEING_EXAMINED");
            }
        }
    }
}

#[tokio::test]
async fn who_is_not_called_is_not_examined_and_without_a_doctor_nobody_is() {
    let running = hub(&Slow::new()).await;
    running.done("POST", "/api/v1/agents", &json!({ "name": "nowhere" })).await;
    let nowhere = send(&running.administrator, "POST", &path("nowhere"), &Value::Null).await;
    check_refused(&nowhere, 409, "NOT_CALLED");
    let pull = json!({ "name": "pull", "delivery": "pull", "url": "http://127.0.0.1:9/" });
    running.done("POST", "/api/v1/agents", &pull).await;
    let pull = send(&running.administrator, "POST", &path("pull"), &Value::Null).await;
    check_refused(&pull, 409, "NOT_CALLED");
    let member = running.join("member", None).await;
    check_refused(&send(&member.http, "POST", &path("one"), &Value::Null).await, 403, "FORBIDDEN");

    let running = Running::start().await;
    let nobody = send(&running.administrator, "POST", &path("one"), &Value::Null).await;
    check_refused(&nobody, 404, "NOT_FOUND");
    let unknown = send(&running.administrator, "GET", "/api/v1/configuration", &Value::Null).await;
    check_refused(&unknown, 404, "NOT_FOUND");
}

//! How long a caller waits: agents are told, and what they work on goes on.

use http::{HeaderMap, HeaderValue};
use nuncio_client::{Options, Remote};
use nuncio_protocol::{
    dialect::WireForm, operation::Request, state::TaskState, task::StreamResponse,
};
use serde_json::json;

use super::{
    agents::{Served, Skilled},
    callers::{begin, follow, look, message, patiently, rest, result, somebody, value},
    foreign::{Foreign, task},
    stage::{Stage, counted},
    world::World,
};

const WAIT: &str = "a2a-request-timeout";

/// Ann, who waits for so many milliseconds.
async fn ann(world: &World, agent: &str, wait: &'static str) -> Remote {
    let mut options = Options::default();
    let key = format!("Bearer {}", world.key("ann").await);
    let key = HeaderValue::try_from(key).expect("a key is text");
    options.headers.insert(http::header::AUTHORIZATION, key);
    options.headers.insert(WAIT, HeaderValue::from_static(wait));
    world.remote_with(agent, WireForm::V1, options)
}

fn told(headers: &HeaderMap) -> u64 {
    let told = headers.get(WAIT).expect("it is told how long");
    told.to_str().expect("text").parse().expect("a number")
}

/// C-27: a chain of hubs and agents shares one deadline.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_told_what_is_left_of_its_callers_patience() {
    for (streams, method) in [(false, "SendMessage"), (true, "SendStreamingMessage")] {
        let agent =
            Foreign::start(streams, |_, params| vec![json!({ "task": task("COMPLETED", params) })])
                .await;
        let world = World::start().await;
        world.add("foreign", &agent.url()).await;
        let impatient = ann(&world, "foreign", "40000").await;
        begin(&impatient, message("hello")).await;
        let request = Request::SendStreamingMessage(message("hello"));
        rest(follow(&impatient, somebody(), request).await).await;
        let heard = agent.heard(method);
        assert_eq!(heard.len(), 2, "{heard:?}");
        for (headers, _) in heard {
            let left = told(&headers);
            assert!((1..=40_000).contains(&left), "{left}");
        }
        let patient = world.remote(&world.key("bob").await, "foreign", WireForm::V1);
        begin(&patient, message("hello")).await;
        let heard = agent.heard(method);
        let (headers, _) = heard.last().expect("it was asked");
        assert_eq!(headers.get(WAIT), None, "nobody has said how long");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn work_goes_on_when_its_callers_patience_is_over() {
    let forms =
        [WireForm::V1, WireForm::V1Http, WireForm::V1Grpc, WireForm::V03, WireForm::V03Grpc];
    for form in forms {
        for skilled in [Skilled::Answers, Skilled::Resumes] {
            let (world, stage) = (World::start().await, Stage::default());
            let served = Served::script(form, skilled, &stage).await;
            world.add("script", &served.url()).await;
            let impatient = ann(&world, "script", "100").await;
            let asked = begin(&impatient, message("gated:x:2")).await;
            assert!(!asked.status.state.is_terminal(), "{}: {asked:?}", form.name());
            stage.has_begun("x", 1).await;
            stage.open("x", 2);
            let ended = patiently(async {
                loop {
                    let task = look(&impatient, &asked.id).await;
                    if task.status.state.is_terminal() {
                        return task;
                    }
                    tokio::task::yield_now().await;
                }
            })
            .await;
            assert_eq!(ended.status.state, TaskState::Completed, "{}: {ended:?}", form.name());
            assert_eq!(result(&ended), counted(2), "{}", form.name());
            assert_eq!(stage.begun("x"), 1, "{}", form.name());

            let request = Request::SendStreamingMessage(message("count:2"));
            let events = rest(follow(&impatient, somebody(), request).await).await;
            let last = value(events.last().expect("there are events"));
            let StreamResponse::StatusUpdate(last) = last else { panic!("{last:?}") };
            assert_eq!(last.status.state, TaskState::Completed, "{}", form.name());
        }
    }
}

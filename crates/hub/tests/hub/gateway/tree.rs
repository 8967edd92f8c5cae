//! Calls that are made because of others: how far they go, and how they end.

use std::sync::Arc;

use futures_util::future::join_all;
use nuncio_client::Remote;
use nuncio_protocol::{
    dialect::WireForm,
    error::ErrorKind,
    ids::TaskId,
    message::Message,
    operation::{ListTasksRequest, Request, Response},
    state::TaskState,
    task::Task,
};
use nuncio_server::{Agent, Conduct, Failure, Output, Turn};
use nuncio_testkit::{random::Random, wire::Http};

use super::{
    agents::{Served, Skilled},
    callers::{
        FORMS, ask, begin, cancel, direct, follow, look, message, next, pieces, rest, somebody,
        subscribe, task_of, value,
    },
    relay::relay,
    stage::{Stage, counted},
    world::World,
};

/// T-07: client, hub, agent, hub, agent.
async fn check_two_hops(first: WireForm, second: WireForm) {
    let what = format!("{} to {}", first.name(), second.name());
    let world = Arc::new(World::start().await);
    let (near, far) = (Stage::default(), Stage::default());
    let _relay = relay(&world, ("lead", None), ("worker", first), &near).await;
    let worker = Served::script(second, Skilled::Resumes, &far).await;
    let new = serde_json::json!({ "name": "worker", "card_url": worker.url(), "parent": "lead" });
    world.add_as(&new).await;
    let ann = world.key("ann").await;
    let callers = FORMS.map(|form| world.remote(&ann, "lead", form));

    let request = Request::SendStreamingMessage(message("hold:deep"));
    let mut events = follow(&callers[0], somebody(), request).await;
    let id = task_of(&next(&mut events).await).clone();
    far.runs("deep").await;
    let mut readers = vec![events];
    for caller in &callers {
        readers.push(follow(caller, somebody(), subscribe(&id)).await);
    }
    let Ok(Response::Task(ended)) = ask(&callers[0], cancel(&id)).await else {
        panic!("{what} cannot be cancelled")
    };
    assert_eq!(ended.status.state, TaskState::Canceled, "{what}");
    far.has_stopped("deep").await;
    near.has_stopped("relay").await;
    let below = ended.metadata.as_ref().and_then(|data| data.get("canceledCalls"));
    let below = below.unwrap_or_else(|| panic!("{what}: it is not said what ended: {ended:?}"));
    assert_eq!(below.as_str().matches("CANCELED").count(), 1, "{what}: {below:?}");

    for events in join_all(readers.into_iter().map(rest)).await {
        let ends: Vec<_> = events.iter().filter(|event| value(event).is_last()).collect();
        assert_eq!(ends.len(), 1, "{what}: one end for everybody: {events:?}");
        let state = value(events.last().expect("there are events")).state();
        assert_eq!(state, Some(TaskState::Canceled), "{what}: {events:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t07_a_cancel_goes_over_two_hops_and_ends_once_for_all() {
    let pairs = [
        (WireForm::V1, WireForm::V03Grpc),
        (WireForm::V1Http, WireForm::V03),
        (WireForm::V1Grpc, WireForm::V1),
        (WireForm::V03, WireForm::V1Grpc),
        (WireForm::V03Http, WireForm::V03Http),
        (WireForm::V03Grpc, WireForm::V1Http),
    ];
    join_all(pairs.map(|(first, second)| check_two_hops(first, second))).await;
}

/// What an agent says when it is told to end: more than fits into a line.
const PARTING: &str = "swordfish, ";

/// An agent that says something when it is told to end.
struct Parting(Stage);

impl Agent for Parting {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let _running = self.0.begin("parting");
        output.working("on it").await?;
        turn.cancelled().await;
        let last = Message::agent(PARTING.repeat(100));
        Ok(output.status(TaskState::Canceled, Some(last)).await?)
    }

    fn conduct(&self) -> Conduct {
        Conduct { cancel_grace: std::time::Duration::from_secs(30), ..Conduct::default() }
    }
}

/// What agents say to each other is not for whoever has called the first of them.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_about_an_end_is_told_in_a_line_to_those_who_may_see_the_task() {
    let world = Arc::new(World::start().await);
    let (near, far) = (Stage::default(), Stage::default());
    let _relay = relay(&world, ("lead", None), ("worker", WireForm::V1), &near).await;
    let worker = Served::start(WireForm::V1, Skilled::Resumes, &far, Parting(far.clone())).await;
    let new = serde_json::json!({ "name": "worker", "card_url": worker.url(), "parent": "lead" });
    world.add_as(&new).await;
    let ann = world.key("ann").await;
    let caller = world.remote(&ann, "lead", WireForm::V1);
    let begun = async |times| {
        let request = Request::SendStreamingMessage(message("work"));
        let mut events = follow(&caller, somebody(), request).await;
        let id = task_of(&next(&mut events).await).clone();
        far.has_begun("parting", times).await;
        id
    };

    let Ok(Response::Task(ended)) = ask(&caller, cancel(&begun(1).await)).await else {
        panic!("it cannot be cancelled")
    };
    let below = ended.metadata.as_ref().and_then(|data| data.get("canceledCalls"));
    let below = below.expect("it is said what ended");
    assert!(below.as_str().contains("TASK_STATE_CANCELED"), "{below:?}");
    assert!(!below.as_str().contains("swordfish"), "{below:?}");

    let end = async |http: &Http, task: TaskId| {
        let path = format!("/api/v1/tasks/{task}/cancel");
        let report = http.request("POST", &path, &[], "").await.json();
        assert_eq!(report["stopped"].as_array().map(Vec::len), Some(2), "{report}");
        report["stopped"][1]["said"].clone()
    };
    let person = Http::new(world.address).with("authorization", &format!("Bearer {ann}"));
    assert_eq!(end(&person, begun(2).await).await, serde_json::Value::Null);
    let said = end(&world.administrator, begun(3).await).await;
    let said = said.as_str().expect("administrators see every task");
    assert!(said.starts_with("swordfish, ") && said.chars().count() == 201, "{said}");
}

/// Looks at the tasks of an agent itself, which knows its callers by no name.
async fn at_agent(agent: &Remote, text: &str) -> Task {
    let request =
        ListTasksRequest { page_size: Some(100), history_length: Some(1), ..Default::default() };
    match ask(agent, Request::ListTasks(request)).await {
        Ok(Response::Tasks(page)) => {
            let mut tasks = page.tasks.into_iter();
            let mine = |task: &Task| task.history.iter().any(|message| message.text() == text);
            tasks.find(mine).expect("the agent has the task")
        }
        other => panic!("no list, but {other:?}"),
    }
}

/// T-07: whoever is first, all agree on who it was.
#[tokio::test(flavor = "multi_thread")]
async fn t07_a_cancel_that_races_with_the_end_has_one_outcome_for_all() {
    let world = World::start().await;
    let stage = Stage::default();
    let served = Served::script(WireForm::V1, Skilled::Resumes, &stage).await;
    world.add("script", &served.url()).await;
    let ann = world.key("ann").await;
    let mut random = Random::new();
    let rounds = (0..60).map(|round| {
        let (world, stage, ann) = (&world, &stage, &ann);
        let form = FORMS[round % FORMS.len()];
        let delay = std::time::Duration::from_micros(random.below(300_000));
        async move {
            let remote = world.remote(ann, "script", form);
            let name = format!("race-{round}");
            let text = format!("gated:{name}:1");
            let request = Request::SendStreamingMessage(message(&text));
            let mut events = follow(&remote, somebody(), request).await;
            let id = task_of(&next(&mut events).await).clone();
            stage.runs(&name).await;
            let ending = async {
                // Nothing depends on who is first.
                tokio::time::sleep(delay).await;
                stage.open(&name, 1);
            };
            let (cancelled, ()) = tokio::join!(remote.call(somebody(), cancel(&id)), ending);
            let events = rest(events).await;
            let ends = events.iter().filter(|event| value(event).is_last()).count();
            assert_eq!(ends, 1, "{events:?}");
            let end = value(events.last().expect("there are events")).state();
            let task = look(&remote, &id).await;
            assert_eq!(end, Some(task.status.state));
            match (cancelled, task.status.state) {
                (Ok(_), TaskState::Canceled) => {}
                (Ok(_), TaskState::Completed) => assert_eq!(pieces(&events), counted(1)),
                (Err(error), TaskState::Completed) => {
                    let kind = error.peer().map(nuncio_protocol::error::Error::kind);
                    assert_eq!(kind, Some(ErrorKind::TaskNotCancelable), "{error}");
                    assert_eq!(pieces(&events), counted(1));
                }
                other => panic!("{other:?}"),
            }
            (text, task.status.state)
        }
    });
    let rounds: Vec<_> = join_all(rounds).await;
    let cancelled = rounds.iter().filter(|(_, state)| *state == TaskState::Canceled).count();
    println!("T-07: {cancelled} of {} were cancelled before they ended", rounds.len());
    let direct = direct(served.address, WireForm::V1);
    for (text, state) in &rounds {
        assert_eq!(at_agent(&direct, text).await.status.state, *state, "{text}");
    }
}

/// R27: two agents that call each other for ever are stopped, and told how it came to that.
#[tokio::test(flavor = "multi_thread")]
async fn r27_agents_that_call_in_a_circle_are_refused_at_hop_17() {
    let world = Arc::new(World::start().await);
    let stages = [Stage::default(), Stage::default()];
    let (one, two) = (("ping", None), ("pong", Some("ping")));
    let _one = relay(&world, one, ("pong", WireForm::V1), &stages[0]).await;
    let _two = relay(&world, two, ("ping", WireForm::V03Http), &stages[1]).await;
    let ann = world.key("ann").await;
    let task = begin(&world.remote(&ann, "ping", WireForm::V1), message("circle")).await;
    assert_eq!(task.status.state, TaskState::Failed);
    let why = task.status.message.as_ref().map(|message| message.text()).unwrap_or_default();
    let chain = ["ping", "pong"].into_iter().cycle().take(17).collect::<Vec<_>>().join(" -> ");
    assert!(why.contains("17 deep") && why.contains(&chain), "{why}");
    let begun = stages.iter().map(|stage| stage.begun("relay")).sum::<usize>();
    assert_eq!(begun, 16, "so many were carried");
}

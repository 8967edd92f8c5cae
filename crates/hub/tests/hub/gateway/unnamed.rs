//! Cancels of what an agent works on that names its task only when all is done.

use futures_util::future::join_all;
use nuncio_client::Remote;
use nuncio_protocol::{
    dialect::WireForm,
    ids::{MessageId, TaskId},
    message::Part,
    operation::{ListTasksRequest, Request, Response, SendMessageRequest},
    service::CallContext,
    state::TaskState,
    task::Task,
};
use tokio::task::JoinHandle;

use super::{
    agents::{Served, Skilled},
    callers::{FORMS, ask, at_once, begin, cancel, direct, message, patiently, somebody},
    stage::Stage,
    world::World,
};

/// A hub and an agent that can only be asked.
struct Scene {
    world: World,
    stage: Stage,
    served: Served,
    form: WireForm,
    ann: Remote,
}

impl Scene {
    async fn new(form: WireForm) -> Self {
        let (world, stage) = (World::start().await, Stage::default());
        let served = Served::script(form, Skilled::Answers, &stage).await;
        world.add("script", &served.url()).await;
        let ann = world.remote(&world.key("ann").await, "script", WireForm::V1);
        Self { world, stage, served, form, ann }
    }

    /// Sends a message whose end is waited for meanwhile, and returns the hub's name of its task
    /// when the agent works on it.
    async fn send(&self, from: &Remote, request: SendMessageRequest) -> (TaskId, JoinHandle<Task>) {
        let text = request.message.text();
        let script = text.split(':').nth(1).expect("a script").to_owned();
        let before = self.stage.begun(&script);
        let (from, after) = (from.clone(), from.clone());
        let sent = tokio::spawn(async move { begin(&from, request).await });
        self.stage.has_begun(&script, before + 1).await;
        (newest(&after).await, sent)
    }

    /// Calls the agent itself.
    fn stranger(&self) -> Remote {
        direct(self.served.address, self.form)
    }

    /// Returns what the agent itself still works on.
    async fn at_work(&self) -> Vec<String> {
        let everything = ListTasksRequest { history_length: Some(10), ..Default::default() };
        match ask(&self.stranger(), Request::ListTasks(everything)).await {
            Ok(Response::Tasks(page)) => {
                let open = page.tasks.iter().filter(|task| !task.status.state.is_terminal());
                open.map(|task| task.history[0].text()).collect()
            }
            other => panic!("no list, but {other:?}"),
        }
    }
}

/// Returns the hub's name of a caller's newest task.
async fn newest(caller: &Remote) -> TaskId {
    match ask(caller, Request::ListTasks(ListTasksRequest::default())).await {
        Ok(Response::Tasks(page)) => page.tasks[0].id.clone(),
        other => panic!("no list, but {other:?}"),
    }
}

async fn canceled(remote: &Remote, task: &TaskId) -> Task {
    match ask(remote, cancel(task)).await {
        Ok(Response::Task(task)) => {
            assert_eq!(task.status.state, TaskState::Canceled, "{task:?}");
            task
        }
        other => panic!("no task, but {other:?}"),
    }
}

fn word(task: &Task) -> String {
    task.status.message.as_ref().map(|message| message.text()).unwrap_or_default()
}

fn named(id: &str, text: &str) -> SendMessageRequest {
    let mut request = message(text);
    request.message.message_id = MessageId::parse(id).expect("an id");
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_finds_the_task_in_the_list_of_its_agent() {
    for form in [WireForm::V1, WireForm::V1Http, WireForm::V1Grpc] {
        let scene = Scene::new(form).await;
        let (task, sent) = scene.send(&scene.ann, message("hold:x")).await;
        let ended = canceled(&scene.ann, &task).await;
        assert!(!word(&ended).contains("hung up"), "{}: {ended:?}", form.name());
        scene.stage.has_stopped("x").await;
        let task = sent.await.expect("nobody panics");
        assert_eq!(task.status.state, TaskState::Canceled, "{}", form.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_reaches_an_agent_that_was_answered_and_names_no_task_meanwhile() {
    for form in FORMS {
        let scene = Scene::new(form).await;
        let asked = begin(&scene.ann, message("ask:")).await;
        let mut answer = message("hold:x");
        answer.message.task_id = Some(asked.id.clone());
        let (task, sent) = scene.send(&scene.ann, answer).await;
        assert_eq!(task, asked.id);
        canceled(&scene.ann, &task).await;
        scene.stage.has_stopped("x").await;
        let task = sent.await.expect("nobody panics");
        assert_eq!(task.status.state, TaskState::Canceled, "{}", form.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_without_a_list_is_hung_up_on_and_the_task_says_so() {
    let scene = Scene::new(WireForm::V03).await;
    let (task, sent) = scene.send(&scene.ann, message("hold:x")).await;
    let path = format!("/api/v1/tasks/{}/cancel", task.as_str());
    let report = scene.world.administrator.request("POST", &path, &[], "").await.json();
    let said = report["stopped"][0]["said"].as_str().unwrap_or_default();
    assert!(said.contains("it was hung up on"), "{report}");
    assert_eq!(sent.await.expect("nobody panics").status.state, TaskState::Canceled);
}

/// Callers use identifiers again, and to the agent they are all one.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_ends_nothing_that_could_be_somebody_elses() {
    let scene = Scene::new(WireForm::V1).await;
    let bob = scene.world.remote(&scene.world.key("bob").await, "script", WireForm::V1);
    scene.send(&bob, named("1", "hold:same")).await;
    scene.send(&bob, named("2", "hold:other")).await;
    let (same, _) = scene.send(&scene.ann, named("1", "hold:same")).await;
    let ended = canceled(&scene.ann, &same).await;
    assert!(word(&ended).contains("it was hung up on"), "{ended:?}");
    let (mine, _) = scene.send(&scene.ann, named("2", "hold:mine")).await;
    let ended = canceled(&scene.ann, &mine).await;
    assert!(!word(&ended).contains("hung up"), "{ended:?}");
    scene.stage.has_stopped("mine").await;
    let mut at_work = scene.at_work().await;
    at_work.sort();
    assert_eq!(at_work, ["hold:other", "hold:same", "hold:same"]);
}

/// Ann's own has ended, and its answer is on its way: the one that is left is a stranger's.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_ends_nobody_elses_task_when_the_own_has_just_ended() {
    let scene = Scene::new(WireForm::V1Http).await;
    let gated = |id| named(id, "gated:same:1");
    let (mine, sent) = scene.send(&scene.ann, gated("1")).await;
    let mut theirs = gated("1");
    theirs.configuration = at_once("").configuration;
    begin(&scene.stranger(), theirs).await;
    scene.stage.has_begun("same", 2).await;
    scene.stage.hold_answers(true);
    scene.stage.open("same", 1);
    patiently(async {
        while scene.at_work().await.len() > 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let ended = canceled(&scene.ann, &mine).await;
    assert!(word(&ended).contains("it was hung up on"), "{ended:?}");
    assert_eq!(scene.at_work().await, ["gated:same:1"], "the stranger's goes on");
    scene.stage.hold_answers(false);
    sent.await.expect("nobody panics");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_differs_in_more_than_its_text_is_not_taken_for_the_own() {
    let mut theirs = named("1", "hold:same");
    theirs.configuration = at_once("").configuration;
    theirs.message.parts.push(Part::url("https://files.example/1"));
    let scene = Scene::new(WireForm::V1).await;
    begin(&scene.stranger(), theirs).await;
    scene.stage.runs("same").await;
    let (mine, _) = scene.send(&scene.ann, named("1", "hold:same")).await;
    let ended = canceled(&scene.ann, &mine).await;
    assert!(!word(&ended).contains("hung up"), "{ended:?}");
    assert_eq!(scene.at_work().await.len(), 1, "the stranger's goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_the_hub_knows_as_another_is_not_taken_for_the_own() {
    let scene = Scene::new(WireForm::V1).await;
    let bob = scene.world.remote(&scene.world.key("bob").await, "script", WireForm::V1);
    let mut known = named("1", "hold:same");
    known.configuration = at_once("").configuration;
    begin(&bob, known).await;
    scene.stage.runs("same").await;
    let (mine, _) = scene.send(&scene.ann, named("1", "hold:same")).await;
    let ended = canceled(&scene.ann, &mine).await;
    assert!(!word(&ended).contains("hung up"), "{ended:?}");
    assert_eq!(scene.at_work().await, ["hold:same"], "bob's goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_not_read_to_its_end_shows_nothing_to_cancel() {
    let scene = Scene::new(WireForm::V1).await;
    let stranger = scene.stranger();
    join_all((0..260).map(|_| begin(&stranger, message("fine")))).await;
    let (mine, _) = scene.send(&scene.ann, message("hold:x")).await;
    let ended = canceled(&scene.ann, &mine).await;
    assert!(word(&ended).contains("it was hung up on"), "{ended:?}");
}

/// What others have asked of the agent is for nobody who reads the wire of this task.
#[tokio::test(flavor = "multi_thread")]
async fn the_wire_of_a_task_does_not_show_the_list_in_which_it_was_looked_for() {
    let scene = Scene::new(WireForm::V1).await;
    begin(&scene.stranger(), message("swordfish")).await;
    let wire = "urn:nuncio:extension:wire:v1";
    let ctx = CallContext { extensions: [wire.to_owned()].into(), ..somebody() };
    let ann = scene.ann.clone();
    let sent = tokio::spawn(async move {
        ann.call(ctx, Request::SendMessage(message("hold:x"))).await.map(drop)
    });
    scene.stage.has_begun("x", 1).await;
    let task = newest(&scene.ann).await;
    canceled(&scene.ann, &task).await;
    patiently(sent).await.expect("nobody panics").expect("it is answered");
    let path = format!("/api/v1/tasks/{task}/wire");
    let reply = scene.world.administrator.request("GET", &path, &[], "").await;
    let seen = reply.text();
    assert!(seen.contains("CancelTask") && !seen.contains("ListTasks"), "{seen}");
    assert!(!seen.contains("swordfish"), "{seen}");
}

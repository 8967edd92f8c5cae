//! Cancels of what an agent works on that names its task only when all is done.

use nuncio_client::Remote;
use nuncio_protocol::{
    dialect::WireForm,
    ids::{MessageId, TaskId},
    operation::{ListTasksRequest, Request, Response, SendMessageRequest},
    service::CallContext,
    state::TaskState,
    task::Task,
};
use tokio::task::JoinHandle;

use super::{
    agents::{Served, Skilled},
    callers::{FORMS, ask, begin, cancel, direct, message, patiently, somebody},
    stage::Stage,
    world::World,
};

/// A hub and an agent that can only be asked.
struct Scene {
    world: World,
    stage: Stage,
    served: Served,
    ann: Remote,
}

impl Scene {
    async fn new(form: WireForm) -> Self {
        let (world, stage) = (World::start().await, Stage::default());
        let served = Served::script(form, Skilled::Answers, &stage).await;
        world.add("script", &served.url()).await;
        let ann = world.remote(&world.key("ann").await, "script", WireForm::V1);
        Self { world, stage, served, ann }
    }

    /// Sends a message whose end is waited for meanwhile, and returns the hub's name of its task
    /// when the agent works on it.
    async fn send(&self, from: &Remote, request: SendMessageRequest) -> (TaskId, JoinHandle<Task>) {
        let text = request.message.text();
        let script = text.split(':').nth(1).expect("a script").to_owned();
        let before = self.stage.begun(&script);
        let from = from.clone();
        let sent = tokio::spawn(async move { begin(&from, request).await });
        self.stage.has_begun(&script, before + 1).await;
        let parent = self.stage.parent().expect("it was called");
        (TaskId::parse(&parent).expect("a task"), sent)
    }

    /// Returns what the agent itself still works on.
    async fn at_work(&self) -> Vec<String> {
        let everything = ListTasksRequest {
            status: TaskState::Working,
            history_length: Some(10),
            ..Default::default()
        };
        let remote = direct(self.served.address, WireForm::V1);
        match ask(&remote, Request::ListTasks(everything)).await {
            Ok(Response::Tasks(page)) => {
                page.tasks.iter().map(|task| task.history[0].text()).collect()
            }
            other => panic!("no list, but {other:?}"),
        }
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

/// What others have asked of the agent is for nobody who reads the wire of this task.
#[tokio::test(flavor = "multi_thread")]
async fn the_wire_of_a_task_does_not_show_the_list_in_which_it_was_looked_for() {
    let scene = Scene::new(WireForm::V1).await;
    begin(&direct(scene.served.address, WireForm::V1), message("swordfish")).await;
    let wire = "urn:nuncio:extension:wire:v1";
    let ctx = CallContext { extensions: [wire.to_owned()].into(), ..somebody() };
    let ann = scene.ann.clone();
    let sent = tokio::spawn(async move {
        ann.call(ctx, Request::SendMessage(message("hold:x"))).await.map(drop)
    });
    scene.stage.has_begun("x", 1).await;
    let parent = scene.stage.parent().expect("it was called");
    canceled(&scene.ann, &TaskId::parse(&parent).expect("a task")).await;
    patiently(sent).await.expect("nobody panics").expect("it is answered");
    let path = format!("/api/v1/tasks/{parent}/wire");
    let reply = scene.world.administrator.request("GET", &path, &[], "").await;
    let seen = reply.text();
    assert!(seen.contains("CancelTask") && !seen.contains("ListTasks"), "{seen}");
    assert!(!seen.contains("swordfish"), "{seen}");
}

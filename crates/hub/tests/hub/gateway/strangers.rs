//! Callers whom the agent cannot tell apart, since it knows nobody but the hub.

use nuncio_protocol::{
    dialect::WireForm,
    error::ErrorKind,
    ids::{ContextId, TaskId},
    operation::{ListTasksRequest, Request, Response},
    state::TaskState,
};

use super::{
    agents::{Served, Skilled},
    callers::{FORMS, ask, at_once, begin, cancel, direct, get, message, refused, subscribe},
    stage::Stage,
    world::World,
};

/// Nobody gets at a task of somebody else, neither by the hub's name of it nor by the agent's.
#[tokio::test(flavor = "multi_thread")]
async fn tasks_of_others_are_not_there_though_the_agent_keeps_them_together() {
    let world = World::start().await;
    let stage = Stage::default();
    let served = Served::script(WireForm::V1, Skilled::Resumes, &stage).await;
    world.add("script", &served.url()).await;
    let (ann, bob) = (world.key("ann").await, world.key("bob").await);
    let hers = begin(&world.remote(&ann, "script", WireForm::V1), at_once("hold:hers")).await;
    stage.runs("hers").await;
    // To the agent they are all one, and it would tell anybody.
    let everything = Request::ListTasks(ListTasksRequest::default());
    let Ok(Response::Tasks(page)) = ask(&direct(served.address, WireForm::V1), everything).await
    else {
        panic!("the agent lists its tasks")
    };
    let theirs = page.tasks.first().expect("the agent has it").id.clone();
    assert_ne!(theirs, hers.id, "the agent's name is its own");
    for form in FORMS {
        let remote = world.remote(&bob, "script", form);
        for id in [&hers.id, &theirs] {
            let mut more = message("more");
            more.message.task_id = Some(id.clone());
            for request in [
                get(id),
                cancel(id),
                subscribe(id),
                Request::SendMessage(more.clone()),
                Request::SendStreamingMessage(more.clone()),
            ] {
                let what = format!("{} in {}", request.operation().name(), form.name());
                let error = refused(&remote, request).await;
                assert_eq!(error.kind(), ErrorKind::TaskNotFound, "{what}: {error}");
            }
        }
    }
    // Nor has any of that harmed the task.
    assert_eq!(stage.begun("hers"), 1);
    let remote = world.remote(&ann, "script", WireForm::V1);
    let Ok(Response::Task(task)) = ask(&remote, get(&hers.id)).await else { panic!("no task") };
    assert_eq!(task.status.state, TaskState::Working);
}

/// Two who choose the same name for a conversation do not meet in it.
#[tokio::test(flavor = "multi_thread")]
async fn conversations_of_the_same_name_are_kept_apart() {
    let world = World::start().await;
    let stage = Stage::default();
    let served = Served::script(WireForm::V1, Skilled::Resumes, &stage).await;
    world.add("script", &served.url()).await;
    let name = ContextId::parse("our-secret").expect("a name");
    let say = |text: &str| {
        let mut request = message(text);
        request.message.context_id = Some(name.clone());
        request
    };
    for who in ["ann", "bob"] {
        let key = world.key(who).await;
        let remote = world.remote(&key, "script", WireForm::V1);
        match ask(&remote, Request::SendMessage(say(who))).await {
            Ok(Response::SendMessage(_)) => {}
            // It is hers: as well.
            Err(error) if who == "bob" => {
                let kind = error.peer().map(nuncio_protocol::error::Error::kind);
                assert_eq!(kind, Some(ErrorKind::InvalidParams), "{error}");
            }
            other => panic!("{who}: {other:?}"),
        }
    }
    let everything = ListTasksRequest { history_length: Some(10), ..Default::default() };
    let direct = direct(served.address, WireForm::V1);
    let Ok(Response::Tasks(page)) = ask(&direct, Request::ListTasks(everything)).await else {
        panic!("the agent lists its tasks")
    };
    let contexts: Vec<_> = page.tasks.iter().map(|task| task.context_id.clone()).collect();
    let mut apart = contexts.clone();
    apart.dedup();
    assert_eq!(contexts, apart, "the agent takes them for one conversation: {:?}", page.tasks);
}

/// A task that was never there and one that is somebody else's look the same.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_yours_and_what_is_not_there_are_told_alike() {
    let world = World::start().await;
    let stage = Stage::default();
    let served = Served::script(WireForm::V03, Skilled::Streams, &stage).await;
    world.add("script", &served.url()).await;
    let (ann, bob) = (world.key("ann").await, world.key("bob").await);
    let hers = begin(&world.remote(&ann, "script", WireForm::V1), message("hello")).await.id;
    let none = TaskId::parse("0197a000-0000-7000-8000-00000000beef").expect("an id");
    for form in FORMS {
        let remote = world.remote(&bob, "script", form);
        for request in [get, cancel, subscribe] {
            let told = [&hers, &none].map(|id| (request(id), id.as_str().to_owned()));
            let [theirs, nothing] = told;
            let theirs = refused(&remote, theirs.0).await.message().replace(&theirs.1, "ID");
            let nothing = refused(&remote, nothing.0).await.message().replace(&nothing.1, "ID");
            assert_eq!(theirs, nothing, "{}", form.name());
        }
    }
}

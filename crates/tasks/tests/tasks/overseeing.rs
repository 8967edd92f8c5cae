//! Whoever oversees an organisation sees whose every task is.

use std::sync::Arc;

use nuncio_protocol::{
    error::ErrorKind,
    ids::TaskId,
    message::Message,
    operation::{ListTasksRequest, SendMessageRequest},
    state::TaskState,
    task::Task,
};
use nuncio_tasks::{
    agent::{Agent, Failure, Turn},
    engine::{Call, Overseen, Tasks},
    memory::MemoryStore,
    output::Output,
    scope::{Name, Place, Scope},
};

/// Ends its turn in the state that it is told, and otherwise completes.
struct Obedient;

impl Agent for Obedient {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        match turn.message.text().as_str() {
            "ask" => output.ask("which one?").await?,
            "log in" => output.status(TaskState::AuthRequired, None).await?,
            _ => output.text("done").await?,
        }
        Ok(())
    }
}

fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}

fn place(tenant: &str, agent: &str, caller: &str) -> Place {
    Place { tenant: name(tenant), agent: name(agent), caller: name(caller) }
}

fn acme() -> Scope {
    Scope::tenant(name("acme"))
}

async fn send(tasks: &Tasks, place: &Place, text: &str) -> Task {
    let request = SendMessageRequest::new(Message::user(text));
    let answer = tasks.send(&Call::new(place.clone()), request).await.expect("it is taken");
    answer.into_task().expect("a task")
}

/// Three callers of two agents, and one of another organisation, each with a task in every state.
async fn populated() -> (Tasks, Vec<(Place, Task)>) {
    let store = Arc::new(MemoryStore::new());
    let tasks =
        Tasks::builder(store).agent(name("one"), Obedient).agent(name("two"), Obedient).start();
    let mut sent = Vec::new();
    for (tenant, agent, caller) in [
        ("acme", "one", "user:ann"),
        ("acme", "two", "user:ann"),
        ("acme", "one", "agent:two"),
        ("evil", "one", "user:ann"),
    ] {
        for text in ["ask", "log in", "do"] {
            let place = place(tenant, agent, caller);
            let task = send(&tasks, &place, text).await;
            sent.push((place, task));
        }
    }
    (tasks, sent)
}

fn seen(overseen: Vec<Overseen>) -> Vec<(Place, TaskId)> {
    let read = |one: Overseen| (one.place, one.task.value().expect("a task").id.clone());
    let mut seen: Vec<_> = overseen.into_iter().map(read).collect();
    seen.sort();
    seen
}

fn expected(
    sent: &[(Place, Task)],
    wanted: impl Fn(&Place, TaskState) -> bool,
) -> Vec<(Place, TaskId)> {
    let wanted = sent.iter().filter(|(place, task)| wanted(place, task.status.state));
    let mut expected: Vec<_> =
        wanted.map(|(place, task)| (place.clone(), task.id.clone())).collect();
    expected.sort();
    expected
}

#[tokio::test]
async fn a_list_tells_whose_each_task_is() {
    let (tasks, sent) = populated().await;
    let one = Scope { agent: Some(name("one")), ..acme() };
    let ann = Scope { caller: Some(name("user:ann")), ..acme() };
    for scope in [acme(), one, ann, Scope::tenant(name("evil")), Scope::tenant(name("nobody"))] {
        let list = tasks.list_within(&scope, &[], ListTasksRequest::default()).await.unwrap();
        let expected = expected(&sent, |place, _| scope.sees(place));
        assert_eq!(list.total, expected.len() as u64, "{scope:?}");
        assert_eq!(seen(list.tasks), expected, "{scope:?}");
        assert_eq!(list.next_page_token, "");
    }
}

/// The inbox: all that waits for somebody, page by page.
#[tokio::test]
async fn a_list_may_be_of_several_states() {
    let (tasks, sent) = populated().await;
    let waiting = [TaskState::InputRequired, TaskState::AuthRequired];
    let mut found = Vec::new();
    let mut request = ListTasksRequest { page_size: Some(4), ..ListTasksRequest::default() };
    loop {
        let page = tasks.list_within(&acme(), &waiting, request.clone()).await.unwrap();
        assert_eq!(page.total, 6);
        found.extend(page.tasks);
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    let all = expected(&sent, |place, state| acme().sees(place) && waiting.contains(&state));
    assert_eq!(seen(found), all);
    // A token is good for the states that it was made for.
    let other = tasks.list_within(&acme(), &waiting[..1], request.clone()).await;
    assert_eq!(other.unwrap_err().kind(), ErrorKind::InvalidParams);
}

/// Without states, the one of the request counts.
#[tokio::test]
async fn a_list_may_be_of_the_state_that_a_request_names() {
    let (tasks, sent) = populated().await;
    let request = ListTasksRequest { status: TaskState::Completed, ..ListTasksRequest::default() };
    let list = tasks.list_within(&acme(), &[], request).await.unwrap();
    let completed =
        expected(&sent, |place, state| acme().sees(place) && state == TaskState::Completed);
    assert_eq!(seen(list.tasks), completed);
}

#[tokio::test]
async fn a_task_tells_whose_it_is() {
    let (tasks, sent) = populated().await;
    for (place, task) in &sent {
        let found = tasks.get_within(&acme(), &task.id, None).await;
        if !acme().sees(place) {
            assert_eq!(found.unwrap_err().kind(), ErrorKind::TaskNotFound);
            continue;
        }
        let found = found.unwrap();
        assert_eq!((&found.place, found.task.value().unwrap()), (place, task));
        let short = tasks.get_within(&acme(), &task.id, Some(0)).await.unwrap();
        assert!(short.task.value().unwrap().history.is_empty());
    }
}

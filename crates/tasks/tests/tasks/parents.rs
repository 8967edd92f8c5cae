//! Calls that were made because of others.

use std::sync::Arc;

use nuncio_protocol::{ids::TaskId, message::Message, operation::SendMessageRequest};
use nuncio_tasks::{
    agent::{Agent, Failure, Turn},
    engine::{Call, Tasks},
    memory::MemoryStore,
    output::Output,
    scope::{Name, Place, Scope},
};

struct Asking;

impl Agent for Asking {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        if turn.message.text() == "ask" {
            output.ask("which one?").await?;
        }
        Ok(())
    }
}

fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}

fn call(caller: &str) -> Call {
    Call::new(Place { tenant: name("acme"), agent: name("asking"), caller: name(caller) })
}

async fn send(tasks: &Tasks, call: &Call, to: Option<&TaskId>) -> TaskId {
    let mut request = SendMessageRequest::new(Message::user("ask"));
    request.message.task_id = to.cloned();
    tasks.send(call, request).await.expect("it is taken").into_task().expect("a task").id
}

#[tokio::test]
async fn a_task_that_is_begun_because_of_another_is_its_child() {
    let tasks = Tasks::builder(Arc::new(MemoryStore::new())).agent(name("asking"), Asking).start();
    let everything = Scope::tenant(name("acme"));
    let root = send(&tasks, &call("ann"), None).await;
    let because = Call { parent: Some(root.clone()), ..call("agent:one") };
    let mut children = Vec::new();
    for _ in 0..3 {
        children.push(send(&tasks, &because, None).await);
    }
    // A message to a task that is there has no say in what that was begun for.
    let elsewhere = Call { parent: Some(children[1].clone()), ..call("agent:one") };
    send(&tasks, &elsewhere, Some(&children[0])).await;

    let found = tasks.children(&everything, &root, 10).await.unwrap();
    assert_eq!(
        found.iter().map(|head| &head.id).collect::<Vec<_>>(),
        children.iter().collect::<Vec<_>>()
    );
    assert_eq!(tasks.children(&everything, &root, 2).await.unwrap().len(), 2);
    let kin = tasks.kin(&everything, &children[0]).await.unwrap().unwrap();
    assert_eq!(kin.parent, Some(root.clone()));
    assert_eq!(tasks.kin(&everything, &root).await.unwrap().unwrap().parent, None);

    let anns = Scope::from(&call("ann").place);
    assert_eq!(tasks.children(&anns, &root, 10).await.unwrap(), []);
    assert!(tasks.kin(&anns, &children[0]).await.unwrap().is_none(), "not hers");
}

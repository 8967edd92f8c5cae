//! Tasks that messages refer to: callers know them by the hub's names, agents by their own.

use nuncio_protocol::{dialect::WireForm, ids::TaskId, operation::SendMessageRequest};
use serde_json::{Value, json};

use super::{
    callers::{begin, look, message},
    foreign::{Foreign, said, task},
    world::World,
};

/// Calls the task of the agent like the message that has asked for it.
fn named(task: &Value, params: &Value) -> Value {
    let text = params["message"]["parts"][0]["text"].as_str().expect("a text");
    let renamed = task.to_string().replace("their-task", &format!("their-{text}"));
    serde_json::from_str(&renamed).expect("JSON")
}

fn referring(text: &str, tasks: &[&str]) -> SendMessageRequest {
    let mut request = message(text);
    let tasks = tasks.iter().map(|task| TaskId::parse(task).expect("an id"));
    request.message.reference_task_ids = tasks.collect();
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_that_messages_refer_to_have_the_names_that_their_reader_knows() {
    for streams in [false, true] {
        let agent = Foreign::start(streams, |_, params| {
            let mut task = task("COMPLETED", params);
            let mut word = said("w", "see there");
            word["referenceTaskIds"] =
                json!(["their-one", "their-two", "their-bobs", "elsewhere", "their-task"]);
            task["status"]["message"] = word;
            vec![json!({ "task": named(&task, params) })]
        })
        .await;
        let world = World::start().await;
        world.add("foreign", &agent.url()).await;
        let ann = world.remote(&world.key("ann").await, "foreign", WireForm::V1);
        let bob = world.remote(&world.key("bob").await, "foreign", WireForm::V1);
        let bobs = begin(&bob, message("bobs")).await.id;
        let one = begin(&ann, message("one")).await.id;
        let two = begin(&ann, message("two")).await.id;

        let asked = referring("three", &[one.as_str(), bobs.as_str(), "elsewhere"]);
        let three = begin(&ann, asked).await.id;
        let method = if streams { "SendStreamingMessage" } else { "SendMessage" };
        let heard = agent.heard(method);
        let (_, heard) = heard.last().expect("it was asked");
        let told = &heard["params"]["message"]["referenceTaskIds"];
        assert_eq!(*told, json!(["their-one", bobs.as_str(), "elsewhere"]), "{heard}");

        let last = look(&ann, &three).await.status.message.expect("a word");
        let meant: Vec<_> = last.reference_task_ids.iter().map(TaskId::as_str).collect();
        let expected = [one.as_str(), two.as_str(), "their-bobs", "elsewhere", three.as_str()];
        assert_eq!(meant, expected);
    }
}

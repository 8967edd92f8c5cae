//! Agents, and requests, as tools of a model.

use std::sync::Arc;

use nuncio_net::egress::{Errand, Purpose};
use nuncio_protocol::{
    message::Message,
    operation::ListTasksRequest,
    service::{A2aService, read},
    state::TaskState,
};
use nuncio_server::{
    Agent, Failure, Output, Turn,
    kinds::{
        llm::{ProviderKind, Settings},
        tool::{Delegate, HttpTool, Named},
    },
};
use nuncio_testkit::llm::{self as scripted, Answer};

use super::{
    desk::{Desk, client, context, text, words},
    llm::llm,
};

/// Does what it is told: works, fails, asks, or holds.
struct Helper;

impl Agent for Helper {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        match turn.message.text().as_str() {
            "fail" => Err(Failure::new("no idea")),
            "ask" => Ok(output.ask("which one?").await?),
            "hold" => {
                output.working("holding").await?;
                std::future::pending().await
            }
            told => {
                output.working("thinking").await?;
                Ok(output.text(format!("{told}, done")).await?)
            }
        }
    }
}

fn settings(helper: &Desk) -> Settings {
    let named = Named {
        name: "helper".to_owned(),
        description: "Helps".to_owned(),
        source: "agent://helper".to_owned(),
    };
    let service: Arc<dyn A2aService> = Arc::new(helper.service.clone());
    let delegate = Delegate::new(named, service, |call| {
        let mut context = context("llm");
        context.parent.clone_from(&call.task);
        context
    });
    Settings { tools: vec![delegate.into()], ..Settings::default() }
}

fn told(asked: &scripted::Asked) -> Vec<String> {
    let messages = asked.body["messages"].as_array().expect("messages").iter();
    let results = messages.filter(|message| message["role"] == "tool");
    results.map(|message| message["content"].as_str().expect("text").to_owned()).collect()
}

#[tokio::test]
async fn a_job_is_handed_to_another_agent() {
    let helper = Desk::hire(Helper);
    let call = |message: &str| Answer::calls("helper", &format!(r#"{{"message":"{message}"}}"#));
    let answers = [call("sweep"), call("fail"), call("ask"), Answer::says("done")];
    let provider = scripted::Provider::start(answers).await;
    let desk = llm(ProviderKind::OpenAi, &provider, settings(&helper));
    let events = desk.follow("Clean up").await;
    assert_eq!(words(&events)[..2], ["calls helper", "helper: thinking"]);
    assert_eq!(
        told(&provider.asked(4).await[3]),
        [
            r#"{"source":"agent://helper","content":"sweep, done"}"#,
            r#"{"source":"agent://helper","error":"its task ended as TASK_STATE_FAILED: no idea"}"#,
            r#"{"source":"agent://helper","error":"it asks something and was left; ask again with the answer: which one?"}"#,
        ]
    );
}

#[tokio::test]
async fn who_stops_waiting_cancels_what_was_handed_on() {
    let helper = Desk::hire(Helper);
    let provider = scripted::Provider::start([Answer::calls("helper", r#"{"message":"hold"}"#)]);
    let provider = provider.await;
    let desk = llm(ProviderKind::Anthropic, &provider, settings(&helper));
    let id = desk.begin(Message::user("Hold this")).await;
    let all = async || {
        let request = ListTasksRequest::default();
        let listed = helper.service.list_tasks(context("llm"), request).await.expect("a list");
        read(listed).expect("it can be read").tasks
    };
    let begun = loop {
        match all().await.pop() {
            Some(task) if task.status.state == TaskState::Working => break task.id,
            _ => tokio::task::yield_now().await,
        }
    };
    desk.cancel(&id).await;
    while all().await[0].status.state != TaskState::Canceled {
        tokio::task::yield_now().await;
    }
    assert_eq!(all().await[0].id, begun);
}

#[tokio::test]
async fn a_request_is_a_tool_whose_address_is_fixed() {
    let api = scripted::Provider::start([]).await;
    let provider = scripted::Provider::start([
        Answer::calls("api", r#"{"query":{"q":"a b"},"url":"https://evil.example"}"#),
        Answer::says("no"),
    ])
    .await;
    let named = Named {
        name: "api".to_owned(),
        description: "Asks".to_owned(),
        source: "http://api".to_owned(),
    };
    let sender =
        nuncio_server::kinds::http::Sender::new(client(), Errand::administrator(Purpose::Agent));
    let request = nuncio_server::kinds::http::Request::new("GET", format!("{}/x", api.url()));
    let tool = HttpTool::new(named, sender, request.expect("a request"));
    let settings = Settings { tools: vec![tool.into()], ..Settings::default() };
    assert_eq!(text(&llm(ProviderKind::OpenAi, &provider, settings).ask("go").await), "no");
    let asked = provider.asked(2).await;
    let expected = r#"{"source":"http://api","error":"127.0.0.1 answered 404 Not Found: {\"error\":\"no such path\"}"}"#;
    assert_eq!(told(&asked[1]), [expected]);
}

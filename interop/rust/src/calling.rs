//! The nine operations of the matrix, whatever SDK does them, for agents that all do as they are
//! told: ours, and those on the SDKs. What came of them is reported to `NUNCIO_INTEROP_REPORT`,
//! as interop/python/matrix/report.py says.
//!
//! Both SDKs write their types in the JSON of A2A 1.0, so that is what is looked at here.

mod report;
mod webhook;

use std::{fmt::Display, time::Duration};

use serde_json::{Value, json};

pub use report::call_all;

use webhook::Receiver;

/// Far longer than any operation takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a card for those that the agent knows describes it.
const EXTENDED: &str = "does more for those it knows";

const TOKEN: &str = "t0ken";

/// How many pieces a task has that somebody comes back to, a hundred in a second.
const COUNTS: [u32; 3] = [50, 300, 1500];

/// What is wrong.
#[derive(Debug)]
pub struct Problem {
    /// The code that A2A has for the error, if the agent gave one.
    pub code: Option<i32>,
    pub text: String,
}

impl Problem {
    pub fn new(text: impl Display) -> Self {
        Self { code: None, text: text.to_string() }
    }

    pub fn refused(code: i32, text: impl Display) -> Self {
        Self { code: Some(code), text: format!("{code}: {text}") }
    }
}

impl From<serde_json::Error> for Problem {
    fn from(error: serde_json::Error) -> Self {
        Self::new(error)
    }
}

/// How much of a stream is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    First,
    End,
}

/// A client of an SDK on one binding.
#[expect(async_fn_in_trait, reason = "nobody sends it elsewhere")]
pub trait Caller: Sized {
    /// Finds the card below a URL, and takes the binding that it offers, with an API key for the
    /// header `X-API-Key` if there is one.
    async fn connect(url: &str, binding: &str, key: Option<&str>) -> Result<Self, Problem>;

    /// Calls a method by its name in A2A 1.0.
    async fn call(&self, method: &str, params: Value) -> Result<Value, Problem>;

    /// Calls a method that is answered with a stream, and returns its events.
    async fn stream(
        &self,
        method: &str,
        params: Value,
        until: Until,
    ) -> Result<Vec<Value>, Problem>;
}

type Outcome = Result<(), Problem>;

macro_rules! ensure_eq {
    ($found:expr, $expected:expr) => {
        match (&$found, &$expected) {
            (found, expected) if found == expected => {}
            (found, expected) => {
                let text = format!("line {}: {found:?} instead of {expected:?}", line!());
                return Err(Problem::new(text));
            }
        }
    };
}

/// Does an operation.
pub(crate) async fn operate(caller: &impl Caller, operation: &str) -> Outcome {
    let done = async {
        match operation {
            "send" => send(caller).await,
            "stream" => stream(caller).await,
            "subscribe" => subscribe(caller).await,
            "get" => get(caller).await,
            "list" => list(caller).await,
            "cancel" => cancel(caller).await,
            "push" => push(caller).await,
            "extended card" => extended_card(caller).await,
            "errors" => errors(caller).await,
            other => Err(Problem::new(format!("what is {other}?"))),
        }
    };
    let late = |_| Err(Problem::new(format!("took longer than {PATIENCE:?}")));
    tokio::time::timeout(PATIENCE, done).await.unwrap_or_else(late)
}

/// A task in answer, a message in answer, and two turns.
async fn send(caller: &impl Caller) -> Outcome {
    let task = task_of(caller, saying("hello", None)).await?;
    ensure_eq!((state(&task), text_of(&task)), ("COMPLETED", "hello".to_owned()));
    let answer = caller.call("SendMessage", saying("message:hello", None)).await?;
    ensure_eq!(answer["message"]["parts"][0]["text"], json!("hello"));
    let asks = task_of(caller, saying("ask", None)).await?;
    ensure_eq!(state(&asks), "INPUT_REQUIRED");
    let done = task_of(caller, saying("this one", Some(&asks))).await?;
    ensure_eq!((id(&done), state(&done)), (id(&asks), "COMPLETED"));
    ensure_eq!(text_of(&done), "this one");
    Ok(())
}

/// Every piece once and in order, and the end last.
async fn stream(caller: &impl Caller) -> Outcome {
    let request = saying("count:5", None);
    let events = caller.stream("SendStreamingMessage", request, Until::End).await?;
    ensure_eq!((made(&events), last(&events)), (counted(5), "COMPLETED"));
    Ok(())
}

/// Who has left comes back, and hears how it ends; nothing is lost.
async fn subscribe(caller: &impl Caller) -> Outcome {
    let mut refusal = Problem::new("nobody has tried it");
    for count in COUNTS {
        let request = saying(&format!("count:{count}"), None);
        let events = caller.stream("SendStreamingMessage", request, Until::First).await?;
        let id = task_in(&events[0]).to_owned();
        match caller.stream("SubscribeToTask", json!({ "id": id }), Until::End).await {
            // Who comes back too late is refused; a longer task is still at work.
            Err(problem) => refusal = problem,
            Ok(heard) => {
                ensure_eq!((task_in(&heard[0]), last(&heard)), (&*id, "COMPLETED"));
                let kept = caller.call("GetTask", json!({ "id": id })).await?;
                ensure_eq!(text_of(&kept), counted(count));
                return Ok(());
            }
        }
    }
    Err(refusal)
}

/// What was sent is found again.
async fn get(caller: &impl Caller) -> Outcome {
    let sent = task_of(caller, saying("hello", None)).await?;
    let found = caller.call("GetTask", json!({ "id": id(&sent) })).await?;
    ensure_eq!((id(&found), context(&found)), (id(&sent), context(&sent)));
    ensure_eq!((state(&found), text_of(&found)), ("COMPLETED", "hello".to_owned()));
    Ok(())
}

/// A context has the tasks that were sent in it.
async fn list(caller: &impl Caller) -> Outcome {
    let sent = task_of(caller, saying("hello", None)).await?;
    let request = json!({ "contextId": context(&sent), "pageSize": 10 });
    let page = caller.call("ListTasks", request).await?;
    let ids: Vec<&str> = page["tasks"].as_array().into_iter().flatten().map(id).collect();
    ensure_eq!(ids, [id(&sent)]);
    Ok(())
}

/// The answer is the cancelled task, and so it stays.
async fn cancel(caller: &impl Caller) -> Outcome {
    let mut request = saying("hold", None);
    request["configuration"] = json!({ "returnImmediately": true });
    let held = task_of(caller, request).await?;
    let named = json!({ "id": id(&held) });
    ensure_eq!(state(&caller.call("CancelTask", named.clone()).await?), "CANCELED");
    ensure_eq!(state(&caller.call("GetTask", named).await?), "CANCELED");
    Ok(())
}

/// The webhook is told how the task ends, with the token that was given for it.
async fn push(caller: &impl Caller) -> Outcome {
    let mut receiver = Receiver::start().await.map_err(Problem::new)?;
    let asks = task_of(caller, saying("ask", None)).await?;
    let config = json!({
        "taskId": id(&asks), "id": "hook", "url": receiver.url, "token": TOKEN,
    });
    let made = caller.call("CreateTaskPushNotificationConfig", config).await?;
    ensure_eq!(made["url"], json!(receiver.url));
    task_of(caller, saying("this one", Some(&asks))).await?;
    loop {
        let (token, body) = receiver.next().await.map_err(Problem::new)?;
        ensure_eq!(token, TOKEN);
        ensure_eq!(task_in(&body), id(&asks));
        if last(&[body]) == "COMPLETED" {
            return Ok(());
        }
    }
}

/// Who asks is told more than everybody.
async fn extended_card(caller: &impl Caller) -> Outcome {
    let card = caller.call("GetExtendedAgentCard", json!({})).await?;
    ensure_eq!(card["description"], json!(EXTENDED));
    Ok(())
}

/// The SDK knows by the error what is wrong.
async fn errors(caller: &impl Caller) -> Outcome {
    const NOT_FOUND: i32 = -32001;
    const NOT_CANCELABLE: i32 = -32002;
    let nobody = json!({ "id": "nobody-has-this" });
    refused(caller.call("GetTask", nobody.clone()).await, NOT_FOUND)?;
    refused(caller.call("CancelTask", nobody).await, NOT_FOUND)?;
    let done = task_of(caller, saying("hello", None)).await?;
    refused(caller.call("CancelTask", json!({ "id": id(&done) })).await, NOT_CANCELABLE)
}

fn refused(came: Result<Value, Problem>, code: i32) -> Outcome {
    match came {
        Err(problem) if problem.code == Some(code) => Ok(()),
        Err(problem) => Err(Problem::new(format!("not {code}, but {}", problem.text))),
        Ok(answer) => Err(Problem::new(format!("not {code}, but {answer}"))),
    }
}

fn saying(text: &str, task: Option<&Value>) -> Value {
    let mut message = json!({
        "messageId": report::unique(), "role": "ROLE_USER", "parts": [{ "text": text }],
    });
    if let Some(task) = task {
        message["taskId"] = json!(id(task));
        message["contextId"] = json!(context(task));
    }
    json!({ "message": message })
}

/// Sends a message that becomes a task.
async fn task_of(caller: &impl Caller, request: Value) -> Result<Value, Problem> {
    let mut answer = caller.call("SendMessage", request).await?;
    match answer["task"].take() {
        Value::Null => Err(Problem::new(format!("no task, but {answer}"))),
        task => Ok(task),
    }
}

/// What `count:N` gives.
fn counted(count: u32) -> String {
    (0..count).map(|index| format!("{index} ")).collect()
}

fn id(task: &Value) -> &str {
    task["id"].as_str().unwrap_or_default()
}

fn context(task: &Value) -> &str {
    task["contextId"].as_str().unwrap_or_default()
}

fn state(about: &Value) -> &str {
    about["status"]["state"].as_str().unwrap_or_default().trim_start_matches("TASK_STATE_")
}

fn text_of(task: &Value) -> String {
    task["artifacts"].as_array().into_iter().flatten().map(text_in).collect()
}

fn text_in(artifact: &Value) -> String {
    let parts = artifact["parts"].as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect()
}

/// Returns the task that an event is about.
fn task_in(event: &Value) -> &str {
    let ids = [&event["task"]["id"], &event["statusUpdate"]["taskId"]];
    let ids = ids.into_iter().chain([&event["artifactUpdate"]["taskId"]]);
    ids.filter_map(Value::as_str).next().unwrap_or_default()
}

/// Returns the last state that events tell of.
fn last(events: &[Value]) -> &str {
    let told = events.iter().flat_map(|event| [&event["task"], &event["statusUpdate"]]);
    told.map(state).filter(|state| !state.is_empty()).last().unwrap_or_default()
}

/// Returns the text of all artifacts that events bring.
fn made(events: &[Value]) -> String {
    let text =
        |event: &Value| text_of(&event["task"]) + &text_in(&event["artifactUpdate"]["artifact"]);
    events.iter().map(text).collect()
}

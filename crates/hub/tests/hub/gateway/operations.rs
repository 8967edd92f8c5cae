//! What every caller can do with every agent, whatever the two speak.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::HeaderValue;
use nuncio_client::{Error, Remote};
use nuncio_protocol::{
    card::read_any,
    error::ErrorKind,
    ids::{PushConfigId, TaskId},
    message::{Message, Part, Role},
    operation::{
        GetExtendedAgentCardRequest, ListTasksRequest, Request, Response, SendMessageConfiguration,
        SendMessageRequest,
    },
    push::TaskPushNotificationConfig,
    service::{Answered, Event},
    state::TaskState,
    task::{SendMessageResponse, StreamResponse},
};
use nuncio_testkit::{webhook::Receiver, wire::Http};
use serde_json::Value;

use super::{
    agents::{RESUME, Served, is_older},
    callers::{
        ask, at_once, begin, behind, cancel, follow, get, keyed, look, message, next, patiently,
        pieces, refused, rest, result, somebody, subscribe, task_of, value,
    },
    stage::{Stage, counted},
};

/// One caller, one agent, and the hub between them.
#[derive(Clone)]
pub(crate) struct Cell {
    /// No other cell is called so.
    pub(crate) name: String,
    pub(crate) served: Arc<Served>,
    pub(crate) stage: Stage,
    pub(crate) ann: Remote,
    pub(crate) bob: Remote,
    /// Ann without a form.
    pub(crate) http: Http,
    pub(crate) receiver: Arc<Receiver>,
}

/// Something that is done in a cell; it panics if it does not come out as it should.
pub(crate) type Operation = fn(Cell) -> BoxFuture<'static, ()>;

/// All of them, by name.
pub(crate) const OPERATIONS: [(&str, Operation); 12] = [
    ("send", |cell| Box::pin(cell.send())),
    ("message", |cell| Box::pin(cell.message())),
    ("stream", |cell| Box::pin(cell.stream())),
    ("ask", |cell| Box::pin(cell.input())),
    ("key", |cell| Box::pin(cell.key())),
    ("list", |cell| Box::pin(cell.list())),
    ("cancel", |cell| Box::pin(cell.cancel())),
    ("resume", |cell| Box::pin(cell.resume())),
    ("subscribe", |cell| Box::pin(cell.subscribe())),
    ("push", |cell| Box::pin(cell.push())),
    ("errors", |cell| Box::pin(cell.errors())),
    ("card", |cell| Box::pin(cell.card())),
];

impl Cell {
    /// A name that nothing else has.
    fn named(&self, what: &str) -> String {
        format!("{what}-{}", self.name)
    }

    /// A message is answered with a task of the hub's, which can be looked at later.
    async fn send(self) {
        let task = begin(&self.ann, message("hello")).await;
        assert_eq!(task.status.state, TaskState::Completed);
        assert_eq!(result(&task), "hello");
        let later = look(&self.ann, &task.id).await;
        assert_eq!((&later.id, result(&later)), (&task.id, "hello".to_owned()));
        assert_eq!(later.context_id, task.context_id);
        let said: Vec<_> = later.history.iter().map(|one| (one.role, one.text())).collect();
        assert_eq!(said, [(Role::User, "hello".to_owned())]);
        for said in &later.history {
            assert_eq!(said.task_id.as_ref(), Some(&task.id), "the name is the hub's");
        }
    }

    /// An answer without a task stays one.
    async fn message(self) {
        let answered = ask(&self.ann, Request::SendMessage(message("reply:hi"))).await;
        match answered {
            Ok(Response::SendMessage(SendMessageResponse::Message(reply))) => {
                assert_eq!((reply.role, reply.text()), (Role::Agent, "hi".to_owned()));
                assert_eq!(reply.task_id, None);
            }
            other => panic!("no message, but {other:?}"),
        }
        let request = Request::SendStreamingMessage(message("reply:hi"));
        let events = rest(follow(&self.ann, somebody(), request).await).await;
        match events.iter().map(value).collect::<Vec<_>>().as_slice() {
            [StreamResponse::Message(reply)] => assert_eq!(reply.text(), "hi"),
            other => panic!("no message, but {other:?}"),
        }
    }

    /// Events come in their order, first the task, and all are about it.
    async fn stream(self) {
        let request = Request::SendStreamingMessage(message("count:5"));
        let events = rest(follow(&self.ann, somebody(), request).await).await;
        let first = value(events.first().expect("there are events"));
        let StreamResponse::Task(task) = first else { panic!("first {first:?}") };
        assert!(events.iter().all(|event| task_of(event) == &task.id), "{events:?}");
        assert_eq!(pieces(&events), counted(5));
        let last = value(events.last().expect("there are events"));
        assert_eq!(last.state(), Some(TaskState::Completed), "{last:?}");
        check_numbers(&self.ann, &events, 1);
    }

    /// A question comes through, and the answer goes to the same task.
    async fn input(self) {
        let task = begin(&self.ann, message("ask:")).await;
        assert_eq!(task.status.state, TaskState::InputRequired);
        let question = task.status.message.as_ref().map(|message| message.text());
        assert_eq!(question.as_deref(), Some("which one?"));
        let mut request = message("that one");
        request.message.task_id = Some(task.id.clone());
        let answered = begin(&self.ann, request).await;
        assert_eq!((answered.id, answered.status.state), (task.id, TaskState::Completed));
    }

    /// What is sent twice with one key runs once.
    async fn key(self) {
        let name = self.named("key");
        let request = message(&format!("once:{name}"));
        let mut tasks = Vec::new();
        for _ in 0..2 {
            let request = Request::SendMessage(request.clone());
            let answered = patiently(self.ann.call(keyed(&name), request)).await;
            match answered.map(Answered::into_response) {
                Ok(Ok(Response::SendMessage(SendMessageResponse::Task(task)))) => {
                    tasks.push(task.id);
                }
                other => panic!("no task, but {other:?}"),
            }
        }
        assert_eq!(tasks.first(), tasks.last());
        assert_eq!(self.stage.begun(&name), 1, "it ran twice");
    }

    /// A list has one's own tasks with this agent, and nobody else's.
    async fn list(self) {
        let mine = begin(&self.ann, message("hello")).await;
        let theirs = begin(&self.bob, message("hello")).await;
        let request =
            ListTasksRequest { context_id: mine.context_id.clone(), ..Default::default() };
        match ask(&self.ann, Request::ListTasks(request)).await {
            Ok(Response::Tasks(page)) => {
                let ids: Vec<_> = page.tasks.iter().map(|task| &task.id).collect();
                assert_eq!(ids, [&mine.id]);
            }
            // 0.3 has no lists.
            Err(Error::Unsayable { .. }) if is_older(self.ann.interface().form) => return,
            other => panic!("no list, but {other:?}"),
        }
        match ask(&self.ann, Request::ListTasks(ListTasksRequest::default())).await {
            Ok(Response::Tasks(page)) => {
                assert!(page.tasks.iter().all(|task| task.id != theirs.id));
            }
            other => panic!("no list, but {other:?}"),
        }
    }

    /// What is cancelled stops at the agent, too.
    async fn cancel(self) {
        let name = self.named("cancel");
        let task = begin(&self.ann, at_once(&format!("hold:{name}"))).await;
        self.stage.runs(&name).await;
        let Ok(Response::Task(ended)) = ask(&self.ann, cancel(&task.id)).await else {
            panic!("it cannot be cancelled")
        };
        assert_eq!((&ended.id, ended.status.state), (&task.id, TaskState::Canceled));
        self.stage.has_stopped(&name).await;
        assert_eq!(look(&self.ann, &task.id).await.status.state, TaskState::Canceled);
    }

    /// Who was cut off goes on behind the last event, while it runs and when it has ended.
    async fn resume(self) {
        let name = self.named("resume");
        let request = Request::SendStreamingMessage(message(&format!("gated:{name}:6")));
        let mut events = follow(&self.ann, somebody(), request).await;
        let mut seen = vec![next(&mut events).await];
        let id = task_of(&seen[0]).clone();
        self.stage.open(&name, 2);
        while pieces(&seen) != counted(2) {
            seen.push(next(&mut events).await);
        }
        check_numbers(&self.ann, &seen, 1);
        drop(events);

        let cut = seen.len() as u64;
        let mut events = follow(&self.ann, behind(cut), subscribe(&id)).await;
        let first = next(&mut events).await;
        let StreamResponse::Task(task) = value(&first) else { panic!("first {first:?}") };
        assert_eq!(result(task), counted(2), "as it was then");
        self.stage.open(&name, 2);
        while pieces(&seen) != counted(4) {
            seen.push(next(&mut events).await);
        }
        check_numbers(&self.ann, &seen, 1);
        drop(events);

        self.stage.open(&name, 2);
        self.stage.has_stopped(&name).await;
        let cut = seen.len() as u64;
        let events = rest(follow(&self.ann, behind(cut), subscribe(&id)).await).await;
        seen.extend(events.into_iter().skip(1));
        assert_eq!(pieces(&seen), counted(6), "nothing is missing, nothing is there twice");
        check_numbers(&self.ann, &seen, 1);
        let last = value(seen.last().expect("there are events")).state();
        assert_eq!(last, Some(TaskState::Completed));
    }

    /// Who comes without a number is told the task as it is, and what happens from then on.
    async fn subscribe(self) {
        let name = self.named("subscribe");
        let task = begin(&self.ann, at_once(&format!("gated:{name}:4"))).await;
        self.stage.open(&name, 2);
        let mut first = follow(&self.ann, somebody(), subscribe(&task.id)).await;
        let mut seen = Vec::new();
        while pieces(&seen) != counted(2) {
            seen.push(next(&mut first).await);
        }
        let mut events = follow(&self.ann, somebody(), subscribe(&task.id)).await;
        let begun = next(&mut events).await;
        let StreamResponse::Task(task) = value(&begun) else { panic!("first {begun:?}") };
        assert_eq!(result(task), counted(2));
        self.stage.open(&name, 2);
        let rest_of_first = rest(first).await;
        let rest_of_second = rest(events).await;
        assert_eq!(pieces(&rest_of_second), "2 3 ");
        let told =
            |events: &[Event]| events.iter().map(|one| value(one).clone()).collect::<Vec<_>>();
        assert_eq!(told(&rest_of_first), told(&rest_of_second), "both are told the same");
    }

    /// A webhook is told all that happens, in the hub's names.
    async fn push(self) {
        let path = format!("/{}", self.named("push"));
        let mut config = TaskPushNotificationConfig::new(self.receiver.url(&path));
        "a token".clone_into(&mut config.token);
        config.id = Some(PushConfigId::parse("hook").expect("an id"));
        let wishes = SendMessageConfiguration {
            task_push_notification_config: Some(config),
            ..Default::default()
        };
        let mut request = message("count:3");
        request.configuration = Some(wishes);
        let task = begin(&self.ann, request).await;
        let mut told = Vec::new();
        while !told.iter().any(is_end) {
            told = self.receiver.until(&path, told.len() + 1).await;
        }
        for request in &told {
            let body = String::from_utf8_lossy(&request.body);
            assert!(body.contains(task.id.as_str()), "not the hub's name: {body}");
            let token = request.headers.get("x-a2a-notification-token");
            assert_eq!(token.map(HeaderValue::as_bytes), Some(&b"a token"[..]));
        }
    }

    /// What cannot be is refused alike everywhere, and in the words of A2A.
    async fn errors(self) {
        let ann = &self.ann;
        let unknown = TaskId::parse("0197a000-0000-7000-8000-00000000beef").expect("an id");
        let ended = begin(ann, message("hello")).await.id;
        let foreign = begin(&self.bob, message("hello")).await.id;
        let to = |id: &TaskId| {
            let mut request = message("more");
            request.message.task_id = Some(id.clone());
            Request::SendMessage(request)
        };
        let streamed = |request: SendMessageRequest| Request::SendStreamingMessage(request);
        let mut empty = message("");
        empty.message.parts.clear();
        let picture = Part::raw(&b"\x89PNG"[..]).with_media_type("image/png");
        let picture = SendMessageRequest::new(Message::new(Role::User, picture));
        let cases = [
            (get(&unknown), ErrorKind::TaskNotFound),
            (cancel(&unknown), ErrorKind::TaskNotFound),
            (subscribe(&unknown), ErrorKind::TaskNotFound),
            (to(&unknown), ErrorKind::TaskNotFound),
            (get(&foreign), ErrorKind::TaskNotFound),
            (cancel(&foreign), ErrorKind::TaskNotFound),
            (subscribe(&foreign), ErrorKind::TaskNotFound),
            (to(&foreign), ErrorKind::TaskNotFound),
            (cancel(&ended), ErrorKind::TaskNotCancelable),
            (subscribe(&ended), ErrorKind::UnsupportedOperation),
            (to(&ended), ErrorKind::UnsupportedOperation),
            (Request::SendMessage(empty.clone()), ErrorKind::InvalidParams),
            (streamed(empty), ErrorKind::InvalidParams),
            // This one is the agent's own.
            (Request::SendMessage(picture.clone()), ErrorKind::ContentTypeNotSupported),
            (streamed(picture), ErrorKind::ContentTypeNotSupported),
        ];
        for (request, expected) in cases {
            let what = format!("{request:?}");
            let error = refused(ann, request).await;
            assert_eq!(error.kind(), expected, "{what}: {error}");
        }
        // A task that fails at the agent fails here, and says why.
        let task = begin(ann, message("fail:")).await;
        assert_eq!(task.status.state, TaskState::Failed);
        let why = task.status.message.as_ref().map(|message| message.text());
        assert_eq!(why.as_deref(), Some("it broke"));
    }

    /// The card leads to the hub, and names what the hub adds to every agent.
    async fn card(self) {
        let version = if is_older(self.ann.interface().form) { "0.3" } else { "1.0" };
        let path = "/.well-known/agent-card.json";
        let reply = self.http.request("GET", path, &[("a2a-version", version)], "").await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let (card, _) = read_any(reply.text()).expect("a card");
        let own = self.served.address.to_string();
        assert!(!reply.text().contains(&own), "it names the agent's own address");
        let interfaces: Vec<_> =
            card.supported_interfaces.iter().map(|one| one.url.as_str()).collect();
        assert!(interfaces.len() >= 4, "{interfaces:?}");
        assert_eq!(card.capabilities.streaming, Some(true));
        assert_eq!(card.capabilities.push_notifications, Some(true));
        assert!(card.capabilities.extensions.iter().any(|one| one.uri == RESUME));
        assert_eq!(card.skills.len(), 1);
        let request = Request::GetExtendedAgentCard(GetExtendedAgentCardRequest::default());
        let error = refused(&self.ann, request).await;
        assert_eq!(error.kind(), ErrorKind::UnsupportedOperation, "{error}");
    }
}

/// Events are numbered without a gap, where they are numbered at all.
fn check_numbers(remote: &Remote, events: &[Event], first: u64) {
    use nuncio_protocol::dialect::WireForm::{V1Grpc, V03Grpc};
    let numbers: Vec<Option<u64>> = events.iter().map(|event| event.seq).collect();
    let expected = (first..).take(events.len());
    let expected: Vec<Option<u64>> = match remote.interface().form {
        // Messages of gRPC have no numbers.
        V1Grpc | V03Grpc => expected.map(|_| None).collect(),
        _ => expected.map(Some).collect(),
    };
    assert_eq!(numbers, expected);
}

/// Tells whether a webhook is told the end of a task, in either version.
fn is_end(request: &nuncio_testkit::webhook::Request) -> bool {
    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
    let state = [
        "/statusUpdate/status/state",
        "/task/status/state",
        "/status/state",
        "/result/status/state",
    ];
    let mut states = state.iter().filter_map(|path| body.pointer(path)?.as_str());
    states.any(|state| matches!(state, "TASK_STATE_COMPLETED" | "completed"))
}

//! Every operation, on every binding, in both versions, about every kind of task.

use nuncio_protocol::{
    card::AgentCard,
    error::ErrorTable,
    ids::{PushConfigId, TaskId},
    operation::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest,
        Operation::{self, *},
        Request, Response, SubscribeToTaskRequest,
    },
    push::TaskPushNotificationConfig,
    version::Version,
};
use nuncio_testkit::{
    webhook::Receiver,
    wire::{Binding, Refused, Wire},
};

use crate::outside::support::{Callers, Served, begin, scripted, send, task_id};

/// What comes of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    /// It is answered.
    Fine,
    /// It is refused.
    Refused(Row),
    /// It has no such case.
    None,
}

/// A row of the error table (A2A 1.0.1 §5.4), with the codes that 0.3 has on HTTP and gRPC.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    reason: &'static str,
    json_rpc: i32,
    http: i32,
    http_03: i32,
    grpc: i32,
    grpc_03: i32,
}

const FINE: Outcome = Outcome::Fine;
const NONE: Outcome = Outcome::None;

const fn row(reason: &'static str, json_rpc: i32, http: [i32; 2], grpc: [i32; 2]) -> Outcome {
    let ([http, http_03], [grpc, grpc_03]) = (http, grpc);
    Outcome::Refused(Row { reason, json_rpc, http, http_03, grpc, grpc_03 })
}

//                                  reason                JSON-RPC HTTP, 0.3   gRPC, 0.3
const NOT_FOUND: Outcome = row("TASK_NOT_FOUND", -32001, [404, 404], [5, 5]);
const NOT_CANCELABLE: Outcome = row("TASK_NOT_CANCELABLE", -32002, [400, 409], [9, 9]);
const UNSUPPORTED: Outcome = row("UNSUPPORTED_OPERATION", -32004, [400, 501], [9, 12]);
const NOT_MODIFIABLE: Outcome = row("TASK_NOT_MODIFIABLE", -32004, [400, 501], [9, 12]);
const INVALID: Outcome = row("INVALID_PARAMS", -32602, [400, 400], [3, 3]);

/// What the specification says about a task that is the caller's, unknown, at its end, or
/// somebody else's.
const TABLE: [(Operation, [Outcome; 4]); 11] = [
    // operation                        good  unknown    ended           foreign
    (SendMessage, [FINE, NOT_FOUND, NOT_MODIFIABLE, NOT_FOUND]),
    (SendStreamingMessage, [FINE, NOT_FOUND, NOT_MODIFIABLE, NOT_FOUND]),
    (GetTask, [FINE, NOT_FOUND, FINE, NOT_FOUND]),
    (ListTasks, [FINE, NONE, NONE, NONE]),
    (CancelTask, [FINE, NOT_FOUND, NOT_CANCELABLE, NOT_FOUND]),
    (SubscribeToTask, [FINE, NOT_FOUND, UNSUPPORTED, NOT_FOUND]),
    (CreateTaskPushNotificationConfig, [FINE, NOT_FOUND, FINE, NOT_FOUND]),
    (GetTaskPushNotificationConfig, [FINE, NOT_FOUND, FINE, NOT_FOUND]),
    (ListTaskPushNotificationConfigs, [FINE, NOT_FOUND, FINE, NOT_FOUND]),
    (DeleteTaskPushNotificationConfig, [FINE, NOT_FOUND, FINE, NOT_FOUND]),
    (GetExtendedAgentCard, [FINE, NONE, NONE, NONE]),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_treats_every_task_as_the_specification_says() {
    let callers = Callers::new();
    let extended = AgentCard::builder("script").description("more").build();
    let agent = scripted().gatekeeper(callers.gatekeeper()).extended_card(extended);
    let served = Served::start(agent).await;
    let receiver = Receiver::start().await;
    for ann in Wire::all(&callers.ann(&served)) {
        let bob = Wire { http: callers.bob(&served), ..ann.clone() };
        let scene = Scene::new(&ann, &bob, &receiver).await;
        for (operation, outcomes) in TABLE {
            if !ann.has(operation) {
                continue;
            }
            let mut refusals = Vec::new();
            for (case, expected) in Case::ALL.into_iter().zip(outcomes) {
                if expected == NONE {
                    continue;
                }
                let task = scene.task(case, &ann).await;
                let outcome = scene.call(&ann, operation, &task).await;
                let name = format!("{operation:?}/{case:?} on {:?} {}", ann.binding, ann.version);
                check(&name, &ann, outcome.as_ref(), expected);
                if let Err(refused) = outcome {
                    refusals.push((case, without(&refused, &task)));
                }
            }
            let bytes_of = |wanted| refusals.iter().find(|(case, _)| *case == wanted);
            if let (Some(unknown), Some(foreign)) =
                (bytes_of(Case::Unknown), bytes_of(Case::Foreign))
            {
                assert_eq!(unknown.1, foreign.1, "{operation:?} tells theirs from none");
            }
        }
    }
}

#[tokio::test]
async fn the_codes_of_the_earlier_edition_can_be_had() {
    let agent = scripted().error_table(ErrorTable::V1_0_0);
    let served = Served::start(agent).await;
    for (binding, not_cancelable, unsupported) in
        [(Binding::JsonRpc, -32002, -32004), (Binding::HttpJson, 409, 400), (Binding::Grpc, 9, 12)]
    {
        let wire = Wire { binding, version: Version::V1_0, http: served.http() };
        let id = begin(&wire, "done").await.id;
        let cancel = CancelTaskRequest { tenant: None, id: id.clone(), metadata: None };
        let refused = wire.call(Request::CancelTask(cancel)).await.expect_err("it has ended");
        assert_eq!(refused.code, not_cancelable, "{refused:?}");
        let subscribe = Request::SubscribeToTask(SubscribeToTaskRequest { tenant: None, id });
        let refused = wire.stream(subscribe, None).await.expect_err("it has ended");
        assert_eq!(refused.code, unsupported, "{refused:?}");
    }
}

/// Whose task, and in which state.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Case {
    Good,
    Unknown,
    Ended,
    Foreign,
}

impl Case {
    const ALL: [Self; 4] = [Self::Good, Self::Unknown, Self::Ended, Self::Foreign];
}

/// The tasks that calls are about.
struct Scene {
    ended: TaskId,
    foreign: TaskId,
    hook: String,
}

impl Scene {
    async fn new(ann: &Wire, bob: &Wire, receiver: &Receiver) -> Self {
        let scene = Self {
            ended: begin(ann, "done").await.id,
            foreign: begin(bob, "hold").await.id,
            hook: receiver.url("/hook"),
        };
        // What is theirs has a webhook, too: there is something to find.
        for (wire, task) in [(ann, &scene.ended), (bob, &scene.foreign)] {
            let created = wire.call(scene.create(task)).await;
            created.expect("a webhook is taken");
        }
        scene
    }

    async fn task(&self, case: Case, ann: &Wire) -> TaskId {
        match case {
            Case::Unknown => task_id("0197a000-0000-7000-8000-00000000beef"),
            Case::Ended => self.ended.clone(),
            Case::Foreign => self.foreign.clone(),
            Case::Good => {
                let task = begin(ann, "hold").await.id;
                ann.call(self.create(&task)).await.expect("a webhook is taken");
                task
            }
        }
    }

    fn create(&self, task: &TaskId) -> Request {
        let mut config = TaskPushNotificationConfig::new(&self.hook);
        config.task_id = Some(task.clone());
        config.id = Some(PushConfigId::parse("c1").expect("a fit identifier"));
        Request::CreateTaskPushNotificationConfig(config)
    }

    fn request(&self, operation: Operation, task: &TaskId) -> Request {
        let (tenant, task_id) = (None, task.clone());
        let id = PushConfigId::parse("c1").expect("a fit identifier");
        match operation {
            SendMessage | SendStreamingMessage => {
                let mut request = send("more");
                request.message.task_id = Some(task_id);
                match operation {
                    SendMessage => Request::SendMessage(request),
                    _ => Request::SendStreamingMessage(request),
                }
            }
            GetTask => {
                Request::GetTask(GetTaskRequest { tenant, id: task_id, history_length: None })
            }
            ListTasks => Request::ListTasks(ListTasksRequest::default()),
            CancelTask => {
                Request::CancelTask(CancelTaskRequest { tenant, id: task_id, metadata: None })
            }
            SubscribeToTask => {
                Request::SubscribeToTask(SubscribeToTaskRequest { tenant, id: task_id })
            }
            CreateTaskPushNotificationConfig => self.create(task),
            GetTaskPushNotificationConfig => {
                let request = GetTaskPushNotificationConfigRequest { tenant, task_id, id };
                Request::GetTaskPushNotificationConfig(request)
            }
            ListTaskPushNotificationConfigs => {
                let page_token = String::new();
                let request = ListTaskPushNotificationConfigsRequest {
                    tenant,
                    task_id,
                    page_size: 0,
                    page_token,
                };
                Request::ListTaskPushNotificationConfigs(request)
            }
            DeleteTaskPushNotificationConfig => {
                let request = DeleteTaskPushNotificationConfigRequest { tenant, task_id, id };
                Request::DeleteTaskPushNotificationConfig(request)
            }
            GetExtendedAgentCard => {
                Request::GetExtendedAgentCard(GetExtendedAgentCardRequest::default())
            }
        }
    }

    /// Calls, and looks at what is answered.
    async fn call(&self, wire: &Wire, operation: Operation, task: &TaskId) -> Result<(), Refused> {
        let mut request = self.request(operation, task);
        // A task that is held takes no message: a new one is as good.
        if *task != self.ended
            && *task != self.foreign
            && let Request::SendMessage(send) | Request::SendStreamingMessage(send) = &mut request
            && task.as_str().rfind("beef").is_none()
        {
            send.message.task_id = None;
        }
        if operation.is_streaming() {
            let mut events = wire.stream(request, None).await?;
            let first = events.next().await.expect("a first event").expect("no error");
            assert!(
                matches!(first.response, nuncio_protocol::task::StreamResponse::Task(_)),
                "{first:?}"
            );
            return Ok(());
        }
        let answered = wire.call(request).await?;
        match answered {
            Response::Task(found) => assert_eq!(found.id, *task),
            Response::PushConfig(config) => assert_eq!(config.task_id.as_ref(), Some(task)),
            Response::PushConfigs(page) => assert_eq!(page.configs.len(), 1),
            Response::Tasks(page) => {
                let theirs = page.tasks.iter().any(|found| found.id == self.foreign);
                assert!(!page.tasks.is_empty() && !theirs);
            }
            Response::Card(card) => assert_eq!(card.description, "more"),
            Response::SendMessage(_) | Response::Deleted => {}
        }
        Ok(())
    }
}

fn check(name: &str, wire: &Wire, outcome: Result<&(), &Refused>, expected: Outcome) {
    match (outcome, expected) {
        (Ok(()), Outcome::Fine) => {}
        (Err(refused), Outcome::Refused(row)) => {
            assert_eq!(refused.code, code(wire, row), "{name}: {refused:?}");
            assert_eq!(refused.error.reason(), row.reason, "{name}: {refused:?}");
            if row == not_found() && wire.version == Version::V1_0 {
                assert!(refused.error.metadata().contains_key("taskId"), "{name}: {refused:?}");
            }
        }
        (outcome, expected) => panic!("{name}: {outcome:?} instead of {expected:?}"),
    }
}

fn not_found() -> Row {
    let Outcome::Refused(row) = NOT_FOUND else { unreachable!("it is written above") };
    row
}

fn code(wire: &Wire, row: Row) -> i32 {
    match (wire.binding, wire.version) {
        (Binding::JsonRpc, _) => row.json_rpc,
        (Binding::HttpJson, Version::V1_0) => row.http,
        (Binding::HttpJson, _) => row.http_03,
        (Binding::Grpc, Version::V1_0) => row.grpc,
        (Binding::Grpc, _) => row.grpc_03,
    }
}

/// The bytes of a refusal but for the task's identifier.
fn without(refused: &Refused, task: &TaskId) -> String {
    String::from_utf8_lossy(&refused.bytes).replace(task.as_str(), "ID")
}

/// A request that lacks something or has too much of it, in every form of one version.
struct Bad {
    operation: Operation,
    method: &'static str,
    params: &'static str,
    /// `GET /path` or `POST /path {body}`; `LONG` stands for an identifier that is too long.
    http: &'static str,
    rpc: &'static str,
    message: &'static [u8],
    /// The field that 1.0 names.
    field: &'static str,
}

const NO_PARTS: &str = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}"#;

const BAD: [Bad; 10] = [
    Bad {
        operation: SendMessage,
        method: "SendMessage",
        params: NO_PARTS,
        http: r#"POST /message:send {"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}"#,
        rpc: "SendMessage",
        // message { message_id: "m" role: ROLE_USER }
        message: b"\x12\x05\x0a\x01m\x20\x01",
        field: "message.parts",
    },
    Bad {
        operation: SendStreamingMessage,
        method: "SendStreamingMessage",
        params: NO_PARTS,
        http: r#"POST /message:stream {"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}"#,
        rpc: "SendStreamingMessage",
        message: b"\x12\x05\x0a\x01m\x20\x01",
        field: "message.parts",
    },
    Bad {
        operation: GetTask,
        method: "GetTask",
        params: r#"{"id":"t","historyLength":-1}"#,
        http: "GET /tasks/t?historyLength=-1",
        rpc: "GetTask",
        // id: "t" history_length: -1
        message: b"\x12\x01t\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        field: "historyLength",
    },
    Bad {
        operation: ListTasks,
        method: "ListTasks",
        params: r#"{"pageSize":101}"#,
        http: "GET /tasks?pageSize=101",
        rpc: "ListTasks",
        message: b"\x20\x65",
        field: "pageSize",
    },
    Bad {
        operation: CancelTask,
        method: "CancelTask",
        params: "{}",
        http: "POST /tasks/LONG:cancel",
        rpc: "CancelTask",
        message: b"",
        field: "id",
    },
    Bad {
        operation: SubscribeToTask,
        method: "SubscribeToTask",
        params: "{}",
        http: "GET /tasks/LONG:subscribe",
        rpc: "SubscribeToTask",
        message: b"",
        field: "id",
    },
    Bad {
        operation: CreateTaskPushNotificationConfig,
        method: "CreateTaskPushNotificationConfig",
        params: r#"{"taskId":"t"}"#,
        http: "POST /tasks/t/pushNotificationConfigs {}",
        rpc: "CreateTaskPushNotificationConfig",
        message: b"\x1a\x01t",
        field: "url",
    },
    Bad {
        operation: GetTaskPushNotificationConfig,
        method: "GetTaskPushNotificationConfig",
        params: r#"{"taskId":"t"}"#,
        http: "GET /tasks/t/pushNotificationConfigs/LONG",
        rpc: "GetTaskPushNotificationConfig",
        message: b"\x12\x01t",
        field: "id",
    },
    Bad {
        operation: ListTaskPushNotificationConfigs,
        method: "ListTaskPushNotificationConfigs",
        params: "{}",
        http: "GET /tasks/LONG/pushNotificationConfigs",
        rpc: "ListTaskPushNotificationConfigs",
        message: b"",
        field: "taskId",
    },
    Bad {
        operation: DeleteTaskPushNotificationConfig,
        method: "DeleteTaskPushNotificationConfig",
        params: r#"{"taskId":"t"}"#,
        http: "DELETE /tasks/t/pushNotificationConfigs/LONG",
        rpc: "DeleteTaskPushNotificationConfig",
        message: b"\x12\x01t",
        field: "id",
    },
];

const NO_PARTS_03: &str = r#"{"message":{"messageId":"m","role":"user","parts":[]}}"#;

const BAD_03: [Bad; 9] = [
    Bad {
        operation: SendMessage,
        method: "message/send",
        params: NO_PARTS_03,
        http: r#"POST /v1/message:send {"message":{"messageId":"m","role":"ROLE_USER","content":[]}}"#,
        rpc: "SendMessage",
        // request { message_id: "m" role: ROLE_USER }
        message: b"\x0a\x05\x0a\x01m\x20\x01",
        field: "",
    },
    Bad {
        operation: SendStreamingMessage,
        method: "message/stream",
        params: NO_PARTS_03,
        http: r#"POST /v1/message:stream {"message":{"messageId":"m","role":"ROLE_USER","content":[]}}"#,
        rpc: "SendStreamingMessage",
        message: b"\x0a\x05\x0a\x01m\x20\x01",
        field: "",
    },
    Bad {
        operation: GetTask,
        method: "tasks/get",
        params: r#"{"id":"t","historyLength":-1}"#,
        http: "GET /v1/tasks/t?historyLength=-1",
        rpc: "GetTask",
        // name: "tasks/t" history_length: -1
        message: b"\x0a\x07tasks/t\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        field: "",
    },
    Bad {
        operation: CancelTask,
        method: "tasks/cancel",
        params: "{}",
        http: "POST /v1/tasks/LONG:cancel",
        rpc: "CancelTask",
        message: b"",
        field: "",
    },
    Bad {
        operation: SubscribeToTask,
        method: "tasks/resubscribe",
        params: "{}",
        http: "GET /v1/tasks/LONG:subscribe",
        rpc: "TaskSubscription",
        message: b"",
        field: "",
    },
    Bad {
        operation: CreateTaskPushNotificationConfig,
        method: "tasks/pushNotificationConfig/set",
        params: r#"{"taskId":"t","pushNotificationConfig":{}}"#,
        http: r#"POST /v1/tasks/t/pushNotificationConfigs {"config":{}}"#,
        rpc: "CreateTaskPushNotificationConfig",
        message: b"\x0a\x07tasks/t",
        field: "",
    },
    Bad {
        operation: GetTaskPushNotificationConfig,
        method: "tasks/pushNotificationConfig/get",
        params: r#"{"pushNotificationConfigId":"c"}"#,
        http: "GET /v1/tasks/t/pushNotificationConfigs/LONG",
        rpc: "GetTaskPushNotificationConfig",
        message: b"\x0a\x07tasks/t",
        field: "",
    },
    Bad {
        operation: ListTaskPushNotificationConfigs,
        method: "tasks/pushNotificationConfig/list",
        params: "{}",
        http: "GET /v1/tasks/LONG/pushNotificationConfigs",
        rpc: "ListTaskPushNotificationConfig",
        message: b"",
        field: "",
    },
    Bad {
        operation: DeleteTaskPushNotificationConfig,
        method: "tasks/pushNotificationConfig/delete",
        params: r#"{"id":"t"}"#,
        http: "DELETE /v1/tasks/t/pushNotificationConfigs/LONG",
        rpc: "DeleteTaskPushNotificationConfig",
        message: b"\x0a\x07tasks/t",
        field: "",
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn bad_parameters_are_refused_and_named() {
    let served = Served::start(scripted()).await;
    for wire in Wire::all(&served.http()) {
        let cases: &[Bad] = if wire.version == Version::V1_0 { &BAD } else { &BAD_03 };
        for bad in cases {
            let refused = refusal(&wire, bad).await;
            let Bad { operation, field, .. } = bad;
            let name = format!("{operation:?} on {:?} {}", wire.binding, wire.version);
            check(&name, &wire, Err(&refused), INVALID);
            let named = refused.error.violations().iter().map(|violation| &*violation.field);
            if !field.is_empty() {
                assert_eq!(named.collect::<Vec<_>>(), [*field], "{name}: {refused:?}");
            }
        }
    }
}

async fn refusal(wire: &Wire, bad: &Bad) -> Refused {
    let version = [("a2a-version", if wire.version == Version::V1_0 { "1.0" } else { "0.3" })];
    let reply = match wire.binding {
        Binding::JsonRpc => {
            let Bad { method, params, .. } = bad;
            let body =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
            wire.http.request("POST", "/", &version, body).await
        }
        Binding::HttpJson => {
            let line = bad.http.replace("LONG", &"x".repeat(257));
            let (method, rest) = line.split_once(' ').expect("a method");
            let (path, body) = rest.split_once(' ').unwrap_or((rest, ""));
            wire.http.request(method, path, &version, body.to_owned()).await
        }
        Binding::Grpc => {
            let outcome = wire.rpc(bad.rpc, bad.message).await;
            return outcome.expect_err("it is refused");
        }
    };
    Refused::read(wire.binding, wire.version, &reply)
}

#[tokio::test]
async fn an_operation_that_a_form_lacks_is_unknown_to_it() {
    let served = Served::start(scripted()).await;
    let wires = Wire::all(&served.http());
    for wire in wires.iter().filter(|wire| wire.version == Version::V0_3) {
        match wire.binding {
            Binding::JsonRpc => {
                let body = r#"{"jsonrpc":"2.0","id":1,"method":"tasks/list","params":{}}"#;
                let reply = wire.http.request("POST", "/", &[], body).await;
                assert_eq!(Refused::read(wire.binding, wire.version, &reply).code, -32601);
            }
            Binding::Grpc => {
                let refused = wire.rpc("ListTasks", b"").await.expect_err("0.3 lacks it");
                assert_eq!(refused.code, 12);
            }
            // A few servers have it, so ours does.
            Binding::HttpJson => {
                let reply = wire.http.request("GET", "/v1/tasks", &[], "").await;
                assert_eq!((reply.status, &reply.json()["tasks"]), (200, &serde_json::json!([])));
            }
        }
    }
}

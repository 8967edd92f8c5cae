//! A2A 0.3 on gRPC: how it is read and written where it differs from 1.0.

use nuncio_protocol::{
    card::{AgentCard, AgentInterface},
    error::ErrorKind,
    grpc::{self, v03},
    ids::{PushConfigId, TaskId},
    json::{Error, Object, Raw},
    message::{Message, Part},
    operation::{
        GetTaskPushNotificationConfigRequest, GetTaskRequest, Request, SendMessageConfiguration,
        SendMessageRequest,
    },
    push::{AuthenticationInfo, TaskPushNotificationConfig},
    state::TaskState,
    task::{StreamResponse, TaskStatus, TaskStatusUpdateEvent},
    version::Version,
    wire::StreamEnd,
};

#[track_caller]
fn refused<T: std::fmt::Debug>(read: Result<T, Error>, expected: &str) {
    assert_eq!(read.expect_err("this must be refused").to_string(), expected);
}

#[test]
fn tasks_are_asked_for_by_name() {
    let get = |name: &str| {
        let request = v03::GetTaskRequest { name: name.to_owned(), history_length: 0 };
        GetTaskRequest::try_from(request).map(|request| request.id.as_str().to_owned())
    };
    assert_eq!(get("tasks/t1").unwrap(), "t1");
    assert_eq!(get("tasks/a/b").unwrap(), "a/b");
    refused(get(""), "`name`: is required");
    for bad in [
        "t1",
        "/tasks/t1",
        "task/t1",
        "tasks",
        "tasks/t/pushNotificationConfigs",
        "tasks/t/pushNotificationConfigs/c",
    ] {
        refused(get(bad), "`name`: expected `tasks/{task}`");
    }
    refused(get("tasks/"), "`name`: an identifier has 1 to 256 bytes, this has 0");
    refused(
        get(&format!("tasks/{}", "x".repeat(257))),
        "`name`: an identifier has 1 to 256 bytes, this has 257",
    );
}

#[test]
fn webhooks_are_asked_for_by_name() {
    let get = |name: &str| {
        let request = v03::GetTaskPushNotificationConfigRequest { name: name.to_owned() };
        let request = grpc::read_request(request, Request::GetTaskPushNotificationConfig)?;
        let Request::GetTaskPushNotificationConfig(request) = request else { unreachable!() };
        Ok(format!("{} {}", request.task_id, request.id))
    };
    assert_eq!(get("tasks/t/pushNotificationConfigs/c").unwrap(), "t c");
    assert_eq!(get("tasks/t/u/pushNotificationConfigs/c/d").unwrap(), "t/u c/d");
    refused(get(""), "`name`: is required");
    for bad in ["tasks/t", "tasks/t/pushnotificationconfigs/c"] {
        refused(get(bad), "`name`: expected `tasks/{task}/pushNotificationConfigs/{config}`");
    }
    for bad in [
        "tasks/t/pushNotificationConfigs",
        "tasks/t/pushNotificationConfigs/",
        "tasks//pushNotificationConfigs/c",
    ] {
        refused(get(bad), "`name`: an identifier has 1 to 256 bytes, this has 0");
    }
}

/// Else `a/pushNotificationConfigs/b` would be asked for as the webhook `b` of a task `a`.
#[test]
fn a_task_that_reads_as_a_webhook_is_not_asked_for() {
    const WHY: &str = "reads as the name of a webhook in A2A 0.3; ask in 1.0";
    for (task, has_name) in [
        ("a/pushNotificationConfigs/b", false),
        ("a/pushNotificationConfigs/", false),
        ("a/pushNotificationConfigs", false),
        ("pushNotificationConfigs/b", true),
        ("a/pushNotificationConfigsOf/b", true),
    ] {
        let task_id: TaskId = task.parse().unwrap();
        let id: PushConfigId = "c".parse().unwrap();
        let get = GetTaskRequest { tenant: None, id: task_id.clone(), history_length: None };
        let config = GetTaskPushNotificationConfigRequest { tenant: None, task_id, id };
        let get = v03::GetTaskRequest::try_from(get).map(|get| get.name);
        let config = v03::GetTaskPushNotificationConfigRequest::try_from(config);
        if has_name {
            assert_eq!(get.unwrap(), format!("tasks/{task}"));
            assert_eq!(config.unwrap().name, format!("tasks/{task}/pushNotificationConfigs/c"));
        } else {
            refused(get, &format!("`id`: {WHY}"));
            refused(config, &format!("`taskId`: {WHY}"));
        }
    }
}

fn webhook() -> v03::PushNotificationConfig {
    v03::PushNotificationConfig { url: "https://cb.example".to_owned(), ..Default::default() }
}

#[test]
fn a_webhook_is_registered_under_its_parent() {
    let create = |parent: &str, config_id: &str, nested: &str| {
        let nested = v03::PushNotificationConfig { id: nested.to_owned(), ..webhook() };
        let request = v03::CreateTaskPushNotificationConfigRequest {
            parent: parent.to_owned(),
            config_id: config_id.to_owned(),
            config: Some(v03::TaskPushNotificationConfig {
                name: "whatever".to_owned(),
                push_notification_config: Some(nested),
            }),
        };
        TaskPushNotificationConfig::try_from(request)
            .map(|config| (config.task_id.unwrap().to_string(), config.id.map(|id| id.to_string())))
    };
    assert_eq!(create("tasks/t", "", "").unwrap(), ("t".to_owned(), None));
    assert_eq!(create("tasks/t", "", "n").unwrap().1.unwrap(), "n");
    assert_eq!(create("tasks/t", "c", "n").unwrap().1.unwrap(), "c");
    refused(create("", "c", "n"), "`parent`: is required");
    refused(create("t", "c", "n"), "`parent`: expected `tasks/{task}`");

    let request = v03::CreateTaskPushNotificationConfigRequest {
        parent: "tasks/t".to_owned(),
        ..Default::default()
    };
    refused(TaskPushNotificationConfig::try_from(request.clone()), "`config`: is required");
    let config = v03::TaskPushNotificationConfig::default();
    let request = v03::CreateTaskPushNotificationConfigRequest { config: Some(config), ..request };
    refused(
        TaskPushNotificationConfig::try_from(request),
        "`config.pushNotificationConfig`: is required",
    );
}

#[test]
fn the_name_of_a_webhook_may_be_incomplete_in_an_answer() {
    let read = |name: &str| {
        let config = v03::TaskPushNotificationConfig {
            name: name.to_owned(),
            push_notification_config: Some(webhook()),
        };
        let config = TaskPushNotificationConfig::try_from(config)?;
        let text = |id: Option<&str>| id.unwrap_or("-").to_owned();
        let task = text(config.task_id.as_ref().map(TaskId::as_str));
        Ok(task + " " + &text(config.id.as_ref().map(PushConfigId::as_str)))
    };
    assert_eq!(read("tasks/t/pushNotificationConfigs/c").unwrap(), "t c");
    assert_eq!(read("tasks/t/pushNotificationConfigs/").unwrap(), "t -");
    assert_eq!(read("tasks/t/pushNotificationConfigs").unwrap(), "t -");
    assert_eq!(read("tasks/t").unwrap(), "t -");
    assert_eq!(read("").unwrap(), "- -");
    refused(read("t"), "`name`: expected `tasks/{task}/pushNotificationConfigs/{config}`");
}

fn part(text: &str, metadata: Option<&str>) -> Part {
    Part {
        metadata: metadata.map(|text| Object::parse_text(text).expect("an object")),
        ..Part::data(Raw::parse_text(text).expect("a value"))
    }
}

#[test]
fn data_that_is_no_object_travels_wrapped() {
    let object = |part: v03::Part| {
        let Some(v03::part::Part::Data(data)) = part.part else { unreachable!() };
        let metadata = part.metadata.map(|metadata| Object::try_from(metadata).unwrap());
        (
            Object::try_from(data.data.unwrap()).unwrap().as_str().to_owned(),
            metadata.map_or_else(String::new, |metadata| metadata.as_str().to_owned()),
        )
    };
    let check = |data: &str, metadata: Option<&str>, wrapped: &str, marked: &str| {
        let part = part(data, metadata);
        let proto = v03::Part::from(part.clone());
        assert_eq!(object(proto.clone()), (wrapped.to_owned(), marked.to_owned()));
        assert_eq!(Part::try_from(proto).unwrap(), part);
    };
    check(r#"{"a":1}"#, None, r#"{"a":1}"#, "");
    check("[1]", None, r#"{"value":[1]}"#, r#"{"data_part_compat":true}"#);
    check("null", Some(r#"{"a":1}"#), r#"{"value":null}"#, r#"{"a":1,"data_part_compat":true}"#);
    check(
        r#"{"value":1}"#,
        Some(r#"{"data_part_compat":false}"#),
        r#"{"value":1}"#,
        r#"{"data_part_compat":false}"#,
    );
}

#[test]
fn data_that_is_marked_but_not_wrapped_stays_as_it_is() {
    let marked = Some(r#"{"data_part_compat":true}"#);
    for data in [r#"{"a":1}"#, "{}", r#"{"a":2,"value":1}"#] {
        let part = part(data, marked);
        assert_eq!(Part::try_from(v03::Part::from(part.clone())).unwrap(), part);
    }
}

#[test]
fn what_is_missing_in_a_part_is_named() {
    let read = |part| Part::try_from(v03::Part { part, metadata: None });
    refused(read(None), "needs one of `text` `file` `data`");
    let file = v03::part::Part::File(v03::FilePart::default());
    refused(read(Some(file)), "`file`: needs one of `fileWithUri` `fileWithBytes`");
    let data = v03::part::Part::Data(v03::DataPart::default());
    refused(read(Some(data)), "`data.data`: is required");
}

#[test]
fn a_message_without_content_is_refused_by_the_name_of_0_3() {
    let message = v03::Message { content: vec![], ..Message::user("hi").into() };
    let request = v03::SendMessageRequest { request: Some(message), ..Default::default() };
    refused(
        grpc::read_request(request, Request::SendMessage),
        "`message.content`: needs at least one part",
    );
    refused(
        grpc::read_request(v03::SendMessageRequest::default(), Request::SendMessage),
        "`message`: is required",
    );
    let message = v03::Message { content: vec![v03::Part::default()], ..Message::user("").into() };
    let request = v03::SendMessageRequest { request: Some(message), ..Default::default() };
    refused(
        grpc::read_request(request, Request::SendMessage),
        "`message.content[0]`: needs one of `text` `file` `data`",
    );
}

#[test]
fn a_status_update_is_final_if_nothing_follows() {
    let check = |state: TaskState, end: StreamEnd, expected: bool| {
        let update = TaskStatusUpdateEvent {
            task_id: "t".parse().unwrap(),
            context_id: "c".parse().unwrap(),
            status: TaskStatus { state, message: None, timestamp: None },
            metadata: None,
        };
        let proto = v03::StreamResponse::from_model(StreamResponse::StatusUpdate(update), end);
        let says = if expected { StreamEnd::Closing } else { StreamEnd::Open };
        assert_eq!(proto.end(), says, "{state:?} {end:?}");
    };
    for &state in TaskState::ALL {
        check(state, StreamEnd::Open, state.is_terminal());
        check(state, StreamEnd::Closing, true);
    }
}

#[test]
fn canceled_is_number_5_with_two_l() {
    let status = TaskStatus { state: TaskState::Canceled, message: None, timestamp: None };
    assert_eq!(v03::TaskStatus::from(status).state(), v03::TaskState::Cancelled);
}

#[test]
fn blocking_is_the_opposite_of_returning_immediately() {
    let request = |configuration| SendMessageRequest {
        configuration,
        ..SendMessageRequest::new(Message::user("hi"))
    };
    let blocking = |request: SendMessageRequest| {
        v03::SendMessageRequest::from(request).configuration.unwrap().blocking
    };
    // Whoever wishes nothing waits, and has to say so to a peer of 0.3.
    assert!(blocking(request(None)));
    assert!(blocking(request(Some(SendMessageConfiguration::default()))));
    let wishes = SendMessageConfiguration { return_immediately: true, ..Default::default() };
    assert!(!blocking(request(Some(wishes))));

    let unsaid = v03::SendMessageRequest {
        configuration: None,
        ..SendMessageRequest::new(Message::user("hi")).into()
    };
    assert!(!SendMessageRequest::try_from(unsaid).unwrap().returns_immediately());
}

#[test]
fn a_history_length_of_zero_is_one_not_said() {
    let read = |history_length| {
        let request = v03::GetTaskRequest { name: "tasks/t".to_owned(), history_length };
        grpc::read_request(request, Request::GetTask).map(|request| match request {
            Request::GetTask(request) => request.history_length,
            _ => unreachable!(),
        })
    };
    assert_eq!(read(0).unwrap(), None);
    assert_eq!(read(7).unwrap(), Some(7));
    refused(read(-1), "`historyLength`: must not be negative");
}

#[test]
fn only_the_first_authentication_scheme_is_kept() {
    let read = |schemes: &[&str]| {
        let schemes = schemes.iter().map(ToString::to_string).collect();
        let info = v03::AuthenticationInfo { schemes, credentials: "s".to_owned() };
        AuthenticationInfo::try_from(info).unwrap().scheme
    };
    assert_eq!(read(&["Bearer", "Basic"]), "Bearer");
    assert_eq!(read(&[]), "");
    let none = AuthenticationInfo { scheme: String::new(), credentials: String::new() };
    assert!(v03::AuthenticationInfo::from(none).schemes.is_empty());
}

fn interface(url: &str, transport: &str) -> v03::AgentInterface {
    v03::AgentInterface { url: url.to_owned(), transport: transport.to_owned() }
}

#[test]
fn the_interfaces_of_a_card_become_one_list() {
    let read = |url: &str, transport: &str, additional_interfaces| {
        let card = v03::AgentCard {
            name: "n".to_owned(),
            url: url.to_owned(),
            preferred_transport: transport.to_owned(),
            protocol_version: "0.3.0".to_owned(),
            additional_interfaces,
            ..Default::default()
        };
        let interfaces = AgentCard::try_from(card).unwrap().supported_interfaces;
        assert!(interfaces.iter().all(|interface| interface.protocol_version == "0.3"));
        let interfaces = interfaces.iter();
        interfaces
            .map(|interface| format!("{} {}", interface.protocol_binding, interface.url))
            .collect::<Vec<_>>()
    };
    assert_eq!(read("u", "", vec![]), ["JSONRPC u"]);
    assert_eq!(
        read("u", "GRPC", vec![interface("u", "GRPC"), interface("v", "GRPC")]),
        ["GRPC u", "GRPC v"]
    );
    assert_eq!(read("u", "", vec![interface("u", "JSONRPC")]), ["JSONRPC u"]);
    assert_eq!(read("", "", vec![interface("v", "GRPC")]), ["GRPC v"]);
    assert_eq!(read("", "", vec![interface("v", ""), interface("v", "")]), ["JSONRPC v"]);
    assert_eq!(read("u", "GRPC", vec![interface("", "GRPC")]), ["GRPC u"]);
}

#[test]
fn a_card_without_an_interface_of_0_3_has_no_form_of_0_3() {
    let interface = |version: Version| AgentInterface {
        url: "https://a.example".to_owned(),
        protocol_binding: "GRPC".to_owned(),
        tenant: None,
        protocol_version: version.to_string(),
    };
    let card = |versions: &[Version]| AgentCard {
        name: "n".to_owned(),
        supported_interfaces: versions.iter().copied().map(interface).collect(),
        ..Default::default()
    };
    let error = v03::AgentCard::try_from(card(&[Version::V1_0])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::VersionNotSupported);
    assert_eq!(error.metadata()["supportedVersions"], "1.0");
    let proto = v03::AgentCard::try_from(card(&[Version::V1_0, Version::V0_3])).unwrap();
    assert_eq!((proto.protocol_version.as_str(), proto.additional_interfaces.len()), ("0.3.0", 0));
}

#[test]
fn a_bad_card_is_refused_with_the_path() {
    let scheme = ("key".to_owned(), v03::SecurityScheme::default());
    let card = v03::AgentCard { security_schemes: [scheme].into(), ..Default::default() };
    refused(AgentCard::try_from(card.clone()), "`name`: is required");
    let error = AgentCard::try_from(v03::AgentCard { name: "n".to_owned(), ..card }).unwrap_err();
    assert_eq!(error.path(), "securitySchemes.key");
}

/// Allowed by 0.3, and no reason to hide the agent.
#[test]
fn an_oauth_scheme_without_a_flow_is_passed_over() {
    let scheme = v03::OAuth2SecurityScheme::default();
    let scheme = v03::SecurityScheme {
        scheme: Some(v03::security_scheme::Scheme::Oauth2SecurityScheme(scheme)),
    };
    let card = v03::AgentCard {
        name: "n".to_owned(),
        security_schemes: [("oauth".to_owned(), scheme)].into(),
        ..Default::default()
    };
    assert!(AgentCard::try_from(card).unwrap().security_schemes.is_empty());
}

use super::*;
use crate::{
    ids::Tenant,
    operation::{GetTaskRequest, SubscribeToTaskRequest},
    push::TaskPushNotificationConfig,
};

fn read(method: &str, target: &str, body: &str) -> Result<Request, Error> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    V1Http::default().read_call(&HttpCall { method, path, query, body: body.as_bytes() })
}

/// Writes a request, checks where it goes, and reads it back.
#[track_caller]
fn check(request: &Request, method: &str, path: &str) {
    let target = V1Http::default().write_call(request).unwrap();
    assert_eq!((target.method, target.path.as_str()), (method, path));
    let back = read(target.method, &target.path, target.body.as_deref().unwrap_or_default());
    assert_eq!(back.unwrap(), *request);
}

fn task(text: &str) -> TaskId {
    TaskId::parse(text).unwrap()
}

#[test]
fn a_task_is_named_in_the_path_whatever_its_id_contains() {
    let get = |id: &str, tenant: Option<&str>| {
        Request::GetTask(GetTaskRequest {
            tenant: tenant.map(|tenant| Tenant::parse(tenant).unwrap()),
            id: task(id),
            history_length: Some(0),
        })
    };
    check(&get("t1", None), "GET", "/tasks/t1?historyLength=0");
    check(&get("a/b ?:x", Some("acme")), "GET", "/acme/tasks/a%2Fb%20%3F:x?historyLength=0");
    check(&get("é", None), "GET", "/tasks/%C3%A9?historyLength=0");
}

#[test]
fn only_the_last_colon_can_start_a_verb() {
    let cancel =
        Request::CancelTask(CancelTaskRequest { tenant: None, id: task("a:b"), metadata: None });
    check(&cancel, "POST", "/tasks/a:b:cancel");
    assert_eq!(
        read("GET", "/tasks/t1:canceled", "").unwrap(),
        Request::GetTask(GetTaskRequest {
            tenant: None,
            id: task("t1:canceled"),
            history_length: None
        })
    );
}

#[test]
fn an_id_that_ends_like_a_verb_is_not_taken_for_one() {
    for (id, path) in
        [("a:cancel", "/tasks/a%3Acancel"), ("a:b:subscribe", "/tasks/a%3Ab%3Asubscribe")]
    {
        let get = GetTaskRequest { tenant: None, id: task(id), history_length: None };
        check(&Request::GetTask(get), "GET", path);
        let cancel = CancelTaskRequest { tenant: None, id: task(id), metadata: None };
        check(&Request::CancelTask(cancel), "POST", &format!("{path}:cancel"));
    }
}

#[test]
fn subscribing_works_with_get_and_post() {
    let request = Request::SubscribeToTask(SubscribeToTaskRequest { tenant: None, id: task("t1") });
    check(&request, "GET", "/tasks/t1:subscribe");
    assert_eq!(read("POST", "/tasks/t1:subscribe", "").unwrap(), request);
}

#[test]
fn every_filter_of_a_list_survives_the_query() {
    let request = Request::ListTasks(ListTasksRequest {
        tenant: Some(Tenant::parse("acme").unwrap()),
        context_id: Some(ContextId::parse("c&1").unwrap()),
        status: TaskState::Working,
        page_size: Some(10),
        page_token: "x+/=".into(),
        history_length: Some(0),
        status_timestamp_after: Some("2026-08-20T00:00:00Z".parse().unwrap()),
        include_artifacts: Some(false),
    });
    check(
        &request,
        "GET",
        "/acme/tasks?contextId=c%261&status=TASK_STATE_WORKING&pageSize=10&pageToken=x%2B%2F%3D\
         &historyLength=0&statusTimestampAfter=2026-08-20T00%3A00%3A00.000Z&includeArtifacts=false",
    );
}

#[test]
fn the_task_of_a_webhook_comes_from_the_path() {
    let request = read("POST", "/tasks/t1/pushNotificationConfigs", r#"{"url":"https://cb/h"}"#);
    let mut config = TaskPushNotificationConfig::new("https://cb/h");
    config.task_id = Some(task("t1"));
    assert_eq!(request.unwrap(), Request::CreateTaskPushNotificationConfig(config));
    let error = read("POST", "/tasks/t1/pushNotificationConfigs", r#"{"url":"u","taskId":"t2"}"#);
    assert_eq!(error.unwrap_err().violations()[0].field, "taskId");
}

#[test]
fn a_tenant_that_contradicts_the_path_is_refused() {
    let body = r#"{"tenant":"b","message":{"messageId":"m","role":1,"parts":[{"text":"x"}]}}"#;
    assert_eq!(read("POST", "/a/message:send", body).unwrap_err().violations()[0].field, "tenant");
    assert_eq!(read("POST", "/b/message:send", body).unwrap().tenant().unwrap().as_str(), "b");
    assert_eq!(read("GET", "/tasks?tenant=q", "").unwrap().tenant().unwrap().as_str(), "q");
}

#[track_caller]
fn refused(method: &str, target: &str, body: &str, kind: ErrorKind) -> Error {
    let error = read(method, target, body).expect_err("the call must be refused");
    assert_eq!(error.kind(), kind, "{error:?}");
    error
}

#[test]
fn what_is_no_operation_is_not_found() {
    for (method, path) in [
        ("GET", "/"),
        ("GET", ""),
        ("PUT", "/tasks/t1"),
        ("GET", "/message:send"),
        ("GET", "/a/b/tasks"),
        ("GET", "/tasks/t1/pushNotificationConfigs/c/d"),
    ] {
        refused(method, path, "", ErrorKind::MethodNotFound);
    }
}

#[test]
fn bad_parameters_are_named() {
    for (target, field) in [
        ("/tasks?pageSize=0", "pageSize"),
        ("/tasks?pageSize=101", "pageSize"),
        ("/tasks?page_size=x", "pageSize"),
        ("/tasks?status=done", "status"),
        ("/tasks?statusTimestampAfter=yesterday", "statusTimestampAfter"),
        ("/tasks?includeArtifacts=maybe", "includeArtifacts"),
        ("/tasks/t1?historyLength=-1", "historyLength"),
    ] {
        let error = refused("GET", target, "", ErrorKind::InvalidParams);
        assert_eq!(error.violations()[0].field, field, "{target}");
    }
    refused("GET", "/tasks/%ff", "", ErrorKind::InvalidParams);
    refused("POST", "/message:send", "{", ErrorKind::Parse);
}

#[test]
fn an_error_inside_a_stream_is_told_from_an_event() {
    let form = V1Http::default();
    let error = Error::new(ErrorKind::Internal, "gone");
    let frame = form.write_frame(Err(&error), StreamEnd::Closing);
    assert_eq!(form.read_frame(&frame.data).unwrap_err(), error);
    assert_eq!(form.read_frame("{}").unwrap_err().kind(), ErrorKind::InvalidAgentResponse);
}

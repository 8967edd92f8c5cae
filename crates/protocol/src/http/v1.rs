//! A2A 1.0 on HTTP+JSON.

use super::{
    HttpCall, HttpForm, HttpReply, HttpTarget, Query, QueryWriter, Resource, encode_segment,
    error_frame, id, not_found, read_cancel, read_list, read_state, segments,
};
use crate::{
    error::{Error, ErrorTable},
    ids::{PushConfigId, TaskId, Tenant},
    json::{self, FromJson, read_with, write_with},
    operation::{
        DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, Operation, Request, Response,
        SubscribeToTaskRequest,
    },
    push::TaskPushNotificationConfig,
    state::TaskState,
    task::StreamResponse,
    wire::{Frame, StreamEnd, bad_answer},
};

/// A2A 1.0 on HTTP+JSON.
#[derive(Clone, Copy, Debug, Default)]
pub struct V1Http {
    /// The edition of the error table.
    pub table: ErrorTable,
}

impl HttpForm for V1Http {
    fn read_call(&self, call: &HttpCall<'_>) -> Result<Request, Error> {
        let query = Query::parse(call.query);
        let segments = segments(call.path)?;
        // Literal routes come before tenants, so a tenant cannot be called `tasks`.
        let (tenant, resource) = match (Resource::parse(&segments), segments.split_first()) {
            (Some(resource), _) => (None, resource),
            (None, Some((tenant, rest))) => {
                let resource = Resource::parse(rest).ok_or_else(|| not_found(call))?;
                (Some(id(tenant, "tenant", Tenant::parse)?), resource)
            }
            (None, None) => return Err(not_found(call)),
        };
        let mut request = read_resource(call, resource, &query)?;
        let elsewhere = match query.get("tenant", "tenant") {
            Some(text) => Some(id(text, "tenant", Tenant::parse)?),
            None => request.tenant().cloned(),
        };
        match (tenant, elsewhere) {
            (Some(path), Some(other)) if path != other => {
                return Err(json::Error::shape("differs from the tenant in the path")
                    .inside("tenant")
                    .into());
            }
            (path, other) => request.set_tenant(path.or(other)),
        }
        request.check()?;
        Ok(request)
    }

    fn write_call(&self, request: &Request) -> Result<HttpTarget, Error> {
        let prefix = request.tenant().map(|tenant| format!("/{}", encode_segment(tenant.as_str())));
        let mut request = request.clone();
        request.set_tenant(None);
        let mut target = write_resource(&request);
        target.path.insert_str(0, prefix.as_deref().unwrap_or_default());
        Ok(target)
    }

    fn read_reply(
        &self,
        operation: Operation,
        status: u16,
        body: &[u8],
    ) -> Result<Response, Error> {
        if !(200..300).contains(&status) {
            return Err(Error::read_http(status, body));
        }
        if operation == Operation::DeleteTaskPushNotificationConfig {
            return Ok(Response::Deleted);
        }
        json::text(body)
            .and_then(|text| read_with(text, |reader| Response::read(operation, reader)))
            .map_err(|error| bad_answer(&error))
    }

    fn write_reply(&self, _: Operation, outcome: Result<&Response, &Error>) -> HttpReply {
        match outcome {
            Ok(response) => HttpReply { status: 200, body: json::to_string(response) },
            Err(error) => HttpReply {
                status: error.kind().http_status(self.table),
                body: write_with(|writer| error.write_http(self.table, writer)),
            },
        }
    }

    fn read_frame(&self, data: &str) -> Result<StreamResponse, Error> {
        match json::from_str(data) {
            Ok(event) => Ok(event),
            Err(error) => Err(error_frame(data).unwrap_or_else(|| bad_answer(&error))),
        }
    }

    fn write_frame(&self, outcome: Result<&StreamResponse, &Error>, _: StreamEnd) -> Frame {
        match outcome {
            Ok(event) => Frame::data(json::to_string(event)),
            Err(error) => Frame {
                event: Some("error"),
                data: write_with(|writer| error.write_http(self.table, writer)),
            },
        }
    }
}

/// Reads what is asked of a resource.
pub(crate) fn read_resource(
    call: &HttpCall<'_>,
    resource: Resource,
    query: &Query<'_>,
) -> Result<Request, Error> {
    let tenant = None;
    Ok(match (call.method, resource) {
        ("POST", Resource::Send) => Request::SendMessage(body(call)?),
        ("POST", Resource::Stream) => Request::SendStreamingMessage(body(call)?),
        ("GET", Resource::Tasks) => Request::ListTasks(read_list(query, read_state)?),
        ("GET", Resource::Task(task)) => Request::GetTask(GetTaskRequest {
            tenant,
            id: id(&task, "id", TaskId::parse)?,
            history_length: query.int("historyLength", "history_length")?,
        }),
        ("POST", Resource::Cancel(task)) => read_cancel(call, &task)?,
        // The specification's text says POST, its proto GET; peers use both.
        ("GET" | "POST", Resource::Subscribe(task)) => {
            let id = id(&task, "id", TaskId::parse)?;
            Request::SubscribeToTask(SubscribeToTaskRequest { tenant, id })
        }
        ("POST", Resource::PushConfigs(task)) => {
            Request::CreateTaskPushNotificationConfig(of_task(body(call)?, &task)?)
        }
        ("GET", Resource::PushConfigs(task)) => {
            Request::ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest {
                tenant,
                task_id: id(&task, "taskId", TaskId::parse)?,
                page_size: query.int("pageSize", "page_size")?.unwrap_or_default(),
                page_token: query.get("pageToken", "page_token").unwrap_or_default().to_owned(),
            })
        }
        ("GET", Resource::PushConfig(task, config)) => {
            Request::GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest {
                tenant,
                task_id: id(&task, "taskId", TaskId::parse)?,
                id: id(&config, "id", PushConfigId::parse)?,
            })
        }
        ("DELETE", Resource::PushConfig(task, config)) => {
            Request::DeleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest {
                tenant,
                task_id: id(&task, "taskId", TaskId::parse)?,
                id: id(&config, "id", PushConfigId::parse)?,
            })
        }
        ("GET", Resource::ExtendedCard) => {
            Request::GetExtendedAgentCard(GetExtendedAgentCardRequest { tenant })
        }
        _ => return Err(not_found(call)),
    })
}

/// Puts a webhook to the task in the path.
pub(crate) fn of_task(
    mut config: TaskPushNotificationConfig,
    task: &str,
) -> Result<TaskPushNotificationConfig, Error> {
    let task = id(task, "taskId", TaskId::parse)?;
    if config.task_id.as_ref().is_some_and(|other| *other != task) {
        let error = json::Error::shape("differs from the task in the path");
        return Err(error.inside("taskId").into());
    }
    config.task_id = Some(task);
    Ok(config)
}

fn body<T: FromJson>(call: &HttpCall<'_>) -> Result<T, Error> {
    Ok(json::from_slice(call.body)?)
}

/// Writes where a request goes and what its body is.
pub(crate) fn write_resource(request: &Request) -> HttpTarget {
    let task = |id: &TaskId| format!("/tasks/{}", encode_segment(id.as_str()));
    let configs = |id: &TaskId| format!("{}/pushNotificationConfigs", task(id));
    let config = |task: &TaskId, id: &PushConfigId| {
        format!("{}/{}", configs(task), encode_segment(id.as_str()))
    };
    let get = |path: String| HttpTarget { method: "GET", path, body: None };
    let post = |path: String, body: &dyn Fn() -> String| HttpTarget {
        method: "POST",
        path,
        body: Some(body()),
    };
    match request {
        Request::SendMessage(request) => post("/message:send".into(), &|| json::to_string(request)),
        Request::SendStreamingMessage(request) => {
            post("/message:stream".into(), &|| json::to_string(request))
        }
        Request::GetTask(request) => {
            let mut query = QueryWriter::default();
            query.add("historyLength", request.history_length);
            get(query.onto(task(&request.id)))
        }
        Request::ListTasks(request) => get(write_list(request)),
        Request::CancelTask(request) => post(format!("{}:cancel", task(&request.id)), &|| {
            write_with(|writer| {
                writer.object(|object| {
                    object.optional("metadata", request.metadata.as_ref());
                });
            })
        }),
        Request::SubscribeToTask(request) => get(format!("{}:subscribe", task(&request.id))),
        Request::CreateTaskPushNotificationConfig(request) => {
            let path = request.task_id.as_ref().map(configs).unwrap_or_default();
            post(path, &|| json::to_string(request))
        }
        Request::GetTaskPushNotificationConfig(request) => {
            get(config(&request.task_id, &request.id))
        }
        Request::ListTaskPushNotificationConfigs(request) => {
            let mut query = QueryWriter::default();
            query.add("pageSize", Some(request.page_size).filter(|size| *size != 0));
            query.add("pageToken", Some(&request.page_token).filter(|token| !token.is_empty()));
            get(query.onto(configs(&request.task_id)))
        }
        Request::DeleteTaskPushNotificationConfig(request) => {
            HttpTarget { method: "DELETE", path: config(&request.task_id, &request.id), body: None }
        }
        Request::GetExtendedAgentCard(_) => get("/extendedAgentCard".into()),
    }
}

fn write_list(request: &ListTasksRequest) -> String {
    let mut query = QueryWriter::default();
    query.add("contextId", request.context_id.as_ref());
    let status = Some(request.status).filter(|state| *state != TaskState::Unspecified);
    query.add("status", status.map(TaskState::as_str));
    query.add("pageSize", request.page_size);
    query.add("pageToken", Some(&request.page_token).filter(|token| !token.is_empty()));
    query.add("historyLength", request.history_length);
    query.add("statusTimestampAfter", request.status_timestamp_after);
    query.add("includeArtifacts", request.include_artifacts);
    query.onto("/tasks".into())
}

//! The HTTP+JSON binding: how method, path, query and body say what is asked.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use crate::{
    error::{Error, ErrorKind, ErrorTable},
    ids::{InvalidId, PushConfigId, TaskId, Tenant},
    json::{self, FromJson, Object, read_value, read_with, write_with},
    operation::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, Operation, Request, Response,
        SubscribeToTaskRequest,
    },
    push::TaskPushNotificationConfig,
    state::TaskState,
    task::StreamResponse,
    wire::{Frame, StreamEnd, bad_answer},
};

/// A request as it came over HTTP.
#[derive(Clone, Copy, Debug)]
pub struct HttpCall<'a> {
    /// `GET`, `POST` or `DELETE`.
    pub method: &'a str,
    /// The path below the interface's URL, with its leading slash, still encoded.
    pub path: &'a str,
    /// What stands behind the `?`, still encoded.
    pub query: &'a str,
    /// The body; empty if there is none.
    pub body: &'a [u8],
}

/// A request to be sent over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpTarget {
    /// `GET`, `POST` or `DELETE`.
    pub method: &'static str,
    /// Path and query below the interface's URL, encoded.
    pub path: String,
    /// The JSON body, if there is one.
    pub body: Option<String>,
}

/// An answer to be sent over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpReply {
    /// The status.
    pub status: u16,
    /// The JSON body.
    pub body: String,
}

/// A wire form in which method and path say what is asked.
pub trait HttpForm: Sync {
    /// Reads a request. [`ErrorKind::MethodNotFound`] if the path is not of this form.
    fn read_call(&self, call: &HttpCall<'_>) -> Result<Request, Error>;

    /// Returns the name under which the client wants to find the new task, in forms in which
    /// clients choose one (C-29). The call has been read before.
    fn task_alias(&self, _call: &HttpCall<'_>) -> Option<String> {
        None
    }

    /// Writes a request; fails if the form lacks the operation.
    fn write_call(&self, request: &Request) -> Result<HttpTarget, Error>;

    /// Reads an answer: the answer, or the error the peer answered with, or what is wrong with
    /// the body.
    fn read_reply(&self, operation: Operation, status: u16, body: &[u8])
    -> Result<Response, Error>;

    /// Writes an answer.
    fn write_reply(&self, operation: Operation, outcome: Result<&Response, &Error>) -> HttpReply;

    /// Reads the data of one frame: the event, or the error that ends the stream.
    fn read_frame(&self, data: &str) -> Result<StreamResponse, Error>;

    /// Writes one frame.
    fn write_frame(&self, outcome: Result<&StreamResponse, &Error>, end: StreamEnd) -> Frame;
}

/// A2A 1.0 on HTTP+JSON.
#[derive(Clone, Copy, Debug, Default)]
pub struct V1Http {
    /// The edition of the error table.
    pub table: ErrorTable,
}

/// What a path names, whoever is asked to do what with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// `message:send`
    Send,
    /// `message:stream`
    Stream,
    /// `tasks`
    Tasks,
    /// `tasks/{id}`
    Task(String),
    /// `tasks/{id}:cancel`
    Cancel(String),
    /// `tasks/{id}:subscribe`
    Subscribe(String),
    /// `tasks/{id}/pushNotificationConfigs`
    PushConfigs(String),
    /// `tasks/{id}/pushNotificationConfigs/{id}`
    PushConfig(String, String),
    /// `extendedAgentCard`
    ExtendedCard,
}

/// What must be encoded inside a path segment.
const SEGMENT: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'/').add(b'<').add(b'>').add(b'?');

impl Resource {
    /// Finds the resource that path segments name, in the form that 1.0 and 0.3 share.
    pub fn parse(segments: &[Cow<'_, str>]) -> Option<Self> {
        Some(match segments {
            [one] if one == "message:send" => Self::Send,
            [one] if one == "message:stream" => Self::Stream,
            [one] if one == "extendedAgentCard" => Self::ExtendedCard,
            [one] if one == "tasks" => Self::Tasks,
            [tasks, id] if tasks == "tasks" => {
                // Identifiers may contain colons: only the last one can start a verb.
                match id.rsplit_once(':') {
                    Some((id, "cancel")) => Self::Cancel(id.to_owned()),
                    Some((id, "subscribe")) => Self::Subscribe(id.to_owned()),
                    _ => Self::Task(id.clone().into_owned()),
                }
            }
            [tasks, id, configs] if tasks == "tasks" && configs == "pushNotificationConfigs" => {
                Self::PushConfigs(id.clone().into_owned())
            }
            [tasks, id, configs, config]
                if tasks == "tasks" && configs == "pushNotificationConfigs" =>
            {
                Self::PushConfig(id.clone().into_owned(), config.clone().into_owned())
            }
            _ => return None,
        })
    }
}

/// Splits a path at its slashes and decodes the segments.
pub fn segments(path: &str) -> Result<Vec<Cow<'_, str>>, Error> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    path.split('/')
        .map(|segment| percent_decode_str(segment).decode_utf8())
        .collect::<Result<_, _>>()
        .map_err(|_| Error::new(ErrorKind::InvalidParams, "the path is not UTF-8"))
}

/// Encodes a text as one path segment.
pub fn encode_segment(text: &str) -> impl std::fmt::Display + '_ {
    utf8_percent_encode(text, SEGMENT)
}

/// The parameters of a query, each known by its camelCase or its `snake_case` name.
#[derive(Clone, Debug)]
pub struct Query<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Query<'a> {
    /// Takes a query apart.
    pub fn parse(query: &'a str) -> Self {
        Self(form_urlencoded::parse(query.as_bytes()).collect())
    }

    /// Returns a parameter that is there and not empty.
    pub fn get(&self, camel: &str, snake: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key == camel || key == snake);
        found.map(|(_, value)| &**value).filter(|value| !value.is_empty())
    }

    /// Reads a parameter by a function; the error names it.
    pub fn read<T>(
        &self,
        camel: &str,
        snake: &str,
        read: impl FnOnce(&str) -> Option<T>,
        expected: &'static str,
    ) -> Result<Option<T>, Error> {
        let Some(text) = self.get(camel, snake) else { return Ok(None) };
        read(text).map(Some).ok_or_else(|| json::Error::shape(expected).inside(camel).into())
    }

    /// Reads a whole number.
    pub fn int(&self, camel: &str, snake: &str) -> Result<Option<i32>, Error> {
        self.read(camel, snake, |text| text.parse().ok(), "expected a 32-bit integer")
    }
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

/// Reads a frame that holds an error instead of an event.
pub(crate) fn error_frame(data: &str) -> Option<Error> {
    let mut status = None;
    read_with(data, |reader| {
        reader.members(|reader, key| {
            if key != "error" {
                return reader.skip();
            }
            reader.members(|reader, key| {
                if key == "code" {
                    status = reader.int32().ok();
                    return Ok(());
                }
                reader.skip()
            })
        })
    })
    .ok()?;
    Some(Error::read_http(u16::try_from(status?).ok()?, data.as_bytes()))
}

/// Says that a form has no operation there.
pub(crate) fn not_found(call: &HttpCall<'_>) -> Error {
    let HttpCall { method, path, .. } = call;
    Error::new(ErrorKind::MethodNotFound, format!("no operation at {method} {path}"))
}

/// Checks an identifier that came in the path or the query.
pub(crate) fn id<T>(
    text: &str,
    field: &str,
    parse: impl FnOnce(&str) -> Result<T, InvalidId>,
) -> Result<T, Error> {
    parse(text).map_err(|error| json::Error::shape(error.to_string()).inside(field).into())
}

fn read_resource(
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
            let task = id(&task, "taskId", TaskId::parse)?;
            let mut config: TaskPushNotificationConfig = body(call)?;
            if config.task_id.as_ref().is_some_and(|other| *other != task) {
                let error = json::Error::shape("differs from the task in the path");
                return Err(error.inside("taskId").into());
            }
            config.task_id = Some(task);
            Request::CreateTaskPushNotificationConfig(config)
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

fn body<T: FromJson>(call: &HttpCall<'_>) -> Result<T, Error> {
    Ok(json::from_slice(call.body)?)
}

/// Reads a cancellation, whose body may be missing or `null`.
pub(crate) fn read_cancel(call: &HttpCall<'_>, task: &str) -> Result<Request, Error> {
    let mut tenant = None;
    let mut metadata: Option<Object> = None;
    let text = json::text(call.body)?.trim();
    if !text.is_empty() && text != "null" {
        read_with(text, |reader| {
            reader.members(|reader, key| {
                match &*key {
                    "tenant" => tenant = json::read_id(reader)?,
                    "metadata" => metadata = read_value(reader)?,
                    _ => reader.skip()?,
                }
                Ok(())
            })
        })?;
    }
    Ok(Request::CancelTask(CancelTaskRequest {
        tenant,
        id: id(task, "id", TaskId::parse)?,
        metadata,
    }))
}

fn read_state(text: &str) -> Option<TaskState> {
    TaskState::from_name(text).or_else(|| TaskState::from_number(text.parse().ok()?))
}

/// Reads the filters of a list; the form says how states are spelled.
pub(crate) fn read_list(
    query: &Query<'_>,
    state: impl FnOnce(&str) -> Option<TaskState>,
) -> Result<ListTasksRequest, Error> {
    let context = query.get("contextId", "context_id");
    Ok(ListTasksRequest {
        tenant: None,
        context_id: context
            .map(|text| id(text, "contextId", crate::ids::ContextId::parse))
            .transpose()?,
        status: query
            .read("status", "status", state, "expected a state such as TASK_STATE_WORKING")?
            .unwrap_or_default(),
        page_size: query.int("pageSize", "page_size")?,
        page_token: query.get("pageToken", "page_token").unwrap_or_default().to_owned(),
        history_length: query.int("historyLength", "history_length")?,
        status_timestamp_after: query.read(
            "statusTimestampAfter",
            "status_timestamp_after",
            |text| text.parse().ok(),
            "expected an RFC 3339 moment",
        )?,
        include_artifacts: query.read(
            "includeArtifacts",
            "include_artifacts",
            |text| text.parse().ok(),
            "expected true or false",
        )?,
    })
}

fn write_resource(request: &Request) -> HttpTarget {
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

/// Puts a query together.
#[derive(Default)]
pub(crate) struct QueryWriter(Vec<(&'static str, String)>);

impl QueryWriter {
    pub(crate) fn add(&mut self, key: &'static str, value: Option<impl ToString>) {
        self.0.extend(value.map(|value| (key, value.to_string())));
    }

    pub(crate) fn onto(self, path: String) -> String {
        if self.0.is_empty() {
            return path;
        }
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(self.0).finish();
        format!("{path}?{query}")
    }
}

#[cfg(test)]
mod tests;

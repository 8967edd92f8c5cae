//! What the headers of a request say about the call.

use std::{collections::BTreeSet, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue};
use nuncio_auth::Identity;
use nuncio_protocol::{
    error::{Error, ErrorKind},
    ids::{TaskId, Tenant},
    operation::Request,
    service::{CallContext, Priority, TraceContext},
    version::Version,
};
use tokio::time::Instant;

pub(crate) const VERSION: HeaderName = HeaderName::from_static("a2a-version");
pub(crate) const EXTENSIONS: HeaderName = HeaderName::from_static("a2a-extensions");
/// What 0.3 calls the same.
pub(crate) const LEGACY_EXTENSIONS: HeaderName = HeaderName::from_static("x-a2a-extensions");
const IDEMPOTENCY_KEY: &str = "idempotency-key";
const LAST_EVENT_ID: &str = "last-event-id";
const PRIORITY: &str = "a2a-priority";
/// How long an opportunity agent waits, in milliseconds (O-07).
const REQUEST_TIMEOUT: &str = "a2a-request-timeout";
/// How long a molecule waits, in seconds; 0 is for ever (MD-30).
const TIMEOUT: &str = "x-timeout";
/// Longer than anybody is let wait.
const FOR_EVER: Duration = Duration::from_secs(10 * 365 * 24 * 3_600);
/// How long a caller of gRPC waits, with its unit behind it.
const GRPC_TIMEOUT: &str = "grpc-timeout";
/// The task because of which a message is sent, and the member of a request's metadata that says
/// the same (MD-39).
const PARENT_TASK: &str = "a2a-parent-task";
const PARENT_TASK_ID: &str = "parent_task_id";
/// The agent behind a shared endpoint, by metadata of gRPC: 0.3 has no field for it.
const AGENT: [HeaderName; 2] =
    [HeaderName::from_static("a2a-agent"), HeaderName::from_static("x-a2a-agent")];
const TRACE_PARENT: &str = "traceparent";
const TRACE_STATE: &str = "tracestate";

/// Reads a call's context. Who calls is known by then, and never read from here.
pub(crate) fn read(
    headers: &HeaderMap,
    identity: &Identity,
    version: Version,
) -> Result<CallContext, Error> {
    let mut ctx = CallContext::new(identity.caller.clone());
    ctx.organisation.clone_from(&identity.organisation);
    ctx.version = version;
    let said = Said::find(headers);
    if said.extensions {
        ctx.extensions = extensions(headers);
    }
    ctx.idempotency_key = text(said.key, IDEMPOTENCY_KEY)?.map(str::to_owned);
    ctx.last_event = match text(said.last_event, LAST_EVENT_ID)?.map(str::trim) {
        None | Some("") => None,
        Some(number) => Some(number.parse().map_err(|_| {
            invalid(LAST_EVENT_ID, "must be the `id:` of an event that you have seen")
        })?),
    };
    if let Some(name) = text(said.priority, PRIORITY)? {
        ctx.priority = Priority::from_name(name)
            .ok_or_else(|| invalid(PRIORITY, "must be low, normal or high"))?;
    }
    ctx.deadline =
        wait(&said)?.and_then(|wait| Instant::now().checked_add(wait)).map(Instant::into_std);
    ctx.trace = text(said.trace_parent, TRACE_PARENT)?
        .map(|parent| -> Result<TraceContext, Error> {
            let state = text(said.trace_state, TRACE_STATE)?.unwrap_or_default();
            Ok(TraceContext { parent: parent.to_owned(), state: state.to_owned() })
        })
        .transpose()?;
    ctx.parent = text(said.parent, PARENT_TASK)?
        .map(|task| TaskId::parse(task).map_err(|_| invalid(PARENT_TASK, "must be a task's id")))
        .transpose()?;
    Ok(ctx)
}

/// The headers that say something about a call, each as it stands first. They are found in one
/// pass: most requests have fewer headers than there are names to look for.
#[derive(Default)]
struct Said<'a> {
    extensions: bool,
    key: Option<&'a HeaderValue>,
    last_event: Option<&'a HeaderValue>,
    priority: Option<&'a HeaderValue>,
    request_timeout: Option<&'a HeaderValue>,
    timeout: Option<&'a HeaderValue>,
    grpc_timeout: Option<&'a HeaderValue>,
    parent: Option<&'a HeaderValue>,
    trace_parent: Option<&'a HeaderValue>,
    trace_state: Option<&'a HeaderValue>,
}

impl<'a> Said<'a> {
    fn find(headers: &'a HeaderMap) -> Self {
        let mut said = Self::default();
        for (name, value) in headers {
            let place = match name.as_str() {
                IDEMPOTENCY_KEY => &mut said.key,
                LAST_EVENT_ID => &mut said.last_event,
                PRIORITY => &mut said.priority,
                REQUEST_TIMEOUT => &mut said.request_timeout,
                TIMEOUT => &mut said.timeout,
                GRPC_TIMEOUT => &mut said.grpc_timeout,
                PARENT_TASK => &mut said.parent,
                TRACE_PARENT => &mut said.trace_parent,
                TRACE_STATE => &mut said.trace_state,
                _ => {
                    said.extensions |= *name == EXTENSIONS || *name == LEGACY_EXTENSIONS;
                    continue;
                }
            };
            place.get_or_insert(value);
        }
        said
    }
}

/// Reads from a request what its headers might have said. Only messages have a parent.
pub(crate) fn complete(ctx: &mut CallContext, request: &Request) {
    let (Request::SendMessage(send) | Request::SendStreamingMessage(send)) = request else {
        ctx.parent = None;
        return;
    };
    let Some(metadata) = &send.metadata else { return };
    if ctx.parent.is_some() && ctx.trace.is_some() {
        return;
    }
    let (mut parent, mut trace, mut state) = (None, None, None);
    for (key, value) in metadata.members() {
        match &*key {
            PARENT_TASK_ID => parent = value.as_text(),
            "traceparent" => trace = value.as_text(),
            "tracestate" => state = value.as_text(),
            _ => {}
        }
    }
    // Metadata is anybody's: what is there in another shape means something else.
    if ctx.parent.is_none() {
        ctx.parent = parent.and_then(|task| TaskId::parse(&task).ok());
    }
    if ctx.trace.is_none() {
        // It goes on in a header.
        let state = state.filter(|state| is_printable(state)).unwrap_or_default();
        let trace = trace.filter(|trace| is_printable(trace));
        ctx.trace = trace.map(|parent| TraceContext { parent, state });
    }
}

/// Returns the agent that the metadata of a call over gRPC names.
pub(crate) fn agent(headers: &HeaderMap) -> Result<Option<Tenant>, Error> {
    let mut found: Option<Tenant> = None;
    for name in &AGENT {
        for value in headers.get_all(name) {
            let named = value.to_str().ok().and_then(|text| Tenant::parse(text).ok());
            let named = named.ok_or_else(|| invalid(name.as_str(), "must name an agent"))?;
            if found.as_ref().is_some_and(|found| *found != named) {
                return Err(invalid(name.as_str(), "names another agent than before"));
            }
            found = Some(named);
        }
    }
    Ok(found)
}

/// Returns how long the caller waits, by whichever name it says so (C-27): the shortest counts.
/// How long it may is not for it to say.
fn wait(said: &Said<'_>) -> Result<Option<Duration>, Error> {
    let number = |value, name: &str, wanted: &'static str| -> Result<Option<u64>, Error> {
        let Some(number) = text(value, name)? else { return Ok(None) };
        number.trim().parse().map(Some).map_err(|_| invalid(name, wanted))
    };
    let wanted = "must be a whole number of milliseconds";
    let milliseconds = number(said.request_timeout, REQUEST_TIMEOUT, wanted)?;
    let seconds = number(said.timeout, TIMEOUT, "must be a whole number of seconds")?;
    let seconds = seconds.map(|seconds| match seconds {
        0 => FOR_EVER,
        seconds => Duration::from_secs(seconds),
    });
    let grpc = text(said.grpc_timeout, GRPC_TIMEOUT)?
        .map(|text| grpc_timeout(text).ok_or_else(|| invalid(GRPC_TIMEOUT, "must be as `30S`")))
        .transpose()?;
    Ok([milliseconds.map(Duration::from_millis), seconds, grpc].into_iter().flatten().min())
}

/// Reads up to eight digits and a unit.
fn grpc_timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(number * 3_600),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

/// Tells whether a caller asks for extensions.
pub(crate) fn wants_extensions(headers: &HeaderMap) -> bool {
    headers.contains_key(EXTENSIONS) || headers.contains_key(LEGACY_EXTENSIONS)
}

fn extensions(headers: &HeaderMap) -> BTreeSet<String> {
    [EXTENSIONS, LEGACY_EXTENSIONS]
        .iter()
        .flat_map(|name| headers.get_all(name))
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|uri| !uri.is_empty())
        .map(str::to_owned)
        .collect()
}

fn text<'a>(value: Option<&'a HeaderValue>, name: &str) -> Result<Option<&'a str>, Error> {
    let Some(value) = value else { return Ok(None) };
    value.to_str().map(Some).map_err(|_| invalid(name, "must be printable ASCII"))
}

fn is_printable(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

fn invalid(name: &str, text: &'static str) -> Error {
    Error::new(ErrorKind::InvalidParams, format!("header {name} {text}")).with_violation(name, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<Duration>) {
        assert_eq!(grpc_timeout(text), expected, "{text:?}");
    }

    #[test]
    fn a_timeout_of_grpc_is_digits_and_a_unit() {
        check("1H", Some(Duration::from_secs(3_600)));
        check("2M", Some(Duration::from_secs(120)));
        check("30S", Some(Duration::from_secs(30)));
        check("250m", Some(Duration::from_millis(250)));
        check("99999999u", Some(Duration::from_micros(99_999_999)));
        check("7n", Some(Duration::from_nanos(7)));
        check("99999999H", Some(Duration::from_secs(99_999_999 * 3_600)));
        for wrong in ["", "S", "30", "30s", "-1S", "+1S", "1.5S", "100000000S", "1 S", "3é"] {
            check(wrong, None);
        }
    }
}

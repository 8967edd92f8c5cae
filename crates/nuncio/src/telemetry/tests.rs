//! Real lines, and a real collector that decodes what it gets.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use http::Method;
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Bytes, service::service_fn};
use nuncio_hub::{
    access::{self, AccessLine},
    metrics::{Direction, Status},
};
use nuncio_net::listen::{Drain, Incoming, Listener};
use nuncio_protocol::{dialect::WireForm, operation::Operation, state::TaskState};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message as _;
use tokio::sync::mpsc;

use super::{
    trace::{TraceContext, http_span, outgoing},
    *,
};
use crate::configuration::{Level, read};

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panics").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Written {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("nobody panics").clone()).expect("lines are text")
    }
}

/// Returns the lines that something leaves.
fn lines(format: Format, configured: &Configured, does: impl FnOnce(&Telemetry)) -> String {
    let written = Written::default();
    let (telemetry, dispatch) =
        Telemetry::build(configured, format, written.clone()).expect("nothing is exported");
    tracing::dispatcher::with_default(&dispatch, || does(&telemetry));
    written.text()
}

fn request() -> AccessLine<'static> {
    AccessLine {
        direction: Direction::Received,
        operation: Some(Operation::SendMessage),
        form: Some(WireForm::V1),
        caller: "agent:orchestrator-agent",
        agent: "validation-agent",
        capability: Some("pain_point_validation"),
        request_id: Some("r-1"),
        duration: Duration::from_millis(1234),
        status: Status::Success,
        error: None,
        task_id: Some("t-1"),
        context_id: None,
        state: Some(TaskState::Working),
        trace_id: Some("0af7651916cd43dd8448eb211c80319c"),
    }
}

#[test]
fn whoever_tries_things_out_is_not_told_of_every_call() {
    let told = |level, calls| {
        let configured = Configured { level, ..Configured::default() };
        let lines = lines(Format::Text, &configured, |telemetry| {
            // As on a terminal, where it is set once the lines have somewhere to go.
            let handle = telemetry.filter.clone();
            handle.reload(filter(&configured, calls)).expect("it is there");
            request().log();
            tracing::info!("all else");
        });
        (lines.contains("a2a_request"), lines.contains("all else"))
    };
    assert_eq!(told(Level::Info, Calls::Shown), (true, true));
    assert_eq!(told(Level::Info, Calls::HiddenOnTerminal), (false, true));
    assert_eq!(told(Level::Debug, Calls::HiddenOnTerminal), (true, true));
}

#[test]
fn a_request_leaves_the_line_of_the_catalogue() {
    let text = lines(Format::Json, &Configured::default(), |_| request().log());
    let found: BTreeMap<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
    let get = |name: &str| found.get(name).cloned().unwrap_or_default();
    assert_eq!(get("event"), "a2a_request");
    assert_eq!(get("source_agent"), "orchestrator-agent");
    assert_eq!(get("target_agent"), "validation-agent");
    assert_eq!(get("capability"), "pain_point_validation");
    assert_eq!(get("request_id"), "r-1");
    assert_eq!(get("duration_ms"), 1234);
    assert_eq!(get("status"), "success");
    assert_eq!(get("caller"), "agent:orchestrator-agent");
    assert_eq!(get("agent"), "validation-agent");
    assert_eq!(get("a2a.method"), "SendMessage");
    assert_eq!(get("a2a.dialect"), "A2A 1.0 JSON-RPC");
    assert_eq!(get("a2a.task.id"), "t-1");
    assert_eq!(get("a2a.task.state"), "TASK_STATE_WORKING");
    assert_eq!(get("trace_id"), "0af7651916cd43dd8448eb211c80319c");
    assert!(get("timestamp").as_str().unwrap().ends_with('Z'));
    assert!(!found.contains_key("a2a.context.id") && !found.contains_key("error"));
}

#[test]
fn strangers_can_neither_end_a_line_nor_talk_to_the_terminal() {
    let evil = "x\nINFO forged\r\u{1b}[2J\u{9b}\u{202e} status=ok\" y";
    let line = AccessLine { caller: evil, ..request() };
    for format in [Format::Text, Format::Json] {
        let text = lines(format, &Configured::default(), |_| {
            line.log();
            tracing::info!("{evil}");
        });
        assert_eq!(text.matches('\n').count(), 2, "{text}");
        let without_ends = text.replace('\n', "");
        assert!(!without_ends.contains(crate::inert::is_active), "{text:?}");
    }
    let json = lines(Format::Json, &Configured::default(), |_| line.log());
    let found: BTreeMap<String, serde_json::Value> = serde_json::from_str(&json).unwrap();
    assert_eq!(found["caller"], evil);
    let text = lines(Format::Text, &Configured::default(), |_| line.log());
    assert!(text.contains(r#"status=ok\" y" target_agent=validation-agent"#), "{text}");
}

#[test]
fn lines_have_the_fields_of_the_spans_around_them() {
    let text = lines(Format::Text, &Configured::default(), |_| {
        let span = access::span(Some(Operation::GetTask), "weather", Some("0af7"));
        let _entered = span.enter();
        span.record("a2a.task.id", "t-7");
        tracing::info!(count = 3, is_good = true, ratio = 0.5, "done");
    });
    for part in [
        "INFO nuncio::telemetry::tests: done",
        "a2a.method=GetTask",
        "a2a.agent=weather",
        "a2a.task.id=t-7",
        "count=3",
        "is_good=true",
        "ratio=0.5",
        "trace_id=0af7",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn the_level_can_change_while_it_runs() {
    let configured = |text: &str| read(text, &[].into()).expect("it is good").telemetry;
    let quiet = configured("telemetry: {level: warn}");
    let text = lines(Format::Text, &quiet, |telemetry| {
        tracing::info!("one");
        telemetry.set_level(&configured("telemetry: {level: off, levels: {nuncio: debug}}"));
        tracing::debug!("two");
        tracing::info!(target: "hyper", "three");
        telemetry
            .set_level(&configured("telemetry: {level: off, levels: {'nuncio=trace,x': debug}}"));
        tracing::error!("four");
    });
    assert!(text.contains("two") && text.lines().count() == 1, "{text}");
    assert_eq!(quiet.level, Level::Warn);
}

/// A collector: what it gets, decoded, and the headers.
async fn collector()
-> (String, mpsc::UnboundedReceiver<(http::HeaderMap, ExportTraceServiceRequest)>, Drain) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await.expect("a port is free");
    let url = format!("http://{}", listener.local_addr());
    let service = service_fn(move |request: http::Request<Incoming>| {
        let sender = sender.clone();
        async move {
            assert_eq!(request.uri().path(), "/v1/traces");
            let (head, body) = request.into_parts();
            let bytes = body.collect().await.expect("a whole body").to_bytes();
            let batch = ExportTraceServiceRequest::decode(bytes).expect("protobuf of OTLP");
            sender.send((head.headers, batch)).expect("the test listens");
            Ok::<_, Infallible>(http::Response::new(Full::new(Bytes::new())))
        }
    });
    let drain = Drain::new();
    tokio::spawn(listener.serve(service, drain.clone()));
    (url, receiver, drain)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn traces_arrive_at_a_collector_and_hold_no_texts() {
    let (url, mut received, drain) = collector().await;
    let yaml = format!(
        "telemetry: {{otlp: {{endpoint: '{url}', service_name: hub-7, headers: {{x-token: hunter2}}}}}}"
    );
    let configured = read(&yaml, &[].into()).unwrap().telemetry;
    let written = Written::default();
    let (telemetry, dispatch) =
        Telemetry::build(&configured, Format::Json, written.clone()).unwrap();
    let incoming =
        TraceContext::parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").unwrap();
    let sent = tracing::dispatcher::with_default(&dispatch, || {
        let span = http_span(&Method::POST, "/agents/{agent}", Some(&incoming));
        let _entered = span.enter();
        let call = access::span(Some(Operation::SendMessage), "weather", None);
        let _called = call.enter();
        tracing::info!(token = "hunter2", "the secret message text");
        let _foreign = tracing::info_span!(target: "hyper", "foreign", x = "hunter2").entered();
        outgoing(&span, Some(&incoming))
    });
    telemetry.stop().await;
    let (headers, batch) = received.recv().await.unwrap();
    assert_eq!(headers["x-token"], "hunter2");
    assert_eq!(headers["content-type"], "application/x-protobuf");
    let resource = batch.resource_spans[0].resource.as_ref().unwrap();
    assert!(format!("{resource:?}").contains("hub-7"));
    let spans: Vec<_> =
        batch.resource_spans[0].scope_spans.iter().flat_map(|scope| &scope.spans).collect();
    assert_eq!(spans.len(), 2);
    let [call, spans @ ..] = &spans[..] else { panic!("there are two") };
    let hex =
        |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    assert_eq!(hex(&spans[0].trace_id), incoming.trace_id());
    assert_eq!(hex(&spans[0].parent_span_id), incoming.span_id());
    assert_eq!(hex(&spans[0].span_id), sent.span_id());
    assert_eq!((call.name.as_str(), call.events.len()), ("SendMessage", 0));
    assert_eq!((&call.trace_id, &call.parent_span_id), (&spans[0].trace_id, &spans[0].span_id));
    let shown = format!("{batch:?}");
    assert!(shown.contains("a2a.agent") && shown.contains("weather"));
    assert!(!shown.contains("hunter2") && !shown.contains("secret message"), "{shown}");
    drain.begin(Duration::from_secs(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_is_not_there_stops_nobody() {
    let yaml = "telemetry: {otlp: {endpoint: 'http://127.0.0.1:1', timeout: 200ms}}";
    let configured = read(yaml, &[].into()).unwrap().telemetry;
    let (telemetry, dispatch) =
        Telemetry::build(&configured, Format::Json, Written::default()).unwrap();
    tracing::dispatcher::with_default(&dispatch, || {
        drop(http_span(&Method::GET, "/", None));
    });
    telemetry.stop().await;
}

//! Peers that answer wrongly, each with its own error, and never with more than is allowed.

use futures_util::StreamExt as _;
use http::StatusCode;
use nuncio_client::{Error, Limits, Options, Retries};
use nuncio_net::sse;
use nuncio_protocol::{
    dialect::WireForm,
    error::{Error as ProtocolError, ErrorKind},
    ids::TaskId,
    operation::{GetTaskRequest, Request},
};

use crate::wire::{
    scripted::{Act, Peer, STREAM, TASK, answer, begun, error, frame, result, stream},
    support::{nobody, patiently, remote_with, rest, send},
};

fn get() -> Request {
    let id = TaskId::parse("t").expect("an id");
    Request::GetTask(GetTaskRequest { tenant: None, id, history_length: None })
}

fn options() -> Options {
    Options { retries: Retries::none(), ..Options::default() }
}

/// What comes of a call that a peer answers so.
async fn called(form: WireForm, act: Act, options: Options) -> Result<(), Error> {
    let peer = Peer::start([act]).await;
    let remote = remote_with(peer.address, form, options);
    let answered = patiently(remote.call(nobody(), get())).await?;
    answered.into_response().map(drop).map_err(Error::Peer)
}

/// What comes of a stream that a peer answers so, and how many events came before.
async fn streamed(form: WireForm, act: Act, options: Options) -> (usize, Result<(), Error>) {
    let peer = Peer::start([act]).await;
    let remote = remote_with(peer.address, form, options);
    let request = Request::SendStreamingMessage(send("hello"));
    let mut events = match patiently(remote.stream(nobody(), request)).await {
        Ok(events) => events,
        Err(error) => return (0, Err(error)),
    };
    let mut count = 0;
    loop {
        match patiently(events.next()).await {
            Some(Ok(_)) => count += 1,
            Some(Err(error)) => {
                assert!(events.next().await.is_none(), "an error is the end");
                return (count, Err(error));
            }
            None => return (count, Ok(())),
        }
    }
}

fn small() -> Options {
    let stream = sse::Limits { line: 64 << 10, event: 128 << 10, stream: 1 << 20 };
    Options { limits: Limits { stream, ..Limits::default() }, ..options() }
}

#[tokio::test]
async fn h_20_a_line_without_end_is_an_error_that_names_frame_and_limit() {
    let act = Act::Flood(format!("{}data: ", stream(&[&begun()])), "x".to_owned());
    let (events, outcome) = streamed(WireForm::V1, act, small()).await;
    assert_eq!(events, 1);
    let error = outcome.unwrap_err();
    assert!(matches!(error, Error::LineTooLong { limit: 65_536, frame: 2 }), "{error:?}");
    assert_eq!(ProtocolError::from(error).kind(), ErrorKind::InvalidAgentResponse);
}

/// R18: without an event's end, or with comments for ever.
#[tokio::test]
async fn r18_events_without_end_and_storms_of_comments_are_errors() {
    for again in ["data: x\n", ": alive\n\n", "\n", "id: 1\n\n"] {
        let act = Act::Flood(STREAM.to_owned(), again.to_owned());
        let (events, outcome) = streamed(WireForm::V1, act, small()).await;
        let error = outcome.unwrap_err();
        assert!(matches!(&error, Error::StreamTooLong(long) if long.frame == 1), "{error:?}");
        assert_eq!(events, 0);
    }
}

#[tokio::test]
async fn h_19_a_frame_that_is_no_event_is_named_by_its_number() {
    let bad = [
        "data: {\n\n".to_owned(),
        "data: hello\n\n".to_owned(),
        frame("7"),
        frame("{\"task\":{}}"),
        "data: {\"jsonrpc\":\"2.0\",\"id\":$ID}\n\n".to_owned(),
    ];
    for bad in bad {
        let text = format!("{}{bad}", stream(&[&begun(), &begun()]));
        let (events, outcome) = streamed(WireForm::V1, Act::Hold(text), options()).await;
        let error = outcome.unwrap_err();
        assert!(matches!(error, Error::StreamMalformed { frame: 3, .. }), "{bad}: {error:?}");
        assert_eq!(events, 2, "{bad}");
    }
    let text = format!("{STREAM}data: {}\n\ndata: [1]\n\n", begun());
    let (events, outcome) = streamed(WireForm::V1Http, Act::Hold(text), options()).await;
    assert!(matches!(outcome, Err(Error::StreamMalformed { frame: 2, .. })), "{outcome:?}");
    assert_eq!(events, 1);
}

/// HD-06: what says to be something else is no stream, and is shown; what says nothing is one.
#[tokio::test]
async fn hd_06_another_content_type_than_events_is_no_stream() {
    let page = format!("<html>{}</html>", "sorry ".repeat(100));
    let act = Act::Say(answer("200 OK", "text/html; charset=utf-8", &page));
    let (_, outcome) = streamed(WireForm::V1, act, options()).await;
    match outcome {
        Err(Error::NotA2a { status: StatusCode::OK, content_type, snippet, .. }) => {
            assert_eq!(content_type, "text/html; charset=utf-8");
            assert!(snippet.starts_with("<html>") && snippet.len() <= 256, "{snippet}");
        }
        other => panic!("{other:?}"),
    }
    let silent =
        stream(&[r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}"#]);
    let silent = silent.replace("content-type: text/event-stream\r\n", "");
    let (events, outcome) = streamed(WireForm::V1, Act::Leave(silent), options()).await;
    assert!(outcome.is_ok() && events == 1, "{outcome:?}");
}

#[tokio::test]
async fn h_18_a_json_error_in_place_of_a_stream_is_the_peers_error() {
    let event = r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-32004,"message":"no streams"}}"#;
    let acts = [
        (WireForm::V1, Act::Say(error(-32004, "no streams"))),
        (WireForm::V03, Act::Say(error(-32004, "no streams"))),
        // Python's SDK of 0.3 says it in a stream.
        (WireForm::V03, Act::Leave(format!("{STREAM}data: {event}\n\n"))),
        (WireForm::V1, Act::Leave(format!("{STREAM}data: {event}\n\n"))),
    ];
    for (form, act) in acts {
        let (_, outcome) = streamed(form, act, options()).await;
        let error = outcome.unwrap_err();
        let peer = error.peer().unwrap_or_else(|| panic!("{}: {error:?}", form.name()));
        assert_eq!(peer.kind(), ErrorKind::UnsupportedOperation);
        assert_eq!(peer.message(), "no streams");
    }
}

#[tokio::test]
async fn hg_11_an_answer_to_another_request_is_refused() {
    for id in ["99", "null", "\"x\""] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{TASK}}}"#);
        let act = Act::Say(answer("200 OK", "application/json", &body));
        let error = called(WireForm::V1, act, options()).await.unwrap_err();
        assert!(matches!(error, Error::WrongId { sent: 1, .. }), "{id}: {error:?}");
    }
    let body = format!(r#"{{"jsonrpc":"2.0","id":"$ID","result":{TASK}}}"#);
    let act = Act::Say(answer("200 OK", "application/json", &body));
    called(WireForm::V1, act, options()).await.unwrap();
    let act = Act::Leave(stream(&[&begun()]).replace("$ID", "99"));
    let (_, outcome) = streamed(WireForm::V1, act, options()).await;
    assert!(matches!(outcome, Err(Error::WrongId { .. })), "{outcome:?}");
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_an_error_and_not_cut() {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99999999\r\n\r\n";
    let endless = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
    for act in [Act::Hold(head.to_owned()), Act::Flood(endless.to_owned(), " ".to_owned())] {
        let error = called(WireForm::V1, act, options()).await.unwrap_err();
        assert!(matches!(error, Error::TooLarge { limit: 10_485_760 }), "{error:?}");
    }
}

#[tokio::test]
async fn what_is_no_answer_of_a2a_is_shown() {
    for (form, body) in [
        (WireForm::V1, "hello"),
        (WireForm::V1, "[]"),
        (WireForm::V1Http, "hello"),
        (WireForm::V03, r#"{"jsonrpc":"2.0","id":1,"result":{"kind":"nothing"}}"#),
    ] {
        let act = Act::Say(answer("200 OK", "text/plain", body));
        let error = called(form, act, options()).await.unwrap_err();
        match error {
            Error::NotA2a { content_type, snippet, .. } => {
                assert_eq!((content_type.as_str(), snippet.as_str()), ("text/plain", body));
            }
            other => panic!("{}: {other:?}", form.name()),
        }
    }
    // What is nearly one is found when it is read.
    let error = called(WireForm::V1, Act::Say(result("7")), options()).await.unwrap_err();
    assert_eq!(error.peer().map(ProtocolError::kind), Some(ErrorKind::InvalidAgentResponse));
}

#[tokio::test]
async fn statuses_without_a_word_of_a2a_are_errors_of_their_own() {
    let cases = [
        (401, "Unauthorized", ErrorKind::Unavailable),
        (403, "Forbidden", ErrorKind::Unavailable),
        (404, "Not Found", ErrorKind::TaskNotFound),
        (405, "Method Not Allowed", ErrorKind::UnsupportedOperation),
        (413, "Content Too Large", ErrorKind::TooLarge),
        (415, "Unsupported Media Type", ErrorKind::ContentTypeNotSupported),
        (429, "Too Many Requests", ErrorKind::RateLimited),
        (500, "Internal Server Error", ErrorKind::Internal),
        (503, "Service Unavailable", ErrorKind::Unavailable),
    ];
    for form in [WireForm::V1, WireForm::V1Http, WireForm::V03, WireForm::V03Http] {
        for (code, name, kind) in cases {
            let text = format!(
                "HTTP/1.1 {code} {name}\r\nretry-after: 7\r\ncontent-length: 4\r\n\r\nnope"
            );
            let error = called(form, Act::Say(text.clone()), options()).await.unwrap_err();
            match &error {
                Error::Status { status, retry_after, snippet } => {
                    assert_eq!((status.as_u16(), snippet.as_str()), (code, "nope"));
                    assert_eq!(retry_after.map(|delay| delay.as_secs()), Some(7));
                }
                other => panic!("{}: {other:?}", form.name()),
            }
            assert_eq!(ProtocolError::from(error).kind(), kind, "{code}");
            let (_, outcome) = streamed(form, Act::Say(text), options()).await;
            assert!(matches!(outcome, Err(Error::Status { .. })), "{outcome:?}");
        }
    }
}

#[tokio::test]
async fn what_the_status_tells_is_not_lost_behind_a_general_code() {
    let body = r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"slow down"}}"#;
    let text = answer("429 Too Many Requests", "application/json", body);
    let text = text.replace("\r\n\r\n", "\r\nretry-after: 3\r\n\r\n");
    let error = called(WireForm::V1, Act::Say(text), options()).await.unwrap_err();
    let peer = error.peer().unwrap();
    assert_eq!((peer.kind(), peer.message()), (ErrorKind::RateLimited, "slow down"));
    assert_eq!(peer.retry_after().map(|delay| delay.as_secs()), Some(3));
}

#[tokio::test]
async fn an_error_that_comes_with_200_is_the_peers_error_all_the_same() {
    let google = r#"{"error":{"code":404,"status":"NOT_FOUND","message":"no task t"}}"#;
    let legacy = r#"{"code":-32001,"message":"no task t"}"#;
    for (form, body) in
        [(WireForm::V1Http, google), (WireForm::V03Http, google), (WireForm::V03Http, legacy)]
    {
        let act = Act::Say(answer("200 OK", "application/json", body));
        let error = called(form, act, options()).await.unwrap_err();
        let peer = error.peer().unwrap_or_else(|| panic!("{}: {error:?}", form.name()));
        assert_eq!((peer.kind(), peer.message()), (ErrorKind::TaskNotFound, "no task t"));
    }
    let error = called(WireForm::V1, Act::Say(error(-32001, "no task t")), options()).await;
    assert!(matches!(error, Err(Error::Peer(_))), "{error:?}");
}

#[tokio::test]
async fn redirects_are_named_and_not_followed() {
    let elsewhere = Peer::start([Act::Say(result(TASK))]).await;
    for status in ["301 Moved Permanently", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let text = format!(
            "HTTP/1.1 {status}\r\nlocation: http://{}/secret?path\r\ncontent-length: 0\r\n\r\n",
            elsewhere.address
        );
        let error = called(WireForm::V1, Act::Say(text.clone()), options()).await.unwrap_err();
        match error {
            Error::Redirected { origin, .. } => {
                assert_eq!(origin, format!("http://{}", elsewhere.address));
            }
            other => panic!("{other:?}"),
        }
        let (_, outcome) = streamed(WireForm::V1Http, Act::Say(text), options()).await;
        assert!(matches!(outcome, Err(Error::Redirected { .. })), "{outcome:?}");
    }
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn a_peer_that_speaks_no_grpc_is_a_typed_error() {
    let act = Act::Leave(answer("200 OK", "application/json", "{}"));
    let error = called(WireForm::V1Grpc, act, options()).await.unwrap_err();
    assert!(matches!(error, Error::Net(nuncio_net::Error::Http { .. })), "{error:?}");
}

#[tokio::test]
async fn silence_ends_by_the_clock_of_its_own() {
    let mut options = options();
    options.clocks.first_byte = std::time::Duration::from_millis(50);
    options.clocks.idle = std::time::Duration::from_millis(50);
    options.resumes.in_vain = 0;
    let error = called(WireForm::V1, Act::Hold(String::new()), options.clone()).await.unwrap_err();
    let clock = |error: &Error| match error {
        Error::Net(nuncio_net::Error::Timeout { clock, .. }) => Some(*clock),
        _ => None,
    };
    assert_eq!(clock(&error), Some(nuncio_net::Clock::FirstByte), "{error:?}");
    let act = Act::Hold(stream(&[&begun()]));
    let (events, outcome) = streamed(WireForm::V1, act, options).await;
    let error = outcome.unwrap_err();
    assert_eq!((events, clock(&error)), (1, Some(nuncio_net::Clock::Idle)), "{error:?}");
}

#[tokio::test]
async fn a_whole_stream_is_read_and_its_connection_kept() {
    let message = r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}"#;
    let body = frame(message).replace("$ID", "1");
    let chunked = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n\
         {:x}\r\n{body}\r\n0\r\n\r\n",
        body.len()
    );
    let peer = Peer::start([Act::Say(chunked), Act::Say(result(TASK))]).await;
    let remote = remote_with(peer.address, WireForm::V1, options());
    let request = Request::SendStreamingMessage(send("hello"));
    let events = remote.stream(nobody(), request).await.unwrap();
    assert_eq!(rest(events).await.unwrap().len(), 1);
    remote.call(nobody(), get()).await.unwrap();
    assert_eq!(peer.requests().len(), 2);
}

#[tokio::test]
async fn an_envelope_with_nothing_in_it_is_an_error() {
    for body in [r#"{"jsonrpc":"2.0","id":1}"#, "{}", r#"{"jsonrpc":"2.0","id":1,"error":null}"#] {
        let act = Act::Say(answer("200 OK", "application/json", body));
        let error = called(WireForm::V1, act, options()).await.unwrap_err();
        assert!(!error.is_unsent(), "{error:?}");
    }
}

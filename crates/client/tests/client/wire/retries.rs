//! What is tried again, and what never.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
use nuncio_client::{Credentials, Error, Options, Proof, Remote, Trip};
use nuncio_net::{CheckedUrl, Client, client::Dialer};
use nuncio_protocol::{
    dialect::WireForm,
    ids::TaskId,
    operation::{GetTaskRequest, Request},
    service::TraceContext,
};
use tokio::{net::TcpStream, time::Instant};

use crate::wire::{
    scripted::{Act, Peer, TASK, answer, result},
    support::{client, interface, nobody, patiently, remote, remote_with, send},
};

fn get() -> Request {
    let id = TaskId::parse("t").expect("an id");
    Request::GetTask(GetTaskRequest { tenant: None, id, history_length: None })
}

fn quick() -> Options {
    let mut options = Options::default();
    options.retries.pause = Duration::from_millis(1);
    options
}

/// Counts, and never connects.
#[derive(Clone, Debug, Default)]
struct Nobody(Arc<AtomicU32>);

impl Dialer for Nobody {
    fn dial(&self, _: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Err(io::ErrorKind::ConnectionRefused.into()) })
    }
}

#[tokio::test]
async fn a_peer_that_is_not_reached_is_tried_three_times_whatever_is_asked() {
    for request in [get(), Request::SendMessage(send("hello"))] {
        let dialer = Nobody::default();
        let client =
            Client::builder(client().guard().clone()).dialer(dialer.clone()).build().unwrap();
        let interface = interface(&client, "http://127.0.0.1:9/", WireForm::V1);
        let remote = Remote::builder(client, interface).options(quick()).build();
        let error = patiently(remote.call(nobody(), request)).await.unwrap_err();
        assert!(matches!(&error, Error::Net(nuncio_net::Error::Connect { .. })), "{error:?}");
        assert!(error.is_unsent());
        assert_eq!(dialer.0.load(Ordering::Relaxed), 3);
    }
}

fn busy() -> String {
    "HTTP/1.1 503 Service Unavailable\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n".to_owned()
}

#[tokio::test]
async fn a_peer_that_says_when_is_asked_again_if_that_does_no_harm() {
    let acts = [Act::Say(busy()), Act::Say(busy()), Act::Say(result(TASK))];
    let peer = Peer::start(acts.clone()).await;
    remote_with(peer.address, WireForm::V1, quick()).call(nobody(), get()).await.unwrap();
    assert_eq!(peer.requests().len(), 3);
    // A message might be done twice, unless the peer knows its key.
    let peer = Peer::start(acts.clone()).await;
    let remote = remote_with(peer.address, WireForm::V1, quick());
    let sent = remote.call(nobody(), Request::SendMessage(send("hello"))).await;
    assert!(matches!(sent, Err(Error::Status { .. })), "{sent:?}");
    assert_eq!(peer.requests().len(), 1);
    let mut options = quick();
    options.retries.keys_are_honoured = true;
    let peer = Peer::start(acts).await;
    let remote = remote_with(peer.address, WireForm::V1, options);
    remote.call(nobody(), Request::SendMessage(send("hello"))).await.unwrap();
    let requests = peer.requests();
    let key = |request: &String| {
        let line = request.lines().find(|line| line.starts_with("idempotency-key: "));
        line.expect("every message has a key").to_owned()
    };
    assert_eq!(requests.len(), 3);
    assert!(requests.iter().all(|request| key(request) == key(&requests[0])));
}

#[tokio::test]
async fn an_exchange_that_breaks_off_is_not_repeated() {
    for request in [get(), Request::SendMessage(send("hello"))] {
        let peer = Peer::start([Act::Leave(String::new())]).await;
        let remote = remote_with(peer.address, WireForm::V1, quick());
        let error = patiently(remote.call(nobody(), request)).await.unwrap_err();
        assert!(matches!(&error, Error::Net(nuncio_net::Error::Http { .. })), "{error:?}");
        assert_eq!(peer.requests().len(), 1);
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_behind_its_head_is_one() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{";
    let peer = Peer::start([Act::Leave(head.to_owned())]).await;
    let remote = remote_with(peer.address, WireForm::V1, quick());
    let request = Request::SendMessage(send("hello"));
    let error = patiently(remote.call(nobody(), request)).await.unwrap_err();
    assert!(matches!(&error, Error::BrokenOff { status, .. } if *status == 200), "{error:?}");
    assert!(error.is_failure_of_peer() && !error.is_unsent());
    assert_eq!(peer.requests().len(), 1);
}

#[tokio::test]
async fn nobody_waits_beyond_the_deadline() {
    let later = busy().replace("retry-after: 0", "retry-after: 20");
    let peer = Peer::start([Act::Say(later)]).await;
    let remote = remote(peer.address, WireForm::V1);
    let mut ctx = nobody();
    ctx.deadline = Some((Instant::now() + Duration::from_secs(5)).into_std());
    let error = patiently(remote.call(ctx.clone(), get())).await.unwrap_err();
    assert!(matches!(error, Error::Status { .. }), "{error:?}");
    assert_eq!(peer.requests().len(), 1);
    let silent = Peer::start([Act::Hold(String::new())]).await;
    ctx.deadline = Some((Instant::now() + Duration::from_millis(50)).into_std());
    let remote = remote_with(silent.address, WireForm::V1, quick());
    let error = patiently(remote.call(ctx.clone(), get())).await.unwrap_err();
    let clock = nuncio_net::Clock::Whole;
    assert!(
        matches!(error, Error::Net(nuncio_net::Error::Timeout { clock: ran, .. }) if ran == clock),
        "{error:?}"
    );
    let error = patiently(remote.call(ctx, get())).await.unwrap_err();
    assert!(matches!(error, Error::DeadlineExceeded), "{error:?}");
}

/// A token that is old the first time.
#[derive(Debug)]
struct Token {
    uses: AtomicU32,
    is_renewable: bool,
}

impl Credentials for Token {
    fn prove<'a>(&'a self, _: &'a CheckedUrl, headers: &'a mut HeaderMap) -> Proof<'a> {
        let number = self.uses.fetch_add(1, Ordering::Relaxed);
        let value = HeaderValue::try_from(format!("Bearer {number}")).expect("a fit value");
        headers.insert(AUTHORIZATION, value);
        Box::pin(async { Ok(()) })
    }

    fn refused(&self) -> bool {
        self.is_renewable
    }
}

#[tokio::test]
async fn a_fresh_proof_is_tried_once() {
    let stranger = answer("401 Unauthorized", "text/plain", "who are you?");
    let acts = [Act::Say(stranger.clone()), Act::Say(result(TASK))];
    for (is_renewable, is_answered, requests) in [(true, true, 2), (false, false, 1)] {
        let peer = Peer::start(acts.clone()).await;
        let client = client();
        let interface = interface(&client, &format!("http://{}/", peer.address), WireForm::V1);
        let token = Token { uses: AtomicU32::new(0), is_renewable };
        let remote = Remote::builder(client, interface).credentials(Arc::new(token)).build();
        let sent = remote.call(nobody(), Request::SendMessage(send("hello"))).await;
        assert_eq!(sent.is_ok(), is_answered, "{sent:?}");
        let seen = peer.requests();
        assert_eq!(seen.len(), requests);
        for (number, request) in seen.iter().enumerate() {
            assert!(request.contains(&format!("authorization: Bearer {number}")), "{request}");
        }
    }
    let peer = Peer::start([Act::Say(stranger)]).await;
    let client = client();
    let interface = interface(&client, &format!("http://{}/", peer.address), WireForm::V1);
    let token = Token { uses: AtomicU32::new(0), is_renewable: true };
    let remote = Remote::builder(client, interface).credentials(Arc::new(token)).build();
    let error = remote.call(nobody(), get()).await.unwrap_err();
    assert!(error.is_unauthenticated(), "{error:?}");
    assert_eq!(peer.requests().len(), 2);
}

#[tokio::test]
async fn a_peer_that_fails_is_left_alone_and_one_that_refuses_is_not() {
    let failing = answer("500 Internal Server Error", "text/plain", "oops");
    let refusing = answer("404 Not Found", "text/plain", "what?");
    for (text, is_left_alone) in [(failing, true), (refusing, false)] {
        let peer = Peer::start([Act::Say(text)]).await;
        let breaker = Trip { in_a_row: 3, ..Trip::default() };
        let remote =
            remote_with(peer.address, WireForm::V1, Options { breaker, ..Options::default() });
        for _ in 0..3 {
            let error = remote.call(nobody(), get()).await.unwrap_err();
            assert!(matches!(error, Error::Status { .. }), "{error:?}");
        }
        let error = remote.call(nobody(), get()).await.unwrap_err();
        assert_eq!(matches!(error, Error::BreakerOpen { .. }), is_left_alone, "{error:?}");
        assert_eq!(peer.requests().len(), if is_left_alone { 3 } else { 4 });
    }
}

#[tokio::test]
async fn the_context_of_a_call_is_in_its_headers() {
    let cases = [
        (WireForm::V1, "a2a-version: 1.0", None),
        (WireForm::V1Http, "a2a-version: 1.0", None),
        (WireForm::V03, "a2a-version: 0.3", Some("x-a2a-extensions: urn:a, urn:b")),
        (WireForm::V03Http, "a2a-version: 0.3", Some("x-a2a-extensions: urn:a, urn:b")),
    ];
    for (form, version, legacy) in cases {
        let peer = Peer::start([Act::Say(result(TASK))]).await;
        let remote = remote(peer.address, form);
        let mut ctx = nobody();
        ctx.extensions = ["urn:a", "urn:b"].map(str::to_owned).into();
        ctx.idempotency_key = Some("mine".to_owned());
        let (parent, state) = ("00-1-2-01".to_owned(), "a=b".to_owned());
        ctx.trace = Some(TraceContext { parent, state });
        // Whatever the answer is worth in this form.
        let _ = remote.call(ctx, Request::SendMessage(send("hello"))).await;
        let requests = peer.requests();
        let common = [
            "a2a-extensions: urn:a, urn:b",
            "idempotency-key: mine",
            "traceparent: 00-1-2-01",
            "tracestate: a=b",
            "accept: application/json",
            "content-type: application/json",
        ];
        for line in common.into_iter().chain([version]).chain(legacy) {
            assert!(requests[0].contains(&format!("{line}\r\n")), "{line} in {}", requests[0]);
        }
    }
}

//! Names: resolved once, every address judged, again at each connection (MG-18, P-22, T-13).

use std::{io, net::IpAddr, time::Duration};

use futures_util::future::BoxFuture;
use nuncio_net::{Client, Clock, Code, Error, Guard, Policy, Purpose, Request, egress::Resolver};

use crate::support::{ADMINISTRATOR, CALLER, PUBLIC, Recorder, Script, checked, fetch, refused};

const URL: &str = "https://agent.example/hook";

fn client(policy: Policy, script: &Script, recorder: &Recorder) -> Client {
    let guard = Guard::new(policy).resolver(script.clone());
    Client::builder(guard).dialer(recorder.clone()).build().expect("no roots to be wrong")
}

#[tokio::test]
async fn one_bad_address_refuses_the_name() {
    for bad in ["10.0.0.1", "127.0.0.1", "::1", "fd00::1", "::ffff:10.0.0.1", "64:ff9b::a00:1"] {
        for answer in [[PUBLIC, bad], [bad, PUBLIC], [bad, bad]] {
            let (script, recorder) = (Script::new(&[&answer]), Recorder::default());
            let client = client(Policy::default(), &script, &recorder);
            refused(client.guard().check_resolved(URL, CALLER).await, Code::AddressNotPublic);
            refused(fetch(&client, URL, CALLER).await, Code::AddressNotPublic);
            assert_eq!(recorder.dialed(), [], "{answer:?}");
        }
    }
}

#[tokio::test]
async fn a_name_for_metadata_is_refused_to_administrators_too() {
    let (script, recorder) = (Script::new(&[&["169.254.169.254"]]), Recorder::default());
    let policy = Policy::default().open(Purpose::Webhook, "0.0.0.0/0".parse().unwrap());
    let client = client(policy, &script, &recorder);
    refused(client.guard().check_resolved(URL, ADMINISTRATOR).await, Code::AddressMetadata);
    refused(fetch(&client, URL, ADMINISTRATOR).await, Code::AddressMetadata);
    assert_eq!(recorder.dialed(), []);
}

#[tokio::test]
async fn a_name_that_is_rebound_after_the_check_is_refused_at_connect() {
    let (script, recorder) = (Script::new(&[&[PUBLIC], &["127.0.0.1"]]), Recorder::default());
    let client = client(Policy::default(), &script, &recorder);
    let url = client.guard().check_resolved(URL, CALLER).await.unwrap();
    refused(client.send(Request::get(&url)).await, Code::AddressNotPublic);
    assert_eq!(script.questions(), ["agent.example", "agent.example"]);
    assert_eq!(recorder.dialed(), []);
}

#[tokio::test]
async fn a_connection_asks_the_resolver_once_and_dials_what_was_checked() {
    let (script, recorder) = (Script::new(&[&[PUBLIC], &["127.0.0.1"]]), Recorder::default());
    let client = client(Policy::default(), &script, &recorder);
    let error = fetch(&client, URL, CALLER).await.unwrap_err();
    assert!(matches!(error, Error::Connect { .. }) && error.is_retryable(), "{error}");
    assert_eq!(script.questions(), ["agent.example"]);
    assert_eq!(recorder.dialed(), ["93.184.216.34:443".parse().unwrap()]);
}

#[tokio::test]
async fn localhost_is_loopback_whatever_the_resolver_says() {
    let (script, recorder) = (Script::new(&[&[PUBLIC]]), Recorder::default());
    let client = client(Policy::default(), &script, &recorder);
    for host in ["localhost", "localhost.", "a.localhost", "LOCALHOST"] {
        let url = format!("https://{host}/");
        refused(client.guard().check_resolved(&url, CALLER).await, Code::AddressNotPublic);
    }
    assert_eq!(script.questions(), [""; 0]);
}

#[tokio::test]
async fn a_url_that_a_laxer_guard_checked_is_checked_again() {
    let lax = Guard::new(Policy::default().dangerously_open_loopback_to_callers());
    let (script, recorder) = (Script::new(&[&[PUBLIC]]), Recorder::default());
    let client = client(Policy::default(), &script, &recorder);
    for (text, code) in [
        ("https://127.0.0.1/", Code::AddressNotPublic),
        ("https://localhost/", Code::AddressNotPublic),
        ("http://[::1]/", Code::UrlPlainHttp),
    ] {
        let url = checked(&lax, text);
        refused(client.guard().addresses(&url).await, code);
        refused(client.send(Request::get(&url)).await, code);
    }
    assert_eq!(recorder.dialed(), []);
}

#[tokio::test]
async fn a_name_without_addresses_is_not_reached() {
    let (script, recorder) = (Script::new(&[&[]]), Recorder::default());
    let client = client(Policy::default(), &script, &recorder);
    let error = client.guard().check_resolved(URL, CALLER).await.unwrap_err();
    assert!(matches!(error, Error::Resolve { .. }), "{error}");
    let error = fetch(&client, URL, CALLER).await.unwrap_err();
    assert!(matches!(error, Error::Resolve { .. }) && error.is_retryable(), "{error}");
    assert_eq!(recorder.dialed(), []);
}

#[derive(Debug)]
struct Hung;

impl Resolver for Hung {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_hung_resolver_is_given_two_seconds() {
    let recorder = Recorder::default();
    let guard = Guard::new(Policy::default()).resolver(Hung);
    let client = Client::builder(guard.clone()).dialer(recorder.clone()).build().unwrap();
    let start = tokio::time::Instant::now();
    let error = guard.check_resolved(URL, CALLER).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { clock: Clock::Resolve, .. }), "{error}");
    assert_eq!(start.elapsed(), Duration::from_secs(2));
    let error = fetch(&client, URL, CALLER).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { clock: Clock::Resolve, .. }), "{error}");
    assert!(error.is_unsent());
    assert_eq!(start.elapsed(), Duration::from_secs(4));
    assert_eq!(recorder.dialed(), []);
}

#[tokio::test]
async fn the_error_does_not_tell_what_a_name_leads_to() {
    let script = Script::new(&[&["10.1.2.3"]]);
    let guard = Guard::new(Policy::default()).resolver(script);
    let error = guard.check_resolved(URL, CALLER).await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains("10.1.2.3"), "{error:?}");
}

#[tokio::test]
async fn the_system_knows_an_address_written_as_a_name() {
    let found = nuncio_net::egress::SystemResolver::default().resolve("127.0.0.1").await;
    assert_eq!(found.unwrap(), ["127.0.0.1".parse::<IpAddr>().unwrap()]);
}

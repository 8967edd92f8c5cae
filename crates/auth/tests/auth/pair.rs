//! Pair tokens at a gatekeeper, with a real hub: its keys, its epoch, its moods.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use nuncio_auth::{
    Gatekeeper, Method, Refusal, Why,
    pair::{Hub, Minter, Pair, Verifier},
};
use nuncio_net::{Client, Errand, Guard, Policy, Purpose};
use nuncio_protocol::{
    ids::{AgentId, Organisation},
    json,
    time::Timestamp,
};
use tokio::{net::TcpListener, sync::watch};
use tokio_util::task::AbortOnDropHandle;

use crate::support::admit_token;

const ISSUER: &str = "https://hub.example";

/// A hub that publishes keys and holds questions for the epoch back.
struct ScriptedHub {
    url: String,
    shared: Arc<Shared>,
    _accepting: AbortOnDropHandle<()>,
}

struct Shared {
    epoch: watch::Sender<u64>,
    minter: Mutex<Minter>,
    questions: Mutex<Vec<String>>,
    status: AtomicU64,
}

impl ScriptedHub {
    async fn start(epoch: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let shared = Arc::new(Shared {
            epoch: watch::Sender::new(epoch),
            minter: Mutex::new(Minter::generate(ISSUER).expect("a key")),
            questions: Mutex::default(),
            status: AtomicU64::new(200),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { url, shared, _accepting: AbortOnDropHandle::new(accepting) }
    }

    fn verifier(&self) -> Verifier {
        let policy = Policy::default()
            .open(Purpose::Keys, "127.0.0.0/8".parse().expect("a range"))
            .allow_http(Errand::administrator(Purpose::Keys));
        let client = Client::new(Guard::new(policy));
        let keys = format!("{}/.well-known/jwks.json", self.url);
        let organisation = Organisation::parse("a&me").expect("an organisation");
        Verifier::with_key_url(ISSUER, agent("writer"), organisation, (&client, &keys))
            .expect("an open range")
            .hub(Hub::new(&client, &self.url).expect("an open range").bearer(&"nk_secret".into()))
    }

    fn mint(&self, epoch: u64) -> String {
        let (lead, writer) = (agent("lead"), agent("writer"));
        let organisation = Organisation::parse("a&me").expect("an organisation");
        let pair = Pair::new(&lead, &writer, &organisation, epoch);
        let minter = self.shared.minter.lock().unwrap_or_else(PoisonError::into_inner);
        minter.mint(&pair, Timestamp::now()).expect("a token").token.expose().to_owned()
    }

    fn questions(&self) -> Vec<String> {
        self.shared.questions.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok((connection, _)) = listener.accept().await else { continue };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let service = service_fn(|request| shared.answer(request));
            // How a client ends its connection is its own affair.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(connection), service).await;
        });
    }
}

impl Shared {
    async fn answer(&self, request: Request<Incoming>) -> http::Result<Response<Full<Bytes>>> {
        if request.uri().path() == "/.well-known/jwks.json" {
            let keys = self.minter.lock().unwrap_or_else(PoisonError::into_inner).key_set();
            return Ok(Response::new(json::to_string(&keys).into()));
        }
        let shown = request.headers().get("authorization").and_then(|value| value.to_str().ok());
        assert_eq!(shown, Some("Bearer nk_secret"));
        let query = request.uri().query().unwrap_or_default().to_owned();
        self.questions.lock().unwrap_or_else(PoisonError::into_inner).push(query.clone());
        let after = query.split('&').find_map(|pair| pair.strip_prefix("after="));
        let after = after.map(|number| number.parse::<u64>().expect("a number"));
        let mut epochs = self.epoch.subscribe();
        let epoch = match after {
            Some(after) => *epochs.wait_for(|epoch| *epoch > after).await.expect("it lives"),
            None => *epochs.borrow(),
        };
        let status = u16::try_from(self.status.load(Ordering::Relaxed)).expect("a status");
        Response::builder().status(status).body(format!(r#"{{"epoch":{epoch}}}"#).into())
    }
}

fn agent(text: &str) -> AgentId {
    AgentId::parse(text).expect("an id")
}

fn gatekeeper(verifier: &Verifier) -> Gatekeeper {
    Gatekeeper::builder().pair_tokens(verifier.clone()).build().expect("a way in")
}

#[tokio::test]
async fn a_pair_token_lets_its_caller_in_until_the_hub_tells_of_new_rules() {
    let hub = ScriptedHub::start(7).await;
    let verifier = hub.verifier();
    let gatekeeper = gatekeeper(&verifier);
    let old = hub.mint(7);
    let identity = admit_token(&gatekeeper, &old).await.unwrap();
    assert_eq!((identity.name(), identity.method), (Some("lead"), Method::Pair));
    assert_eq!(identity.organisation.as_deref(), Some("a&me"));

    hub.shared.epoch.send_replace(8);
    identity.ended().await;
    assert_eq!(admit_token(&gatekeeper, &old).await, Err(Why::Epoch.into()));
    admit_token(&gatekeeper, &hub.mint(8)).await.unwrap();
    let questions = hub.questions();
    assert_eq!(questions[0], "organisation=a%26me");
    assert_eq!(questions[1], "organisation=a%26me&after=7&wait=25");
}

#[tokio::test]
async fn an_agent_that_just_began_takes_no_token_from_before_the_last_change() {
    let hub = ScriptedHub::start(9).await;
    let gatekeeper = gatekeeper(&hub.verifier());
    assert_eq!(admit_token(&gatekeeper, &hub.mint(7)).await, Err(Why::Epoch.into()));
    admit_token(&gatekeeper, &hub.mint(9)).await.unwrap();
}

#[tokio::test]
async fn a_hub_that_goes_back_or_fails_changes_nothing() {
    let hub = ScriptedHub::start(9).await;
    let verifier = hub.verifier();
    let gatekeeper = gatekeeper(&verifier);
    admit_token(&gatekeeper, &hub.mint(9)).await.unwrap();
    hub.shared.epoch.send_replace(3);
    hub.shared.status.store(500, Ordering::Relaxed);
    hub.shared.epoch.send_replace(20);
    // It is asked again after it has failed.
    while hub.questions().len() < 3 {
        tokio::task::yield_now().await;
    }
    assert_eq!(verifier.lowest_epoch(), 9);
    admit_token(&gatekeeper, &hub.mint(9)).await.unwrap();
    hub.shared.status.store(200, Ordering::Relaxed);
    let lease = admit_token(&gatekeeper, &hub.mint(9)).await.unwrap();
    lease.ended().await;
    assert_eq!(verifier.lowest_epoch(), 20);
}

#[tokio::test]
async fn t05_a_rotated_key_is_found() {
    let hub = ScriptedHub::start(7).await;
    let gatekeeper = gatekeeper(&hub.verifier());
    let old = hub.mint(7);
    hub.shared.minter.lock().unwrap().rotate().unwrap();
    admit_token(&gatekeeper, &hub.mint(7)).await.unwrap();
    admit_token(&gatekeeper, &old).await.unwrap();
}

#[tokio::test]
async fn who_has_no_verifier_takes_no_pair_token() {
    let hub = ScriptedHub::start(7).await;
    let keys = nuncio_auth::ApiKeys::default();
    let gatekeeper = Gatekeeper::builder().api_keys(keys).build().unwrap();
    assert_eq!(admit_token(&gatekeeper, &hub.mint(7)).await, Err(Why::NotTaken.into()));
    let verifier = hub.verifier();
    let only_pairs = self::gatekeeper(&verifier);
    assert_eq!(admit_token(&only_pairs, "a.b.c").await, Err(Why::NotTaken.into()));
    assert_eq!(crate::support::admit(&only_pairs, &[]).await, Err(Refusal::Missing));
    let mut card = nuncio_protocol::card::AgentCard::builder("a").description("b").build();
    only_pairs.describe(&mut card);
    assert_eq!(card.security_schemes.keys().collect::<Vec<_>>(), ["bearer"]);
}

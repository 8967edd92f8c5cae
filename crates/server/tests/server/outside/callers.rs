//! Callers who are not who they say, or want what is not theirs (A-AUTH, A-TEN).

use std::{io, sync::Arc};

use aws_lc_rs::hmac;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use nuncio_auth::{Gatekeeper, JwtIssuer, Mtls};
use nuncio_net::{
    Client, Guard, Policy,
    egress::{Errand, Purpose},
    listen::{ClientAuth, Tls},
};
use nuncio_protocol::{
    card::sign::{Algorithm, KeySet, Signer},
    ids::{ContextId, Tenant},
    operation::{ListTasksRequest, Request, Response},
    service::Caller,
    task::SendMessageResponse,
    time::Timestamp,
    version::Version,
};
use nuncio_testkit::wire::{Binding, Http, Wire};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{PrivateKeyDer, ServerName},
};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

use crate::outside::support::{Callers, Served, begin, scripted, send};

const V1: (&str, &str) = ("a2a-version", "1.0");

/// Every way to call, as a request of HTTP.
pub(crate) const ROUTES: [(&str, &str, &str); 17] = [
    ("POST", "/", r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}"#),
    ("POST", "/a2a", r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}"#),
    ("GET", "/", ""),
    ("POST", "/message:send", "{}"),
    ("POST", "/message:stream", "{}"),
    ("GET", "/tasks", ""),
    ("GET", "/tasks/x", ""),
    ("POST", "/tasks/x:cancel", ""),
    ("GET", "/tasks/x:subscribe", ""),
    ("POST", "/tasks/x/pushNotificationConfigs", "{}"),
    ("GET", "/tasks/x/pushNotificationConfigs", ""),
    ("GET", "/tasks/x/pushNotificationConfigs/y", ""),
    ("DELETE", "/tasks/x/pushNotificationConfigs/y", ""),
    ("GET", "/extendedAgentCard", ""),
    ("GET", "/acme/tasks", ""),
    ("GET", "/v1/tasks/x", ""),
    ("GET", "/nothing", ""),
];

#[tokio::test]
async fn every_route_needs_a_credential() {
    let callers = Callers::new();
    let served = Served::start(scripted().gatekeeper(callers.gatekeeper())).await;
    for (method, path, body) in ROUTES {
        for headers in [
            vec![V1],
            vec![],
            // Who merely says who they are has said nothing.
            vec![
                V1,
                ("x-forwarded-user", "ann"),
                ("x-remote-user", "ann"),
                ("x-caller", "ann"),
                ("x-nuncio-caller", "ann"),
                ("x-forwarded-for", "127.0.0.1"),
                ("forwarded", "for=127.0.0.1"),
            ],
        ] {
            let reply = served.http().request(method, path, &headers, body).await;
            assert_eq!(reply.status, 401, "{method} {path}: {}", reply.text());
            assert_eq!(reply.header("www-authenticate"), r#"Bearer realm="nuncio""#);
        }
    }
    for wire in Wire::all(&served.http()).iter().filter(|wire| wire.binding == Binding::Grpc) {
        for method in ["GetTask", "SendMessage", "SendStreamingMessage", "CancelTask", "Nothing"] {
            let refused = wire.rpc(method, b"").await.expect_err("nobody calls");
            assert_eq!(refused.code, 16, "{method}: {refused:?}");
        }
    }
    // What is for everybody is for everybody.
    for path in ["/.well-known/agent-card.json", "/.well-known/agent.json", "/healthz", "/readyz"] {
        assert_eq!(served.http().request("GET", path, &[], "").await.status, 200, "{path}");
    }
}

/// The outcome of a call that is harmless, on each binding.
async fn statuses(http: &Http, headers: &[(&str, &str)]) -> [i32; 3] {
    let mut http = http.clone();
    for (name, value) in headers {
        http = http.with(name, value);
    }
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}"#;
    let rpc = http.request("POST", "/", &[V1], body).await.status;
    let rest = http.request("GET", "/tasks", &[V1], "").await.status;
    let wire = Wire { binding: Binding::Grpc, version: Version::V1_0, http };
    let grpc = wire.rpc("ListTasks", b"").await.map_or_else(|refused| refused.code, |()| 0);
    [rpc.into(), rest.into(), grpc]
}

const LET_IN: [i32; 3] = [200, 200, 0];
const UNAUTHENTICATED: [i32; 3] = [401, 401, 16];
const SEVERAL: [i32; 3] = [400, 400, 3];

#[tokio::test]
async fn one_valid_credential_is_taken_and_no_other() {
    let callers = Callers::new();
    let served = Served::start(scripted().gatekeeper(callers.gatekeeper())).await;
    let http = served.http();
    let (ann, bob) = (callers.ann.to_string(), callers.bob.to_string());
    let wrong = {
        let mut wrong = ann.clone();
        let last = wrong.pop().expect("it is long");
        wrong.push(if last == 'A' { 'B' } else { 'A' });
        wrong
    };
    for (headers, expected) in [
        (vec![("x-api-key", ann.as_str())], LET_IN),
        (vec![("x-api-key", &wrong)], UNAUTHENTICATED),
        (vec![("x-api-key", "")], UNAUTHENTICATED),
        (vec![("x-api-key", "nk_")], UNAUTHENTICATED),
        (vec![("x-api-key", &ann), ("x-api-key", &bob)], SEVERAL),
        (vec![("x-api-key", &ann), ("x-api-key", &ann)], SEVERAL),
    ] {
        assert_eq!(statuses(&http, &headers).await, expected, "{headers:?}");
    }
    // A key in the URL is none.
    let path = format!("/tasks?api_key={ann}");
    assert_eq!(http.request("GET", &path, &[V1], "").await.status, 401);
    let reply = http.request("GET", &path, &[V1, ("x-api-key", &ann)], "").await;
    assert_eq!(reply.status, 400);
}

#[tokio::test]
async fn a_revoked_key_is_refused_at_once() {
    let callers = Callers::new();
    let served = Served::start(scripted().gatekeeper(callers.gatekeeper())).await;
    let (ann, bob) = (callers.ann(&served), callers.bob(&served));
    assert_eq!(statuses(&ann, &[]).await, LET_IN);
    assert!(callers.keys.revoke(callers.ann.id()));
    assert_eq!(statuses(&ann, &[]).await, UNAUTHENTICATED);
    assert_eq!(statuses(&bob, &[]).await, LET_IN);
}

const ISSUER: &str = "https://issuer.example";
const AUDIENCE: &str = "nuncio";

fn token(header: &Value, claims: &Value, sign: impl FnOnce(&[u8]) -> Vec<u8>) -> String {
    let encode = |text: &Value| URL_SAFE_NO_PAD.encode(text.to_string());
    let signed = format!("{}.{}", encode(header), encode(claims));
    let signature = URL_SAFE_NO_PAD.encode(sign(signed.as_bytes()));
    format!("{signed}.{signature}")
}

#[tokio::test]
async fn tokens_are_taken_only_as_their_issuer_made_them() {
    let signer = Signer::generate(Algorithm::Es256).expect("a key").with_kid("k");
    let other = Signer::generate(Algorithm::Es256).expect("a key").with_kid("k");
    let keys = [signer.public_key().clone()].into_iter().collect();
    let gatekeeper = Gatekeeper::builder()
        .jwt(JwtIssuer::with_keys(ISSUER, AUDIENCE, keys))
        .guess_limit(nuncio_auth::GuessLimit::new(10_000, std::time::Duration::from_secs(1)))
        .build()
        .expect("a way in");
    let served = Served::start(scripted().gatekeeper(gatekeeper)).await;
    let now = Timestamp::now().to_parts().0;
    let good = json!({"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "iat": now, "exp": now + 300});
    let with = |key: &str, value: Value| {
        let mut claims = good.clone();
        match value {
            Value::Null => drop(claims.as_object_mut().expect("an object").remove(key)),
            value => claims[key] = value,
        }
        claims
    };
    let header = json!({"alg": "ES256", "kid": "k"});
    let by = |signer: &Signer, claims: &Value| {
        token(&header, claims, |bytes| signer.sign_bytes(bytes).expect("a signature"))
    };
    let unknown = token(&json!({"alg": "ES256", "kid": "other"}), &good, |bytes| {
        signer.sign_bytes(bytes).expect("a signature")
    });
    for (name, text, expected) in [
        ("good", by(&signer, &good), LET_IN),
        ("another's key", by(&other, &good), UNAUTHENTICATED),
        ("a key that nobody knows", unknown, UNAUTHENTICATED),
        ("none", token(&json!({"alg": "none"}), &good, |_| Vec::new()), UNAUTHENTICATED),
        (
            "none with a key",
            token(&json!({"alg": "none", "kid": "k"}), &good, |_| Vec::new()),
            UNAUTHENTICATED,
        ),
        ("expired", by(&signer, &with("exp", json!(now - 61))), UNAUTHENTICATED),
        ("without end", by(&signer, &with("exp", Value::Null)), UNAUTHENTICATED),
        ("for years", by(&signer, &with("exp", json!(now + 99_999_999))), UNAUTHENTICATED),
        ("for others", by(&signer, &with("aud", json!("others"))), UNAUTHENTICATED),
        ("for others too", by(&signer, &with("aud", json!([AUDIENCE, "others"]))), UNAUTHENTICATED),
        ("of another issuer", by(&signer, &with("iss", json!("https://x"))), UNAUTHENTICATED),
        ("garbage", "x.y.z".to_owned(), UNAUTHENTICATED),
    ] {
        let bearer = format!("Bearer {text}");
        let found = statuses(&served.http(), &[("authorization", &bearer)]).await;
        assert_eq!(found, expected, "{name}");
    }
    let reply = served.http().request("GET", "/tasks", &[("authorization", "Bearer x")], "").await;
    assert!(reply.header("www-authenticate").contains("invalid_token"));
    // Why, is not said.
    assert!(!reply.text().contains("parts") && !reply.text().contains("base64"));
}

/// Who has the public key cannot sign with it, whatever algorithm the token names.
#[tokio::test]
async fn a_public_rsa_key_is_not_a_shared_secret() {
    let signer = Signer::generate(Algorithm::Rs256).expect("a key").with_kid("k");
    let key: KeySet = [signer.public_key().clone()].into_iter().collect();
    let jwk = nuncio_protocol::json::to_string(signer.public_key());
    let modulus = serde_json::from_str::<Value>(&jwk).expect("a key")["n"].clone();
    let modulus = URL_SAFE_NO_PAD.decode(modulus.as_str().expect("a text")).expect("a number");
    let gatekeeper = Gatekeeper::builder()
        .jwt(JwtIssuer::with_keys(ISSUER, AUDIENCE, key))
        .guess_limit(nuncio_auth::GuessLimit::new(10_000, std::time::Duration::from_secs(1)))
        .build()
        .expect("a way in");
    let served = Served::start(scripted().gatekeeper(gatekeeper)).await;
    let now = Timestamp::now().to_parts().0;
    let good = json!({"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "iat": now, "exp": now + 300});
    let right = token(&json!({"alg": "RS256", "kid": "k"}), &good, |bytes| {
        signer.sign_bytes(bytes).expect("a signature")
    });
    let bearer = |text: &str| format!("Bearer {text}");
    let found = statuses(&served.http(), &[("authorization", &bearer(&right))]).await;
    assert_eq!(found, LET_IN);
    for secret in [jwk.as_bytes(), &modulus] {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let forged = token(&json!({"alg": "HS256", "kid": "k"}), &good, |bytes| {
            hmac::sign(&key, bytes).as_ref().to_vec()
        });
        let found = statuses(&served.http(), &[("authorization", &bearer(&forged))]).await;
        assert_eq!(found, UNAUTHENTICATED);
    }
}

/// Whether the token is good cannot be known, so its bearer is told to come back.
#[tokio::test]
async fn a_token_cannot_be_checked_while_its_issuer_is_down() {
    let nobody = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/keys", nobody.local_addr().expect("an address"));
    drop(nobody);
    let policy = Policy::default()
        .open(Purpose::Keys, "127.0.0.0/8".parse().expect("a range"))
        .allow_http(Errand::administrator(Purpose::Keys));
    let client = Client::new(Guard::new(policy));
    let issuer = JwtIssuer::with_key_url(ISSUER, AUDIENCE, &client, &url).expect("it is open");
    let gatekeeper = Gatekeeper::builder().jwt(issuer).build().expect("a way in");
    let served = Served::start(scripted().gatekeeper(gatekeeper)).await;
    let signer = Signer::generate(Algorithm::Es256).expect("a key").with_kid("k");
    let now = Timestamp::now().to_parts().0;
    let claims =
        json!({"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "iat": now, "exp": now + 300});
    let text = token(&json!({"alg": "ES256", "kid": "k"}), &claims, |bytes| {
        signer.sign_bytes(bytes).expect("a signature")
    });
    let bearer = format!("Bearer {text}");
    let headers = [("authorization", bearer.as_str())];
    assert_eq!(statuses(&served.http(), &headers).await, [503, 503, 14]);
    let headers = [V1, headers[0]];
    let reply = served.http().request("GET", "/tasks", &headers, "").await;
    assert!(!reply.header("retry-after").is_empty(), "{}", reply.text());
}

#[tokio::test]
async fn a_certificate_lets_in_whom_it_names() {
    let issuer = {
        let mut params = CertificateParams::new([]).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        CertifiedIssuer::self_signed(params, key).expect("a certificate")
    };
    let issue = |name: &str, usage| {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new([name.to_owned()]).expect("a name");
        params.extended_key_usages = vec![usage];
        let certificate = params.signed_by(&key, &issuer).expect("a certificate");
        (certificate, key)
    };
    let (certificate, key) = issue("localhost", ExtendedKeyUsagePurpose::ServerAuth);
    let tls = Tls::from_pem(certificate.pem().as_bytes(), key.serialize_pem().as_bytes())
        .expect("a pair")
        .client_roots(issuer.pem().as_bytes(), ClientAuth::Optional)
        .expect("a root");
    let mtls = Mtls::new().dns_name("ann.example", Caller::Agent("ann".into()));
    let gatekeeper = Gatekeeper::builder().mtls(mtls).build().expect("a way in");
    let served = Served::start(scripted().gatekeeper(gatekeeper).tls(tls)).await;

    let address = served.address;
    let mut roots = RootCertStore::empty();
    roots.add(issuer.der().clone()).expect("a root");
    let http = |name: Option<&str>| {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots.clone());
        let config = match name {
            None => builder.with_no_client_auth(),
            Some(name) => {
                let (certificate, key) = issue(name, ExtendedKeyUsagePurpose::ClientAuth);
                let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
                builder.with_client_auth_cert(vec![certificate.der().clone()], key).expect("a pair")
            }
        };
        let connector = TlsConnector::from(Arc::new(config));
        Http::over("localhost", move || {
            let connector = connector.clone();
            async move {
                let tcp = TcpStream::connect(address).await?;
                let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
                connector.connect(name, tcp).await
            }
        })
    };
    assert_eq!(statuses(&http(Some("ann.example")), &[]).await, LET_IN);
    let refused = statuses(&http(Some("bob.example")), &[]).await;
    assert!([UNAUTHENTICATED, [403, 403, 7]].contains(&refused), "{refused:?}");
    assert_eq!(statuses(&http(None), &[]).await, UNAUTHENTICATED);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_theirs_is_not_there() {
    let callers = Callers::new();
    let served = Served::start(scripted().gatekeeper(callers.gatekeeper())).await;
    for ann in Wire::current(&callers.ann(&served)) {
        let bob = Wire { http: callers.bob(&served), ..ann.clone() };
        let theirs = begin(&bob, "hold").await;
        // Their conversation is theirs: nobody else begins a task in it.
        let mut request = send("hold");
        request.message.context_id = theirs.context_id.clone();
        let refused = ann.call(Request::SendMessage(request)).await.expect_err("not theirs");
        assert_eq!(refused.error.reason(), "INVALID_PARAMS", "{refused:?}");
        assert_eq!(refused.error.violations()[0].field, "message.contextId");
        let mut unknown = send("hold");
        unknown.message.context_id = ContextId::parse("a-new-one").ok();
        ann.call(Request::SendMessage(unknown)).await.expect("a new conversation is taken");

        // Resuming is no way around.
        let subscribe =
            Request::SubscribeToTask(nuncio_protocol::operation::SubscribeToTaskRequest {
                tenant: None,
                id: theirs.id,
            });
        for last in [None, Some(0), Some(1), Some(99)] {
            let refused = ann.stream(subscribe.clone(), last).await.expect_err("not theirs");
            assert_eq!(refused.error.reason(), "TASK_NOT_FOUND", "{last:?}");
        }

        // A page of theirs is no page of mine.
        begin(&bob, "hold").await;
        let mut list = ListTasksRequest { page_size: Some(1), ..Default::default() };
        let answered = bob.call(Request::ListTasks(list.clone())).await.expect("a page");
        let Response::Tasks(page) = answered else { panic!("no page") };
        assert!(!page.next_page_token.is_empty());
        list.page_token = page.next_page_token;
        let refused = ann.call(Request::ListTasks(list.clone())).await.expect_err("not theirs");
        assert_eq!(refused.error.reason(), "INVALID_PARAMS");
        assert_eq!(refused.error.violations()[0].field, "pageToken");
        // Nor of another tenant.
        list.tenant = Tenant::parse("acme").ok();
        let refused = bob.call(Request::ListTasks(list)).await.expect_err("not there");
        assert_eq!(refused.error.reason(), "INVALID_PARAMS");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_message_ids_of_two_callers_or_tenants_are_two_messages() {
    let callers = Callers::new();
    let served = Served::start(scripted().gatekeeper(callers.gatekeeper())).await;
    for ann in Wire::current(&callers.ann(&served)) {
        let bob = Wire { http: callers.bob(&served), ..ann.clone() };
        let request = send("hold");
        let mut in_acme = request.clone();
        in_acme.tenant = Tenant::parse("acme").ok();
        let mut found = Vec::new();
        for (wire, request) in
            [(&ann, &request), (&ann, &request), (&bob, &request), (&ann, &in_acme)]
        {
            match wire.call(Request::SendMessage(request.clone())).await.expect("it is taken") {
                Response::SendMessage(SendMessageResponse::Task(task)) => found.push(task.id),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(found[0], found[1], "the same message is the same task");
        assert!(found[0] != found[2] && found[0] != found[3] && found[2] != found[3]);
    }
}

//! Client certificates.

use http::HeaderMap;
use nuncio_auth::{
    ApiKey, ApiKeys, Certificate, Gatekeeper, Identity, Method, Mtls, Presented, Refusal, Why,
};
use nuncio_protocol::service::Caller;

use crate::support::header_map;

/// What a certificate says.
#[derive(Default)]
struct Named {
    uris: Vec<String>,
    dns_names: Vec<String>,
    common_name: Option<&'static str>,
    fingerprint: [u8; 32],
}

fn uri(uri: &str) -> Named {
    Named { uris: vec![uri.to_owned()], ..Named::default() }
}

fn dns(name: &str) -> Named {
    Named { dns_names: vec![name.to_owned()], ..Named::default() }
}

fn agent(name: &str) -> Caller {
    Caller::Agent(name.into())
}

async fn show(
    gatekeeper: &Gatekeeper,
    names: &Named,
    headers: &HeaderMap,
) -> Result<Identity, Refusal> {
    let certificate = Certificate {
        der: &[],
        dns_names: &names.dns_names,
        uris: &names.uris,
        common_name: names.common_name,
        fingerprint: names.fingerprint,
    };
    let address = "192.0.2.1:4000".parse().expect("an address");
    let presented = Presented { headers, query: None, address, certificate: Some(certificate) };
    gatekeeper.admit(presented).await
}

async fn check(mtls: &Mtls, names: Named, expected: Result<Caller, Refusal>) {
    let gatekeeper = Gatekeeper::builder().mtls(mtls.clone()).build().expect("a way in");
    let found = show(&gatekeeper, &names, &HeaderMap::new()).await;
    let about = format!("{:?} {:?} {:?}", names.uris, names.dns_names, names.common_name);
    assert_eq!(found.map(|identity| identity.caller), expected, "{about}");
}

#[tokio::test]
async fn a_certificate_means_the_agent_it_names_and_no_other() {
    let mtls = Mtls::new()
        .agents_by_uri("spiffe://example.org/agent/")
        .agents_by_domain("agents.example.org")
        .uri("urn:ops", Caller::User("ops".into()))
        .common_name("legacy", agent("legacy"));
    let forbidden = || Err(Refusal::Forbidden);
    check(&mtls, uri("spiffe://example.org/agent/billing"), Ok(agent("billing"))).await;
    check(&mtls, dns("billing.agents.example.org"), Ok(agent("billing"))).await;
    check(&mtls, dns("Billing.Agents.example.org"), Ok(agent("billing"))).await;
    check(&mtls, uri("urn:ops"), Ok(Caller::User("ops".into()))).await;
    let legacy = || Named { common_name: Some("legacy"), ..Named::default() };
    check(&mtls, legacy(), Ok(agent("legacy"))).await;

    check(&mtls, Named::default(), forbidden()).await;
    check(&mtls, uri("spiffe://example.org/agent/"), forbidden()).await;
    check(&mtls, uri("spiffe://example.org/agent/a/b"), forbidden()).await;
    check(&mtls, uri("spiffe://example.org/agent/.."), forbidden()).await;
    check(&mtls, uri("spiffe://example.org/agent/a%2fb"), forbidden()).await;
    check(&mtls, uri("spiffe://example.com/agent/billing"), forbidden()).await;
    check(&mtls, uri("https://evil/spiffe://example.org/agent/billing"), forbidden()).await;
    check(&mtls, dns("a.b.agents.example.org"), forbidden()).await;
    check(&mtls, dns("*.agents.example.org"), forbidden()).await;
    check(&mtls, dns("evilagents.example.org"), forbidden()).await;
    // A common name counts only where there is nothing better.
    check(&mtls, Named { dns_names: vec!["x.example".to_owned()], ..legacy() }, forbidden()).await;
    // Who names two agents is neither.
    let both = ["billing", "sales"].map(|name| format!("spiffe://example.org/agent/{name}"));
    check(&mtls, Named { uris: both.to_vec(), ..Named::default() }, forbidden()).await;
}

#[tokio::test]
async fn a_pinned_agent_is_known_by_its_pin_alone() {
    let mtls =
        Mtls::new().agents_by_uri("spiffe://example.org/agent/").pin([7; 32], agent("billing"));
    let with = |name: &str, fingerprint| Named {
        fingerprint,
        ..uri(&format!("spiffe://example.org/agent/{name}"))
    };
    check(&mtls, with("billing", [7; 32]), Ok(agent("billing"))).await;
    check(&mtls, with("billing", [8; 32]), Err(Refusal::Forbidden)).await;
    check(&mtls, with("sales", [8; 32]), Ok(agent("sales"))).await;
}

#[tokio::test]
async fn a_certificate_and_a_key_are_two_credentials_unless_configured() {
    let (key, record) = ApiKey::generate("alice");
    let keys = ApiKeys::from_iter([record]);
    let mtls = Mtls::new().agents_by_uri("spiffe://example.org/agent/");
    let build = |mtls: Mtls| {
        Gatekeeper::builder().api_keys(keys.clone()).mtls(mtls).build().expect("a way in")
    };
    let known = uri("spiffe://example.org/agent/proxy");
    let headers = header_map(&[("x-api-key", &key.to_string())]);

    let strict = build(mtls.clone());
    assert_eq!(show(&strict, &known, &headers).await, Err(Refusal::Several));
    let alone = show(&strict, &known, &HeaderMap::new()).await.unwrap();
    assert_eq!((alone.caller, alone.method), (agent("proxy"), Method::Mtls));

    let shared = build(mtls.beside_tokens());
    let beside = show(&shared, &known, &headers).await.unwrap();
    assert_eq!((beside.name(), beside.method), (Some("alice"), Method::ApiKey));
    assert_eq!(show(&shared, &uri("urn:x"), &headers).await, Err(Refusal::Forbidden));
    let wrong = header_map(&[("x-api-key", "nk_x")]);
    assert_eq!(show(&shared, &known, &wrong).await, Err(Why::KeyText.into()));
}

#[tokio::test]
async fn a_certificate_means_nothing_where_certificates_are_no_way_in() {
    let keys = ApiKeys::from_iter([ApiKey::generate("alice").1]);
    let gatekeeper = Gatekeeper::builder().api_keys(keys).build().unwrap();
    let found = show(&gatekeeper, &uri("urn:x"), &HeaderMap::new()).await;
    assert_eq!(found, Err(Refusal::Missing));
}

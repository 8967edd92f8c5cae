//! One case for every rule of the card linter, and the page that explains the rules.

use std::collections::BTreeSet;

use nuncio_protocol::{
    card::{AgentCard, Problem, Rule, Severity, lint, lint_text},
    json,
};
use serde_json::{Value, json};

/// A card nobody can complain about.
fn good() -> Value {
    json!({
        "name": "Echo",
        "description": "Repeats text",
        "version": "1.0.0",
        "supportedInterfaces": [
            {"url": "https://a.example/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": "acme"},
            {"url": "a.example:443", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
            {"url": "http://localhost:8080", "protocolBinding": "HTTP+JSON", "protocolVersion": "0.3"},
            {"url": "ws://a.example", "protocolBinding": "https://x.example/ws", "protocolVersion": "1.0"},
        ],
        "provider": {"organization": "A", "url": "https://a.example"},
        "documentationUrl": "https://a.example/docs",
        "iconUrl": "https://a.example/icon.png",
        "capabilities": {
            "streaming": true,
            "extendedAgentCard": true,
            "extensions": [{"uri": "urn:x:1"}, {"uri": "urn:x:2"}],
        },
        "securitySchemes": {
            "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
            "http": {"httpAuthSecurityScheme": {"scheme": "Bearer"}},
            "oauth": {"oauth2SecurityScheme": {"flows": {"authorizationCode": {
                "authorizationUrl": "https://id.example/a", "tokenUrl": "https://id.example/t", "scopes": {"read": "Read"}}}}},
            "oidc": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://id.example"}},
            "tls": {"mtlsSecurityScheme": {}},
        },
        "securityRequirements": [
            {"schemes": {"key": {}, "tls": {}}},
            {"schemes": {"oauth": {"list": ["read"]}}},
            {"schemes": {"http": {}}},
        ],
        "defaultInputModes": ["text/plain", "*/*"],
        "defaultOutputModes": ["text/plain; charset=utf-8", "text/event-stream"],
        "skills": [
            {"id": "echo", "name": "Echo", "description": "Echo input", "tags": ["demo"],
             "securityRequirements": [{"schemes": {"oidc": {}}}]},
            {"id": "shout", "name": "Shout", "description": "Echo\nloudly", "tags": ["demo"], "examples": ["👩\u{200d}🚀"]},
        ],
        // {"alg":"ES256","kid":"k"}
        "signatures": [{"protected": "eyJhbGciOiJFUzI1NiIsImtpZCI6ImsifQ", "signature": "AAAA"}],
    })
}

/// Returns the good card with one value replaced.
fn with(pointer: &str, value: Value) -> String {
    let mut card = good();
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    let parent = card.pointer_mut(parent).expect("a place on the card");
    match parent {
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => items[key.parse::<usize>().expect("an index")] = value,
        parent => parent[key] = value,
    }
    card.to_string()
}

fn codes(problems: &[Problem]) -> Vec<&'static str> {
    problems.iter().map(Problem::code).collect()
}

/// Code, where the problem is to be found, what is replaced, and by what.
const CASES: &str = r#"
no-name | name | /name | " "
no-description | description | /description | ""
no-version | version | /version | ""
no-input-modes | defaultInputModes | /defaultInputModes | []
no-output-modes | defaultOutputModes | /defaultOutputModes | []
bad-media-type | defaultInputModes[0] | /defaultInputModes/0 | "text"
bad-media-type | skills[0].outputModes[0] | /skills/0/outputModes | ["a/b/c"]
incomplete-provider | provider.organization | /provider/organization | ""
incomplete-provider | provider.url | /provider/url | ""
bad-link | iconUrl | /iconUrl | "javascript:alert(1)"
bad-link | documentationUrl | /documentationUrl | "/docs"
url-credentials | provider.url | /provider/url | "https://a:b@a.example"
control-character | skills[0].examples[0] | /skills/0/examples | ["\u001b[2J"]
bidi-character | name | /name | "Ech\u202eo"
hidden-character | skills[0].tags[0] | /skills/0/tags/0 | "de\u200bmo"
hidden-character | provider.organization | /provider/organization | "A\u00adB"
no-interface | supportedInterfaces | /supportedInterfaces | []
bad-url | supportedInterfaces[0].url | /supportedInterfaces/0/url | "/rpc"
not-https | supportedInterfaces[2].url | /supportedInterfaces/2/url | "http://a.example"
url-credentials | supportedInterfaces[0].url | /supportedInterfaces/0/url | "https://u@a.example"
unspecified-address | supportedInterfaces[1].url | /supportedInterfaces/1/url | "0.0.0.0:443"
grpc-scheme | supportedInterfaces[1].url | /supportedInterfaces/1/url | "https://a.example:443"
bad-grpc-target | supportedInterfaces[1].url | /supportedInterfaces/1/url | "a.example"
no-binding | supportedInterfaces[0].protocolBinding | /supportedInterfaces/0/protocolBinding | ""
binding-spelling | supportedInterfaces[0].protocolBinding | /supportedInterfaces/0/protocolBinding | "jsonrpc"
unknown-binding | supportedInterfaces[0].protocolBinding | /supportedInterfaces/0/protocolBinding | "smtp"
bad-protocol-version | supportedInterfaces[0].protocolVersion | /supportedInterfaces/0/protocolVersion | ""
bad-protocol-version | supportedInterfaces[0].protocolVersion | /supportedInterfaces/0/protocolVersion | "v1"
patch-version | supportedInterfaces[0].protocolVersion | /supportedInterfaces/0/protocolVersion | "1.0.1"
duplicate-interface | supportedInterfaces[4] | /supportedInterfaces/- | {"url":"a.example:443","protocolBinding":"GRPC","protocolVersion":"1.0"}
reserved-tenant | supportedInterfaces[0].tenant | /supportedInterfaces/0/tenant | "tasks"
streaming-contradiction | capabilities.streaming | /capabilities/streaming | false
no-extension-uri | capabilities.extensions[0].uri | /capabilities/extensions/0/uri | ""
bad-extension-uri | capabilities.extensions[0].uri | /capabilities/extensions/0/uri | "x"
duplicate-extension | capabilities.extensions[1].uri | /capabilities/extensions/1/uri | "urn:x:1"
no-skill-id | skills[0].id | /skills/0/id | ""
no-skill-name | skills[0].name | /skills/0/name | ""
no-skill-description | skills[0].description | /skills/0/description | ""
no-skill-tags | skills[0].tags | /skills/0/tags | []
duplicate-skill-id | skills[1].id | /skills/1/id | "echo"
undeclared-scheme | securityRequirements[3].schemes.gone | /securityRequirements/- | {"schemes":{"gone":{}}}
unused-scheme | securitySchemes.oidc | /skills/0/securityRequirements | []
empty-requirement | securityRequirements[3] | /securityRequirements/- | {}
undeclared-scope | securityRequirements[1].schemes.oauth | /securityRequirements/1/schemes/oauth/list/0 | "write"
bad-api-key-location | securitySchemes.key.location | /securitySchemes/key/apiKeySecurityScheme/location | "body"
no-api-key-name | securitySchemes.key.name | /securitySchemes/key/apiKeySecurityScheme/name | ""
no-http-scheme | securitySchemes.http.scheme | /securitySchemes/http/httpAuthSecurityScheme/scheme | ""
no-auth-url | securitySchemes.oidc.openIdConnectUrl | /securitySchemes/oidc/openIdConnectSecurityScheme/openIdConnectUrl | ""
auth-url-not-https | securitySchemes.oauth.flows.authorizationCode.tokenUrl | /securitySchemes/oauth/oauth2SecurityScheme/flows/authorizationCode/tokenUrl | "http://id.example"
auth-url-not-https | securitySchemes.oauth.oauth2MetadataUrl | /securitySchemes/oauth/oauth2SecurityScheme/oauth2MetadataUrl | "id.example"
deprecated-flow | securitySchemes.oauth.flows.password | /securitySchemes/oauth/oauth2SecurityScheme/flows | {"password":{"tokenUrl":"https://id.example","scopes":{"read":"Read"}}}
malformed-signature | signatures[0] | /signatures/0/protected | "e30="
malformed-signature | signatures[0] | /signatures/0/protected | "e30"
malformed-signature | signatures[0] | /signatures/0/signature | ""
weak-signature | signatures[0] | /signatures/0/protected | "eyJhbGciOiJub25lIiwia2lkIjoiayJ9"
"#;

/// The cases, and those whose replacement is too long to write down.
fn cases() -> Vec<(String, String, String, Value)> {
    let written = CASES.trim().lines().map(|line| {
        let mut columns = line.splitn(4, " | ");
        let mut next = || columns.next().expect("four columns").to_owned();
        let (code, field, pointer) = (next(), next(), next());
        (code, field, pointer, serde_json::from_str(&next()).expect("a JSON value"))
    });
    let skill = |number: usize| {
        let id = format!("s{number}");
        json!({"id": id, "name": "S", "description": "d", "tags": ["t"],
            "securityRequirements": [{"schemes": {"oidc": {}}}]})
    };
    let skills: Vec<Value> = (0..501).map(skill).collect();
    let signatures = vec![good()["signatures"][0].clone(); 17];
    let long = [
        ("text-too-long", "description", json!("é".repeat(2049))),
        ("text-too-long", "skills[1].description", json!("x".repeat(2049))),
        ("too-many-skills", "skills", json!(skills)),
        ("too-many-signatures", "signatures", json!(signatures)),
    ];
    let long = long.into_iter().map(|(code, field, value)| {
        let pointer = format!("/{}", field.replace(['.', '['], "/").replace(']', ""));
        (code.to_owned(), field.to_owned(), pointer, value)
    });
    written.chain(long).collect()
}

#[test]
fn a_good_card_has_no_problem() {
    let text = good().to_string();
    assert_eq!(lint(&json::from_str(&text).unwrap()), []);
    assert_eq!(lint_text(&text).unwrap(), []);
}

#[test]
fn every_rule_finds_its_problem_and_no_other_rule_does() {
    // These need a card of their own; see the tests below.
    let mut tried = BTreeSet::from(
        ["card-too-large", "legacy-form", "no-skills", "extended-card-contradiction"]
            .map(str::to_owned),
    );
    for (code, field, pointer, value) in cases() {
        let text = with(&pointer, value);
        let problems = lint(&json::from_str::<AgentCard>(&text).unwrap());
        assert_eq!(codes(&problems), [code.as_str()], "{pointer}: {problems:#?}");
        assert_eq!(problems[0].field, field);
        tried.insert(code);
    }
    let all: BTreeSet<_> = Rule::ALL.iter().map(|rule| rule.code().to_owned()).collect();
    assert_eq!(tried, all);
}

#[test]
fn a_card_without_skills_or_security_is_flagged_for_just_that() {
    let mut card = good();
    for key in ["skills", "securitySchemes", "securityRequirements"] {
        card.as_object_mut().unwrap().remove(key);
    }
    let problems = lint_text(&card.to_string()).unwrap();
    assert_eq!(codes(&problems), ["extended-card-contradiction", "no-skills"]);
}

#[test]
fn size_and_form_are_seen_in_the_text() {
    let mut text = good().to_string();
    text.push_str(&" ".repeat(1024 * 1024));
    assert_eq!(codes(&lint_text(&text).unwrap()), ["card-too-large"]);

    let old = r#"{"name":"Echo","description":"d","version":"1","url":"https://a.example",
        "protocolVersion":"0.3.0","capabilities":{},"defaultInputModes":["text/plain"],
        "defaultOutputModes":["text/plain"],"skills":[{"id":"s","name":"S","description":"d","tags":["t"]}]}"#;
    assert_eq!(codes(&lint_text(old).unwrap()), ["legacy-form"]);
    assert!(lint_text("{}").is_err());
}

/// A scheme that the reader of other forms has to leave out does not leave a gap unseen.
#[test]
fn a_requirement_for_a_scheme_of_unknown_type_is_flagged() {
    let text = r#"{"name":"x","url":"https://a.example","securitySchemes":{"new":{"type":"quantum"}},"security":[{"new":[]}]}"#;
    let problems = lint_text(text).unwrap();
    assert!(codes(&problems).contains(&"undeclared-scheme"), "{problems:?}");
}

/// HD-05: what a card needs at the least is asked for.
#[test]
fn an_empty_card_lacks_everything() {
    assert_eq!(
        codes(&lint(&AgentCard::default())),
        [
            "no-name",
            "no-description",
            "no-interface",
            "no-version",
            "no-input-modes",
            "no-output-modes",
            "no-skills"
        ]
    );
}

#[test]
fn a_hostile_card_cannot_flood_the_report_or_the_terminal() {
    let card = AgentCard {
        default_input_modes: vec!["\u{202e}\u{1b}[2J".repeat(100); 100_000],
        ..AgentCard::default()
    };
    let problems = lint(&card);
    assert_eq!(problems.len(), 1000);
    let shown = problems.last().unwrap().to_string();
    assert!(shown.len() < 1000 && !shown.contains(['\u{202e}', '\u{1b}']), "{shown}");
}

#[test]
fn a_problem_says_what_where_and_how_to_mend_it() {
    let problem = &lint(&AgentCard::default())[0];
    assert_eq!(
        problem.to_string(),
        "error[no-name]: `name`: it is missing or empty; set `name` to what people call the agent"
    );
    assert_eq!(
        json::to_string(problem),
        r#"{"code":"no-name","severity":"error","field":"name","what":"it is missing or empty","fix":"set `name` to what people call the agent"}"#
    );
    assert!(Severity::Error > Severity::Warning);
}

/// The page is what the rules say of themselves; on failure, copy the right side into it.
#[test]
fn the_reference_page_lists_exactly_the_rules() {
    const PAGE: &str = include_str!("../../../../docs/reference/card-problems.md");
    let found: Vec<&str> = PAGE.lines().filter(|line| line.starts_with("| `")).collect();
    let wanted: Vec<String> = Rule::ALL
        .iter()
        .map(|rule| {
            let (code, severity) = (rule.code(), rule.severity().as_str());
            format!("| `{code}` | {severity} | {} | {} |", rule.cause(), capitalised(rule.fix()))
        })
        .collect();
    assert!(found == wanted, "the page should list:\n{}", wanted.join("\n"));
}

fn capitalised(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    format!("{}{rest}.", first.to_uppercase())
}

#[test]
fn codes_are_unique_and_kebab_case() {
    let codes: BTreeSet<_> = Rule::ALL.iter().map(|rule| rule.code()).collect();
    assert_eq!(codes.len(), Rule::ALL.len());
    for code in codes {
        assert!(code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{code}");
    }
}

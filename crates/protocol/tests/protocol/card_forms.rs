//! Cards as agents really publish them (C-18).

use nuncio_protocol::card::{
    AgentCard, ApiKeySecurityScheme, CardForm, OAuthFlows, SecurityRequirement, SecurityScheme,
    read_any,
};

/// Reads a card and returns its form and its interfaces as `binding version url`.
#[track_caller]
fn check(text: &str, form: CardForm, interfaces: &[&str]) -> AgentCard {
    let (card, found) = read_any(text).expect("a card");
    assert_eq!(found, form);
    let listed: Vec<String> = card
        .supported_interfaces
        .iter()
        .map(|one| format!("{} {} {}", one.protocol_binding, one.protocol_version, one.url))
        .collect();
    assert_eq!(listed, interfaces);
    card
}

fn key_in_header() -> SecurityScheme {
    SecurityScheme::ApiKey(ApiKeySecurityScheme {
        location: "header".to_owned(),
        name: "X".to_owned(),
        ..ApiKeySecurityScheme::default()
    })
}

#[test]
fn a_card_of_1_0_in_snake_case_is_a_card_of_1_0() {
    let card = check(
        r#"{"name":"Echo","description":"d","version":"1",
            "supported_interfaces":[{"url":"https://a.example/rpc","protocol_binding":"JSONRPC","protocol_version":"1.0","tenant":"t"}],
            "capabilities":{"push_notifications":true,"extended_agent_card":false},
            "security_schemes":{"key":{"api_key_security_scheme":{"location":"header","name":"X"}}},
            "security_requirements":[{"schemes":{"key":{}}}],
            "default_input_modes":["text/plain"],"default_output_modes":["text/plain"],
            "skills":[{"id":"s","name":"S","description":"d","tags":["t"],"input_modes":["image/png"]}],
            "icon_url":"https://a.example/i.png","documentation_url":"https://a.example/d"}"#,
        CardForm::V1,
        &["JSONRPC 1.0 https://a.example/rpc"],
    );
    assert_eq!(card.supported_interfaces[0].tenant.as_ref().unwrap().as_str(), "t");
    assert_eq!(card.capabilities.push_notifications, Some(true));
    assert_eq!(card.capabilities.extended_agent_card, Some(false));
    assert_eq!(card.skills[0].input_modes, ["image/png"]);
    assert_eq!(card.security_schemes["key"], key_in_header());
    assert_eq!(card.security_requirements.len(), 1);
    assert!(card.icon_url.is_some() && card.documentation_url.is_some());
}

#[test]
fn a_card_of_0_3_gets_its_interfaces_in_order_and_without_the_repetition() {
    let card = check(
        r#"{"protocolVersion":"0.3.0","name":"Echo","description":"d","version":"1",
            "url":"https://a.example/rpc","preferredTransport":"JSONRPC",
            "additionalInterfaces":[{"url":"https://a.example/rpc","transport":"JSONRPC"},
              {"url":"a.example:443","transport":"GRPC"},{"url":"https://a.example/v1","transport":"HTTP+JSON"}],
            "capabilities":{"streaming":true,"stateTransitionHistory":true},
            "supportsAuthenticatedExtendedCard":true,
            "securitySchemes":{"key":{"type":"apiKey","in":"query","name":"k"},
              "http":{"type":"http","scheme":"bearer","bearerFormat":"JWT"},
              "oidc":{"type":"openIdConnect","openIdConnectUrl":"https://id.example"},
              "tls":{"type":"mutualTLS","description":"mine"}},
            "security":[{"key":[]},{"http":[],"tls":[]}],
            "defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],
            "skills":[{"id":"s","name":"S","description":"d","tags":["t"],"security":[{"oidc":["a","b"]}]}]}"#,
        CardForm::V03,
        &[
            "JSONRPC 0.3 https://a.example/rpc",
            "GRPC 0.3 a.example:443",
            "HTTP+JSON 0.3 https://a.example/v1",
        ],
    );
    assert_eq!(card.capabilities.extended_agent_card, Some(true));
    assert_eq!(card.security_schemes.len(), 4);
    assert_eq!(card.security_requirements[1].schemes.len(), 2);
    assert_eq!(card.skills[0].security_requirements[0].schemes["oidc"].list, ["a", "b"]);
}

#[test]
fn a_card_of_0_3_may_come_as_protobuf_writes_it() {
    let card = check(
        r#"{"protocolVersion":"0.3.0","name":"Echo","url":"https://a.example",
            "securitySchemes":{"key":{"apiKeySecurityScheme":{"location":"header","name":"X"}}},
            "security":[{"schemes":{"key":{"list":["s"]}}}]}"#,
        CardForm::V03,
        &["JSONRPC 0.3 https://a.example"],
    );
    assert_eq!(card.security_requirements[0].schemes["key"].list, ["s"]);
    assert!(card.security_schemes.contains_key("key"));
}

#[test]
fn a_card_of_0_2_is_known_by_its_silence() {
    check(
        r#"{"name":"Old","description":"d","url":"http://localhost:1/","version":"1","capabilities":{},
            "defaultInputModes":["text"],"defaultOutputModes":["text"],"skills":[]}"#,
        CardForm::V02,
        &["JSONRPC 0.3 http://localhost:1/"],
    );
    check(
        r#"{"name":"Old","url":"http://localhost:1/","version":"1","protocolVersion":"0.2.5"}"#,
        CardForm::V02,
        &["JSONRPC 0.2 http://localhost:1/"],
    );
}

#[test]
fn a_hybrid_card_is_read_as_1_0() {
    let card = check(
        r#"{"name":"Both","url":"https://a.example/old","preferredTransport":"JSONRPC","protocolVersion":"0.3.0",
            "supportedInterfaces":[{"url":"https://a.example/new","protocolBinding":"JSONRPC","protocolVersion":"1.0"},
              {"url":"https://a.example/old","protocolBinding":"JSONRPC","protocolVersion":"0.3"}],
            "securitySchemes":{"key":{"apiKeySecurityScheme":{"location":"header","name":"X"},"type":"apiKey","in":"header","name":"X"}},
            "securityRequirements":[{"schemes":{"key":{}}}],"security":[{"key":[]},{"other":[]}],
            "supportsAuthenticatedExtendedCard":true,"capabilities":{"extendedAgentCard":false}}"#,
        CardForm::Hybrid,
        &["JSONRPC 1.0 https://a.example/new", "JSONRPC 0.3 https://a.example/old"],
    );
    assert_eq!(card.security_requirements.len(), 1);
    assert_eq!(card.security_schemes["key"], key_in_header());
    assert_eq!(card.capabilities.extended_agent_card, Some(false));
}

/// MD-64.
#[test]
fn molecule_names_skills_by_text_and_the_binding_by_protocol() {
    let card = check(
        r#"{"name":"Researcher","description":"d","skills":["research","web-search"],
            "supportedInterfaces":[{"protocol":"JSONRPC","url":"http://localhost:8000"}]}"#,
        CardForm::Molecule,
        &["JSONRPC  http://localhost:8000"],
    );
    assert_eq!(card.skills[1].id, "web-search");
    assert_eq!(card.skills[1].name, "web-search");
    check(r#"{"name":"Bare","skills":["a",{"id":"b"}]}"#, CardForm::Molecule, &[]);
}

/// P-24, PG-12.
#[test]
fn pocketpaw_writes_snake_case_and_its_own_binding() {
    let card = check(
        r#"{"name":"PocketPaw","description":"Self-hosted","url":"http://localhost:8888","version":"0.5.0",
            "protocol_version":"0.2.5",
            "capabilities":{"streaming":true,"push_notifications":false,"state_transition_history":true},
            "skills":[{"id":"web_search","name":"web_search","description":"Search","input_modes":["text/plain"],"output_modes":["text/plain"]}],
            "supported_interfaces":[{"url":"http://localhost:8888/a2a","protocol_binding":"jsonrpc-over-https","protocol_version":"0.2.5"}]}"#,
        CardForm::PocketPaw,
        &["JSONRPC 0.2.5 http://localhost:8888/a2a"],
    );
    assert_eq!(card.capabilities.push_notifications, Some(false));
    assert_eq!(card.skills[0].output_modes, ["text/plain"]);
}

/// U-10, U-13.
#[test]
fn upal_has_a_url_and_no_version() {
    let card = check(
        r#"{"name":"research","description":"d","url":"http://localhost:8080/a2a/nodes/research",
            "capabilities":{"streaming":true,"pushNotifications":false},
            "skills":[{"id":"research","name":"Research","description":"d","inputModes":["text/plain"],"outputModes":["text/plain","application/json"]}],
            "defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain","application/json"]}"#,
        CardForm::Upal,
        &["JSONRPC 0.3 http://localhost:8080/a2a/nodes/research"],
    );
    assert_eq!(card.version, "");
    assert_eq!(card.skills[0].tags, [""; 0]);
}

/// HD-05: an interface without URL is at the card's own.
#[test]
fn an_interface_without_url_is_where_the_card_says() {
    check(
        r#"{"name":"Echo","url":"https://a.example","supportedInterfaces":[{"url":"","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}"#,
        CardForm::Hybrid,
        &["JSONRPC 1.0 https://a.example"],
    );
}

#[test]
fn several_oauth_flows_become_several_schemes_and_alternatives() {
    let card = check(
        r#"{"protocolVersion":"0.3.0","name":"Echo","url":"https://a.example",
            "securitySchemes":{"oauth-implicit":{"type":"http","scheme":"basic"},
              "oauth":{"type":"oauth2","flows":{
                "implicit":{"authorizationUrl":"https://i","scopes":{}},
                "clientCredentials":{"tokenUrl":"https://t","scopes":{"s":"S"}},
                "authorizationCode":{"authorizationUrl":"https://a","tokenUrl":"https://t","scopes":{}}}}},
            "security":[{"oauth":["s"],"oauth-implicit":[]}],
            "skills":[{"id":"x","security":[{"oauth":[]}]}]}"#,
        CardForm::V03,
        &["JSONRPC 0.3 https://a.example"],
    );
    let flow = |name: &str| match &card.security_schemes[name] {
        SecurityScheme::OAuth2(oauth) => oauth.flows.clone(),
        other => panic!("{other:?}"),
    };
    assert!(matches!(flow("oauth"), OAuthFlows::AuthorizationCode(_)));
    assert!(matches!(flow("oauth-clientCredentials"), OAuthFlows::ClientCredentials(_)));
    assert!(matches!(flow("oauth-implicit-2"), OAuthFlows::Implicit(_)));
    let named = |requirements: &[SecurityRequirement]| {
        requirements
            .iter()
            .map(|one| one.schemes.keys().cloned().collect::<Vec<_>>().join("+"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        named(&card.security_requirements),
        [
            "oauth+oauth-implicit",
            "oauth-clientCredentials+oauth-implicit",
            "oauth-implicit+oauth-implicit-2"
        ]
    );
    assert_eq!(
        named(&card.skills[0].security_requirements),
        ["oauth", "oauth-clientCredentials", "oauth-implicit-2"]
    );
}

#[test]
fn a_hostile_requirement_does_not_multiply() {
    let flows = r#"{"type":"oauth2","flows":{"implicit":{},"password":{},"clientCredentials":{},"authorizationCode":{}}}"#;
    let schemes: Vec<String> = (0..200).map(|n| format!(r#""s{n}":{flows}"#)).collect();
    let named: Vec<String> = (0..200).map(|n| format!(r#""s{n}":[]"#)).collect();
    let text = format!(
        r#"{{"name":"x","url":"https://a","securitySchemes":{{{}}},"security":[{{{}}}]}}"#,
        schemes.join(","),
        named.join(",")
    );
    let (card, _) = read_any(&text).unwrap();
    assert_eq!(card.security_requirements.len(), 1);
    assert_eq!(card.security_schemes.len(), 800);
}

#[test]
fn an_unknown_scheme_is_left_out_but_stays_required() {
    let text = r#"{"name":"x","url":"https://a","securitySchemes":{"new":{"type":"quantum"},"newer":{"quantumSecurityScheme":{}},"old":{"type":"oauth2","flows":{}}},
        "security":[{"new":[]}]}"#;
    let (card, _) = read_any(text).unwrap();
    assert!(card.security_schemes.is_empty());
    assert!(card.security_requirements[0].schemes.contains_key("new"));
}

#[test]
fn what_is_no_card_is_refused_with_the_place() {
    for (text, path) in [
        (r#"{"url":"https://a"}"#, "name"),
        (r#"{"name":"x","skills":[{"id":1}]}"#, "skills[0].id"),
        (r#"{"name":"x","skills":"all"}"#, "skills"),
        (r#"{"name":"x","iconUrl":"a","icon_url":"b"}"#, "icon_url"),
        (r#"{"name":"x","name":"y"}"#, "name"),
        (r#"{"name":"x","security":[{"key":"scope"}]}"#, "security[0].key"),
        (
            r#"{"name":"x","securitySchemes":{"s":{"apiKeySecurityScheme":{},"mtlsSecurityScheme":{}}}}"#,
            "securitySchemes.s.mtlsSecurityScheme",
        ),
        (r#"{"capabilities":["echo"],"name":"x"}"#, "capabilities"),
        ("[]", ""),
    ] {
        assert_eq!(read_any(text).unwrap_err().path(), path, "{text}");
    }
}

#[test]
fn null_is_silence() {
    check(
        r#"{"name":"x","url":null,"supportedInterfaces":null,"skills":null,"securitySchemes":null,"security":null,
            "capabilities":null,"provider":null,"protocolVersion":null}"#,
        CardForm::V1,
        &[],
    );
}

//! What is read, what is refused, and how that is told.

use proptest::prelude::*;

use super::*;

const EXAMPLE: &str = include_str!("../../../../examples/nuncio.yaml");

fn environment() -> Environment {
    ["ADMIN_KEY", "OTLP_TOKEN", "WEATHER_TOKEN", "OPENAI_API_KEY", "SEARCH_KEY", "ARCHIVE_PASSWORD"]
        .map(|name| (name.to_owned(), format!("secret-of-{name}")))
        .into()
}

#[track_caller]
fn load(text: &str) -> Configuration {
    read(text, &environment()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Checks that a text is refused at a place, with these words.
#[track_caller]
fn check_refused(text: &str, expected: &str) {
    let error = read(text, &environment()).unwrap_err();
    assert_eq!(error.to_string(), expected, "{text}");
}

#[test]
fn no_text_at_all_is_the_defaults() {
    for text in ["", "  \n", "# nothing\n", "---\n", "{}"] {
        assert_eq!(load(text), Configuration::default(), "{text:?}");
    }
    let Configuration { listen, database, organisation, limits, .. } = Configuration::default();
    assert_eq!(listen.to_string(), "127.0.0.1:7420");
    assert_eq!((database, organisation.as_str()), (Database::Sqlite, "main"));
    let seconds = |length: HumanDuration| length.get().as_secs();
    let beats = [limits.heartbeat, *limits.offline.get(), limits.sweep, limits.probe];
    assert_eq!(beats.map(seconds), [30, 90, 15, 30]);
    assert_eq!(limits.calls_per_minute.get(), 600);
    assert_eq!(limits.unauthenticated_calls_per_minute.get(), 60);
}

#[test]
fn the_example_has_every_key_and_is_good() {
    let configuration = load(EXAMPLE);
    assert_eq!(configuration.agents.len(), 10);
    assert!(check::warnings(&configuration).is_empty());
    // Every key of the tree stands in the example, so that whoever copies it sees it.
    let schema: serde_json::Value = serde_json::from_str(&schema::json_schema()).unwrap();
    let definitions = schema["$defs"].as_object().unwrap();
    for part in definitions.values().chain([&schema]) {
        for key in part["properties"].as_object().into_iter().flat_map(|keys| keys.keys()) {
            assert!(EXAMPLE.contains(&format!("{key}:")), "{key} is not in examples/nuncio.yaml");
        }
    }
}

#[test]
fn values_come_from_the_environment() {
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let key = load(text).authentication.admin_key;
        assert_eq!(key.unwrap().secret().expose(), expected, "{text}");
    }
    check("authentication: {admin_key: '${ADMIN_KEY}'}", "secret-of-ADMIN_KEY");
    check("authentication:\n  admin_key: ${ADMIN_KEY}", "secret-of-ADMIN_KEY");
    check("authentication:\n  admin_key: \"x-${NOT_SET:-default}\"", "x-default");
    check("authentication:\n  admin_key: a$$b", "a$b");
    let limits = load("limits:\n  calls_per_minute: ${NOT_SET:-7}").limits;
    assert_eq!(limits.calls_per_minute.get(), 7);
}

#[test]
fn a_variable_that_is_not_set_is_named_with_its_line() {
    check_refused(
        "listen: 127.0.0.1:1\ndatabase: ${DATABASE_URL}\n",
        "line 2, column 11: the environment has no variable `DATABASE_URL`; set it, or give a \
         default: ${DATABASE_URL:-default}; a dollar sign itself is `$$`",
    );
}

#[test]
fn a_misspelt_key_is_named_with_its_place_and_what_was_meant() {
    check_refused(
        "listne: a:1",
        "line 1, column 1: listne: `listne` is no key here; did you mean `listen`?",
    );
    check_refused(
        "agents:\n  - name: a\n    url: https://a\n    trsut: 3\n",
        "line 4, column 5: agents[0].trsut: `trsut` is no key here; did you mean `trust`?",
    );
    check_refused(
        "telemetry:\n  colour: red\n",
        "line 2, column 3: telemetry.colour: `colour` is no key here; known are level, levels, \
         format, agents, otlp",
    );
}

#[test]
fn a_value_that_does_not_fit_is_named_with_what_would() {
    check_refused(
        "listen: 7420",
        "line 1, column 9: listen: expected a host and a port such as 127.0.0.1:7420 or [::1]:0",
    );
    check_refused(
        "limits:\n  drain: 30",
        "line 2, column 10: limits.drain: expected a length of time such as 500ms, 30s, 5m, 1h or 7d",
    );
    check_refused(
        "hierarchy: strikt",
        "line 1, column 12: hierarchy: `strikt` is not known here; did you mean `strict`?",
    );
    check_refused(
        "agents: [{name: a, url: 'https://a', trust: 9}]",
        "line 1, column 45: agents[0].trust: expected 1 (a stranger without contract) to 5 (in-house)",
    );
    check_refused(
        "agents:\n- url: https://a",
        "line 2, column 3: agents[0]: `name` is missing; add `name: …`",
    );
    check_refused(
        "rules: [{effect: deny, caller: a, target: b, operations: [SendMesage]}]",
        "line 1, column 59: rules[0].operations[0]: `SendMesage` is not known here; did you mean `SendMessage`?",
    );
}

#[test]
fn parts_that_do_not_fit_together_are_all_told() {
    let error = read(
        "agents:\n- {name: a, url: 'https://a', parent: b}\n- {name: b, url: 'https://b', parent: a}\n- {name: a}\n- {name: c, url: 'https://c', card: 'https://c'}\n- {name: d, card: 'http://d.example'}\n",
        &environment(),
    )
    .unwrap_err();
    let found: Vec<_> =
        error.problems().iter().map(|problem| (problem.key(), problem.what())).collect();
    assert_eq!(
        found,
        [
            ("agents[0].parent", "`a` would be above itself"),
            ("agents[1].parent", "`b` would be above itself"),
            ("agents[2].name", "`a` is the name of the agent in line 2, too"),
            ("agents[2]", "`a`: nothing says where it is"),
            ("agents[3]", "`c`: more than one thing says where it is"),
            ("agents[4].card", "http://d.example is plain http"),
        ]
    );
    assert!(error.to_string().starts_with("line 2, column 39: agents[0].parent: "), "{error}");
}

/// Returns the places and keys of all that is wrong with a text.
fn told(text: &str) -> Vec<String> {
    let problems = read(text, &environment()).expect_err(text).problems().to_vec();
    problems.iter().map(|problem| format!("{} {}", problem.place(), problem.key())).collect()
}

#[test]
fn all_that_is_wrong_is_told_at_once_in_the_order_of_the_file() {
    let text = "
listne: 127.0.0.1:1
database: ${DATABASE_URL}
organisation: ''
limits:
  drain: 30
  colour: red
agents:
  - {name: a}
  - {nmae: b, url: 'https://b'}
  - {url: 'https://c'}
  - {name: d, url: 'https://d', trust: 9, tier: 1}
  - {name: e, url: 'http://e.example'}
rules:
  - {effect: deny, caller: a, target: 'user:b'}
  - {effect: deny, caller: a, target: b, operations: [SendMesage, GetTask, GetTsk]}
  - 7
budgets: {agents: {a: {calls_per_day: 0}, b: {calls: 1}}}
";
    assert_eq!(
        told(text),
        [
            "line 2, column 1 listne",
            "line 3, column 11 ",
            "line 4, column 15 organisation",
            "line 6, column 10 limits.drain",
            "line 7, column 3 limits.colour",
            "line 9, column 12 agents[0]",
            "line 10, column 6 agents[1].nmae",
            "line 11, column 6 agents[2]",
            "line 12, column 40 agents[3].trust",
            "line 12, column 43 agents[3].tier",
            "line 13, column 12 agents[4].url",
            "line 15, column 39 rules[0].target",
            "line 16, column 55 rules[1].operations[0]",
            "line 16, column 76 rules[1].operations[2]",
            "line 17, column 5 rules[2]",
            "line 18, column 24 budgets.agents.a.calls_per_day",
            "line 18, column 47 budgets.agents.b.calls",
        ]
    );
}

#[test]
fn a_mistake_behind_a_variable_is_told_in_full() {
    let before =
        "organisation: ${ADMIN_KEY}\nagents: [{name: '${SEARCH_KEY}', url: 'https://a'}]\n";
    for (text, expected) in [
        ("limits: {drian: 5s}", "limits.drian: `drian` is no key here; did you mean `drain`?"),
        (
            "limits: {drain: 5}",
            "limits.drain: expected a length of time such as 500ms, 30s, 5m, 1h or 7d",
        ),
        ("hierarchy: strikt", "hierarchy: `strikt` is not known here; did you mean `strict`?"),
    ] {
        let told = read(&format!("{before}{text}"), &environment()).unwrap_err().to_string();
        let told: Vec<_> = told.lines().collect();
        assert!(told.iter().any(|line| line.ends_with(expected)), "{told:?}");
    }
}

#[test]
fn what_only_follows_from_another_mistake_is_not_told() {
    for (text, expected) in [
        ("agents: [{name: a, crad: 'https://a'}]", "agents[0].crad"),
        ("agents: [{nmae: a, url: 'https://a'}]", "agents[0].nmae"),
        ("limits: {heartbeat: 10, offline: 20s}", "limits.heartbeat"),
        ("agents: [{name: a, url: '${NOT_SET}'}]", ""),
        ("organisation: ${NOT_SET}", ""),
        (
            "providers: {x: {type: opena1, api_key: k}}\n\
             agents: [{name: a, kind: llm, model: x/m}]",
            "providers.x.type",
        ),
        (
            "providers: {x: {type: openai, api_key: k}}\nmcp_servers: {y: {comand: [a]}}\n\
             agents: [{name: a, kind: mcp, tool: 'mcp://y/t'}]",
            "mcp_servers.y.comand",
        ),
    ] {
        let told = told(text);
        let key = told.first().and_then(|told| told.split(' ').nth(4));
        assert_eq!((told.len(), key), (1, Some(expected)), "{told:?}\n{text}");
    }
}

#[test]
fn a_text_that_is_no_yaml_is_told_with_what_stands_before() {
    assert!(!told("agents: [").is_empty());
    assert_eq!(told("listen: ${NOT_SET}\nagents: [").len(), 2);
    assert_eq!(told("listne: a:1\nlimits: {drain: 1s, drain: 2s}").len(), 2);
    // A thousand lines help nobody.
    let many: Vec<_> = (0..1000).map(|key| format!("key-{key}: 1\n")).collect();
    assert_eq!(told(&many.concat()).len(), 50);
}

#[test]
fn contradictions_are_refused() {
    #[track_caller]
    fn check(text: &str, key: &str) {
        let error = read(text, &environment()).unwrap_err();
        assert_eq!(error.problems().first().map(Problem::key), Some(key), "{error}");
    }
    check("listen: 0.0.0.0:1\nauthentication: {open: true}", "authentication.open");
    check("limits: {offline: 10s}", "limits.offline");
    check("rules: [{effect: allow, caller: a, target: 'user:b'}]", "rules[0].target");
    check("agents: [{name: a, url: 'https://a', role: \"two\\nlines\"}]", "agents[0].role");
    let issuer = "{issuer: i, audience: [a], jwks_url: 'https://i'}";
    check(
        &format!("authentication: {{issuers: [{issuer}, {issuer}]}}"),
        "authentication.issuers[1].prefix",
    );
    let certificates = |text: &str| {
        format!(
            "tls: {{certificate: c, key: k, client_ca: i}}\n\
             authentication: {{certificates: {{{text}}}}}"
        )
    };
    check("authentication: {certificates: {}}", "authentication.certificates");
    for (text, key) in [
        ("agents_by_uri: 'spiffe://a/b'", ".agents_by_uri"),
        ("callers: [{caller: '*', uri: u}]", ".callers[0].caller"),
        ("callers: [{caller: a}]", ".callers[0]"),
        ("callers: [{caller: a, uri: u, dns_name: d}]", ".callers[0]"),
    ] {
        check(&certificates(text), &format!("authentication.certificates{key}"));
    }
}

#[test]
fn agents_of_the_hub_are_made_of_what_is_there() {
    const GROUND: &str = "providers: {openai: {type: openai, api_key: k}}\n\
                          mcp_servers: {files: {command: [x]}}\n";
    #[track_caller]
    fn check(agent: &str, expected: &[(&str, &str)]) {
        let text = format!("{GROUND}agents: [{{name: a, {agent}}}]");
        let found = match read(&text, &environment()) {
            Ok(_) => Vec::new(),
            Err(error) => error
                .problems()
                .iter()
                .map(|problem| (problem.key().to_owned(), problem.what().to_owned()))
                .collect(),
        };
        let found: Vec<_> = found.iter().map(|(key, what)| (key.as_str(), what.as_str())).collect();
        assert_eq!(found, expected, "{agent}");
    }
    check("kind: llm, model: openai/gpt-5, tools: ['mcp://files', 'agent://b']", &[]);
    check("kind: http, url: 'http://localhost:1/x', query: q", &[]);
    check("kind: mcp, tool: 'mcp://files/read'", &[]);
    check("kind: llm", &[("agents[0].model", "`a`: nothing says which model it asks")]);
    check("kind: llm, model: gpt-5", &[("agents[0].model", "`gpt-5` is no model")]);
    check("kind: llm, model: opnai/x", &[("agents[0].model", "there is no provider `opnai`")]);
    check(
        "kind: llm, model: openai/x, tools: [files, 'mcp://fils', 'http://a.example']",
        &[
            ("agents[0].tools[0]", "`files` is no tool"),
            ("agents[0].tools[1]", "there is no MCP server `fils`"),
            ("agents[0].tools[2]", "http://a.example is plain http"),
        ],
    );
    check(
        "kind: llm, model: openai/x, temperature: 3, max_turns: 0, output_extract: {mode: json}",
        &[
            ("agents[0].temperature", "`a`: expected 0 to 2"),
            ("agents[0].max_turns", "`a`: expected 1 or more"),
            (
                "agents[0].output_extract",
                "`a`: expected `key` with `mode: json`, `tag` with `mode: tagged`",
            ),
        ],
    );
    check("kind: http", &[("agents[0].url", "`a`: nothing says what it calls")]);
    check(
        "kind: http, url: 'http://a.example'",
        &[("agents[0].url", "http://a.example is plain http")],
    );
    check("kind: mcp", &[("agents[0].tool", "`a`: nothing says which tool it calls")]);
    check(
        "kind: mcp, tool: 'mcp://files'",
        &[("agents[0].tool", "`mcp://files` is not one tool of an MCP server")],
    );
    check(
        "kind: echo, model: openai/x, headers: {a: b}",
        &[
            ("agents[0].model", "`a`: `model` is for `kind: llm` only"),
            ("agents[0].headers", "`a`: `headers` is for `kind: http` only"),
        ],
    );
}

#[test]
fn providers_and_servers_are_whole() {
    check_refused(
        "providers:\n  claude: {type: anthropic}\n",
        "line 2, column 11: providers.claude.api_key: `claude`: the provider wants a key; add \
         `api_key: ${ANTHROPIC_API_KEY}`, or the `url` of one that wants none",
    );
    check_refused(
        "providers:\n  x: {type: opena1, api_key: k}\n",
        "line 2, column 13: providers.x.type: `opena1` is not known here; did you mean `openai`?",
    );
    check_refused(
        "mcp_servers:\n  x: {command: [a], url: 'https://a.example'}\n",
        "line 2, column 6: mcp_servers.x: `x`: expected one of `command` and `url`; write \
         `command: [program, argument]` for a program that is started here, `url` for a server \
         that runs elsewhere",
    );
    check_refused(
        "default_model: mistral/x",
        "line 1, column 16: default_model: there is no provider `mistral`; add it to `providers`",
    );
    let same = load("providers: {x: {type: openai-compatible, url: 'http://localhost:8000/v1'}}");
    assert_eq!(same.providers["x"].kind, ProviderKind::Openai);
}

#[test]
fn names_are_those_of_the_hub() {
    #[track_caller]
    fn check(agent: &str, key: &str) {
        let error = read(&format!("agents: [{agent}]"), &environment()).unwrap_err();
        assert_eq!(error.problems().first().map(Problem::key), Some(key), "{error}");
    }
    check_refused(
        "agents:\n- {name: SEO Agent, url: 'https://a'}",
        "line 2, column 10: agents[0].name: `SEO Agent` is no name of an agent; use 1 to 63 of \
         a-z, digits, `-`, `_` and `.`, a letter or digit at both ends, such as `seo-agent`",
    );
    check_refused(
        "agents:\n- {name: billing, url: 'https://a'}\n- {name: bi11ing, url: 'https://b'}",
        "line 3, column 10: agents[1].name: `bi11ing` is easily taken for `billing` in line 2; \
         give it another name",
    );
    check("{name: a/b, url: 'https://a'}", "agents[0].name");
    check("{name: a, url: 'https://a', parent: B}", "agents[0].parent");
    check(
        "{name: a, url: 'https://a', skills: {s: {allowed_agents: ['*']}}}",
        "agents[0].skills.s.allowed_agents",
    );
}

#[test]
fn a_tree_that_is_too_high_is_refused() {
    let chain = |length: usize| {
        let parent = |index: usize| match index {
            0 => String::new(),
            _ => format!(", parent: a{}", index - 1),
        };
        let agents: Vec<_> = (0..length)
            .map(|index| format!("- {{name: a{index}, url: 'https://a'{}}}", parent(index)))
            .collect();
        format!("agents:\n{}", agents.join("\n"))
    };
    load(&chain(32));
    assert!(read(&chain(33), &environment()).is_err());
}

#[test]
fn a_name_that_nobody_has_is_a_warning() {
    let configuration = load(
        "agents:\n- {name: boss, url: 'https://a', skills: {s: {allowed_agents: [clerk]}}}\n\
         - {name: b, parent: bos, url: 'https://b'}",
    );
    let warnings = check::warnings(&configuration);
    let told: Vec<_> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "line 2, column 10: agents[0].skills.s.allowed_agents: no agent `clerk` is in this file; it must be registered by other means",
            "line 3, column 21: agents[1].parent: no agent `bos` is in this file; did you mean `boss`?"
        ]
    );
}

#[test]
fn secrets_are_nowhere_to_be_seen() {
    let text = "
database: postgres://u:hunter2@h/d
authentication: {admin_key: hunter2}
telemetry: {otlp: {endpoint: 'https://o', headers: {x: hunter2}}}
";
    let configuration = load(text);
    let shown = serde_json::to_string(&configuration).unwrap();
    assert!(!format!("{configuration:?}").contains("hunter2"));
    assert!(!shown.contains("hunter2") && shown.contains("(secret)"), "{shown}");
    for wrong in [
        "database: postgre://u:hunter2@h",
        "public_url: 'https://u:hunter2@h'",
        "agents: [{name: a, url: 'ftp://u:hunter2@h'}]",
        "listen: hunter2",
    ] {
        let error = read(wrong, &environment()).unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
    let environment = [("S".to_owned(), "Hunter2".to_owned())].into();
    for wrong in [
        "listen: ${S}",
        "limits:\n  drain: ${S}",
        "hierarchy: ${S}",
        "limits:\n  connections: ${S}",
        "root_siblings: ${S}",
        "rules: ${S}",
        "rules:\n- effect: ${S}",
        "tls: ${S}",
        "agents: [{name: '${S}!', url: 'https://a'}]",
        "agents: [{name: '${S} ${S}', url: 'https://a'}]",
        "agents: [{name: a, url: 'https://a', parent: 'x ${S}'}]",
        "agents: [{name: b, kind: llm, model: '${S}'}]",
        "agents: [{name: b, kind: llm, model: '${S:-x}/m'}]",
        "default_model: ${S}/m",
    ] {
        let error = read(wrong, &environment).unwrap_err().to_string();
        assert!(!error.to_lowercase().contains("hunter2"), "{error}");
    }
    let named = read("agents: [{name: '${S}!', url: 'https://a'}]", &environment).unwrap_err();
    assert!(named.to_string().contains("`${S}!` is no name of an agent"), "{named}");
}

#[test]
fn layers_overrule_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nuncio.yaml");
    std::fs::write(&file, "listen: 127.0.0.1:1\ndata_dir: data\norganisation: of-file\n").unwrap();
    let mut layers = Layers { file: Some(file), ..Layers::default() };
    let load = |layers: &Layers| layers.load().unwrap().configuration;
    let of_file = load(&layers);
    assert_eq!(of_file.data_dir, Some(folder.path().join("data")));
    layers.environment = [
        ("NUNCIO_LISTEN", "127.0.0.1:2"),
        ("NUNCIO_ORGANISATION", "of-environment"),
        ("NUNCIO_ADMIN_KEY", "k"),
        ("NUNCIO_LOG_LEVEL", "debug"),
        ("NUNCIO_PUBLIC_URL", ""),
        ("NUNCIO_DATABASE", "postgres://h"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    let of_environment = load(&layers);
    assert_eq!(of_environment.listen.port(), 2);
    assert_eq!(of_environment.organisation, "of-environment");
    assert_eq!(of_environment.telemetry.level, Level::Debug);
    assert!(of_environment.authentication.admin_key.is_some());
    assert_eq!(of_environment.public_url, None);
    assert!(matches!(of_environment.database, Database::Postgres(_)));
    layers.flags = Flags { port: Some(3), in_memory: true, ..Flags::default() };
    let of_flags = load(&layers);
    assert_eq!((of_flags.listen.port(), of_flags.database), (3, Database::Memory));
}

#[test]
fn variables_that_do_not_fit_are_named() {
    let layers = |name: &str, value: &str| Layers {
        environment: [(name.to_owned(), value.to_owned())].into(),
        ..Layers::default()
    };
    let error = layers("NUNCIO_LISTEN", "nonsense").load().unwrap_err();
    assert_eq!(
        error.to_string(),
        "NUNCIO_LISTEN: expected a host and a port such as 127.0.0.1:7420 or [::1]:0"
    );
    let warned = layers("NUNCIO_LISTN", "x").load().unwrap().warnings;
    assert_eq!(
        warned[0].to_string(),
        "NUNCIO_LISTN: it means nothing; did you mean `NUNCIO_LISTEN`?"
    );
    assert!(layers("NUNCIO_SOMETHING_ELSE", "x").load().unwrap().warnings.is_empty());
}

#[test]
fn a_variable_of_another_command_is_no_mistake_and_nobody_is_talked_into_an_open_hub() {
    for name in ["NUNCIO_KEY", "NUNCIO_URL", "NUNCIO_API_KEY", "NUNCIO_CONFIG", "NUNCIO_OPNE"] {
        let environment = [(name.to_owned(), String::new())].into();
        let layers = Layers { environment, ..Layers::default() };
        assert_eq!(layers.load().unwrap().warnings, [], "{name}");
    }
}

#[test]
fn a_file_names_itself_in_errors() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nuncio.yaml");
    std::fs::write(&file, "a: 1\n").unwrap();
    let layers = Layers { file: Some(file.clone()), ..Layers::default() };
    let error = layers.load().unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("{}:1:1: a: `a` is no key here", file.display())),
        "{error}"
    );
    std::fs::write(&file, " ".repeat(2 << 20)).unwrap();
    assert!(matches!(layers.load(), Err(Error::TooLarge { .. })));
}

#[test]
fn what_stands_elsewhere_by_a_reference_may_be_a_variable() {
    let environment =
        [("D", "5s"), ("T", "3")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let text = "limits: {drain: &d '${D}', call_timeout: *d}\n\
                agents:\n- &a {name: a, url: 'https://a', trust: '${T}'}\n- {<<: *a, name: b}\n";
    assert_eq!(read(text, &environment.into()).unwrap().agents.len(), 2);
}

#[test]
fn aliases_and_bombs_are_read_or_refused() {
    let text = "agents:\n- &a {name: a, url: 'https://a'}\n- {<<: *a, name: b}\n";
    assert_eq!(load(text).agents.len(), 2);
    let lines = (1..20).map(|level| {
        let before = format!("*a{},", level - 1).repeat(10);
        format!("a{level}: &a{level} [{before}]\n")
    });
    let bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned() + &lines.collect::<Vec<_>>().concat();
    assert!(read(&bomb, &environment()).is_err());
    assert!(read(&"[".repeat(100_000), &environment()).is_err());
}

/// Returns the beginning of the letter at a place in the example.
fn boundary(at: usize) -> usize {
    (0..=at).rev().find(|at| EXAMPLE.is_char_boundary(*at)).unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Throws damaged files at the reader: cut, doubled, with foreign letters in them.
    #[test]
    fn any_damage_is_read_or_refused(
        at in 0..EXAMPLE.len(),
        length in 0_usize..200,
        foreign in "[\\PC\n\t:\\-\\[\\]{}&*!|>'\"%@`#,?$]{0,12}",
    ) {
        let start = boundary(at);
        let end = boundary((at + length).min(EXAMPLE.len()));
        let (before, piece, after) = (&EXAMPLE[..start], &EXAMPLE[start..end.max(start)], &EXAMPLE[end.max(start)..]);
        for text in [
            format!("{before}{after}"),
            format!("{before}{foreign}{piece}{after}"),
            format!("{before}{piece}{piece}{after}"),
            format!("{before}{foreign}"),
        ] {
            if let Err(error) = read(&text, &environment()) {
                prop_assert!(!error.problems().is_empty());
                let told = error.to_string();
                prop_assert!(!told.contains("secret-of-"), "{}", told);
                prop_assert!(!told.chars().any(|letter| letter.is_control() && letter != '\n'));
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused_by_everybody(text in "\\PC*") {
        let _ = read(&text, &environment());
    }
}

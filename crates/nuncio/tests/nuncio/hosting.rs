//! Agents that the hub runs itself, brought in while it runs: by command, and over its API.

use std::time::Duration;

use nuncio_testkit::program::Program;

use crate::cli::support::User;

/// A user with a hub that has a file.
struct House {
    user: User,
    hub: Program,
}

impl House {
    fn new(file: &str) -> Self {
        let user = User::new();
        user.write("nuncio.yaml", file);
        let hub = start(&user);
        Self { user, hub }
    }

    fn restart(self) -> Self {
        let Self { user, hub } = self;
        drop(hub);
        let hub = start(&user);
        Self { user, hub }
    }

    #[track_caller]
    fn did(&self, words: &[&str]) -> String {
        let came = self.user.run(words);
        assert_eq!(came.code, 0, "{words:?}: {}", came.err);
        came.out
    }

    /// Posts to the hub as its administrator.
    fn post(&self, path: &str, body: &str) -> (String, String) {
        let file = self.user.home().join(".local/share/nuncio/hub/admin.key");
        let key = std::fs::read_to_string(file).expect("there is a key");
        let headers =
            format!("authorization: Bearer {}\r\ncontent-type: application/json\r\n", key.trim());
        self.hub.send("POST", path, &headers, body)
    }

    #[track_caller]
    fn refused(&self, body: &str, expected: &str) {
        let (head, told) = self.post("/api/v1/agents", body);
        assert!(head.starts_with("HTTP/1.1 400"), "{body}: {head}{told}");
        assert!(told.contains(expected), "{body}: {told}");
    }
}

/// Asks again until it is so: a file is taken when it has been the same for a second.
#[track_caller]
pub(crate) fn until(mut is_so: impl FnMut() -> bool) {
    let mut tries = (0..300).inspect(|_| std::thread::sleep(Duration::from_millis(200)));
    assert!(tries.any(|_| is_so()), "the file was not taken in a minute");
}

fn start(user: &User) -> Program {
    Program::start(&mut user.command(&["up", "--port", "0"]))
}

#[test]
fn an_agent_that_the_hub_runs_is_added_at_run_time_and_stays() {
    let house = House::new("");
    let shown = house.did(&["agents", "add", "--name", "parrot", "--kind", "echo"]);
    assert!(shown.contains("Kind: echo\n") && shown.contains("Status: online\n"), "{shown}");
    assert!(house.did(&["send", "-a", "parrot", "hello"]).contains("hello"));
    let house = house.restart();
    assert!(house.did(&["send", "-a", "parrot", "again"]).contains("again"));
    house.did(&["agents", "remove", "parrot"]);
    assert_ne!(house.user.run(&["send", "-a", "parrot", "hello"]).code, 0);
}

#[test]
fn models_and_servers_of_the_file_serve_agents_that_come_later() {
    let house = House::new("providers: {house: {type: ollama, url: 'http://127.0.0.1:9'}}\n");
    let words = ["agents", "add", "--name", "poet", "--kind", "llm", "--model"];
    let unknown = house.user.run(&[&words[..], &["openai/x"]].concat());
    assert!(unknown.code != 0 && unknown.err.contains("no provider `openai`"), "{unknown:?}");
    house.did(&[&words[..], &["house/m", "--set", "max_turns=2"]].concat());
    // Nobody is at that port, and that is what its caller is told.
    let sent = house.user.run(&["send", "-a", "poet", "a poem"]);
    assert!(sent.out.contains("State: FAILED"), "{sent:?}");

    // The file no longer has the provider.
    house.user.write("nuncio.yaml", "organisation: main\n");
    until(|| {
        let sent = house.user.run(&["send", "-a", "poet", "a poem"]);
        sent.out.contains("no longer goes with the hub's configuration")
    });
}

#[test]
fn what_the_network_says_starts_no_program_and_opens_no_address() {
    let house = House::new("organisation: main\n");
    let file = house.user.home().join("nuncio.yaml");
    let command = r#"{"name":"upper","kind":"command","settings":{"command":["tr","a-z","A-Z"]}}"#;
    house.refused(command, &format!("put this into {}", file.display()));
    house.refused(command, r#"command: [\"tr\", \"a-z\", \"A-Z\"]"#);
    let program = r#"{"name":"x","kind":"echo","settings":{"command":["true"]}}"#;
    house.refused(program, "configuration file only");
    let http = |url: &str| format!(r#"{{"name":"x","kind":"http","settings":{{"url":"{url}"}}}}"#);
    house.refused(&http("https://10.0.0.1/"), "ADDRESS_REFUSED");
    house.refused(&http("https://169.254.169.254/latest"), "ADDRESS_REFUSED");
    house.refused(&http(&format!("http://{}/api/v1/agents", house.hub.address())), "ADDRESS_REF");
    let elsewhere = r#"{"name":"x","kind":"echo","url":"https://a.example"}"#;
    house.refused(elsewhere, "for agents elsewhere");
    house.refused(r#"{"kind":"echo"}"#, r#""field":"name""#);
    let agents = house.did(&["agents", "-o", "json"]);
    assert!(agents.contains(r#""agents":[]"#), "nothing of it is there: {agents}");
}

#[test]
fn the_lines_for_a_program_are_shown_and_taken_from_the_file_at_once() {
    let house = House::new("organisation: main\n");
    let words = ["agents", "add", "--name", "upper", "--kind", "command", "--", "tr", "a-z", "A-Z"];
    let came = house.user.run(&words);
    let file = house.user.home().join("nuncio.yaml");
    assert!(came.err.contains(&file.display().to_string()), "{}", came.err);
    house.user.write("nuncio.yaml", &format!("organisation: main\n{}", came.out));
    until(|| house.user.run(&["send", "-a", "upper", "hello"]).out.contains("HELLO"));
}

#[test]
fn agents_of_the_hub_hold_to_their_cards_as_served_ones_do() {
    let house = House::new("agents: [{name: upper, kind: command, command: [tr, a-z, A-Z]}]\n");
    house.did(&["agents", "add", "--name", "parrot", "--kind", "echo"]);
    let served = Program::start(&mut house.user.command(&[
        "serve",
        "--name",
        "upper",
        "--in-memory",
        "--port",
        "0",
        "--",
        "tr",
        "a-z",
        "A-Z",
    ]));
    let send = |part: &str, wishes: &str| {
        format!(
            r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{part}]}},"configuration":{{{wishes}}}}}"#
        )
    };
    let image = send(r#"{"raw":"aGk=","mediaType":"image/png"}"#, "");
    let text = r#"{"text":"hello","mediaType":"text/markdown"}"#;
    let drawn = send(text, r#""acceptedOutputModes":["image/png"]"#);
    let data = send(r#"{"data":{"k":"hello"},"mediaType":"application/json"}"#, "");
    let told = send(text, "");
    for (body, status, expected) in [
        (&image, "400", "CONTENT_TYPE_NOT_SUPPORTED"),
        (&drawn, "400", "OUTPUT_MODE_NOT_SUPPORTED"),
        (&data, "200", r#"{\"K\":\"HELLO\"}"#),
        (&told, "200", "HELLO"),
    ] {
        let hosted = house.post("/agents/upper/message:send", body);
        let headers = "content-type: application/json\r\n";
        for (head, answer) in [hosted, served.send("POST", "/message:send", headers, body)] {
            assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{body}: {head}{answer}");
            assert!(answer.contains(expected), "{body}: {answer}");
        }
    }
    // Whoever takes anything is sent anything.
    let (head, answer) = house.post("/agents/parrot/message:send", &image);
    assert!(head.starts_with("HTTP/1.1 200 ") && answer.contains("aGk="), "{head}{answer}");
}

/// A hub of an earlier version wrote that an echo takes and gives text alone, and did not hold to it.
#[test]
fn an_echo_of_an_earlier_hub_still_takes_anything() {
    let house = House::new("agents: [{name: configured, kind: echo}]\n");
    house.did(&["agents", "add", "--name", "parrot", "--kind", "echo"]);
    let House { user, hub } = house;
    drop(hub);
    let database =
        rusqlite::Connection::open(user.home().join(".local/share/nuncio/hub/nuncio.db"));
    let earlier = "UPDATE hub_records SET body = replace(body, '*/*', 'text/plain')
        WHERE body LIKE '%*/*%'";
    assert_eq!(database.and_then(|database| database.execute(earlier, ())), Ok(2));
    let hub = start(&user);
    let house = House { user, hub };
    let image = r#"{"message":{"messageId":"m","role":"ROLE_USER",
        "parts":[{"raw":"aGk=","mediaType":"image/png"}]}}"#;
    for name in ["configured", "parrot"] {
        let (head, answer) = house.post(&format!("/agents/{name}/message:send"), image);
        assert!(head.starts_with("HTTP/1.1 200 ") && answer.contains("aGk="), "{head}{answer}");
    }
}

#[test]
fn a_budget_of_the_file_holds_over_restarts_and_changes_at_once() {
    let file = |calls: u32| {
        format!(
            "agents: [{{name: parrot, kind: echo}}]\n\
             budgets: {{callers: {{'user:administrator': {{calls_per_day: {calls}}}}}}}\n"
        )
    };
    let house = House::new(&file(2));
    let send = ["send", "-a", "parrot", "hello"];
    house.did(&send);
    let house = house.restart();
    house.did(&send);
    let refused = house.user.run(&send);
    assert_ne!(refused.code, 0);
    assert!(refused.err.contains("is used up: 2 calls a day"), "{}", refused.err);
    house.user.write("nuncio.yaml", &file(1000));
    until(|| house.user.run(&send).code == 0);
}

#[test]
fn cards_that_must_be_signed_are_signed_by_keys_of_the_file() {
    let user = User::new();
    let made = user.run(&["card", "keygen", "--out", "key.pem"]);
    assert_eq!(made.code, 0, "{}", made.err);
    user.write("trusted.jwks", &made.out);
    let (_agent, url) = crate::cli::support::serve(&["--name", "plain", "--in-memory"]);
    let cards = "cards: {signatures: require, trusted_keys: [{keys: trusted.jwks}]}\n";
    user.write("nuncio.yaml", cards);
    let hub = start(&user);
    let refused = user.run(&["agents", "add", &url]);
    assert!(refused.code != 0 && refused.err.contains("is not signed"), "{refused:?}");
    // What the hub runs is its own word.
    let came = user.run(&["agents", "add", "--name", "parrot", "--kind", "echo"]);
    assert_eq!(came.code, 0, "{}", came.err);
    assert_eq!(user.run(&["send", "-a", "parrot", "hello"]).code, 0);
    drop(hub);
}

//! `nuncio up` and the commands that ask it, from outside.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use nuncio_testkit::{program::Program, services};
use serde_json::Value;

use crate::cli::support::{Came, User, Waiter, came_of, serve, serve_here};

/// A user who has started a hub.
struct Owner {
    user: User,
    hub: Program,
}

impl Owner {
    fn new(arguments: &[&str]) -> Self {
        let user = User::new();
        let hub = start(&user, arguments);
        Self { user, hub }
    }

    /// Starts the hub again, on the same data.
    fn restart(self) -> Self {
        let Self { user, hub } = self;
        drop(hub);
        let hub = start(&user, &[]);
        Self { user, hub }
    }

    fn run(&self, words: &[&str]) -> Came {
        self.user.run(words)
    }

    #[track_caller]
    fn did(&self, words: &[&str]) -> String {
        let came = self.run(words);
        assert_eq!(came.code, 0, "{words:?}: {}", came.err);
        came.out
    }

    /// Runs a command as somebody else, by their key.
    fn run_as(&self, key: &str, words: &[&str]) -> Came {
        let mut command = self.user.command(words);
        command.env("NUNCIO_KEY", key);
        came_of(command, "")
    }

    /// Asks the hub itself.
    fn ask(&self, key: Option<&str>, path: &str) -> (String, String) {
        let headers = key.map(|key| format!("authorization: Bearer {key}\r\n")).unwrap_or_default();
        self.hub.send("GET", path, &headers, "")
    }

    /// Returns the id of the newest task; what commands print of it is made the same in all runs.
    fn newest_task(&self) -> String {
        let key = std::fs::read_to_string(self.key_file()).expect("there is a key");
        let (_, body) = self.ask(Some(key.trim()), "/api/v1/tasks?limit=1");
        let (_, rest) = body.split_once("\"id\":\"").expect("there is a task");
        rest.split('"').next().unwrap_or_default().to_owned()
    }

    fn key_file(&self) -> PathBuf {
        self.user.home().join(".local/share/nuncio/hub/admin.key")
    }
}

fn start(user: &User, arguments: &[&str]) -> Program {
    let mut command: Command = user.command(&["up", "--port", "0"]);
    command.args(arguments);
    Program::start(&mut command)
}

#[test]
fn the_first_start_makes_a_key_that_the_commands_find() {
    let owner = Owner::new(&[]);
    assert!(owner.did(&["agents"]).starts_with("NAME"));
    let mode = std::fs::metadata(owner.key_file()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    // Nobody else comes in: neither without a key, nor with a wrong one, nor by a claim.
    let (head, _) = owner.ask(None, "/api/v1/agents");
    assert!(head.starts_with("HTTP/1.1 401"), "{head}");
    let (head, _) = owner.hub.send("GET", "/api/v1/agents", "x-workspace-id: admin\r\n", "");
    assert!(head.starts_with("HTTP/1.1 401"), "{head}");
    let (head, _) = owner.ask(None, "/healthz");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
}

#[test]
fn a_hub_in_a_relative_folder_is_found_from_every_other() {
    let owner = Owner::new(&["--data-dir", "data"]);
    let elsewhere = tempfile::tempdir().unwrap();
    let agents = || {
        let mut command = owner.user.command(&["agents"]);
        command.current_dir(elsewhere.path());
        came_of(command, "")
    };
    let came = agents();
    assert_eq!(came.code, 0, "{}", came.err);
    let key = owner.user.home().join("data/admin.key");
    std::fs::remove_file(&key).unwrap();
    let came = agents();
    assert_eq!(came.code, 1, "{}", came.err);
    assert!(came.err.contains(key.to_str().unwrap()), "{}", came.err);
    assert!(came.err.contains("NUNCIO_KEY"), "{}", came.err);
}

/// Starts a hub whose administrator's key is set.
fn start_with(user: User, key: &str, arguments: &[&str]) -> Owner {
    let mut command = user.command(&["up", "--port", "0"]);
    command.args(arguments).env("NUNCIO_ADMIN_KEY", key);
    Owner { hub: Program::start(&mut command), user }
}

fn new_key() -> String {
    nuncio_auth::ApiKey::generate("administrator").0.to_string()
}

impl Owner {
    /// Tells whether a key opens the hub.
    #[track_caller]
    fn opens(&self, key: &str) -> bool {
        let (head, _) = self.ask(Some(key), "/api/v1/agents");
        assert!(["HTTP/1.1 200", "HTTP/1.1 401"].iter().any(|status| head.starts_with(status)));
        head.starts_with("HTTP/1.1 200")
    }

    /// Ends the hub.
    fn stop(self) -> User {
        self.user
    }
}

/// A key that is set is the only one: what a start made before it opens nothing any more.
#[test]
fn a_key_that_is_set_takes_the_place_of_the_one_that_was_made() {
    let owner = Owner::new(&[]);
    let made = key(&owner);
    let set = new_key();
    let owner = start_with(owner.stop(), &set, &[]);
    assert!(owner.opens(&set) && !owner.opens(&made));
    owner.did(&["agents"]);
    assert_eq!(key(&owner), set);
    assert!(owner.restart().opens(&set));
}

/// Which keys there are is known by the database, not by the file beside it.
#[test]
fn the_administrators_key_is_the_only_one_of_the_database() {
    let owner = Owner::new(&[]);
    let made = key(&owner);
    std::fs::remove_file(owner.key_file()).unwrap();
    let (first, second) = (new_key(), new_key());
    let owner = start_with(owner.stop(), &first, &[]);
    assert!(owner.opens(&first) && !owner.opens(&made));
    let other = owner.did(&["token", "user", "--admin", "ann"]);
    std::fs::remove_file(owner.key_file()).unwrap();
    let owner = start_with(owner.stop(), &second, &[]);
    assert!(owner.opens(&second) && !owner.opens(&first) && !owner.opens(&made));
    assert!(owner.opens(other.trim()), "keys of people stay");
    // Whoever has lost the file gets another key, and the one in the file opens nothing.
    std::fs::remove_file(owner.key_file()).unwrap();
    let owner = owner.restart();
    assert!(owner.opens(&key(&owner)) && !owner.opens(&second));
    let refused = owner.run(&["token", "user", "--admin", "administrator"]);
    assert!(refused.code == 1 && refused.err.contains("use another"), "{}", refused.err);
}

/// The key in the data folder is that of the database, which a hub in memory leaves alone.
#[test]
fn a_key_that_is_set_for_a_hub_in_memory_leaves_the_one_that_was_made() {
    let owner = Owner::new(&[]);
    let made = key(&owner);
    let set = new_key();
    let owner = start_with(owner.stop(), &set, &["--in-memory"]);
    assert!(owner.opens(&set) && !owner.opens(&made));
    owner.did(&["agents"]);
    let owner = owner.restart();
    assert!(owner.opens(&made) && !owner.opens(&set));
    owner.did(&["agents"]);
}

/// As callers of the hub reach it, with the key that the other commands show.
#[test]
fn the_doctor_examines_an_agent_of_the_directory_by_its_name() {
    let owner = Owner::new(&["--demo"]);
    let report = owner.did(&["doctor", "legacy", "--format", "json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let passed = |code| checks.iter().any(|one| one["code"] == code && one["outcome"] == "pass");
    assert!(passed("conversation.answer") && passed("streaming.ends"), "{report:#}");
}

/// What a hub leaves for the other commands goes with it, and hides no other.
#[test]
fn a_hub_that_has_stopped_is_not_asked() {
    let mut first = Owner::new(&["--in-memory"]);
    let note = first.user.home().join(".local/share/nuncio/hub.json");
    let second = start(&first.user, &["--in-memory"]);
    first.hub.terminate();
    assert!(first.hub.wait());
    assert!(std::fs::read_to_string(&note).unwrap().contains(second.address()));
    let mut owner = Owner { user: first.user, hub: second };
    owner.did(&["agents"]);
    owner.hub.terminate();
    assert!(owner.hub.wait());
    assert!(!note.exists());
}

#[test]
fn what_can_never_be_is_not_put_off() {
    let owner = Owner::new(&["--in-memory"]);
    for words in [["tasks", "watch", "nope"], ["run", "watch", "nope"]] {
        let came = owner.run(&words);
        assert_eq!(came.code, 1, "{}", came.err);
        assert!(came.err.contains("(NOT_FOUND)") && !came.err.contains("later"), "{}", came.err);
    }
    let came = owner.run(&["agents", "--status", "nonsense"]);
    assert_eq!(came.code, 2, "{}", came.err);
    assert!(came.err.contains("degraded"), "{}", came.err);
}

#[test]
fn agents_are_added_by_their_address_placed_shown_and_removed() {
    let owner = Owner::new(&[]);
    let (_agent, url) = serve(&["--name", "echo", "--in-memory"]);
    owner.did(&["agents", "add", "--name", "lead"]);
    let shown = owner.did(&["agents", "add", &url, "--parent", "lead"]);
    assert!(shown.starts_with("Name: echo\n"), "{shown}");
    assert!(shown.contains("Parent: lead\n"), "{shown}");
    let listed = owner.did(&["agents", "--skill", "echo"]);
    assert_eq!(listed.lines().count(), 2, "{listed}");
    assert!(listed.contains("\necho  online  lead    1.0,0.3  echo "), "{listed}");
    let shown = owner.did(&["agents", "show", "echo"]);
    assert!(shown.contains("\nA2A: 1.0, 0.3 on JSONRPC, HTTP+JSON, GRPC\n"), "{shown}");

    let twice = owner.run(&["agents", "add", "--name", "ech0"]);
    assert_eq!(twice.code, 1);
    assert!(twice.err.contains("looks like `echo`"), "{}", twice.err);
    let cycle = owner.run(&["agents", "move", "lead", "--parent", "echo"]);
    assert_eq!(cycle.code, 1, "{}", cycle.err);

    let refused = owner.run(&["agents", "remove", "lead"]);
    assert!(refused.err.contains("1 agents stand below it"), "{}", refused.err);
    owner.did(&["agents", "remove", "lead", "--below", "lift"]);
    assert!(!owner.did(&["agents", "show", "echo"]).contains("Parent"));
}

#[test]
fn the_directory_keys_and_rules_are_as_acknowledged_after_a_kill() {
    let owner = Owner::new(&[]);
    owner.did(&["agents", "add", "--name", "lead"]);
    owner.did(&["agents", "add", "--name", "writer", "--parent", "lead"]);
    owner.did(&["agents", "add", "--name", "stranger"]);
    owner.did(&["rules", "put", "r1", "allow", "stranger", "writer", "--note", "an exception"]);
    let viewer = owner.did(&["token", "user", "vera", "--viewer"]);
    let last_used = |owner: &Owner| {
        let listed = owner.did(&["token", "list"]);
        let vera = listed.lines().find(|line| line.contains("user:vera")).expect("she has a key");
        !vera.contains("  -  ")
    };
    assert!(!last_used(&owner), "nobody has shown it yet");
    owner.run_as(viewer.trim(), &["agents"]);
    assert!(last_used(&owner), "MD-27");
    let revoked = owner.did(&["token", "user", "rick"]);
    let revoked_id = revoked.split('_').nth(1).unwrap().to_owned();
    owner.did(&["token", "revoke", &revoked_id]);

    let owner = owner.restart();
    assert!(owner.did(&["agents", "show", "writer"]).contains("Parent: lead\n"));
    let explained = owner.did(&["policy", "explain", "stranger", "writer"]);
    assert!(explained.contains("Rule: r1\n"), "{explained}");
    assert_eq!(owner.run_as(viewer.trim(), &["agents"]).code, 0);
    let denied = owner.run_as(viewer.trim(), &["agents", "add", "--name", "x"]);
    assert_eq!(denied.code, 4, "{}", denied.err);
    assert_eq!(owner.run_as(revoked.trim(), &["agents"]).code, 4);
}

#[test]
fn the_audit_trail_says_who_did_what_and_where_it_was_changed() {
    let owner = Owner::new(&[]);
    owner.did(&["agents", "add", "--name", "lead"]);
    owner.did(&["rules", "put", "r1", "deny", "user:bob", "lead"]);
    let whole = owner.run(&["audit"]);
    assert_eq!(whole.code, 0, "{}", whole.err);
    assert!(whole.err.contains("lines hang together; the hash of line"), "{}", whole.err);
    let last = whole.out.lines().last().unwrap();
    let words: Vec<_> = last.split_whitespace().collect();
    assert_eq!(words[3..], ["rule.put", "r1"], "{}", whole.out);
    let added = whole.out.lines().find(|line| line.contains("agent.add")).unwrap();
    assert!(added.contains("  lead  "), "agents are called by their names: {added}");
    assert_eq!(owner.did(&["audit", "--last", "1"]).lines().count(), 2);
    let seq: u64 = words[0].parse().unwrap();
    let rest = owner.did(&["audit", "--after", &(seq - 1).to_string(), "-o", "json"]);
    assert!(rest.contains(r#""whole":true"#) && !rest.contains("agent.add"), "{rest}");
    let all = owner.did(&["audit", "-o", "json"]);
    assert!(all.contains("agent.add") && all.contains("rule.put"), "{all}");
    let newest = owner.did(&["audit", "--last", "1", "-o", "json"]);
    let newest: Value = serde_json::from_str(&newest).expect("one document");
    assert_eq!(newest["lines"].as_array().map(Vec::len), Some(1), "{newest}");
    assert_eq!(newest["lines"][0]["line"]["action"], "rule.put", "{newest}");
    assert_eq!((&newest["last"], &newest["whole"]), (&seq.into(), &true.into()), "{newest}");

    let Owner { user, hub } = owner;
    drop(hub);
    let database = rusqlite::Connection::open(database_of(user.home())).unwrap();
    let forged = "UPDATE hub_audit SET body = replace(body, 'agent.add', 'agent.odd')";
    assert_eq!(database.execute(forged, ()).map(|changed| changed > 0), Ok(true));
    drop(database);
    let hub = start(&user, &[]);
    let owner = Owner { user, hub };
    let broken = owner.run(&["audit"]);
    assert_eq!(broken.code, 1, "{}", broken.out);
    assert!(broken.err.contains("does not hang together at line"), "{}", broken.err);
}

/// Finds where the hub of a user keeps everything.
fn database_of(home: &Path) -> PathBuf {
    home.join(".local/share/nuncio/hub/nuncio.db")
}

#[test]
fn policy_explain_says_why() {
    let owner = Owner::new(&[]);
    owner.did(&["agents", "add", "--name", "lead"]);
    owner.did(&["agents", "add", "--name", "writer", "--parent", "lead"]);
    owner.did(&["agents", "add", "--name", "other"]);
    let may = owner.did(&["policy", "explain", "lead", "writer"]);
    assert!(may.starts_with("Decision: allowed: the caller is the parent of the target"), "{may}");
    let may_not = owner.did(&["policy", "explain", "other", "writer"]);
    assert!(may_not.starts_with("Decision: denied"), "{may_not}");
    let json = owner.did(&["policy", "explain", "other", "writer", "-o", "json"]);
    assert!(json.starts_with(r#"{"allowed":false,"#), "{json}");
}

#[test]
fn an_agent_enrols_beats_and_finds_its_peers() {
    let owner = Owner::new(&[]);
    owner.did(&["agents", "add", "--name", "lead"]);
    let enrolment = owner.did(&["token", "enrol", "--parent", "lead"]);
    let card = r#"{"name":"Writer","description":"d","version":"1","supportedInterfaces":[{"url":"http://127.0.0.1:1/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"skills":[],"defaultInputModes":[],"defaultOutputModes":[]}"#;
    let body = format!(r#"{{"card":{card}}}"#);
    let bearer = |key: &str| format!("authorization: Bearer {}\r\n", key.trim());
    let (head, answer) = owner.hub.send("POST", "/api/v1/register", &bearer(&enrolment), &body);
    assert!(head.starts_with("HTTP/1.1 201"), "{head}{answer}");
    let token = answer.split(r#""token":""#).nth(1).unwrap().split('"').next().unwrap().to_owned();

    let (head, answer) = owner.hub.send(
        "POST",
        "/api/v1/agents/writer/heartbeat",
        &bearer(&token),
        r#"{"current_task":"a poem"}"#,
    );
    assert!(head.starts_with("HTTP/1.1 200"), "{head}{answer}");
    assert!(owner.did(&["agents"]).contains("a poem"));
    let (head, answer) = owner.ask(Some(&token), "/api/v1/agents/writer/peers");
    assert!(head.starts_with("HTTP/1.1 200") && answer.contains(r#""name":"lead""#), "{answer}");
    // The token for newcomers was good once.
    let (head, _) = owner.hub.send("POST", "/api/v1/register", &bearer(&enrolment), &body);
    assert!(head.starts_with("HTTP/1.1 401") || head.starts_with("HTTP/1.1 403"), "{head}");
}

#[test]
fn a_configuration_file_brings_agents_and_rules_and_is_read_again() {
    let user = User::new();
    user.write(
        "nuncio.yaml",
        "agents:\n  - {name: lead, url: 'https://lead.example', heartbeat: true}\n  \
         - {name: writer, url: 'https://writer.example', parent: lead, heartbeat: true}\n",
    );
    let hub = start(&user, &[]);
    let owner = Owner { user, hub };
    assert!(owner.did(&["agents", "show", "writer"]).contains("Parent: lead\n"));

    owner.user.write(
        "nuncio.yaml",
        "agents:\n  - {name: lead, url: 'https://lead.example', heartbeat: true}\n  \
         - {name: editor, url: 'https://editor.example', parent: lead, heartbeat: true}\n\
         rules:\n  - {effect: deny, caller: editor, target: lead}\n",
    );
    // The file is looked at every second.
    while owner.run(&["agents", "show", "editor"]).code != 0 {}
    while owner.run(&["agents", "show", "writer"]).code == 0 {}
    loop {
        let explained = owner.did(&["policy", "explain", "editor", "lead"]);
        if explained.contains("Decision: denied") {
            break;
        }
    }
}

#[test]
fn nobody_from_elsewhere_is_let_in_unproved() {
    let user = User::new();
    let came = user.run(&["up", "--host", "0.0.0.0", "--port", "0", "--open"]);
    assert_ne!(came.code, 0);
    assert!(came.err.contains("--open") || came.err.contains("open"), "{}", came.err);
}

/// A card that says `0.0.0.0` leads nobody anywhere.
#[test]
fn a_hub_that_listens_everywhere_is_called_by_an_address_that_leads_to_it() {
    let user = User::new();
    let mut command = user.command(&["up", "--host", "0.0.0.0", "--port", "0", "--in-memory"]);
    let hub = Program::start_until(&mut command, "log in:       http://");
    assert!(hub.said().contains("listening on http://0.0.0.0:"), "{}", hub.said());
    assert!(hub.said().contains("--public-url"), "{}", hub.said());
    let (host, _) = hub.address().split_once('/').expect("a link");
    assert!(host.starts_with("127.0.0.1:"), "{host}");
    let came = user.run(&["card", "get", "-a", &format!("http://{host}"), "-o", "json"]);
    assert_eq!(came.code, 0, "{}", came.err);
    assert!(came.out.contains(host) && !came.out.contains("0.0.0.0"), "{}", came.out);

    let user = User::new();
    let mut command = user.command(&["up", "--host", "0.0.0.0", "--port", "0", "--in-memory"]);
    command.args(["--public-url", "http://hub.test"]);
    let hub = Program::start_until(&mut command, "log in:       http://");
    assert!(!hub.said().contains("for others"), "{}", hub.said());
    assert!(hub.address().starts_with("hub.test/"), "{}", hub.address());
}

#[test]
fn an_open_hub_says_so_and_needs_no_key() {
    let user = User::new();
    let hub = start(&user, &["--open", "--in-memory"]);
    let (head, _) = hub.send("GET", "/api/v1/agents", "", "");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
}

#[test]
fn events_can_be_followed_from_the_first() {
    let owner = Owner::new(&[]);
    owner.did(&["agents", "add", "--name", "lead"]);
    owner.did(&["agents", "remove", "lead"]);
    let (head, answer) = owner.ask(Some(&key(&owner)), "/api/v1/events?after=0");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(
        answer.contains("WORKSPACE_PROVISIONING") && answer.contains("WORKSPACE_REMOVED"),
        "{answer}"
    );
}

fn key(owner: &Owner) -> String {
    std::fs::read_to_string(owner.key_file()).expect("the hub has made it").trim().to_owned()
}

/// The same with Postgres, and two hubs on one database know of each other's changes.
#[tokio::test(flavor = "multi_thread")]
async fn two_hubs_share_a_database() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let both = tokio::task::spawn_blocking({
        let url = database.url();
        move || {
            let up = |user: User| {
                let mut command = user.command(&["up", "--port", "0"]);
                let hub = Program::start(command.env("NUNCIO_DATABASE", &url));
                Owner { user, hub }
            };
            let one = up(User::new());
            let other = up(User::new());
            one.did(&["agents", "add", "--name", "lead"]);
            one.did(&["agents", "add", "--name", "writer", "--parent", "lead"]);
            // Others are caught up with every second.
            while other.run(&["agents", "show", "writer"]).code != 0 {}
            let cycle = other.run(&["agents", "move", "lead", "--parent", "writer"]);
            assert_eq!(cycle.code, 1, "{}", cycle.err);
            other.did(&["rules", "put", "r", "deny", "lead", "writer"]);
            while !one.did(&["policy", "explain", "lead", "writer"]).contains("denied") {}

            // Both are killed; a third one finds what they have acknowledged.
            drop((one, other));
            let third = up(User::new());
            assert!(third.did(&["agents", "show", "writer"]).contains("Parent: lead\n"));
            assert!(third.did(&["policy", "explain", "lead", "writer"]).contains("Rule: r\n"));
        }
    });
    both.await.unwrap();
}

#[test]
fn a_browser_that_was_let_in_sees_who_is_there() {
    let owner = Owner::new(&[]);
    owner.did(&["agents", "add", "--name", "lead", "--role", "<b>bold</b>"]);
    let (head, _) = owner.hub.send("GET", "/", "", "");
    assert!(head.contains("location: /ui/"), "{head}");
    let (head, page) = owner.hub.send("GET", "/ui/", "", "");
    assert!(head.contains("script-src 'self'") && head.contains("etag: "), "{head}");
    assert!(page.contains("Nuncio") && !page.contains("lead"), "{page}");
    let (head, _) = owner.hub.send("GET", "/api/v1/agents", "", "");
    assert!(head.starts_with("HTTP/1.1 401"), "{head}");
    let link = owner.did(&["login"]);
    let path = &link.trim()[link.find("/login").unwrap()..];
    let (head, _) = owner.hub.send("GET", path, "", "");
    let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = format!("cookie: {}\r\n", cookie.split(';').next().unwrap());
    assert!(head.contains("location: /ui/"), "{head}");
    let (_, agents) = owner.hub.send("GET", "/api/v1/agents", &cookie, "");
    assert!(agents.contains("\"name\":\"lead\""), "{agents}");
}

/// Takes one request of an exporter, and returns its body.
fn collect(listener: &TcpListener) -> Vec<u8> {
    let (mut connection, _) = listener.accept().expect("the hub exports");
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let head = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(head) = head {
            let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
            let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.and_then(|text| text.trim().parse().ok()).expect("a length");
            if bytes.len() >= head + 4 + length {
                break;
            }
        }
        let count = connection.read(&mut chunk).expect("it can be read");
        assert!(count > 0, "the exporter broke off");
        bytes.extend_from_slice(&chunk[..count]);
    }
    connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").expect("it is read");
    bytes
}

#[test]
fn a_request_is_part_of_the_trace_that_it_came_with() {
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let user = User::new();
    let address = collector.local_addr().unwrap();
    user.write("nuncio.yaml", &format!("telemetry: {{otlp: {{endpoint: 'http://{address}'}}}}\n"));
    let mut hub = start(&user, &["--in-memory"]);
    let trace = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n";
    let (head, _) = hub.send("GET", "/version", trace, "");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    hub.terminate();
    let sent = collect(&collector);
    assert!(hub.wait());
    let has = |wanted: &[u8]| sent.windows(wanted.len()).any(|window| window == wanted);
    assert!(has(&0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c_u128.to_be_bytes()), "the trace");
    assert!(has(&0xb7ad_6b71_6920_3331_u64.to_be_bytes()), "the span above");
    assert!(has(b"GET /version"), "the route");
}

#[test]
fn the_hub_carries_calls_to_an_agent_by_its_name() {
    let owner = Owner::new(&[]);
    let (_agent, url) = serve(&["--name", "echo", "--in-memory"]);
    owner.did(&["agents", "add", &url]);
    let sent = owner.did(&["send", "-a", "echo", "hello"]);
    assert!(sent.contains("State: COMPLETED\nText: hello\n"), "{sent}");
    let card = owner.did(&["card", "get", "echo", "-o", "json"]);
    assert!(card.contains("/agents/echo"), "{card}");
    let by_skill = owner.did(&["send", "-a", "~echo", "anybody"]);
    assert!(by_skill.contains("Text: anybody\n"), "{by_skill}");
}

/// A message is for whom it is addressed to: the hub's own agent does not stand in.
#[test]
fn a_message_to_an_agent_that_is_not_there_goes_nowhere() {
    let owner = Owner::new(&[]);
    for words in [["send", "-a", "nobody", "hello"], ["card", "get", "-a", "nobody"]] {
        let came = owner.run(&words);
        assert_eq!(came.code, 3, "{words:?}: {}", came.err);
        assert!(came.err.contains("no agent card for http://"), "{}", came.err);
        assert!(came.err.contains("/agents/nobody/.well-known/agent-card.json"), "{}", came.err);
        assert!(
            came.err.ends_with("`nuncio agents` lists the agents of the hub\n"),
            "{}",
            came.err
        );
    }
}

#[test]
fn the_hub_runs_programs_of_its_file_as_agents() {
    let user = User::new();
    let file = user.home().join("hub.yaml");
    let text = "agents:\n  - {name: upper, kind: command, command: [tr, a-z, A-Z]}\n";
    std::fs::write(&file, text).unwrap();
    let hub = start(&user, &["--config", file.to_str().unwrap()]);
    let owner = Owner { user, hub };
    let sent = owner.did(&["send", "-a", "upper", "shout"]);
    assert!(sent.contains("Text: SHOUT\n"), "{sent}");
}

/// The same program by one text, whose words are those that a shell would make of it.
#[test]
fn a_program_joins_as_one_text() {
    let owner = Owner::new(&[]);
    let words = ["connect", "laptop", "--exec", r#"sh -c 'echo "heard  "$(cat)' nobody"#];
    let _connected = Program::start_until(&mut owner.user.command(&words), "connected as ");
    let sent = owner.did(&["send", "-a", "laptop", "hello"]);
    assert!(sent.contains("Text: heard  hello\n"), "{sent}");
    for (more, told) in [
        (&["--exec", "echo 'open"][..], "a quote in it does not end"),
        (&["--exec", "  "], "expected a program"),
        (&["--exec", "echo", "--", "echo"], "cannot be used with"),
        (&[], "--exec"),
    ] {
        let came = owner.run(&[&["connect", "laptop"], more].concat());
        assert!(came.code == 2 && came.err.contains(told), "{came:?}");
    }
}

#[test]
fn a_program_joins_from_where_nobody_can_reach_it() {
    let owner = Owner::new(&[]);
    let words = ["connect", "laptop", "--", "sh", "-c", "echo heard $(cat)"];
    let mut command = owner.user.command(&words);
    let connected = Program::start_until(&mut command, "connected as ");
    let sent = owner.did(&["send", "-a", "laptop", "hello"]);
    assert!(sent.contains("Text: heard hello\n"), "{sent}");
    // It comes back as who it was, with the token that it was given.
    drop(connected);
    let mut command = owner.user.command(&words);
    let _connected = Program::start_until(&mut command, "connected as ");
    let sent = owner.did(&["send", "-a", "laptop", "again"]);
    assert!(sent.contains("Text: heard again\n"), "{sent}");
}

/// A value of a field in what was printed.
fn field<'a>(text: &'a str, label: &str) -> &'a str {
    let label = format!("{label}: ");
    let found = text.lines().find_map(|line| line.strip_prefix(&label));
    found.unwrap_or_else(|| panic!("no {label}in {text}"))
}

#[test]
fn people_see_what_goes_through_the_hub_and_answer_what_waits_after_a_restart() {
    let owner = Owner::new(&[]);
    let (_runtime, url) = serve_here("waiter", Waiter);
    owner.did(&["agents", "add", &url, "--name", "waiter"]);
    let nothing = owner.run(&["tasks"]);
    assert_eq!(nothing.code, 0, "{}", nothing.err);
    assert!(nothing.out.starts_with("TASK") && nothing.out.lines().count() == 1, "{}", nothing.out);
    assert!(nothing.err.contains("nuncio send -a AGENT"), "{}", nothing.err);
    assert!(owner.run(&["inbox"]).err.contains("nothing waits"));

    let asked = owner.did(&["send", "-a", "waiter", "a table\nfor tonight"]);
    assert_eq!(field(&asked, "Task"), "ID-1");
    let task = owner.newest_task();
    let owner = owner.restart();
    let inbox = owner.run(&["inbox"]);
    let row = inbox.out.lines().nth(1).expect("something waits");
    let columns: Vec<&str> = row.split("  ").filter(|cell| !cell.is_empty()).collect();
    assert_eq!((columns[0], columns[1]), ("ID-1", "waiter"), "{row}");
    assert!(row.ends_with("input  For how many people?"), "{row}");
    assert!(inbox.err.contains("nuncio inbox answer ID-1"), "{}", inbox.err);
    assert!(owner.did(&["inbox", "-o", "json"]).contains("\"needs\":\"input\""));
    let shown = owner.run(&["tasks", "show", &task]);
    assert!(shown.out.starts_with("Agent: waiter\nCaller: "), "{}{}", shown.out, shown.err);
    assert_eq!(field(&shown.out, "State"), "INPUT_REQUIRED");
    assert_eq!(field(&shown.out, "Question"), "For how many people?");
    assert!(shown.err.contains("nuncio inbox answer"), "{}", shown.err);

    let answered = owner.did(&["inbox", "approve", &task, "--reason", "for two"]);
    assert_eq!(field(&answered, "Task"), "ID-1");
    let watched = owner.did(&["tasks", "watch", &task]);
    let listed = owner.did(&["tasks", "events", &task]);
    assert_eq!(watched, listed, "whoever watches sees what is listed, to its end");
    assert!(listed.lines().next().unwrap().ends_with("opened    a table for tonight"), "{listed}");
    assert!(listed.contains("input     approved: for two"), "{listed}");
    assert!(listed.lines().last().unwrap().contains("COMPLETED"), "{listed}");
    let rows = owner.did(&["tasks", "--state", "completed", "--agent", "waiter"]);
    assert!(rows.lines().nth(1).expect("it is there").ends_with("a table for tonight"), "{rows}");
    assert!(owner.did(&["tasks", "tree", &task]).starts_with("waiter  COMPLETED  "));
    let history = owner.did(&["tasks", "show", &task, "-o", "json"]);
    assert!(history.contains("\"answeredBy\":"), "{history}");

    let late = owner.run(&["inbox", "deny", &task]);
    assert_eq!(late.code, 1);
    assert!(late.err.contains("does not wait for an answer"), "{}", late.err);
    let ended = owner.run(&["tasks", "cancel", &task]);
    assert!(ended.err.contains("has ended as TASK_STATE_COMPLETED"), "{}", ended.err);
    owner.did(&["send", "-a", "waiter", "another"]);
    let second = owner.newest_task();
    let denied = owner.did(&["inbox", "deny", &second, "--reason", "full", "--cancel"]);
    assert_eq!(field(&denied, "Task"), "ID-1");
    owner.did(&["send", "-a", "waiter", "a third"]);
    let canceled = owner.did(&["tasks", "cancel", &owner.newest_task()]);
    assert_eq!(field(&canceled, "Stopped"), "ID-1  waiter  CANCELED");
    let none = owner.run(&["tasks", "--caller", "user:nobody"]);
    assert!(none.err.contains("no task fits"), "{}", none.err);
    let unknown = owner.run(&["tasks", "show", "nothing"]);
    assert!(unknown.err.contains("there is no such task"), "{}", unknown.err);
}

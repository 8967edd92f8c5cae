//! Ways to an agent that need more than its address: certificates, credentials, other ports.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use nuncio_net::listen::{ClientAuth, Tls};
use nuncio_protocol::{message::Message, state::TaskState};
use nuncio_server::{Agent, Failure, Output, Server, Turn};
use tokio::runtime::Runtime;

use crate::cli::{
    issuer::Issuer,
    support::{User, serve, serve_here},
};

/// Answers documents, and remembers what was asked.
struct Recorder {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    /// Answers each request with what a function makes of it and of our own URL.
    fn start(answer: impl Fn(&str, &str) -> String + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it listens"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (kept, here) = (Arc::clone(&asked), url.clone());
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let request = read(&connection);
                let body = answer(&request, &here);
                kept.lock().expect("nobody panics").push(request);
                let status = if body.is_empty() { "404 Not Found" } else { "200 OK" };
                // Who has left hears nothing.
                let _ = write!(
                    &connection,
                    "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n\
                     content-length: {}\r\n\r\n{body}",
                    body.len()
                );
            }
        });
        Self { url, asked }
    }

    /// Serves a card with capabilities, and answers calls.
    fn agent(capabilities: &'static str, answer: &'static str) -> Self {
        Self::start(move |request, here| {
            if request.starts_with("GET /.well-known/agent-card.json") {
                let interface = format!(
                    r#"{{"url":"{here}","protocolBinding":"JSONRPC","protocolVersion":"1.0"}}"#
                );
                return card(capabilities, &interface);
            }
            let Some((_, id)) = request.split_once(r#""id":"#) else { return String::new() };
            let id = id.split([',', '}']).next().unwrap_or_default();
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{answer}}}"#)
        })
    }

    /// Returns the headers of this name of everything that was asked.
    fn headers(&self, name: &str) -> Vec<String> {
        let asked = self.asked.lock().expect("nobody panics");
        let lines = asked.iter().flat_map(|request| request.lines());
        let found = lines.filter_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then(|| value.to_owned())
        });
        found.collect()
    }

    fn asked(&self) -> String {
        self.asked.lock().expect("nobody panics").join("\n")
    }
}

fn read(connection: &TcpStream) -> String {
    let mut reader = BufReader::new(connection);
    let mut text = String::new();
    while reader.read_line(&mut text).is_ok_and(|count| count > 2) {}
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length").then(|| value.parse().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    // What is missing shows in what is compared.
    let _ = reader.read_exact(&mut body);
    text + &String::from_utf8_lossy(&body)
}

fn card(capabilities: &str, interface: &str) -> String {
    format!(
        r#"{{"name":"recorder","description":"public","version":"1","capabilities":{{{capabilities}}},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{{"id":"echo","name":"echo","description":"echo","tags":["echo"]}}],"supportedInterfaces":[{interface}]}}"#
    )
}

const HELLO: &str =
    r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"hello"}]}}"#;

#[test]
fn a_card_on_this_machine_may_lead_to_grpc_on_another_port() {
    let (_echo, url) = serve(&["--in-memory"]);
    let address = url.strip_prefix("http://").unwrap().to_owned();
    let recorder = Recorder::start(move |request, _| {
        let interface =
            format!(r#"{{"url":"{address}","protocolBinding":"GRPC","protocolVersion":"1.0"}}"#);
        let is_card = request.starts_with("GET /.well-known/agent-card.json");
        if is_card { card(r#""streaming":true"#, &interface) } else { String::new() }
    });
    let user = User::new();
    for more in [&[][..], &["--stream"], &["--transport", "grpc"]] {
        let came = user.run(&[&["send", "-a", &recorder.url, "hello"], more].concat());
        assert_eq!(came.code, 0, "{came:?}");
        assert!(came.out.contains("State: COMPLETED") && came.out.contains("hello"), "{came:?}");
    }
}

#[test]
fn a_user_and_password_are_shown_to_the_agent_and_not_to_the_terminal() {
    let recorder = Recorder::agent("", HELLO);
    let user = User::new();
    let words = ["send", "-a", &recorder.url, "hello", "--basic", "ann:swordfish", "--debug"];
    let came = user.run(&words);
    assert_eq!(came.code, 0, "{came:?}");
    assert_eq!(recorder.headers("authorization").last().unwrap(), "Basic YW5uOnN3b3JkZmlzaA==");
    assert!(!came.err.contains("swordfish") && !came.err.contains("YW5u"), "{came:?}");
    let came = user.run(&["send", "-a", &recorder.url, "hello", "--basic", "swordfish"]);
    assert!(came.code == 2 && !came.err.contains("swordfish"), "{came:?}");
}

#[test]
fn client_credentials_are_kept_and_fetch_tokens() {
    let issuer = Recorder::start(|_, _| {
        r#"{"access_token":"halibut","token_type":"Bearer","expires_in":600}"#.to_owned()
    });
    let recorder = Recorder::agent("", HELLO);
    let user = User::new();
    let token_url = format!("{}/token", issuer.url);
    let login = [
        "auth",
        "login",
        &recorder.url,
        "--as",
        "client-credentials",
        "--user",
        "ann",
        "--token-url",
        &token_url,
        "--scope",
        "talk",
    ];
    let came = user.run_with(&login, "swordfish\n");
    assert_eq!(came.code, 0, "{came:?}");
    assert!(!came.err.contains("swordfish"), "{came:?}");
    let came = user.run(&["send", "-a", &recorder.url, "hello"]);
    assert_eq!(came.code, 0, "{came:?}");
    assert_eq!(recorder.headers("authorization").last().unwrap(), "Bearer halibut");
    let asked = issuer.asked();
    assert!(asked.contains("grant_type=client_credentials") && asked.contains("talk"), "{asked}");
    assert_eq!(user.run(&["auth", "list"]).out, format!("{}: client-credentials\n", recorder.url));
}

#[test]
fn the_extended_card_is_shown_where_there_is_one() {
    let recorder = Recorder::agent(
        r#""extendedAgentCard":true"#,
        r#"{"name":"recorder","description":"for those it knows","version":"1","capabilities":{},"defaultInputModes":[],"defaultOutputModes":[],"skills":[],"supportedInterfaces":[]}"#,
    );
    let user = User::new();
    let came = user.run(&["card", "get", &recorder.url, "--extended"]);
    assert_eq!(came.code, 0, "{came:?}");
    assert!(came.out.contains("Description: for those it knows\n"), "{came:?}");
    let (_echo, url) = serve(&["--in-memory"]);
    let came = user.run(&["card", "get", &url, "--extended"]);
    assert!(came.code == 1 && came.err.contains("hint: leave --extended out"), "{came:?}");
}

/// An agent that wants something which A2A does not carry.
struct Guarded;

impl Agent for Guarded {
    async fn run(&self, _: Turn, output: Output) -> Result<(), Failure> {
        let message = Message::agent("sign in at https://id.example");
        output.status(TaskState::AuthRequired, Some(message)).await?;
        Ok(())
    }
}

#[test]
fn who_must_sign_in_elsewhere_is_told_so_and_how_to_wait() {
    let (_runtime, url) = serve_here("guarded", Guarded);
    let user = User::new();
    let came = user.run(&["send", "-a", &url, "hello"]);
    assert_eq!(came.code, 0, "{came:?}");
    assert!(came.out.contains("State: AUTH_REQUIRED\n"), "{came:?}");
    assert!(came.out.contains("sign in at https://id.example"), "{came:?}");
    assert!(came.err.contains("needs an authorization of yours"), "{came:?}");
    assert!(came.err.contains("Wait: nuncio task get -a "), "{came:?}");
    // A stream goes on, since the task does without another message.
    let came = user.run(&["send", "-a", &url, "hello", "--stream", "--timeout", "2s"]);
    assert_eq!(came.code, 5, "{came:?}");
    assert!(came.out.contains("State: AUTH_REQUIRED\n"), "{came:?}");
}

/// Says what it is told.
struct Echo;

impl Agent for Echo {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        output.text(turn.message.text()).await?;
        Ok(())
    }
}

fn tls(issuer: &Issuer) -> Tls {
    let (chain, key) = issuer.server();
    Tls::from_pem(chain.as_bytes(), key.as_bytes()).expect("a pair")
}

fn serve_tls(tls: Tls) -> (Runtime, String) {
    let runtime = Runtime::new().expect("a runtime");
    let server = Server::new("echo", Echo).tls(tls);
    let bound = runtime.block_on(server.bind("127.0.0.1:0")).expect("a free port");
    let url = format!("https://{}", bound.address());
    runtime.spawn(bound.run());
    (runtime, url)
}

#[test]
fn an_unknown_issuer_is_refused_unless_it_is_named_or_nobody_is_asked() {
    let issuer = Issuer::new();
    let (_runtime, url) = serve_tls(tls(&issuer));
    let user = User::new();
    user.write("issuer.pem", &issuer.pem());
    user.write("other.pem", &Issuer::new().pem());
    let send = |more: &[&str]| user.run(&[&["send", "-a", &url, "hello"], more].concat());
    let came = send(&[]);
    assert!(came.code == 3 && came.out.is_empty(), "{came:?}");
    let came = send(&["--ca-cert", "other.pem"]);
    assert!(came.code == 3 && came.out.is_empty(), "{came:?}");
    let came = send(&["--ca-cert", "issuer.pem"]);
    assert!(
        came.code == 0 && came.out.contains("Text: hello\n") && came.err.is_empty(),
        "{came:?}"
    );
    let came = send(&["--insecure"]);
    assert!(came.code == 0 && came.out.contains("Text: hello\n"), "{came:?}");
    assert!(came.err.starts_with("warning: --insecure: "), "{came:?}");
    let came = send(&["--ca-cert", "missing.pem"]);
    assert!(came.code != 0 && came.err.contains("missing.pem"), "{came:?}");
}

#[test]
fn an_agent_that_demands_a_certificate_is_shown_ours() {
    let (issuer, other) = (Issuer::new(), Issuer::new());
    let roots = issuer.pem();
    let tls = tls(&issuer).client_roots(roots.as_bytes(), ClientAuth::Required).unwrap();
    let (_runtime, url) = serve_tls(tls);
    let user = User::new();
    let (chain, key) = issuer.client("user.example");
    user.write("issuer.pem", &roots);
    user.write("cert.pem", &chain);
    user.write("key.pem", &key);
    user.write("both.pem", &(chain + &key));
    let (chain, key) = other.client("user.example");
    user.write("stranger.pem", &(chain + &key));
    let send = |more: &[&str]| {
        user.run(&[&["send", "-a", &url, "hello", "--ca-cert", "issuer.pem"], more].concat())
    };
    for more in [&["--cert", "cert.pem", "--key", "key.pem"][..], &["--cert", "both.pem"]] {
        for transport in ["jsonrpc", "http+json", "grpc"] {
            let came = send(&[more, &["--transport", transport]].concat());
            assert!(came.code == 0 && came.out.contains("Text: hello\n"), "{transport}: {came:?}");
        }
    }
    for more in [&[][..], &["--cert", "stranger.pem"]] {
        let came = send(more);
        assert!(came.code == 3 && came.out.is_empty(), "{more:?}: {came:?}");
    }
    for (more, told) in [
        (&["--key", "key.pem"][..], "--key: there is no --cert"),
        (&["--cert", "key.pem"], "--cert: "),
        (&["--cert", "missing.pem"], "missing.pem"),
    ] {
        let came = send(more);
        assert!(came.code != 0 && came.err.contains(told), "{came:?}");
        assert!(!came.err.contains("PRIVATE"), "{came:?}");
    }
}

//! Tools of MCP servers: programs that are started and killed, and a server behind a URL.

use std::{path::Path, sync::Arc, time::Duration};

use nuncio_net::Secret;
use nuncio_protocol::{
    json::{self, Object, Raw},
    message::{Message, Part, Role},
    state::TaskState,
};
use nuncio_server::kinds::{
    llm::{ProviderKind, Settings},
    mcp::{Http, Mcp, Process, Server, Servers},
    tool::Call,
};
use nuncio_tasks::memory::MemoryStore;
use nuncio_testkit::{
    llm::{self as scripted, Answer},
    mcp, process,
};

use super::{
    desk::{Desk, client, failure, text, words},
    llm::llm,
};

fn program() -> Server {
    Server::Process(Process {
        command: vec![process::example("mcp_victim").into()],
        environment: vec![("GIVEN".into(), Secret::new("x"))],
        directory: None,
    })
}

fn servers(server: Server) -> Servers {
    Servers::new(client(), [("tools".to_owned(), server)])
}

fn desk(servers: &Servers, tool: &str) -> Desk {
    Desk::hire(Mcp::new(servers.clone(), "tools", tool))
}

fn data(text: &str) -> Message {
    Message::new(Role::User, Part::data(Raw::parse_text(text).expect("JSON")))
}

/// Waits for a file that a program writes.
async fn written(path: &Path) {
    while !path.exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Checks what tools give, wherever they are.
async fn check(servers: &Servers) {
    let given = async |tool: &str, message: Message| {
        let task = desk(servers, tool).send(message).await;
        assert_eq!(task.status.state, TaskState::Completed, "{task:?}");
        json::to_string(&task.artifacts[0].parts)
    };
    assert_eq!(given("echo", Message::user("hello")).await, r#"[{"text":"hello"}]"#);
    assert_eq!(
        given("add", data(r#"{"a":1.5,"b":2}"#)).await,
        r#"[{"data":{"sum":3.5},"mediaType":"application/json"}]"#
    );
    assert_eq!(
        given("picture", Message::user("")).await,
        r#"[{"text":"here it is"},{"raw":"aW1hZ2U=","mediaType":"image/png"}]"#
    );
    let failed = failure(&desk(servers, "fail").ask("out of paper").await);
    assert_eq!(failed, "fail: out of paper");
    let refused = failure(&desk(servers, "add").send(data("{}")).await);
    assert_eq!(
        refused,
        "the MCP server `tools` refuses to call `add`: a and b, please; trying again will not help"
    );
    let events = desk(servers, "count").follow("{}").await;
    assert_eq!(words(&events), ["number 1", "number 2", "number 3"]);
    let unknown = failure(&desk(servers, "fly").ask("go").await);
    assert!(unknown.contains("has no tool `fly`; there are: echo, add, picture"), "{unknown}");
    let unfit = failure(&desk(servers, "add").ask("one and two").await);
    assert!(unfit.contains("the tool takes an object with `a`, `b`"), "{unfit}");
}

/// Checks that a tool hears that nobody waits for it any more.
async fn check_cancel(servers: &Servers) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("call");
    let path = path.to_str().expect("text");
    let desk = desk(servers, "wait");
    let id = desk.begin(Message::user(path)).await;
    written(&folder.path().join("call.begun")).await;
    assert_eq!(desk.cancel(&id).await.status.state, TaskState::Canceled);
    written(&folder.path().join("call.cancelled")).await;
}

#[tokio::test]
async fn a_program_has_tools() {
    let servers = servers(program());
    check(&servers).await;
    check_cancel(&servers).await;
    servers.stop().await;
}

#[tokio::test]
async fn a_server_behind_a_url_has_tools() {
    let server = mcp::Server::start(Some("swordfish")).await;
    let at = |bearer: &str| {
        let bearer = Some(Secret::new(bearer));
        servers(Server::Http(Http { url: server.url(), bearer, headers: Vec::new() }))
    };
    let known = at("swordfish");
    check(&known).await;
    check_cancel(&known).await;
    known.stop().await;
    let said = failure(&desk(&at("stickleback"), "echo").ask("hello").await);
    assert!(said.contains("401 Unauthorized; check `bearer`"), "{said}");
    assert!(!said.contains("stickleback"), "{said}");
}

#[tokio::test]
async fn a_program_that_died_is_started_again() {
    let servers = servers(program());
    assert_eq!(
        failure(&desk(&servers, "die").ask("").await),
        "the MCP server `tools` went away while `die` was called: the program ended with exit \
         status: 3: it hurts; trying again may help"
    );
    assert_eq!(text(&desk(&servers, "echo").ask("again").await), "again");
}

#[tokio::test]
async fn a_program_is_killed_with_all_that_it_has_started() {
    let servers = servers(program());
    let started = servers.call("tools", "start", Object::default(), &Call::default()).await;
    let child = started.expect("it starts one")[0].as_text().expect("its number").to_owned();
    let is_running = || {
        let state = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        // What nobody waits for any more is as good as gone.
        !state.is_empty() && !state.contains(") Z ")
    };
    assert!(is_running());
    drop(servers);
    while is_running() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_program_sees_nothing_of_our_environment_but_what_it_needs() {
    let servers = servers(program());
    let names = text(&desk(&servers, "environment").ask("").await);
    assert!(names.contains("PATH") && names.contains("GIVEN"), "{names}");
    assert!(!names.contains("CARGO"), "{names}");
}

#[tokio::test]
async fn a_program_that_cannot_be_started_says_why() {
    let broken = |command: &[&str]| {
        let command = command.iter().map(Into::into).collect();
        servers(Server::Process(Process { command, ..Process::default() }))
    };
    let said = failure(&desk(&broken(&["/no/such/program"]), "echo").ask("hello").await);
    assert!(said.contains("start /no/such/program: No such file"), "{said}");
    let complains = ["sh", "-c", "echo no licence >&2; exit 4"];
    let said = failure(&desk(&broken(&complains), "echo").ask("hello").await);
    let expected = "cannot be reached: the program ended with exit status: 4: no licence";
    assert!(said.contains(expected), "{said}");
    let servers = servers(program());
    let desk = Desk::hire(Mcp::new(servers, "other", "echo"));
    let said = failure(&desk.ask("hello").await);
    assert!(said.starts_with("there is no MCP server `other`; there are: tools"), "{said}");
}

#[tokio::test]
async fn after_a_crash_only_a_tool_that_can_be_called_twice_is() {
    for (tool, is_repeated) in [("wait", false), ("wait_safely", true)] {
        let servers = servers(program());
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("call");
        let begun = folder.path().join("call.begun");
        let store = Arc::new(MemoryStore::default());
        let agent = || Mcp::new(servers.clone(), "tools", tool);
        let first = Desk::over(Arc::clone(&store), agent());
        let id = first.begin(Message::user(path.to_str().expect("text"))).await;
        written(&begun).await;
        first.tasks.stop(Duration::ZERO).await;
        std::fs::remove_file(&begun).expect("it was written");
        let second = Desk::over(store, agent());
        if is_repeated {
            written(&begun).await;
            second.cancel(&id).await;
        } else {
            let said = failure(&second.end_of(&id).await);
            assert!(said.contains("the hub was stopped in the middle of it"), "{said}");
            assert!(!begun.exists());
        }
    }
}

#[tokio::test]
async fn a_model_calls_the_tools_of_a_server() {
    let servers = servers(program());
    let calls = [("echo", r#"{"text":"<b>obey</b>"}"#), ("add", r#"{"a":1,"b":2}"#)];
    let calls = calls.map(|(name, input)| (name.to_owned(), input.to_owned())).to_vec();
    let answers = [Answer::Calls(String::new(), calls), Answer::says("3")];
    let provider = scripted::Provider::start(answers).await;
    let tools = vec![servers.offer("tools", None)];
    let desk = llm(ProviderKind::OpenAi, &provider, Settings { tools, ..Settings::default() });
    assert_eq!(text(&desk.ask("What is 1 + 2?").await), "3");
    let asked = provider.asked(2).await;
    let offered = asked[0].body["tools"].as_array().expect("tools").len();
    assert_eq!(offered, 10);
    let told = asked[1].body.to_string();
    for expected in [
        r#"{\"source\":\"mcp://tools/echo\",\"content\":\"<b>obey</b>\"}"#,
        r#"{\"source\":\"mcp://tools/add\",\"content\":{\"sum\":3.0}}"#,
    ] {
        assert!(told.contains(expected), "{told}");
    }
    let provider = scripted::Provider::start([Answer::says("hm")]).await;
    let tools = vec![servers.offer("tools", Some("echo"))];
    let desk = llm(ProviderKind::OpenAi, &provider, Settings { tools, ..Settings::default() });
    desk.ask("hello").await;
    let asked = provider.asked(1).await;
    assert_eq!(asked[0].body["tools"].as_array().expect("tools").len(), 1);
}

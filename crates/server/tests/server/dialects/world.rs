//! A server on a port of its own, an agent that does as it is told, and a client that speaks
//! nothing but HTTP.

use std::{fmt::Write as _, net::SocketAddr, time::Duration};

use nuncio_protocol::{
    card::{AgentCard, AgentSkill},
    ids::ArtifactId,
    json::Raw,
    message::{Content, Message, Part},
    task::Artifact,
};
use nuncio_server::{Agent, Bound, Failure, Limits, Output, Server, Stopper, Turn};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinHandle,
};

/// Does what the message says.
pub(crate) struct Scripted;

impl Agent for Scripted {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let metadata = |key: &str| {
            let metadata = turn.message.metadata.as_ref();
            metadata.and_then(|metadata| metadata.get(key)).map(|raw| raw.as_str().to_owned())
        };
        match told(&turn.message).as_str() {
            "ask" => output.ask("which one?").await?,
            "hang" => std::future::pending().await,
            "fail" => return Err(Failure::new("no")),
            "skill" => output.text(metadata("skillId").unwrap_or_else(|| "none".into())).await?,
            "history" => output.text(metadata("history").unwrap_or_default()).await?,
            // A payload: only data, no text.
            "" => {
                let score = r#"{"validation_score":87,"recommendation":"STRONG VALIDATION"}"#;
                let part = Part::data(Raw::parse_text(score).expect("JSON"));
                let id = ArtifactId::parse("result").expect("an id");
                output.artifact(Artifact::new(id, vec![part])).await?;
            }
            text => output.text(format!("heard {text}")).await?,
        }
        Ok(())
    }
}

/// Returns what a message tells, in its text or in the member `text` of its payload.
fn told(message: &Message) -> String {
    let payload = message.parts.iter().find_map(|part| match &part.content {
        Content::Data(data) => data.as_object()?.get("text")?.as_text(),
        _ => None,
    });
    payload.unwrap_or_else(|| message.text())
}

/// A card with the capabilities of the opportunity agents' own example (O-02).
pub(crate) fn card() -> AgentCard {
    let skill = |id: &str| AgentSkill::new(id, id, format!("does {id}"), [id]);
    AgentCard::builder("validation-agent")
        .description("validates")
        .skill(skill("pain_point_validation"))
        .skill(skill("competitor_analysis"))
        .input_modes(["text/plain", "application/json"])
        .output_modes(["text/plain", "application/json"])
        .streaming()
        .build()
}

pub(crate) fn server() -> Server {
    let mut limits = Limits::default();
    // Work that hangs on purpose is not waited for.
    limits.drain = Duration::from_millis(100);
    Server::new("validation-agent", Scripted).card(card()).limits(limits)
}

/// A server that runs until it is stopped.
pub(crate) struct World {
    pub(crate) address: SocketAddr,
    stopper: Stopper,
    running: JoinHandle<()>,
}

impl World {
    pub(crate) async fn of(server: Server) -> Self {
        let bound: Bound = server.bind("127.0.0.1:0").await.expect("a free port");
        let (address, stopper) = (bound.address(), bound.stopper());
        Self { address, stopper, running: tokio::spawn(bound.run()) }
    }

    pub(crate) async fn stop(self) {
        self.stopper.stop();
        self.running.await.expect("it stops");
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, &[], "").await
    }

    pub(crate) async fn post(&self, path: &str, body: &str) -> Reply {
        self.ask("POST", path, &[], body).await
    }

    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Reply {
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n",
            self.address,
            body.len()
        );
        for (name, value) in headers {
            write!(request, "{name}: {value}\r\n").expect("memory");
        }
        request += "\r\n";
        request += body;
        let talk = async {
            let mut stream = TcpStream::connect(self.address).await.expect("a connection");
            stream.write_all(request.as_bytes()).await.expect("room to write");
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await.expect("an answer");
            answer
        };
        let answer = tokio::time::timeout(Duration::from_secs(60), talk).await.expect("in time");
        Reply::parse(&String::from_utf8(answer).expect("UTF-8"))
    }
}

pub(crate) struct Reply {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Reply {
    fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let head = head.to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        let is_chunked = head.contains("transfer-encoding: chunked");
        let body = if is_chunked { unchunk(body) } else { body.to_owned() };
        Self { status, head, body }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }

    /// Returns a member by its JSON pointer.
    pub(crate) fn at(&self, pointer: &str) -> Value {
        self.json().pointer(pointer).cloned().unwrap_or(Value::Null)
    }

    /// Returns the frames of a stream: the name of each, if it has one, and its data.
    pub(crate) fn frames(&self) -> Vec<(Option<String>, Value)> {
        let frames = self.body.split("\n\n").filter(|frame| frame.contains("data: "));
        frames
            .map(|frame| {
                let line = |name: &str| {
                    frame.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
                };
                let data = line("data: ").expect("data");
                (line("event: "), serde_json::from_str(&data).expect("JSON"))
            })
            .collect()
    }
}

fn unchunk(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a size");
        if size == 0 {
            break;
        }
        whole += &rest[..size];
        body = &rest[size + 2..];
    }
    whole
}

//! A provider of language models that says what a test wants, in the words of four real ones.
//!
//! It speaks HTTP and streams as they do, refuses what they refuse, and can break off anywhere.

mod dialect;
mod http;

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use self::dialect::Dialect;

/// How long [`Provider::asked`] waits before the test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(120);

/// The key that the provider takes. Any other is refused.
pub const KEY: &str = "sk-swordfish-0123456789";

/// A server on loopback. Dropping it closes its port and all connections.
#[derive(Debug)]
pub struct Provider {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: AbortHandle,
}

/// What the provider was asked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Asked {
    /// The path with its query.
    pub path: String,
    /// The body.
    pub body: Value,
}

/// How the provider answers one request.
#[derive(Debug, Clone)]
pub enum Answer {
    /// Says a text in these pieces.
    Says(Vec<String>),
    /// Says a text and calls tools, each by its name with its arguments in JSON.
    Calls(String, Vec<(String, String)>),
    /// Says a text and ends as the provider does in this case.
    Ends(String, Ending),
    /// Says a text and closes the connection in the middle of the answer.
    Cut(String),
    /// Says a text, and then that it has failed.
    Fails(String, String),
    /// Says a text, and then nothing more, with the connection open.
    Hangs(String),
    /// Answers with a status, headers as whole lines, and a body.
    Refuses(u16, String, String),
    /// Answers with 200 and these bytes as the stream.
    Raw(String),
}

/// Why an answer ends before it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// `max_tokens`.
    Length,
    /// A filter.
    Filter,
    /// The model does not want to.
    Refusal,
}

impl Answer {
    /// Says a text in one piece.
    pub fn says(text: &str) -> Self {
        Self::Says(vec![text.to_owned()])
    }

    /// Calls one tool.
    pub fn calls(name: &str, arguments: &str) -> Self {
        Self::Calls(String::new(), vec![(name.to_owned(), arguments.to_owned())])
    }
}

#[derive(Debug)]
struct Shared {
    asked: watch::Sender<Vec<Asked>>,
    answers: Mutex<VecDeque<Answer>>,
}

impl Shared {
    fn answers(&self) -> MutexGuard<'_, VecDeque<Answer>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Provider {
    /// Starts to listen. The answers are given in this order; then comes status 500.
    ///
    /// # Panics
    /// If there is no free port.
    pub async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let shared = Arc::new(Shared {
            asked: watch::Sender::default(),
            answers: Mutex::new(answers.into_iter().collect()),
        });
        let serving = Arc::clone(&shared);
        let accepting = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((connection, _)) = listener.accept().await {
                connections.spawn(serve(connection, Arc::clone(&serving)));
            }
        });
        Self { address, shared, accepting: accepting.abort_handle() }
    }

    /// Returns the address, without any path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Answers the next request so, once all others are given.
    pub fn answer(&self, answer: Answer) {
        self.shared.answers().push_back(answer);
    }

    /// Waits until it was asked so often, and returns what.
    ///
    /// # Panics
    /// If that takes minutes.
    pub async fn asked(&self, count: usize) -> Vec<Asked> {
        let mut asked = self.shared.asked.subscribe();
        let enough = timeout(PATIENCE, asked.wait_for(|asked| asked.len() >= count)).await;
        enough.expect("it is asked in time").expect("it is there").clone()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(mut connection: TcpStream, shared: Arc<Shared>) {
    // A client that goes away has heard enough.
    while let Ok(Some(request)) = http::read(&mut connection).await {
        let answered = answer(&mut connection, &request, &shared).await;
        if !matches!(answered, Ok(true)) {
            return;
        }
    }
}

/// Answers a request; returns whether another may follow.
async fn answer(
    connection: &mut TcpStream,
    request: &http::Request,
    shared: &Shared,
) -> std::io::Result<bool> {
    let Some(dialect) = Dialect::of(&request.path) else {
        return http::refuse(connection, 404, "", "{\"error\":\"no such path\"}").await;
    };
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let wrong = dialect.check(request, &body);
    shared.asked.send_modify(|asked| asked.push(Asked { path: request.path.clone(), body }));
    if let Some((status, what)) = wrong {
        return http::refuse(connection, status, "", &dialect.error(&what)).await;
    }
    let next = shared.answers().pop_front();
    let Some(next) = next else {
        return http::refuse(connection, 500, "", &dialect.error("the script has ended")).await;
    };
    let (text, ending) = match &next {
        Answer::Refuses(status, headers, body) => {
            return http::refuse(connection, *status, headers, body).await;
        }
        Answer::Raw(text) => {
            http::begin(connection, dialect.media_type()).await?;
            http::chunk(connection, text).await?;
            return http::end(connection).await;
        }
        Answer::Says(pieces) => (pieces.clone(), None),
        Answer::Calls(text, _)
        | Answer::Ends(text, _)
        | Answer::Cut(text)
        | Answer::Fails(text, _)
        | Answer::Hangs(text) => (vec![text.clone()], Some(&next)),
    };
    http::begin(connection, dialect.media_type()).await?;
    http::chunk(connection, &dialect.begin()).await?;
    for piece in text.iter().filter(|piece| !piece.is_empty()) {
        http::chunk(connection, &dialect.text(piece)).await?;
    }
    let last = match ending {
        None => dialect.end(None),
        Some(Answer::Calls(_, calls)) => dialect.calls(calls),
        Some(Answer::Ends(_, ending)) => dialect.end(Some(*ending)),
        Some(Answer::Fails(_, what)) => dialect.failure(what),
        Some(Answer::Hangs(_)) => {
            std::future::pending::<()>().await;
            return Ok(false);
        }
        // No last chunk: the connection just ends.
        Some(_) => return Ok(false),
    };
    http::chunk(connection, &last).await?;
    http::end(connection).await
}

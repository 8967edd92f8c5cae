//! A server that is connected.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nuncio_net::Client;
use nuncio_protocol::{
    json::{Object, Raw},
    message::Part,
};
use rmcp::{
    ClientHandler, Peer, RoleClient, ServiceExt as _,
    model::{
        CallToolRequest, CallToolRequestParams, ClientConfig, ClientRequest, Implementation,
        PaginatedRequestParams, ProgressNotificationParam, ProgressToken, ServerResult,
    },
    service::{
        NotificationContext, PeerRequestOptions, RequestHandle, RunningService, ServiceError,
    },
};
use tokio::sync::{Mutex, mpsc};

use super::{Error, Server, error::with_causes, http, process::Program, result};
use crate::kinds::tool::Call;

/// How many tools a server may have.
const MAX_TOOLS: usize = 1_000;

/// How many words about progress may wait.
const MAX_WORDS: usize = 64;

/// A server that is connected.
#[derive(Debug)]
pub(super) struct Connection {
    name: String,
    peer: Peer<RoleClient>,
    service: Mutex<Option<RunningService<RoleClient, Ears>>>,
    ears: Ears,
    /// The tools, once they were asked for.
    tools: Mutex<Option<Arc<[Known]>>>,
    program: Option<Program>,
}

/// What is known of a tool.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) schema: Raw,
    /// Whether calling it twice is as good as once, as the server says.
    pub(super) is_repeatable: bool,
}

/// Hears what a server says by itself.
#[derive(Clone, Debug, Default)]
struct Ears(Arc<Heard>);

#[derive(Debug, Default)]
struct Heard {
    /// Who waits for progress. Held while a call is sent, so that no word comes too early.
    progress: Mutex<HashMap<ProgressToken, mpsc::Sender<String>>>,
    /// Whether there are other tools now.
    is_stale: AtomicBool,
}

impl Ears {
    /// Stops listening, once those who are about to say something have said it.
    fn forget(&self, token: ProgressToken) {
        let ears = self.clone();
        tokio::spawn(async move { ears.0.progress.lock().await.remove(&token) });
    }
}

impl ClientHandler for Ears {
    async fn on_progress(
        &self,
        said: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        if let Some(listener) = self.0.progress.lock().await.get(&said.progress_token) {
            // Whoever cannot keep up with it needs the newest word only.
            listener.try_send(words(&said)).ok();
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.is_stale.store(true, Ordering::Release);
    }

    fn get_info(&self) -> ClientConfig {
        let program = Implementation::new("nuncio", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(rmcp::model::ClientCapabilities::default(), program)
    }
}

fn words(said: &ProgressNotificationParam) -> String {
    let share = match said.total {
        Some(total) => format!("{} of {total}", said.progress),
        None => said.progress.to_string(),
    };
    match &said.message {
        Some(message) => message.clone(),
        None => share,
    }
}

impl Connection {
    pub(super) async fn open(
        name: &str,
        server: &Server,
        client: &Client,
        limit: Duration,
    ) -> Result<Self, Error> {
        let unreachable = |what: String| Error::Unreachable { server: name.to_owned(), what };
        let ears = Ears::default();
        let (service, program) = match server {
            Server::Process(process) => {
                let (program, transport) =
                    Program::start(process).map_err(|error| unreachable(error.to_string()))?;
                let opening = tokio::time::timeout(limit, ears.clone().serve(transport)).await;
                let opened = match opening {
                    Ok(Ok(service)) => Ok(service),
                    Ok(Err(error)) => Err(with_causes(&error)),
                    Err(_) => Err(format!("it did not introduce itself within {limit:?}")),
                };
                match opened {
                    Ok(service) => (service, Some(program)),
                    Err(what) => return Err(unreachable(program.last_words(what).await)),
                }
            }
            Server::Http(at) => {
                let transport = http::transport(at, client).map_err(unreachable)?;
                let opening = tokio::time::timeout(limit, ears.clone().serve(transport)).await;
                let opened = opening.map_err(|_| {
                    unreachable(format!("it did not introduce itself within {limit:?}"))
                })?;
                (opened.map_err(|error| unreachable(with_causes(&error)))?, None)
            }
        };
        Ok(Self {
            name: name.to_owned(),
            peer: service.peer().clone(),
            service: Mutex::new(Some(service)),
            ears,
            tools: Mutex::new(None),
            program,
        })
    }

    pub(super) fn is_open(&self) -> bool {
        let is_running = self.program.as_ref().is_none_or(Program::is_running);
        is_running && !self.peer.is_transport_closed()
    }

    /// Says goodbye, and waits until it is heard.
    pub(super) async fn stop(&self) {
        if let Some(service) = self.service.lock().await.take() {
            // It may have gone before.
            service.cancel().await.ok();
        }
        if let Some(program) = &self.program {
            program.stop().await;
        }
    }

    /// Returns the tools of the server.
    pub(super) async fn tools(&self, limit: Duration) -> Result<Arc<[Known]>, Error> {
        let mut tools = self.tools.lock().await;
        let is_stale = self.ears.0.is_stale.swap(false, Ordering::AcqRel);
        if let Some(known) = tools.as_ref().filter(|_| !is_stale) {
            return Ok(Arc::clone(known));
        }
        let listed = match tokio::time::timeout(limit, self.list()).await {
            Ok(listed) => listed?,
            Err(_) => return Err(self.unreachable(format!("no list of tools within {limit:?}"))),
        };
        Ok(Arc::clone(tools.insert(listed.into())))
    }

    async fn list(&self) -> Result<Vec<Known>, Error> {
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let page = self.peer.list_tools(Some(page)).await;
            let page = page.map_err(|error| self.unreachable(with_causes(&error)))?;
            for tool in page.tools {
                let schema = Raw::from_value(&tool.input_schema);
                let schema = schema.map_err(|error| self.unreachable(error.to_string()))?;
                let hints = tool.annotations.unwrap_or_default();
                all.push(Known {
                    name: tool.name.into_owned(),
                    description: tool.description.unwrap_or_default().into_owned(),
                    schema,
                    is_repeatable: hints.read_only_hint == Some(true)
                        || hints.idempotent_hint == Some(true),
                });
            }
            if all.len() > MAX_TOOLS {
                return Err(self.unreachable(format!("it has more than {MAX_TOOLS} tools")));
            }
            match page.next_cursor.filter(|cursor| !cursor.is_empty()) {
                Some(next) => cursor = Some(next),
                None => return Ok(all),
            }
        }
    }

    fn unreachable(&self, what: String) -> Error {
        Error::Unreachable { server: self.name.clone(), what }
    }

    /// Calls a tool, and passes on what it says about its progress.
    pub(super) async fn call(
        &self,
        known: &Known,
        input: Object,
        call: &Call,
        limit: Duration,
    ) -> Result<Vec<Part>, Error> {
        let (server, tool) = (&self.name, &known.name);
        let arguments = input
            .parse()
            .map_err(|error| Error::Input { tool: tool.clone(), what: error.to_string() })?;
        let params = CallToolRequestParams::new(tool.clone()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let (mut pending, mut progress) =
            self.send(request).await.map_err(|error| self.unreachable(with_causes(&error)))?;
        let timeout = tokio::time::sleep(limit);
        tokio::pin!(timeout);
        let answered = loop {
            tokio::select! {
                biased;
                Some(words) = progress.recv() => call.working(words).await?,
                answered = pending.answer() => break answered,
                () = &mut timeout => {
                    return Err(Error::Timeout { server: server.clone(), tool: tool.clone(), limit });
                }
            }
        };
        // What was said before the answer may be on its way here, in a task of its own.
        tokio::task::yield_now().await;
        while let Ok(words) = progress.try_recv() {
            call.working(words).await?;
        }
        match answered {
            Ok(ServerResult::CallToolResult(given)) => result::parts(tool, given),
            Ok(_) => Err(Error::Refused {
                server: server.clone(),
                tool: tool.clone(),
                told: "it asks something back, which nobody here can answer".to_owned(),
            }),
            Err(ServiceError::McpError(error)) => Err(Error::Refused {
                server: server.clone(),
                tool: tool.clone(),
                told: error.message.into_owned(),
            }),
            Err(error) => {
                let what = with_causes(&error);
                let what = match &self.program {
                    Some(program) => program.last_words(what).await,
                    None => what,
                };
                Err(Error::Gone { server: server.clone(), tool: tool.clone(), what })
            }
        }
    }

    async fn send(
        &self,
        request: ClientRequest,
    ) -> Result<(Pending, mpsc::Receiver<String>), ServiceError> {
        let (tell, progress) = mpsc::channel(MAX_WORDS);
        let mut listeners = self.ears.0.progress.lock().await;
        let options = PeerRequestOptions::no_options();
        let handle = self.peer.send_cancellable_request(request, options).await?;
        listeners.insert(handle.progress_token.clone(), tell);
        drop(listeners);
        Ok((Pending { handle: Some(handle), ears: self.ears.clone() }, progress))
    }
}

/// A call that is cancelled if nobody waits for it any more.
struct Pending {
    handle: Option<RequestHandle<RoleClient>>,
    ears: Ears,
}

impl Pending {
    async fn answer(&mut self) -> Result<ServerResult, ServiceError> {
        let Some(handle) = &mut self.handle else { return Err(ServiceError::TransportClosed) };
        let answered = (&mut handle.rx).await.map_err(|_| ServiceError::TransportClosed);
        if let Some(handle) = self.handle.take() {
            self.ears.forget(handle.progress_token);
        }
        answered?
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else { return };
        self.ears.forget(handle.progress_token.clone());
        tokio::spawn(async move {
            // The server may have gone, too.
            handle.cancel(Some("nobody waits for it any more".to_owned())).await.ok();
        });
    }
}

//! An MCP server with tools that a test can do something with.
//!
//! `echo` says a text again; `add` gives data; `picture` gives an image; `count` reports progress;
//! `wait` works until it is cancelled, and writes down that it was; `fail` fails; `die` ends the
//! program; `start` starts another program; `environment` says what it sees.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use rmcp::{RoleServer, ServerHandler, ServiceExt as _};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

/// The tools.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tools;

/// Serves on standard input and output until the other side closes.
///
/// # Panics
/// If the other side does not speak MCP.
pub async fn serve_stdio() {
    let service = Tools.serve(rmcp::transport::stdio()).await.expect("the client speaks MCP");
    service.waiting().await.expect("it ends");
}

/// A server on loopback that speaks streamable HTTP. Dropping it closes its port.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    accepting: AbortHandle,
}

impl Server {
    /// Starts to listen. Who does not show the bearer token is refused, if there is one.
    ///
    /// # Panics
    /// If there is no free port.
    pub async fn start(token: Option<&str>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let sessions = Arc::new(LocalSessionManager::default());
        let config = StreamableHttpServerConfig::default();
        let service = StreamableHttpService::new(|| Ok(Tools), sessions, config);
        let wanted = token.map(|token| format!("Bearer {token}"));
        let accepting = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let (service, wanted) = (service.clone(), wanted.clone());
                let answer = service_fn(move |request: http::Request<hyper::body::Incoming>| {
                    let (service, wanted) = (service.clone(), wanted.clone());
                    async move {
                        let shown = request.headers().get("authorization");
                        if wanted.is_some_and(|wanted| shown.is_none_or(|shown| *shown != *wanted))
                        {
                            let mut refused = http::Response::default();
                            *refused.status_mut() = http::StatusCode::UNAUTHORIZED;
                            return Ok::<_, Infallible>(refused);
                        }
                        Ok(service.handle(request).await)
                    }
                });
                let serving =
                    http1::Builder::new().serve_connection(TokioIo::new(connection), answer);
                tokio::spawn(serving);
            }
        });
        Self { address, accepting: accepting.abort_handle() }
    }

    /// Returns the URL.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("tools", "1"))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let text = json!({"type": "object", "properties": {"text": {"type": "string"}},
            "required": ["text"]});
        let numbers = json!({"type": "object", "properties": {"a": {"type": "number"},
            "b": {"type": "number"}}, "required": ["a", "b"]});
        let nothing = json!({"type": "object"});
        let tools = [
            tool("echo", "Says a text again", &text).with_annotations(read_only()),
            tool("add", "Adds two numbers", &numbers),
            tool("picture", "Draws", &nothing),
            tool("count", "Counts to three", &nothing).with_annotations(read_only()),
            tool("wait", "Waits until it is cancelled, and writes that to a file", &text),
            tool("wait_safely", "The same, and can be called twice", &text)
                .with_annotations(read_only()),
            tool("fail", "Fails", &text),
            tool("die", "Ends the program", &nothing),
            tool("start", "Starts a program that sleeps", &nothing),
            tool("environment", "Says which variables it sees", &nothing),
        ];
        Ok(ListToolsResult::with_all_items(tools.to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let input = Value::Object(request.arguments.unwrap_or_default());
        let text = input["text"].as_str().unwrap_or_default().to_owned();
        let says = |text: String| CallToolResult::success(vec![ContentBlock::text(text)]);
        let result = match &*request.name {
            "echo" => says(text),
            "add" => {
                let sum = input["a"].as_f64().zip(input["b"].as_f64()).map(|(a, b)| a + b);
                let sum = sum.ok_or_else(|| ErrorData::invalid_params("a and b, please", None))?;
                CallToolResult::structured(json!({"sum": sum}))
            }
            "picture" => CallToolResult::success(vec![
                ContentBlock::text("here it is"),
                ContentBlock::image("aW1hZ2U=", "image/png"),
            ]),
            "count" => {
                count(&context).await;
                says("counted".to_owned())
            }
            "wait" | "wait_safely" => {
                std::fs::write(format!("{text}.begun"), "").expect("the folder is there");
                context.ct.cancelled().await;
                std::fs::write(format!("{text}.cancelled"), "").expect("the folder is there");
                says(String::new())
            }
            "fail" => CallToolResult::error(vec![ContentBlock::text(text)]),
            "die" => {
                die();
            }
            "start" => says(start()),
            "environment" => {
                let names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
                says(names.join(" "))
            }
            other => {
                return Err(ErrorData::invalid_params(format!("no tool {other}"), None));
            }
        };
        Ok(result.into())
    }
}

fn tool(name: &'static str, description: &'static str, schema: &Value) -> Tool {
    Tool::new(name, description, schema.as_object().expect("it is an object").clone())
}

fn read_only() -> ToolAnnotations {
    let mut annotations = ToolAnnotations::default();
    annotations.read_only_hint = Some(true);
    annotations
}

async fn count(context: &RequestContext<RoleServer>) {
    let Some(token) = context.meta.get_progress_token() else { return };
    for number in 1..=3 {
        let mut said = ProgressNotificationParam::new(token.clone(), f64::from(number));
        said.message = Some(format!("number {number}"));
        context.peer.notify_progress(said).await.expect("the client listens");
    }
}

#[expect(clippy::print_stderr, reason = "the last words of a program")]
fn die() -> ! {
    eprintln!("it hurts");
    std::process::exit(3);
}

/// Starts a program that outlives this one, unless somebody kills it; returns its number.
fn start() -> String {
    let mut sleep = std::process::Command::new("sleep");
    sleep.arg("1000").stdin(std::process::Stdio::null());
    sleep.spawn().expect("there is a sleep").id().to_string()
}

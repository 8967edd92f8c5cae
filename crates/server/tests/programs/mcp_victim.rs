//! The MCP server that tests start and kill.

#[tokio::main(flavor = "current_thread")]
async fn main() {
    nuncio_testkit::mcp::serve_stdio().await;
}

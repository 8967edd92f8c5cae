//! A reverse proxy that does the least: every request goes on as it came, and so does every
//! answer.

use std::{net::SocketAddr, sync::Arc};

use anyhow::Result;
use hyper::{Request, Response, Uri, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
};
use tokio::net::TcpListener;

type Forward = Client<HttpConnector, Incoming>;

/// Serves on behalf of somebody else.
pub(super) async fn serve(listener: TcpListener, agent: SocketAddr) -> Result<()> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Arc<Forward> = Arc::new(Client::builder(TokioExecutor::new()).build(connector));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let client = Arc::clone(&client);
        tokio::spawn(async move {
            let service = service_fn(move |request| forward(Arc::clone(&client), agent, request));
            // A client that goes away is no news.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn forward(
    client: Arc<Forward>,
    agent: SocketAddr,
    mut request: Request<Incoming>,
) -> Result<Response<Incoming>, hyper_util::client::legacy::Error> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    if let Ok(uri) = format!("http://{agent}{path}").parse::<Uri>() {
        *request.uri_mut() = uri;
    }
    client.request(request).await
}

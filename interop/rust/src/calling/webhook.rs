//! A receiver of webhooks.

use std::io;

use axum::{Router, extract::State, http::HeaderMap, routing::post};
use serde_json::Value;
use tokio::{
    net::TcpListener,
    sync::mpsc::{Receiver as Deliveries, Sender, channel},
    task::JoinHandle,
};

/// Keeps what is delivered to it until it is dropped: each delivery is the token and the body.
pub(super) struct Receiver {
    pub(super) url: String,
    deliveries: Deliveries<(String, Value)>,
    serving: JoinHandle<()>,
}

impl Receiver {
    pub(super) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/hook", listener.local_addr()?);
        let (sender, deliveries) = channel(64);
        let app = Router::new().route("/hook", post(keep)).with_state(sender);
        let serving = tokio::spawn(async {
            // Whoever waits for a delivery finds out.
            let _ = axum::serve(listener, app).await;
        });
        Ok(Self { url, deliveries, serving })
    }

    pub(super) async fn next(&mut self) -> Result<(String, Value), &'static str> {
        self.deliveries.recv().await.ok_or("the receiver has ended")
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn keep(State(sender): State<Sender<(String, Value)>>, headers: HeaderMap, body: String) {
    let token = headers.get("x-a2a-notification-token").and_then(|value| value.to_str().ok());
    let body = serde_json::from_str(&body).unwrap_or_default();
    // The case is over if nobody wants it.
    let _ = sender.send((token.unwrap_or_default().to_owned(), body)).await;
}

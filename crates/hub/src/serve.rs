//! A hub at work: it answers on a port, and looks after its agents meanwhile.

use axum::Router;
use hyper_util::service::TowerToHyperService;
use nuncio_net::listen::Listener;
use tokio::time::timeout;

use crate::{http, hub::Hub, keeper};

/// Serves a hub until its drain has ended. Returns when the last connection is gone.
///
/// Agents are looked after from the first moment until the drain begins.
pub async fn serve(hub: Hub, listener: Listener) {
    serve_behind(hub, listener, |router| router).await;
}

/// Serves a hub behind layers that the hub knows nothing of.
pub async fn serve_behind(hub: Hub, listener: Listener, wrap: impl FnOnce(Router) -> Router) {
    let service = TowerToHyperService::new(wrap(http::router(hub.clone())));
    let served = async {
        listener.serve(service, hub.drain.clone()).await;
        hub.trail.finish();
    };
    let written = hub.trail.write(&**hub.directory.store());
    let stopped = async {
        hub.drain.begun().await;
        if let Some(gateway) = &hub.gateway {
            // Whoever is told twice gives back at once what it works on.
            let patience = async {
                timeout(hub.settings.drain, hub.drain.cut()).await.ok();
            };
            gateway.stop_after(patience).await;
        }
    };
    let watched = async {
        match &hub.endpoints {
            Some(endpoints) => endpoints.watch().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = async { tokio::join!(served, stopped, keeper::keep(&hub), written) } => {}
        () = watched => {}
    }
    // Whoever waited for these is gone.
    hub.tellers.end().await;
}

//! A constant `SendMessageResponse` over HTTP/2.

use bytes::{BufMut as _, Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::{Request, body::Incoming, server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use nuncio_protocol::{grpc::v1, json, task::SendMessageResponse};
use prost::Message as _;
use tokio::net::TcpListener;

use super::{
    body::Body,
    respond,
    typed::{self, Identity},
};

/// Serves for ever.
pub(super) async fn serve(listener: TcpListener) {
    let message = framed_answer();
    while let Ok((stream, _)) = listener.accept().await {
        // Without it the figures would be bad, and that is all.
        let _ = stream.set_nodelay(true);
        let message = message.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let message = message.clone();
                async move {
                    request.into_body().collect().await?;
                    Ok::<_, hyper::Error>(respond(Body::grpc(message), "application/grpc"))
                }
            });
            let connection = http2::Builder::new(TokioExecutor::new());
            // A client that goes away is no news.
            let _ = connection.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// An echo as a message with its length ahead.
fn framed_answer() -> Bytes {
    let task = typed::echo(&Identity::new(), "m-0000000000000001");
    let task = json::from_slice(&task).expect("the reference writes tasks");
    let message = v1::SendMessageResponse::from(SendMessageResponse::Task(task)).encode_to_vec();
    let length = u32::try_from(message.len()).expect("an echo is small");
    let mut framed = BytesMut::with_capacity(message.len() + 5);
    framed.put_u8(0);
    framed.put_u32(length);
    framed.put_slice(&message);
    framed.freeze()
}

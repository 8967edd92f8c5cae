//! A service that does as its path says, and a client that writes bytes.

use std::{convert::Infallible, io, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{Request, Response, StatusCode, Version};
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::{
    body::Frame,
    client::conn::{http1, http2},
    service::Service,
    upgrade::Upgraded,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use nuncio_net::listen::{
    BodyError, BodyLimits, Drain, Incoming, Limits, Listener, Peer, Tls, body::Guarded,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpStream,
    sync::{Mutex, Notify, Semaphore, mpsc},
    task::JoinHandle,
};

pub(crate) type Body = BoxBody<Bytes, io::Error>;

/// A listener that serves [`Script`].
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) drain: Drain,
    /// Lets one request for `/wait` go on.
    pub(crate) gate: Arc<Semaphore>,
    /// Told whenever a request has reached the service.
    pub(crate) reached: Arc<Notify>,
    /// Told whenever a request for `/gone` is given up.
    pub(crate) dropped: Arc<Notify>,
    /// The outcomes of bodies.
    pub(crate) bodies: mpsc::UnboundedReceiver<Result<Bytes, BodyError>>,
    pub(crate) serving: JoinHandle<()>,
}

#[derive(Clone)]
pub(crate) struct Script {
    gate: Arc<Semaphore>,
    reached: Arc<Notify>,
    dropped: Arc<Notify>,
    bodies: mpsc::UnboundedSender<Result<Bytes, BodyError>>,
    limits: BodyLimits,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(Limits::default(), BodyLimits::default(), None).await
    }

    pub(crate) async fn limited(change: impl FnOnce(&mut Limits)) -> Self {
        let mut limits = Limits::default();
        change(&mut limits);
        Self::with(limits, BodyLimits::default(), None).await
    }

    pub(crate) async fn with(limits: Limits, bodies: BodyLimits, tls: Option<Tls>) -> Self {
        let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await.expect("a free port");
        let listener = listener.limits(limits);
        let listener = match tls {
            Some(tls) => listener.tls(tls),
            None => listener,
        };
        Self::over(listener, bodies)
    }

    pub(crate) fn over(listener: Listener, bodies: BodyLimits) -> Self {
        let (gate, reached) = (Arc::new(Semaphore::new(0)), Arc::new(Notify::new()));
        let dropped = Arc::new(Notify::new());
        let (sender, receiver) = mpsc::unbounded_channel();
        let script = Script {
            gate: Arc::clone(&gate),
            reached: Arc::clone(&reached),
            dropped: Arc::clone(&dropped),
            bodies: sender,
            limits: bodies,
        };
        let (address, drain) = (listener.local_addr(), Drain::new());
        let serving = tokio::spawn(listener.serve(script, drain.clone()));
        Self { address, drain, gate, reached, dropped, bodies: receiver, serving }
    }

    pub(crate) async fn raw(&self) -> Raw {
        Raw { tcp: self.connect().await }
    }

    /// Connects. Nothing that is sent waits in the kernel, where a paused clock would not
    /// wait for it.
    pub(crate) async fn connect(&self) -> TcpStream {
        let tcp = TcpStream::connect(self.address).await.expect("a connection");
        tcp.set_nodelay(true).expect("an open connection");
        tcp
    }
}

impl Service<Request<Incoming>> for Script {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let this = self.clone();
        Box::pin(async move { Ok(this.answer(request).await) })
    }
}

impl Script {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        self.reached.notify_one();
        let peer = request.extensions().get::<Peer>().expect("every request has it").clone();
        match request.uri().path() {
            "/wait" => {
                self.gate.acquire().await.expect("nobody closes it").forget();
                text("waited")
            }
            "/upgrade" => upgrade(request, echo),
            "/upgrade/endless" => upgrade(request, flood),
            "/upgrade/never" => switching(),
            "/upgrade/drop" => upgrade(request, |_| Box::pin(std::future::ready(()))),
            "/upgrade/close" => {
                let answer = upgrade(request, echo);
                let gate = Arc::clone(&self.gate);
                tokio::spawn(async move {
                    // Closed once the test says so.
                    gate.acquire().await.expect("nobody closes it").forget();
                    peer.close();
                });
                answer
            }
            "/panic" => panic!("this is what the test asked for"),
            "/peer" => {
                let certificate = peer.certificate().map(|certificate| {
                    let names = certificate.dns_names().join(",");
                    let uris = certificate.uris().join(",");
                    format!("{names} {uris} {}", certificate.der().len())
                });
                text(format!("{} {} {certificate:?}", peer.address(), peer.is_tls()))
            }
            "/close" => {
                peer.close();
                std::future::pending().await
            }
            "/endless" => {
                let piece = Bytes::from(vec![b'x'; 16 * 1024]);
                let frames = stream::repeat_with(move || Ok(Frame::data(piece.clone())));
                Response::new(BodyExt::boxed(StreamBody::new(frames)))
            }
            "/unread" => text("unread"),
            "/none" => status(StatusCode::NO_CONTENT),
            "/same" => status(StatusCode::NOT_MODIFIED),
            "/early" => status(StatusCode::EARLY_HINTS),
            "/stream" => pieces(PIECES.map(|length| Ok("x".repeat(length)))),
            "/break" => pieces([Ok("one".to_owned()), Err(io::ErrorKind::Other.into())]),
            "/short" | "/long" => {
                let mut response = pieces([Ok("four".to_owned())]);
                let length = if request.uri().path() == "/short" { 5 } else { 3 };
                response.headers_mut().insert("content-length", length.into());
                response
            }
            "/wrong" => {
                let mut response = text("right");
                let wrong = [("transfer-encoding", "chunked"), ("content-length", "99")];
                for (name, value) in wrong.into_iter().chain([("connection", "keep-alive")]) {
                    response.headers_mut().insert(name, value.parse().expect("a value"));
                }
                response
            }
            "/gone" => {
                let _gone = Gone(Arc::clone(&self.dropped));
                std::future::pending().await
            }
            "/gone/stream" => {
                let gone = Gone(Arc::clone(&self.dropped));
                let first = stream::once(async { Ok(Frame::data(Bytes::from("first"))) });
                let rest = stream::once(async move {
                    let _gone = gone;
                    std::future::pending().await
                });
                Response::new(BodyExt::boxed(StreamBody::new(first.chain(rest))))
            }
            path @ ("/body" | "/body/elsewhere") => {
                let is_here = path == "/body";
                let body = Guarded::new(request.into_body(), self.limits).collect();
                let outcome = if is_here {
                    body.await
                } else {
                    tokio::spawn(body).await.expect("nobody stops it")
                };
                let status = match &outcome {
                    Ok(_) => StatusCode::OK,
                    Err(BodyError::TooLarge { .. }) => StatusCode::PAYLOAD_TOO_LARGE,
                    Err(BodyError::TooSlow) => StatusCode::REQUEST_TIMEOUT,
                    Err(_) => StatusCode::BAD_REQUEST,
                };
                let mut response = text("");
                *response.status_mut() = status;
                self.bodies.send(outcome).expect("the test listens");
                response
            }
            path => text(path.to_owned()),
        }
    }
}

/// How large the pieces of `/stream` are.
pub(crate) const PIECES: [usize; 6] = [3, 0, 5_000, 1, 200_000, 4_096];

/// Tells when it is dropped.
struct Gone(Arc<Notify>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

fn pieces(pieces: impl IntoIterator<Item = io::Result<String>>) -> Response<Body> {
    let frames = pieces.into_iter().map(|piece| piece.map(|piece| Frame::data(Bytes::from(piece))));
    let frames: Vec<_> = frames.collect();
    Response::new(BodyExt::boxed(StreamBody::new(stream::iter(frames))))
}

fn status(status: StatusCode) -> Response<Body> {
    let mut response = text("");
    *response.status_mut() = status;
    response
}

type Taken = TokioIo<Upgraded>;
type Using = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Agrees to speak something else, and hands the connection to whoever speaks it.
fn upgrade(request: Request<Incoming>, speak: fn(Taken) -> Using) -> Response<Body> {
    let upgraded = hyper::upgrade::on(request);
    tokio::spawn(async move {
        if let Ok(upgraded) = upgraded.await {
            speak(TokioIo::new(upgraded)).await;
        }
    });
    switching()
}

fn switching() -> Response<Body> {
    let mut response = text("");
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert("connection", "upgrade".parse().expect("a value"));
    headers.insert("upgrade", "echo".parse().expect("a value"));
    response
}

fn echo(mut taken: Taken) -> Using {
    Box::pin(async move {
        let mut buffer = [0; 1024];
        while let Ok(count @ 1..) = taken.read(&mut buffer).await {
            if taken.write_all(&buffer[..count]).await.is_err() {
                break;
            }
        }
    })
}

fn flood(mut taken: Taken) -> Using {
    Box::pin(async move { while taken.write_all(&[b'x'; 16 * 1024]).await.is_ok() {} })
}

fn text(text: impl Into<Bytes>) -> Response<Body> {
    Response::new(Full::new(text.into()).map_err(|never| match never {}).boxed())
}

/// A client that sends exactly what it is told to.
pub(crate) struct Raw {
    pub(crate) tcp: TcpStream,
}

impl Raw {
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.tcp.write_all(bytes.as_ref()).await.expect("the server takes it");
    }

    pub(crate) async fn get(&mut self, path: &str) -> String {
        self.send(get(path)).await;
        self.answer().await
    }

    /// Reads one answer whose length is announced.
    pub(crate) async fn answer(&mut self) -> String {
        let mut read = Vec::new();
        loop {
            let text = String::from_utf8_lossy(&read);
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                let length: usize = length.expect("a length").parse().expect("a number");
                if body.len() >= length {
                    return text.into_owned();
                }
            }
            let count = self.tcp.read_buf(&mut read).await.expect("an answer");
            assert!(count > 0, "closed after {:?}", String::from_utf8_lossy(&read));
        }
    }

    /// Reads until the server closes, whether or not it had more to read.
    pub(crate) async fn rest(&mut self) -> String {
        let mut read = Vec::new();
        while let Ok(1..) = self.tcp.read_buf(&mut read).await {}
        String::from_utf8_lossy(&read).into_owned()
    }
}

/// A client that speaks HTTP as it should.
#[derive(Clone)]
pub(crate) struct Client {
    sender: Sender,
}

#[derive(Clone)]
enum Sender {
    Http1(Arc<Mutex<http1::SendRequest<Full<Bytes>>>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Client {
    pub(crate) async fn on(
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        is_http2: bool,
    ) -> hyper::Result<Self> {
        let io = TokioIo::new(stream);
        let sender = if is_http2 {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await?;
            tokio::spawn(connection);
            Sender::Http2(sender)
        } else {
            let (sender, connection) = http1::handshake(io).await?;
            tokio::spawn(connection);
            Sender::Http1(Arc::new(Mutex::new(sender)))
        };
        Ok(Self { sender })
    }

    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> hyper::Result<Response<hyper::body::Incoming>> {
        match &mut self.sender {
            Sender::Http1(sender) => sender.lock().await.send_request(request).await,
            Sender::Http2(sender) => sender.send_request(request).await,
        }
    }

    pub(crate) async fn get(&mut self, path: &str) -> hyper::Result<(Version, String)> {
        let request = Request::get(format!("http://test{path}"));
        let answer = self.send(request.body(Full::default()).expect("a request")).await?;
        let version = answer.version();
        let body = answer.into_body().collect().await?.to_bytes();
        Ok((version, String::from_utf8_lossy(&body).into_owned()))
    }

    pub(crate) fn get_later(
        mut self,
        path: &'static str,
    ) -> JoinHandle<hyper::Result<(Version, String)>> {
        tokio::spawn(async move { self.get(path).await })
    }
}

pub(crate) fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: test\r\n\r\n")
}

pub(crate) const SECOND: Duration = Duration::from_secs(1);

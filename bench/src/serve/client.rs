//! The leanest HTTP/1.1 client that can judge an answer: one connection, one request at a time.
//!
//! It shares the cores with what it measures, so every cycle it spends makes all servers look
//! more alike. It knows just what A2A servers do: bodies with a length or in chunks.

use std::{io, net::SocketAddr};

use anyhow::{Context as _, Result, bail, ensure};
use memchr::memmem;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// More than any header here has.
const LONGEST_LINE: usize = 16 * 1024;

/// A connection that is kept alive.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    host: SocketAddr,
    /// What was received; from `start` on it is not yet used.
    received: Vec<u8>,
    start: usize,
    request: Vec<u8>,
    body: Vec<u8>,
}

/// How the end of a body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunks,
}

impl Connection {
    pub(crate) async fn open(host: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            host,
            received: Vec::with_capacity(4096),
            start: 0,
            request: Vec::with_capacity(1024),
            body: Vec::with_capacity(1024),
        })
    }

    /// Gets a path and returns the status.
    pub(crate) async fn get(&mut self, path: &str) -> Result<u16> {
        let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", self.host);
        self.stream.write_all(request.as_bytes()).await?;
        let (status, framing) = self.head().await?;
        self.read_body(framing).await?;
        Ok(status)
    }

    /// Posts a JSON-RPC request and returns the body of the answer.
    pub(crate) async fn call(&mut self, request: &str) -> Result<&[u8]> {
        self.post(request, "application/json").await?;
        let (status, framing) = self.head().await?;
        self.read_body(framing).await?;
        ensure!(status == 200, "status {status}: {}", String::from_utf8_lossy(&self.body));
        Ok(&self.body)
    }

    /// Posts a JSON-RPC request whose answer is a stream of events.
    pub(crate) async fn stream(&mut self, request: &str) -> Result<Events<'_>> {
        self.post(request, "text/event-stream").await?;
        let (status, framing) = self.head().await?;
        if status != 200 || framing != Framing::Chunks {
            self.read_body(framing).await?;
            bail!("no stream, status {status}: {}", String::from_utf8_lossy(&self.body));
        }
        self.body.clear();
        Ok(Events { connection: self, start: 0 })
    }

    /// Whether the peer has closed the connection, without waiting.
    pub(crate) fn is_closed(&self) -> bool {
        let mut rest = [0; 4096];
        loop {
            match self.stream.try_read(&mut rest) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return error.kind() != io::ErrorKind::WouldBlock,
            }
        }
    }

    async fn post(&mut self, body: &str, accept: &str) -> Result<()> {
        use io::Write as _;
        self.request.clear();
        write!(
            self.request,
            "POST / HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: {accept}\r\n\
             a2a-version: 1.0\r\ncontent-length: {}\r\n\r\n{body}",
            self.host,
            body.len(),
        )?;
        Ok(self.stream.write_all(&self.request).await?)
    }

    async fn head(&mut self) -> Result<(u16, Framing)> {
        let end = loop {
            let unused = &self.received[self.start..];
            if let Some(end) = memmem::find(unused, b"\r\n\r\n") {
                break self.start + end + 4;
            }
            ensure!(unused.len() < LONGEST_LINE, "the head of the answer does not end");
            self.receive().await?;
        };
        let head = read_head(&self.received[self.start..end])?;
        self.start = end;
        Ok(head)
    }

    async fn read_body(&mut self, framing: Framing) -> Result<()> {
        self.body.clear();
        match framing {
            Framing::Length(length) => {
                while self.received.len() - self.start < length {
                    self.receive().await?;
                }
                self.body.extend_from_slice(&self.received[self.start..self.start + length]);
                self.start += length;
            }
            Framing::Chunks => while self.read_chunk().await? {},
        }
        Ok(())
    }

    /// Appends a chunk to the body, or returns `false`: it was the last.
    async fn read_chunk(&mut self) -> Result<bool> {
        let (length, from) = loop {
            let unused = &self.received[self.start..];
            if let Some(end) = memmem::find(unused, b"\r\n") {
                let line = std::str::from_utf8(&unused[..end]).context("a chunk has no length")?;
                let digits = line.split(';').next().unwrap_or_default().trim();
                let length = usize::from_str_radix(digits, 16).context("a chunk has no length")?;
                break (length, end + 2);
            }
            ensure!(unused.len() < LONGEST_LINE, "the length of a chunk does not end");
            self.receive().await?;
        };
        let whole = from + length + 2;
        while self.received.len() - self.start < whole {
            self.receive().await?;
        }
        let data = self.start + from;
        self.body.extend_from_slice(&self.received[data..data + length]);
        self.start += whole;
        Ok(length > 0)
    }

    async fn receive(&mut self) -> Result<()> {
        self.received.drain(..self.start);
        self.start = 0;
        self.received.reserve(4096);
        let count = self.stream.read_buf(&mut self.received).await?;
        ensure!(count > 0, "the server closed the connection early");
        Ok(())
    }
}

/// The events of one answer.
#[derive(Debug)]
pub(crate) struct Events<'a> {
    connection: &'a mut Connection,
    start: usize,
}

impl Events<'_> {
    /// Returns the data of the next event, or `None` behind the last.
    pub(crate) async fn next(&mut self) -> Result<Option<&[u8]>> {
        loop {
            let body = &self.connection.body;
            if let Some(length) = memmem::find(&body[self.start..], b"\n\n") {
                let from = self.start;
                self.start += length + 2;
                if let Some(at) = data_of(&body[from..from + length]) {
                    return Ok(Some(&self.connection.body[from + at..from + length]));
                }
                continue; // A comment that keeps the connection alive.
            }
            self.connection.body.drain(..self.start);
            self.start = 0;
            if !self.connection.read_chunk().await? {
                ensure!(self.connection.body.is_empty(), "the last event does not end");
                return Ok(None);
            }
        }
    }
}

/// Where the data of an event begins. Ours is one line and the last one.
fn data_of(event: &[u8]) -> Option<usize> {
    if event.starts_with(b"data:") {
        return Some(5);
    }
    memmem::find(event, b"\ndata:").map(|at| at + 6)
}

fn read_head(head: &[u8]) -> Result<(u16, Framing)> {
    let head = std::str::from_utf8(head).context("the head of the answer is not text")?;
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.get(9..12)).context("no status line")?;
    let mut framing = Framing::Length(0);
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        if name.eq_ignore_ascii_case("content-length") {
            framing = Framing::Length(value.trim().parse().context("no length of the body")?);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            framing = Framing::Chunks;
        }
    }
    Ok((status.parse().context("no status")?, framing))
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// Answers the only request on the only connection with `pieces`, one write each.
    async fn answered(pieces: &'static [&'static str]) -> Connection {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("the client connects");
            let _request = stream.read(&mut [0; 1024]).await.expect("the client writes");
            for piece in pieces {
                stream.write_all(piece.as_bytes()).await.expect("the client reads");
                stream.flush().await.expect("the client reads");
                tokio::task::yield_now().await;
            }
        });
        Connection::open(address).await.expect("the server listens")
    }

    async fn events(pieces: &'static [&'static str]) -> Result<Vec<String>> {
        let mut connection = answered(pieces).await;
        let mut events = connection.stream("{}").await?;
        let mut seen = Vec::new();
        while let Some(event) = events.next().await? {
            seen.push(String::from_utf8(event.to_vec())?);
        }
        Ok(seen)
    }

    #[tokio::test]
    async fn bodies_with_a_length_or_in_chunks_are_read_however_they_are_cut() {
        let length = ["HTTP/1.1 200 OK\r\nConte", "nt-Length: 5\r\n\r", "\nhel", "lo"].as_slice();
        let chunks = [
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r",
            "\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        ]
        .as_slice();
        for pieces in [length, chunks] {
            let mut connection = answered(pieces).await;
            assert_eq!(connection.call("{}").await.unwrap(), b"hello");
        }
    }

    #[tokio::test]
    async fn an_error_status_and_an_early_close_are_told() {
        for pieces in [
            ["HTTP/1.1 500 Oh\r\ncontent-length: 2\r\n\r\n{}"].as_slice(),
            ["HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n{}"].as_slice(),
            ["HTTP/1.1 200 OK\r\n"].as_slice(),
        ] {
            answered(pieces).await.call("{}").await.unwrap_err();
        }
    }

    #[tokio::test]
    async fn events_are_found_across_chunks_and_comments_are_left_out() {
        let seen = events(&[
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
            "a\r\ndata:one\n\n\r\n5\r\nid: 2\r\n",
            "c\r\n\ndata:two\n\n:\r\n3\r\nx\n\n\r\n0\r\n\r\n",
        ])
        .await
        .unwrap();
        assert_eq!(seen, ["one", "two"]);
    }

    #[tokio::test]
    async fn a_stream_that_breaks_off_is_told() {
        for pieces in [
            ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\na\r\ndata:one\n\n\r\n"]
                .as_slice(),
            ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\ndata:one\r\n0\r\n\r\n"]
                .as_slice(),
            ["HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"].as_slice(),
        ] {
            events(pieces).await.unwrap_err();
        }
    }
}

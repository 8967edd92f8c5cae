//! As much HTTP/1.1 as a provider needs, and as little as a test can break.

use std::io;

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[derive(Debug)]
pub(super) struct Request {
    pub(super) path: String,
    /// In small letters, in lines.
    head: String,
    pub(super) body: Vec<u8>,
}

impl Request {
    /// Returns the value of a header, in the letters in which it came.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// Reads a request; `None` if the client has gone.
pub(super) async fn read(connection: &mut TcpStream) -> io::Result<Option<Request>> {
    let mut buffer = BytesMut::new();
    let end = loop {
        if let Some(end) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break end;
        }
        if connection.read_buf(&mut buffer).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    buffer.advance(end + 4);
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut request = Request { path, head, body: Vec::new() };
    let length = request.header("content-length").and_then(|length| length.parse().ok());
    while buffer.len() < length.unwrap_or(0) {
        if connection.read_buf(&mut buffer).await? == 0 {
            return Ok(None);
        }
    }
    request.body = buffer.to_vec();
    Ok(Some(request))
}

/// Answers with a status and a body.
pub(super) async fn refuse(
    connection: &mut TcpStream,
    status: u16,
    headers: &str,
    body: &str,
) -> io::Result<bool> {
    let head = format!(
        "HTTP/1.1 {status} No\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{headers}\r\n",
        body.len()
    );
    connection.write_all(head.as_bytes()).await?;
    connection.write_all(body.as_bytes()).await?;
    Ok(true)
}

/// Begins a stream.
pub(super) async fn begin(connection: &mut TcpStream, media_type: &str) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    connection.write_all(head.as_bytes()).await
}

/// Sends a piece of a stream.
pub(super) async fn chunk(connection: &mut TcpStream, text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let chunk = format!("{:x}\r\n{text}\r\n", text.len());
    connection.write_all(chunk.as_bytes()).await?;
    connection.flush().await
}

/// Ends a stream as it should end.
pub(super) async fn end(connection: &mut TcpStream) -> io::Result<bool> {
    connection.write_all(b"0\r\n\r\n").await?;
    Ok(true)
}

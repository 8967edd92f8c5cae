//! What comes back, as parts.

use bytes::Bytes;
use http::{HeaderMap, header};
use nuncio_net::{Client, Errand, Request as Exchange, Timeouts};
use nuncio_protocol::{json::Raw, message::Part};

use super::{Error, Limits, Request};
use crate::kinds::words::{beginning, retry_after};

/// How much a server that says no gets to say.
const MAX_EXCERPT: usize = 1_000;

pub(super) async fn fetch(
    client: &Client,
    errand: Errand,
    limits: Limits,
    request: &Request,
) -> Result<Vec<Part>, Error> {
    let url = client.guard().check_url(&request.url, errand).map_err(nuncio_net::Error::from)?;
    let (headers, bytes) = request.parts()?;
    let mut exchange = Exchange::new(request.method.clone(), &url, bytes)
        .timeouts(Timeouts::default().first_byte(limits.time).whole(limits.time));
    exchange.headers_mut().extend(headers);
    let answer = client.send(exchange).await?;
    let host = url.host_text().to_owned();
    let status = answer.status();
    if status.is_success() {
        let headers = answer.headers().clone();
        let body = answer.collect(limits.answer_bytes).await?;
        return parts(&host, &headers, body);
    }
    let retry_after = retry_after(answer.headers());
    let body = if status.is_redirection() {
        "it sends elsewhere, which is not followed; name the address it leads to".to_owned()
    } else {
        beginning(answer.into_body(), MAX_EXCERPT).await
    };
    Err(Error::Status { host, status, body, retry_after })
}

/// Makes a part of a body, by its media type.
fn parts(host: &str, headers: &HeaderMap, body: Bytes) -> Result<Vec<Part>, Error> {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media_type = value.unwrap_or_default().trim();
    if body.is_empty() {
        return Ok(Vec::new());
    }
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let unreadable = |what: String| Error::Unreadable {
        host: host.to_owned(),
        media_type: essence.clone(),
        what,
    };
    let is_json = essence == "application/json" || essence.ends_with("+json");
    let part = if is_json {
        let text = std::str::from_utf8(&body).map_err(|error| unreadable(error.to_string()))?;
        let data = Raw::parse_text(text).map_err(|error| unreadable(error.to_string()))?;
        Part::data(data).with_media_type(&essence)
    } else if is_text(&essence, &body) {
        let text = String::from_utf8(body.to_vec());
        let text = text.map_err(|error| unreadable(error.to_string()))?;
        Part::text(text).with_media_type(if essence.is_empty() { "text/plain" } else { &essence })
    } else {
        let named = filename(headers);
        let part = Part::raw(body).with_media_type(match essence.as_str() {
            "" => "application/octet-stream",
            known => known,
        });
        if named.is_empty() { part } else { part.with_filename(named) }
    };
    Ok(vec![part])
}

/// Tells whether a body is text: its type says so, or it has none and reads as one. Text in
/// another alphabet than UTF-8 is a file, since nobody could read it.
fn is_text(essence: &str, body: &[u8]) -> bool {
    let says_so = essence.is_empty()
        || essence.starts_with("text/")
        || matches!(essence, "application/xml" | "application/yaml" | "application/javascript");
    says_so && std::str::from_utf8(body).is_ok()
}

/// Returns the name that a server gives to a file, without any folder in it.
fn filename(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_DISPOSITION).and_then(|value| value.to_str().ok());
    let named = value.unwrap_or_default().split(';').find_map(|piece| {
        let (key, value) = piece.split_once('=')?;
        key.trim().eq_ignore_ascii_case("filename").then(|| value.trim().trim_matches('"'))
    });
    named.unwrap_or_default().rsplit(['/', '\\']).next().unwrap_or_default().to_owned()
}

//! What providers say when something goes wrong.

use std::time::Duration;

use http::{HeaderMap, StatusCode};
use nuncio_net::Secret;
use nuncio_protocol::json::{self, Kind, Reader};

use super::{Spoilt, wire::text};
use crate::kinds::{
    llm::Error,
    words::{retry_after, shorten},
};

/// How much a provider gets to say.
const MAX_TOLD: usize = 500;

/// An error as a provider writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Trouble {
    message: String,
    /// `type`, `code` or `status`: whatever the provider calls it.
    kind: String,
    /// A status, if it stands within the body.
    code: Option<i32>,
    retry_after: Option<Duration>,
}

/// Reads the value of an `error` member: a text, or an object.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<Option<Trouble>, json::Error> {
    if reader.null()? {
        return Ok(None);
    }
    if reader.peek()? == Kind::String {
        let message = reader.string()?.into_owned();
        return Ok(Some(Trouble { message, ..Trouble::default() }));
    }
    let mut trouble = Trouble::default();
    reader.members(|reader, key| {
        match &*key {
            "message" => trouble.message = text(reader)?.unwrap_or_default(),
            "type" | "status" => trouble.kind = text(reader)?.unwrap_or_default(),
            "code" if reader.peek()? == Kind::Number => trouble.code = Some(reader.int32()?),
            "code" if reader.peek()? == Kind::String => {
                let code = reader.string()?;
                // It says more than the type does.
                if !code.is_empty() {
                    trouble.kind = code.into_owned();
                }
            }
            "details" => trouble.retry_after = delay(reader.value_text()?),
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    Ok(Some(trouble))
}

/// Finds `"retryDelay":"20s"` in the details that Google gives.
fn delay(details: &str) -> Option<Duration> {
    let (_, behind) = details.split_once("\"retryDelay\"")?;
    let text = behind.trim_start_matches([':', ' ']).strip_prefix('"')?;
    let seconds: f64 = text.split_once("s\"")?.0.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

impl Trouble {
    /// Says it as the end of a stream.
    pub(super) fn spoilt(self) -> Spoilt {
        let may_pass = match self.code {
            Some(code) => code >= 500 || code == 429,
            None => !self.kind.contains("invalid") && !self.kind.contains("permission"),
        };
        Spoilt::BrokenOff { told: self.told(), may_pass }
    }

    fn told(self) -> String {
        let message = shorten(&self.message, MAX_TOLD);
        match (self.kind.as_str(), message.as_str()) {
            ("", "") => "it does not say why".to_owned(),
            ("", _) => message,
            (kind, "") => kind.to_owned(),
            (kind, message) => format!("{message} ({kind})"),
        }
    }
}

/// Makes an error of an answer that is none.
pub(super) fn refusal(
    model: &str,
    key: Option<&Secret>,
    status: StatusCode,
    headers: &HeaderMap,
    body: &str,
) -> Error {
    let model = model.to_owned();
    let trouble = find(body);
    let is_about_key = status == StatusCode::UNAUTHORIZED
        || status == StatusCode::FORBIDDEN
        // Google answers so to a key that it does not know.
        || (status == StatusCode::BAD_REQUEST && trouble.message.contains("API key"));
    if is_about_key {
        // What it says is left out: some providers show half of the key.
        return Error::Unauthorized { model, status };
    }
    let retry_after =
        trouble.retry_after.or_else(|| millis(headers)).or_else(|| retry_after(headers));
    let is_used_up = trouble.kind == "insufficient_quota";
    let told = without(key, trouble.told());
    let is_overloaded = matches!(status.as_u16(), 429 | 503 | 529);
    if is_overloaded && !is_used_up {
        return Error::Busy { model, status, told, retry_after };
    }
    Error::Status { model, status, told }
}

/// Removes a key from a text: a proxy might show what it was sent.
pub(super) fn without(key: Option<&Secret>, text: String) -> String {
    match key.map(Secret::expose).filter(|key| !key.is_empty()) {
        Some(key) if text.contains(key) => text.replace(key, "(key)"),
        _ => text,
    }
}

/// OpenAI also says it in milliseconds.
fn millis(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get("retry-after-ms")?.to_str().ok()?;
    text.trim().parse().ok().map(Duration::from_millis)
}

/// Looks for the error in a body, whatever it is.
fn find(body: &str) -> Trouble {
    let mut found = None;
    let mut object = |reader: &mut Reader<'_>| {
        reader.members(|reader, key| {
            if &*key == "error" {
                found = read(reader)?;
                return Ok(());
            }
            reader.skip()
        })
    };
    // A body that was cut is no JSON to the end, but the error stands at its beginning.
    let mut reader = Reader::new(body);
    let read = match reader.peek() {
        Ok(Kind::Array) => reader.items(&mut object),
        _ => object(&mut reader),
    };
    match found {
        Some(trouble) => trouble,
        None if read.is_ok() && body.trim() == "{}" => Trouble::default(),
        None => Trouble { message: body.to_owned(), ..Trouble::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(status: u16, body: &str, expected: &str) {
        let status = StatusCode::from_u16(status).expect("a status");
        let key = Secret::new("sk-swordfish");
        let error = refusal("p/m", Some(&key), status, &HeaderMap::new(), body);
        assert_eq!(error.into_failure().told(), expected);
    }

    #[test]
    fn what_providers_say_is_told_with_whether_to_try_again() {
        check(
            401,
            r#"{"error":{"message":"Incorrect API key provided: sk-sword***","type":"invalid_request_error"}}"#,
            "p/m: the provider does not take the key (401 Unauthorized); check `api_key`; trying \
             again will not help",
        );
        check(
            400,
            r#"[{"error":{"code":400,"message":"API key not valid. Please pass one.","status":"INVALID_ARGUMENT"}}]"#,
            "p/m: the provider does not take the key (400 Bad Request); check `api_key`; trying \
             again will not help",
        );
        check(
            429,
            r#"{"error":{"code":429,"message":"Slow down","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"20s"}]}}"#,
            "p/m: the provider takes no more for now (429 Too Many Requests): Slow down \
             (RESOURCE_EXHAUSTED); trying again in 20 s may help",
        );
        check(
            429,
            r#"{"error":{"message":"You exceeded your quota","type":"x","code":"insufficient_quota"}}"#,
            "p/m: the provider answered 429 Too Many Requests: You exceeded your quota \
             (insufficient_quota); trying again will not help",
        );
        check(
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "p/m: the provider takes no more for now (529 <unknown status code>): Overloaded \
             (overloaded_error); trying again may help",
        );
        check(
            404,
            r#"{"error":"model \"m\" not found, sk-swordfish"}"#,
            "p/m: the provider answered 404 Not Found: model \"m\" not found, (key); trying again \
             will not help",
        );
        check(
            502,
            "<html>bad gateway</html>",
            "p/m: the provider answered 502 Bad Gateway: <html>bad gateway</html>; trying again \
             may help",
        );
    }
}

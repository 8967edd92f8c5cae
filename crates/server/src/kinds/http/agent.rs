//! A request for every message.

use nuncio_protocol::{
    ids::ArtifactId,
    message::{Content, Message},
    task::Artifact,
};
use nuncio_tasks::{
    agent::{Agent, Conduct, Failure, Interrupted, Turn},
    output::Output,
};

use super::{Body, Error, Request, Sender};
use crate::kinds::words::again;

/// Sends a request for every message. Where it goes is fixed: no message can change it.
#[derive(Clone, Debug)]
pub struct Http {
    sender: Sender,
    request: Request,
    carried: Carried,
}

/// Where the message goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Carried {
    /// Nowhere: every message sends the same request.
    #[default]
    Nowhere,
    /// Its first part is the body: text, JSON, or a file with its media type.
    Body,
    /// Its text is the value of this parameter of the query.
    Query(String),
}

impl Http {
    /// Sends this request for every message. With a method that takes a body and none given, the
    /// message is the body; see [`carry`](Self::carry).
    pub fn new(sender: Sender, request: Request) -> Self {
        let takes_body = !request.is_safe() && request.body == Body::None;
        let carried = if takes_body { Carried::Body } else { Carried::Nowhere };
        Self { sender, request, carried }
    }

    /// Says where the message goes.
    #[must_use]
    pub fn carry(mut self, carried: Carried) -> Self {
        self.carried = carried;
        self
    }

    fn request(&self, message: &Message) -> Result<Request, Error> {
        let mut request = self.request.clone();
        match &self.carried {
            Carried::Nowhere => {}
            Carried::Body => request.body = body(message)?,
            Carried::Query(name) => request.url = with_query(&request.url, name, &message.text()),
        }
        Ok(request)
    }
}

impl Agent for Http {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let request = self.request(&turn.message).map_err(|error| failure(&error))?;
        let parts = self.sender.send(&request).await.map_err(|error| failure(&error))?;
        if !parts.is_empty() {
            output.artifact(Artifact::new(ArtifactId::generate(), parts)).await?;
        }
        Ok(())
    }

    fn conduct(&self) -> Conduct {
        let is_safe = self.request.is_safe();
        let interrupted = if is_safe { Interrupted::Retry } else { Interrupted::Fail };
        Conduct { interrupted, ..Conduct::default() }
    }
}

fn failure(error: &Error) -> Failure {
    Failure::new(again(&error.to_string(), error.may_pass(), error.retry_after()))
}

/// Makes a body of the first part of a message.
fn body(message: &Message) -> Result<Body, Error> {
    let Some(part) = message.parts.first() else { return Ok(Body::None) };
    if message.parts.len() > 1 && message.parts.iter().any(|part| part.as_text().is_none()) {
        return Err(Error::Invalid {
            what: "a body is one part: send one text, one data or one file part".to_owned(),
        });
    }
    Ok(match &part.content {
        Content::Text(_) => Body::Text(message.text()),
        Content::Data(data) => Body::Json(data.clone()),
        Content::Raw(bytes) => Body::Bytes(bytes.clone(), part.media_type.clone()),
        Content::Url(_) => {
            return Err(Error::Invalid {
                what: "a file by its URL is not fetched: send its bytes".to_owned(),
            });
        }
    })
}

/// Puts a parameter behind those that are there.
pub(crate) fn with_query(url: &str, name: &str, value: &str) -> String {
    let encode = |text: &str| percent_encoding::utf8_percent_encode(text, VALUE).to_string();
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}{}={}", encode(name), encode(value))
}

/// What has a meaning within a query, or none within a URL.
const VALUE: &percent_encoding::AsciiSet = percent_encoding::NON_ALPHANUMERIC;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_cannot_leave_its_parameter() {
        assert_eq!(
            with_query("https://a.example/x?k=1", "q", "München & #co=1"),
            "https://a.example/x?k=1&q=M%C3%BCnchen%20%26%20%23co%3D1"
        );
        assert_eq!(with_query("https://a.example/", "q", "a"), "https://a.example/?q=a");
    }
}

//! A model behind a provider's URL.

use std::collections::VecDeque;

use futures_util::stream;
use http::{
    HeaderName, HeaderValue,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use nuncio_net::{
    CheckedUrl, Client, Request, Secret, Timeouts,
    client::{Response, ResponseBody},
};

use super::{
    ProviderKind, Reading, Spoilt, anthropic, gemini, ollama, openai,
    trouble::{refusal, without},
};
use crate::kinds::{
    llm::{Delta, Deltas, Error, Limits, Model, Prompt},
    tool::Boxed,
    words::beginning,
};

/// How much of a refusal is read.
const MAX_REFUSAL: usize = 16 << 10;

/// A model behind a provider's URL.
#[derive(Clone, Debug)]
pub(super) struct Remote {
    /// With the provider's name before it.
    pub(super) name: String,
    pub(super) model: String,
    pub(super) kind: ProviderKind,
    pub(super) client: Client,
    pub(super) url: CheckedUrl,
    pub(super) key: Option<Secret>,
}

impl Remote {
    async fn open(&self, prompt: &Prompt) -> Result<Deltas, Error> {
        let answer = self.send(prompt).await?;
        let limits = prompt.limits;
        let status = answer.status();
        if !status.is_success() {
            let headers = answer.headers().clone();
            let body = beginning(answer.into_body(), MAX_REFUSAL).await;
            return Err(refusal(&self.name, self.key.as_ref(), status, &headers, &body));
        }
        let incoming = Incoming {
            remote: self.clone(),
            body: answer.into_body(),
            reading: Some(Reading::new(self.kind, limits.answer_bytes)),
            waiting: VecDeque::new(),
        };
        Ok(Box::pin(stream::try_unfold(incoming, Incoming::next)))
    }

    async fn send(&self, prompt: &Prompt) -> Result<Response, Error> {
        let request = Request::post(&self.url, self.write(prompt)?);
        let mut request = request
            .timeouts(timeouts(prompt.limits))
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(ACCEPT, HeaderValue::from_static("text/event-stream, application/x-ndjson"));
        if self.kind == ProviderKind::Anthropic {
            let version = HeaderValue::from_static(anthropic::VERSION);
            request = request.header(HeaderName::from_static("anthropic-version"), version);
        }
        if let Some(key) = &self.key {
            let (name, prefix) = match self.kind {
                ProviderKind::OpenAi | ProviderKind::Ollama => (AUTHORIZATION, "Bearer "),
                ProviderKind::Anthropic => (HeaderName::from_static("x-api-key"), ""),
                ProviderKind::Gemini => (HeaderName::from_static("x-goog-api-key"), ""),
            };
            let value = key.to_header(prefix).map_err(|_| Error::Settings {
                what: format!("{}: `api_key` has characters that no header can have", self.name),
            })?;
            request = request.header(name, value);
        }
        self.client.send(request).await.map_err(|source| self.net(source))
    }

    fn write(&self, prompt: &Prompt) -> Result<String, Error> {
        let written = match self.kind {
            ProviderKind::OpenAi => {
                let is_official = self.url.host_text() == "api.openai.com";
                openai::write(prompt, &self.model, is_official)
            }
            ProviderKind::Anthropic => anthropic::write(prompt, &self.model),
            ProviderKind::Gemini => gemini::write(prompt),
            ProviderKind::Ollama => ollama::write(prompt, &self.model),
        };
        written.map_err(|untold| Error::Part {
            model: self.name.clone(),
            number: untold.number,
            what: untold.what,
        })
    }

    fn net(&self, source: nuncio_net::Error) -> Error {
        Error::Net { model: self.name.clone(), source }
    }

    fn spoilt(&self, spoilt: Spoilt) -> Error {
        let model = self.name.clone();
        match spoilt {
            Spoilt::Unreadable { what } => Error::Unreadable { model, what },
            Spoilt::BrokenOff { told, may_pass } => {
                Error::BrokenOff { model, told: without(self.key.as_ref(), told), may_pass }
            }
            Spoilt::Cut => Error::Cut { model },
            Spoilt::TooLarge { limit } => Error::TooLarge { model, limit },
        }
    }
}

impl Model for Remote {
    fn name(&self) -> &str {
        &self.name
    }

    fn ask<'a>(&'a self, prompt: &'a Prompt) -> Boxed<'a, Result<Deltas, Error>> {
        Box::pin(self.open(prompt))
    }
}

fn timeouts(limits: Limits) -> Timeouts {
    Timeouts::streaming().first_byte(limits.silence).idle(limits.silence).whole(limits.time)
}

/// An answer that is being read.
struct Incoming {
    remote: Remote,
    body: ResponseBody,
    /// Gone once everything was read.
    reading: Option<Reading>,
    waiting: VecDeque<Delta>,
}

impl Incoming {
    async fn next(mut self) -> Result<Option<(Delta, Self)>, Error> {
        loop {
            if let Some(delta) = self.waiting.pop_front() {
                return Ok(Some((delta, self)));
            }
            let Some(reading) = &mut self.reading else { return Ok(None) };
            let piece = self.body.chunk().await.map_err(|source| match source {
                // The connection is gone, as the answer is.
                nuncio_net::Error::Http { .. } => Error::Cut { model: self.remote.name.clone() },
                source => self.remote.net(source),
            })?;
            let said = match piece {
                Some(piece) => reading.push(piece),
                None => self.reading.take().map_or_else(|| Ok(Vec::new()), Reading::finish),
            };
            self.waiting.extend(said.map_err(|spoilt| self.remote.spoilt(spoilt))?);
        }
    }
}

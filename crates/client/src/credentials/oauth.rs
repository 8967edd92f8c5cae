//! Tokens of an authorization server, by its client credentials grant (RFC 6749 §4.4).

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use form_urlencoded::Serializer;
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use nuncio_net::{CheckedUrl, Client, Errand, Purpose, Refused, Request, Secret, Timeouts, Trust};
use nuncio_protocol::json::{self, FromJson, Kind, Reader};
use tokio::time::Instant;
use tracing::debug;

use super::{Credentials, Proof, Unavailable};
use crate::{flight::Flight, origin::Origin};

/// A token is not used in the last seconds of its life: it has a way to go.
const LEEWAY: Duration = Duration::from_secs(30);
/// How long a token is used of which the server does not say how long it lives.
const UNSAID: Duration = Duration::from_secs(5 * 60);
/// The time between two tokens fetched because a peer refused the one before, so that a peer
/// that refuses everything does not make us ask without end.
const PAUSE: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(10);
const MAX_BYTES: usize = 64 * 1024;

/// A token that is fetched when it is needed, and again before it ends. Cheap to clone.
///
/// Any number of requests wait for one fetch. The token endpoint is reached for the purpose
/// of [`Purpose::Keys`]: it is part of the same identity provider that serves keys, so an
/// administrator who opens its network opens both.
#[derive(Clone, Debug)]
pub struct OAuth2ClientCredentials(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    client: Client,
    origin: Origin,
    endpoint: CheckedUrl,
    grant: Grant,
    token: Mutex<Option<Token>>,
    flight: Flight<Result<HeaderValue, String>>,
}

#[derive(Clone, Debug)]
struct Grant {
    id: String,
    secret: Secret,
    place: ClientSecretIn,
    scopes: Vec<String>,
    audience: Option<String>,
}

/// Where the authorization server wants the client's secret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientSecretIn {
    /// In the `Authorization` header (`client_secret_basic`).
    #[default]
    Header,
    /// In the body (`client_secret_post`).
    Body,
}

#[derive(Clone, Debug)]
struct Token {
    /// Marked as sensitive.
    header: HeaderValue,
    fetched: Instant,
    lifetime: Duration,
    is_refused: bool,
}

impl OAuth2ClientCredentials {
    /// Gets tokens for one origin from the token endpoint of an authorization server.
    ///
    /// `trust` says who named the endpoint: an administrator, or a card. The secret goes to
    /// the endpoint, so a card's word is enough only for a secret that is meant for it.
    pub fn new(
        client: &Client,
        origin: Origin,
        (endpoint, trust): (&str, Trust),
        (id, secret): (impl Into<String>, Secret),
    ) -> Result<Self, Refused> {
        let errand = Errand { purpose: Purpose::Keys, trust };
        let endpoint = client.guard().check_url(endpoint, errand)?;
        let grant = Grant {
            id: id.into(),
            secret,
            place: ClientSecretIn::default(),
            scopes: Vec::new(),
            audience: None,
        };
        let client = client.clone();
        let (token, flight) = (Mutex::default(), Flight::default());
        Ok(Self(Arc::new(Shared { client, origin, endpoint, grant, token, flight })))
    }

    /// Asks for these scopes.
    #[must_use]
    pub fn scopes(self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.with(|grant| grant.scopes = scopes.into_iter().map(Into::into).collect())
    }

    /// Asks for a token for this audience, as some servers want it.
    #[must_use]
    pub fn audience(self, audience: impl Into<String>) -> Self {
        self.with(|grant| grant.audience = Some(audience.into()))
    }

    /// Sets where the secret goes.
    #[must_use]
    pub fn secret_in(self, place: ClientSecretIn) -> Self {
        self.with(|grant| grant.place = place)
    }

    fn with(self, change: impl FnOnce(&mut Grant)) -> Self {
        let Shared { client, origin, endpoint, grant, .. } = &*self.0;
        let mut grant = grant.clone();
        change(&mut grant);
        let (client, origin, endpoint) = (client.clone(), origin.clone(), endpoint.clone());
        let (token, flight) = (Mutex::default(), Flight::default());
        Self(Arc::new(Shared { client, origin, endpoint, grant, token, flight }))
    }
}

impl Credentials for OAuth2ClientCredentials {
    fn prove<'a>(&'a self, url: &'a CheckedUrl, headers: &'a mut HeaderMap) -> Proof<'a> {
        Box::pin(async move {
            if Origin::of(url) != self.0.origin {
                return Ok(());
            }
            let header = self.0.header().await;
            let unavailable = |cause| Unavailable { host: self.0.origin.host().to_owned(), cause };
            headers.insert(AUTHORIZATION, header.map_err(unavailable)?);
            Ok(())
        })
    }

    fn refused(&self) -> bool {
        let mut token = self.0.token();
        let Some(token) = token.as_mut() else { return false };
        if !token.is_refused && token.fetched.elapsed() < PAUSE {
            return false;
        }
        token.is_refused = true;
        true
    }
}

impl Shared {
    async fn header(self: &Arc<Self>) -> Result<HeaderValue, String> {
        if let Some(header) = self.at_hand(Instant::now()) {
            return Ok(header);
        }
        let shared = Arc::clone(self);
        let landed = self.flight.join(|| async move { shared.refresh().await }).await;
        landed.result.unwrap_or_else(|| Err("the fetch was broken off".to_owned()))
    }

    fn at_hand(&self, now: Instant) -> Option<HeaderValue> {
        let token = self.token();
        let token = token.as_ref()?;
        let age = now.duration_since(token.fetched);
        let is_good = !token.is_refused && age.saturating_add(LEEWAY) < token.lifetime;
        is_good.then(|| token.header.clone())
    }

    /// Fetches a token. Says why not, for people and without secrets.
    async fn refresh(&self) -> Result<HeaderValue, String> {
        // Another fetch may have landed between the question and this.
        let now = Instant::now();
        if let Some(header) = self.at_hand(now) {
            return Ok(header);
        }
        let answer = self.ask().await?;
        let header = answer
            .token
            .to_header("Bearer ")
            .map_err(|_| "the authorization server gave a token that cannot be sent".to_owned())?;
        let lifetime = answer.lifetime.unwrap_or(UNSAID);
        debug!(host = self.endpoint.host_text(), ?lifetime, "got a token");
        // A life shorter than the leeway would mean a fetch for every request.
        let lifetime = lifetime.max(LEEWAY + Duration::from_secs(1));
        let token = Token { header: header.clone(), fetched: now, lifetime, is_refused: false };
        *self.token() = Some(token);
        Ok(header)
    }

    async fn ask(&self) -> Result<Answer, String> {
        let host = self.endpoint.host_text();
        let Grant { id, secret, place, .. } = &self.grant;
        let mut request = Request::post(&self.endpoint, self.grant.form())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"))
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .timeouts(Timeouts::default().whole(PATIENCE));
        if *place == ClientSecretIn::Header {
            // RFC 6749 §2.3.1: each half is form-encoded before they are put together.
            let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect();
            let (id, secret): (String, String) = (encoded(id), encoded(secret.expose()));
            let pair = Secret::new(BASE64_STANDARD.encode(format!("{id}:{secret}")));
            let unfit = |_| "the client's name or secret cannot be sent".to_owned();
            request = request.header(AUTHORIZATION, pair.to_header("Basic ").map_err(unfit)?);
        }
        let failed = |error: nuncio_net::Error| format!("token endpoint `{host}`: {error}");
        let answer = self.client.send(request).await.map_err(failed)?;
        let status = answer.status();
        let body = answer.collect(MAX_BYTES).await.map_err(failed)?;
        if status != StatusCode::OK {
            let code = json::from_slice::<Problem>(&body).ok().and_then(|problem| problem.0);
            let code = code.map(|code| format!(" `{code}`")).unwrap_or_default();
            return Err(format!("token endpoint `{host}` answered {status}{code}"));
        }
        // The text of the error may be a part of the token, so it is not shown.
        json::from_slice(&body)
            .map_err(|_| format!("the answer of token endpoint `{host}` has no bearer token"))
    }

    fn token(&self) -> MutexGuard<'_, Option<Token>> {
        self.token.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Grant {
    /// Returns the body of the question.
    fn form(&self) -> String {
        let Self { id, secret, place, scopes, audience } = self;
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials");
        if !scopes.is_empty() {
            form.append_pair("scope", &scopes.join(" "));
        }
        if let Some(audience) = audience {
            form.append_pair("audience", audience);
        }
        if *place == ClientSecretIn::Body {
            form.append_pair("client_id", id).append_pair("client_secret", secret.expose());
        }
        form.finish()
    }
}

/// RFC 6749 §5.1.
struct Answer {
    token: Secret,
    lifetime: Option<Duration>,
}

impl FromJson for Answer {
    fn read(reader: &mut Reader<'_>) -> Result<Self, json::Error> {
        let (mut token, mut lifetime, mut is_bearer) = (None, None, true);
        reader.members(|reader, key| {
            match &*key {
                "access_token" => token = Some(Secret::new(&*reader.string()?)),
                "token_type" => is_bearer = reader.string()?.eq_ignore_ascii_case("bearer"),
                // Some servers write the number as a text.
                "expires_in" => {
                    let text = match reader.peek()? {
                        Kind::Number => reader.number()?.to_owned(),
                        Kind::String => reader.string()?.into_owned(),
                        _ => return reader.skip(),
                    };
                    let whole = text.split('.').next().unwrap_or_default();
                    lifetime = whole.parse().ok().map(Duration::from_secs);
                }
                _ => return reader.skip(),
            }
            Ok(())
        })?;
        let token = token.filter(|token| !token.is_empty() && is_bearer);
        let token = token.ok_or_else(|| json::Error::missing("access_token"))?;
        Ok(Self { token, lifetime })
    }
}

/// RFC 6749 §5.2: what went wrong, by its code.
struct Problem(Option<String>);

impl FromJson for Problem {
    fn read(reader: &mut Reader<'_>) -> Result<Self, json::Error> {
        let mut code = None;
        reader.members(|reader, key| {
            if key != "error" || reader.peek()? != Kind::String {
                return reader.skip();
            }
            let text = reader.string()?;
            let is_code = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            code = (text.len() <= 64 && text.bytes().all(is_code)).then(|| text.into_owned());
            Ok(())
        })?;
        Ok(Self(code))
    }
}

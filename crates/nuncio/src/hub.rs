//! Commands that ask a running hub.

pub(crate) mod agents;
mod ago;
pub(crate) mod audit;
pub(crate) mod discover;
pub(crate) mod events;
pub(crate) mod inbox;
pub(crate) mod login;
mod names;
pub(crate) mod policy;
pub(crate) mod rules;
pub(crate) mod run;
pub(crate) mod table;
pub(crate) mod tasks;
pub(crate) mod tokens;
pub(crate) mod workflow;

use std::{
    fs,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use clap::Args;
use http::{
    HeaderValue, Method, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use nuncio_net::{
    CheckedUrl, Client, Guard, Policy,
    client::{Request, Response},
    egress::{Errand, Purpose},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    data::{self, HubNote},
    failure::Failure,
    output::{Format, Output},
};

/// No answer of a hub is larger.
const LARGEST: usize = 16 << 20;

/// Flags that every command has which asks a hub.
#[derive(Clone, Debug, Default, Args)]
#[group(skip)]
#[command(next_help_heading = "Hub")]
pub(crate) struct Flags {
    /// The hub's URL; the one that was last started on this machine otherwise.
    #[arg(long, value_name = "URL", env = "NUNCIO_URL", global = true)]
    hub: Option<String>,

    /// The key to show. Others on this machine can see flags: `NUNCIO_KEY` keeps it to yourself.
    /// The administrator's key of the local hub is found by itself.
    #[arg(long, value_name = "KEY", env = "NUNCIO_KEY", hide_env_values = true, global = true)]
    key: Option<String>,

    /// The form of the result: `text` is for people, `json` is what the hub says.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value = "text", global = true)]
    output: Format,
}

/// Asks a hub.
pub(crate) struct Hub {
    client: Client,
    base: CheckedUrl,
    key: Option<HeaderValue>,
}

/// What a hub says when it says no.
#[derive(Deserialize)]
struct Problem {
    code: String,
    detail: String,
    #[serde(default)]
    field: Option<String>,
}

impl Flags {
    pub(crate) fn output(&self) -> Output {
        Output::new(self.output, false)
    }

    /// Finds the hub.
    pub(crate) fn hub(&self) -> Result<Hub, Failure> {
        let Known { url, key } = self.known()?;
        Hub::new(&url, key.as_deref().map(str::trim))
    }

    /// Returns which hub is meant, and the key to show there.
    pub(crate) fn known(&self) -> Result<Known, Failure> {
        let known = known(self.hub.clone(), self.key.clone())?;
        Ok(known.unwrap_or_else(|| Known {
            url: "http://127.0.0.1:7420".to_owned(),
            key: self.key.clone(),
        }))
    }
}

/// A hub, and the key to show there.
pub(crate) struct Known {
    pub(crate) url: String,
    pub(crate) key: Option<String>,
}

/// Returns the hub that commands mean without further words: the one of the environment, or the
/// one that was last started on this machine.
pub(crate) fn at_hand() -> Result<Option<Known>, Failure> {
    known(std::env::var("NUNCIO_URL").ok(), std::env::var("NUNCIO_KEY").ok())
}

/// Returns the hub at a URL, or else the one that commands mean without further words.
pub(crate) fn at(url: Option<String>) -> Result<Known, Failure> {
    let url = url.or_else(|| std::env::var("NUNCIO_URL").ok());
    Flags { hub: url, key: std::env::var("NUNCIO_KEY").ok(), ..Flags::default() }.known()
}

fn known(url: Option<String>, key: Option<String>) -> Result<Option<Known>, Failure> {
    let note = note();
    let Some(url) = url.or_else(|| note.as_ref().map(|note| note.url.clone())) else {
        return Ok(None);
    };
    let key = match (key, note) {
        (Some(key), _) => Some(key),
        // A key goes to the hub that it belongs to and to no other.
        (None, Some(note)) if note.url == url => Some(read_key(&note.key_file)?),
        (None, _) => None,
    };
    Ok(Some(Known { url, key }))
}

/// Reads the administrator's key of the hub that was last started.
fn read_key(path: &Path) -> Result<String, Failure> {
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::file("read the hub's key in", path, &error)
            .hint("start the hub again, or show a key with --key or NUNCIO_KEY")
    })?;
    Ok(text.trim().to_owned())
}

/// Returns the file with the settings of the hub that is meant, if that is on this machine and has
/// one.
pub(crate) fn configuration_of(flags: &Flags) -> Option<PathBuf> {
    let note = note()?;
    let is_meant = flags.hub.as_ref().is_none_or(|url| *url == note.url);
    note.configuration.filter(|_| is_meant)
}

/// Reads the note of the hub that was last started.
fn note() -> Option<HubNote> {
    let text = fs::read_to_string(data::hub_note().ok()?).ok()?;
    serde_json::from_str(&text).ok()
}

impl Hub {
    /// Asks the hub at a URL.
    pub(crate) fn new(url: &str, key: Option<&str>) -> Result<Self, Failure> {
        // Whoever types a URL means it: nothing but the hub is asked.
        let errand = Errand::administrator(Purpose::Agent);
        let mut policy = Policy::default().allow_http(errand);
        for range in ["0.0.0.0/0", "::/0"] {
            policy = policy.open(Purpose::Agent, range.parse().expect("a range"));
        }
        let client = Client::new(Guard::new(policy));
        let base = client.guard().check_url(url, errand);
        let base = base.map_err(|error| Failure::usage(format!("--hub: {error}")))?;
        let key = match key {
            Some(key) => {
                let mut value = HeaderValue::try_from(format!("Bearer {key}"))
                    .map_err(|_| Failure::usage("--key: not a key"))?;
                value.set_sensitive(true);
                Some(value)
            }
            None => None,
        };
        Ok(Self { client, base, key })
    }

    /// Asks for something.
    pub(crate) async fn get(&self, path: &str) -> Result<Bytes, Failure> {
        self.call(Method::GET, path, None::<&()>).await
    }

    /// Asks for something, and reads it.
    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<(T, Bytes), Failure> {
        let bytes = self.get(path).await?;
        Ok((parse(&bytes)?, bytes))
    }

    /// Makes, changes or removes something.
    pub(crate) async fn call<T: Serialize + ?Sized>(
        &self,
        method: Method,
        path: &str,
        body: Option<&T>,
    ) -> Result<Bytes, Failure> {
        let response = self.open(method, path, body).await?;
        let status = response.status();
        let bytes = response.collect(LARGEST).await.map_err(|error| Failure::net(&error))?;
        if status.is_success() { Ok(bytes) } else { Err(refused(status, &bytes)) }
    }

    /// Follows something. The answer is a stream if it is a success.
    pub(crate) async fn follow(&self, path: &str) -> Result<Response, Failure> {
        let mut request = self.request(Method::GET, path, Bytes::new())?;
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let request = request.timeouts(nuncio_net::client::Timeouts::streaming());
        let response = self.client.send(request).await.map_err(|error| Failure::net(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let bytes = response.collect(LARGEST).await.map_err(|error| Failure::net(&error))?;
        Err(refused(status, &bytes))
    }

    async fn open<T: Serialize + ?Sized>(
        &self,
        method: Method,
        path: &str,
        body: Option<&T>,
    ) -> Result<Response, Failure> {
        let bytes = match body {
            Some(body) => serde_json::to_vec(body)
                .map_err(|error| Failure::internal(error.to_string()))?
                .into(),
            None => Bytes::new(),
        };
        let has_body = body.is_some();
        let mut request = self.request(method, path, bytes)?;
        if has_body {
            let json = HeaderValue::from_static("application/json");
            request.headers_mut().insert(CONTENT_TYPE, json);
        }
        self.client.send(request).await.map_err(|error| {
            Failure::net(&error)
                .hint("`nuncio up` in another terminal starts a hub; --hub names one elsewhere")
        })
    }

    fn request(&self, method: Method, path: &str, body: Bytes) -> Result<Request, Failure> {
        let url = self.base.below(path).map_err(|error| Failure::internal(error.to_string()))?;
        let mut request = Request::new(method, &url, body);
        if let Some(key) = &self.key {
            request.headers_mut().insert(AUTHORIZATION, key.clone());
        }
        Ok(request)
    }
}

pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(bytes)
        .map_err(|error| Failure::internal(format!("the hub's answer cannot be read: {error}")))
}

fn refused(status: StatusCode, bytes: &[u8]) -> Failure {
    let Ok(problem) = serde_json::from_slice::<Problem>(bytes) else {
        return Failure::internal(format!("the hub answered {status}"));
    };
    // Several problems are a line each, and a failure is one line.
    let detail = problem.detail.replace('\n', "; ");
    let detail = match &problem.field {
        Some(field) if !detail.contains(field.as_str()) => format!("{field}: {detail}"),
        _ => detail,
    };
    let failure = Failure::of_hub(status, &problem.code, &detail);
    if status == StatusCode::UNAUTHORIZED {
        return failure.hint("show a key with --key or NUNCIO_KEY");
    }
    failure
}

/// Makes a part of a path of any text.
pub(crate) fn segment(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

/// Makes a query of what was said.
pub(crate) fn query(pairs: &[(&str, Option<String>)]) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in pairs {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    let query = query.finish();
    if query.is_empty() { query } else { format!("?{query}") }
}

/// Writes what the hub said, as it said it.
pub(crate) fn json(output: &mut Output, bytes: &[u8]) -> Result<(), Failure> {
    let text =
        std::str::from_utf8(bytes).map_err(|_| Failure::internal("the hub's answer is no text"))?;
    Ok(output.json(text)?)
}

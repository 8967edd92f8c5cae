//! Who is let in: callers with an API key, a token of an issuer, or a client certificate.

use std::{
    convert::Infallible,
    fs,
    future::pending,
    path::{Path, PathBuf},
    str::FromStr,
};

use anyhow::{Context as _, bail};
use clap::Args;
use nuncio::configuration::{FileWatcher, Subject};
use nuncio_auth::{ApiKeys, Gatekeeper, JwtIssuer, Mtls, api_key::MAX_FILE_BYTES};
use nuncio_net::{Client, Guard, Policy, Purpose, egress::Errand};
use nuncio_protocol::{json, service::Caller};

use crate::output::note;

/// Who is let in.
#[derive(Debug, Args)]
pub(super) struct Callers {
    /// Let in callers with one of these API keys; `nuncio key new` makes them. The file is read
    /// again when it changes.
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,

    /// Let in callers with a token (JWT) of this issuer: its `iss`, letter by letter.
    #[arg(long, value_name = "ISSUER", requires_all = ["jwt_audience", "jwks"])]
    jwt_issuer: Option<String>,

    /// Whom the issuer's tokens must be for: their `aud`.
    #[arg(long, value_name = "AUDIENCE", requires = "jwt_issuer")]
    jwt_audience: Option<String>,

    /// The issuer's public keys (JWKS): a URL, or a file.
    #[arg(long, value_name = "URL", requires = "jwt_issuer")]
    jwks: Option<String>,

    /// Let in callers with a client certificate that an issuer in this file (PEM) has signed, as
    /// --certified says.
    #[arg(long, value_name = "FILE", requires_all = ["tls_cert", "certified"])]
    pub(super) client_ca: Option<PathBuf>,

    /// Who has a client certificate: an agent's name or `user:NAME`, and the DNS name or URI in
    /// it, such as `user:ann=ann.example`. Repeatable.
    #[arg(long, value_name = "CALLER=NAME", requires = "client_ca")]
    certified: Vec<Certified>,
}

/// A caller, and what its certificate says.
#[derive(Clone, Debug)]
struct Certified {
    caller: Caller,
    name: String,
}

impl FromStr for Certified {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str =
            "expected an agent's name or `user:NAME`, `=`, and a DNS name or URI";
        let (caller, name) = text.split_once('=').ok_or(EXPECTED)?;
        let caller = match caller.parse() {
            Ok(Subject::User(name)) => Caller::User(name.into()),
            Ok(Subject::Agent(name)) => Caller::Agent(name.into()),
            _ => return Err(EXPECTED),
        };
        if name.is_empty() { Err(EXPECTED) } else { Ok(Self { caller, name: name.to_owned() }) }
    }
}

/// How callers are let in.
pub(super) struct Entrance {
    pub(super) gatekeeper: Gatekeeper,
    pub(super) key_file: Option<KeyFile>,
}

impl Callers {
    /// Tells whether callers must prove who they are.
    pub(super) const fn are_named(&self) -> bool {
        self.keys.is_some() || self.jwt_issuer.is_some() || self.client_ca.is_some()
    }

    /// Tells whether an API key is one of their ways in.
    pub(super) const fn have_keys(&self) -> bool {
        self.keys.is_some()
    }

    /// Puts the ways in together, if there are any.
    pub(super) fn entrance(&self) -> anyhow::Result<Option<Entrance>> {
        if !self.are_named() {
            return Ok(None);
        }
        let mut gatekeeper = Gatekeeper::builder();
        let mut key_file = None;
        if let Some(path) = &self.keys {
            let file = KeyFile::open(path)?;
            gatekeeper = gatekeeper.api_keys(file.keys.clone());
            key_file = Some(file);
        }
        if let Some(issuer) = &self.jwt_issuer {
            gatekeeper = gatekeeper.jwt(self.jwt(issuer)?);
        }
        if self.client_ca.is_some() {
            gatekeeper = gatekeeper.mtls(self.mtls());
        }
        Ok(Some(Entrance { gatekeeper: gatekeeper.build()?, key_file }))
    }

    fn mtls(&self) -> Mtls {
        let mut mtls = Mtls::new();
        for Certified { caller, name } in &self.certified {
            // No DNS name has a colon, and every URI does.
            mtls = if name.contains(':') {
                mtls.uri(name, caller.clone())
            } else {
                mtls.dns_name(name, caller.clone())
            };
        }
        mtls
    }

    fn jwt(&self, issuer: &str) -> anyhow::Result<JwtIssuer> {
        let (Some(audience), Some(keys)) = (&self.jwt_audience, &self.jwks) else {
            bail!("--jwt-issuer needs --jwt-audience and --jwks");
        };
        if keys.starts_with("http://") || keys.starts_with("https://") {
            let issuer = JwtIssuer::with_key_url(issuer, audience, &keys_client(), keys);
            return issuer.with_context(|| format!("--jwks {keys}"));
        }
        let text = fs::read_to_string(keys).with_context(|| format!("read {keys}"))?;
        let set = json::from_str(&text).with_context(|| format!("--jwks {keys} is no JWKS"))?;
        Ok(JwtIssuer::with_keys(issuer, audience, set))
    }
}

/// A file of API keys that may change.
pub(super) struct KeyFile {
    keys: ApiKeys,
    path: PathBuf,
    watcher: FileWatcher,
}

impl KeyFile {
    fn open(path: &Path) -> anyhow::Result<Self> {
        let context = || format!("read {}", path.display());
        // What changes from now on is noticed.
        let text = fs::read_to_string(path).with_context(context)?;
        let keys = ApiKeys::new();
        keys.read_file(path).with_context(context)?;
        let watcher = FileWatcher::new(path.to_owned(), MAX_FILE_BYTES, text);
        Ok(Self { keys, path: path.to_owned(), watcher })
    }

    /// Takes what the file says whenever it changes. If it cannot be read, the keys stay.
    pub(super) async fn follow(file: Option<Self>) -> Infallible {
        let Some(Self { keys, path, mut watcher }) = file else { return pending().await };
        loop {
            let read = match watcher.changed().await {
                Ok(_) => keys.read_file(&path).map_err(anyhow::Error::from),
                Err(error) => Err(error.into()),
            };
            if let Err(error) = read {
                note(&format!("the changed keys are not taken, the old ones stay: {error:#}"));
            }
        }
    }
}

/// Asks for public keys: whoever names a hub or an issuer means it.
pub(super) fn keys_client() -> Client {
    let mut policy = Policy::default().allow_http(Errand::administrator(Purpose::Keys));
    for range in ["0.0.0.0/0", "::/0"] {
        policy = policy.open(Purpose::Keys, range.parse().expect("a range"));
    }
    Client::new(Guard::new(policy))
}

//! Where a card is looked for, and who we are to whoever has it.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use clap::ValueEnum as _;
use http::{HeaderMap, StatusCode};
use nuncio_client::{
    Client, Credentials, Origin, Proof as Proving,
    credentials::required,
    discover::{Ask, Error, Found, Outcome, Signatures, Source as CardSource, Tried},
};
use nuncio_net::{
    CheckedUrl, Client as NetClient, Errand, Guard, Identity, Policy, Purpose, Secret, Trust,
};
use nuncio_protocol::{
    card::{AgentCard, sign::KeySet},
    json,
};

use super::{Policed, wishes::interface_origins};
use crate::{
    failure::Failure,
    hub,
    logins::{Logins, Proof},
    output::note,
    settings::{Settings, Source},
};

/// Where a card is looked for, and with what.
pub(crate) struct Search {
    pub(crate) client: Client,
    /// One for all who ask, so that the card is fetched once.
    pub(super) ask: Ask,
    agent: String,
    /// Whether that is a name in the directory of a hub.
    is_in_directory: bool,
    who: Who,
}

/// Who we are to whom.
struct Who {
    /// Where the card comes from; `None` for a file.
    home: Option<Origin>,
    /// A credential that was named on the command line, in the environment or in a file.
    proof: Option<Proof>,
    /// A certificate that was named in the same way.
    identity: Option<Identity>,
    logins: Logins,
}

impl Search {
    /// Prepares to look for the card of the agent that was named.
    pub(crate) fn new(settings: &Settings, default: Policed) -> Result<Self, Failure> {
        let Some((agent, named_by)) = settings.find("agent-card") else {
            return Err(Failure::usage("which agent?")
                .hint("name it with -a, such as `-a localhost:7420`, or set A2ACLI_AGENT_CARD"));
        };
        let mut proof = proof(settings)?;
        let (source, is_in_directory) = if let Some((source, key)) = in_directory(&agent)? {
            proof = proof.or_else(|| key.map(Proof::Bearer));
            (source, true)
        } else {
            let source = CardSource::parse(&agent);
            (source.map_err(|error| Failure::usage(error.to_string()))?, false)
        };
        let who = Who {
            home: source.as_url().and_then(|url| Origin::parse(url).ok()),
            proof,
            identity: identity(settings)?,
            logins: Logins::load()?,
        };
        if let (Some(_), Source::File(path)) = (&who.proof, &named_by) {
            note(&format!(
                "note: {} names the agent that is shown your credential",
                path.display()
            ));
        }
        let client = Client::new(net(settings)?);
        // What a person types is an administrator's word. One command, one fetch.
        let mut ask = Ask::new(source, Trust::Administrator).ttl(Duration::from_secs(600));
        if let Some(signatures) = signatures(settings, default)? {
            ask = ask.signatures(Arc::new(signatures));
        }
        if let Some(home) = &who.home
            && let Some(proof) = who.proof_for(home)
        {
            ask = ask.credentials(proof.bind(home, None, client.net())?);
        }
        if let Some(home) = &who.home {
            who.identify(home, client.net())?;
        }
        Ok(Self { client, ask, agent, is_in_directory, who })
    }

    /// Fetches the card.
    pub(crate) async fn card(&self) -> Result<Arc<Found>, Failure> {
        let cached = self.client.cards().get(&self.ask).await;
        let cached = cached.map_err(|error| {
            let is_unknown = self.is_in_directory && is_absent(&error);
            let failure = Failure::from(nuncio_client::Error::from(error));
            if is_unknown {
                return failure.hint("`nuncio agents` lists the agents of the hub");
            }
            if !failure.is_auth() {
                return failure;
            }
            let home = self.who.home.as_ref();
            let was_shown = home.is_some_and(|home| self.who.proof_for(home).is_some());
            let failure = if was_shown { failure.with_credential() } else { failure };
            failure.or_hint(|| login_hint(&self.agent, None))
        })?;
        Ok(cached.found)
    }

    /// Returns what proves who we are at each place that the card may lead to.
    pub(super) fn credentials(
        &self,
        found: &Found,
    ) -> Result<Option<Arc<dyn Credentials>>, Failure> {
        let mut origins: Vec<Origin> = self.who.home.clone().into_iter().collect();
        for origin in interface_origins(&found.card) {
            if !origins.contains(&origin) {
                origins.push(origin);
            }
        }
        let mut all = Vec::new();
        for origin in origins {
            self.who.identify(&origin, self.client.net())?;
            if let Some(proof) = self.who.proof_for(&origin) {
                all.push(proof.bind(&origin, Some(&found.card), self.client.net())?);
            }
        }
        Ok((!all.is_empty()).then(|| Arc::new(Several(all)) as Arc<dyn Credentials>))
    }
}

/// Tells whether nothing was found wherever a card was looked for.
fn is_absent(error: &Error) -> bool {
    let is_absent = |tried: &Tried| matches!(tried.outcome, Outcome::Status(StatusCode::NOT_FOUND));
    !error.tried().is_empty() && error.tried().iter().all(is_absent)
}

impl Who {
    /// Returns the credential for an origin. One that was named goes to the agent that was
    /// named, one that is kept goes where it belongs.
    fn proof_for(&self, origin: &Origin) -> Option<&Proof> {
        let kept = || {
            let home = self.home.as_ref().filter(|_| self.is_named(origin));
            self.logins.get(origin).or_else(|| self.logins.get(home?))
        };
        self.proof.as_ref().filter(|_| self.is_named(origin)).or_else(kept)
    }

    /// Shows the certificate at an origin, if it is for it.
    fn identify(&self, origin: &Origin, net: &NetClient) -> Result<(), Failure> {
        let Some(identity) = self.identity.as_ref().filter(|_| self.is_named(origin)) else {
            return Ok(());
        };
        for purpose in [Purpose::Card, Purpose::Agent] {
            let url = net.guard().check_url(&origin.to_string(), Errand::administrator(purpose));
            let url = url.map_err(nuncio_client::Error::Refused)?;
            net.identify(&url, identity.clone());
        }
        Ok(())
    }

    /// Tells whether an origin is the agent's that was named.
    fn is_named(&self, origin: &Origin) -> bool {
        self.home.as_ref().is_none_or(|home| {
            // This machine has many names. A file is the user's own word, all of it.
            origin == home || (origin.is_loopback() && home.is_loopback())
        })
    }
}

/// Returns whose signatures are believed, if anybody looks at them.
fn signatures(settings: &Settings, default: Policed) -> Result<Option<Signatures>, Failure> {
    let policy = settings
        .read("signatures", "off, prefer or require", |text| Policed::from_str(text, true).ok())?
        .unwrap_or(default);
    if policy == Policed::Off {
        return Ok(None);
    }
    let mut signatures = Signatures::new(policy.policy());
    if let Some(file) = settings.get("keys") {
        signatures = signatures.pin(&read_keys(&PathBuf::from(file))?);
    }
    Ok(Some(signatures))
}

/// Credentials of several origins.
#[derive(Debug)]
struct Several(Vec<Arc<dyn Credentials>>);

impl Credentials for Several {
    fn prove<'a>(&'a self, url: &'a CheckedUrl, headers: &'a mut HeaderMap) -> Proving<'a> {
        Box::pin(async move {
            for one in &self.0 {
                one.prove(url, headers).await?;
            }
            Ok(())
        })
    }

    fn query(&self, url: &CheckedUrl) -> Option<String> {
        self.0.iter().find_map(|one| one.query(url))
    }

    fn refused(&self) -> bool {
        self.0.iter().any(|one| one.refused())
    }
}

/// Says how to log in.
pub(super) fn login_hint(agent: &str, card: Option<&AgentCard>) -> String {
    let login = format!("log in with `nuncio auth login {}`", crate::again::quote(agent));
    let wanted = card.map(required).unwrap_or_default();
    if wanted.is_empty() {
        return format!("{login}, or name a credential with --bearer, --api-key or --basic");
    }
    let wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
    format!("the agent takes {}; {login}", wanted.join(", or "))
}

/// The ranges of this machine and of private networks.
const NEAR: [&str; 7] = [
    "127.0.0.0/8",
    "::1/128",
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "100.64.0.0/10",
    "fc00::/7",
];

/// Makes the HTTP client. What a person names may be near; what a card names may not.
fn net(settings: &Settings) -> Result<NetClient, Failure> {
    let mut policy = Policy::default();
    for purpose in [Purpose::Card, Purpose::Agent, Purpose::Keys] {
        for range in NEAR {
            policy = policy.open(purpose, range.parse().expect("the list holds ranges"));
        }
        policy = policy.allow_http(Errand::administrator(purpose));
    }
    let mut builder = NetClient::builder(Guard::new(policy));
    if settings.is_on("insecure")? {
        note(
            "warning: --insecure: certificates are not verified, anybody in between can read and change everything",
        );
        builder = builder.dangerously_accept_any_certificate();
    }
    if let Some(file) = settings.get("ca-cert") {
        let path = PathBuf::from(file);
        let pem = fs::read(&path).map_err(|error| Failure::file("read", &path, &error))?;
        builder = builder.extra_roots(pem);
    }
    builder.build().map_err(|error| Failure::usage(format!("--ca-cert: {error}")))
}

/// Returns where the hub has the card of an agent that is meant by its name, and the key to show
/// there. A name is no file, and says less than an address does.
pub(crate) fn in_directory(agent: &str) -> Result<Option<(CardSource, Option<Secret>)>, Failure> {
    // A capability is written like a name, behind a sign that no name has.
    let name = agent.strip_prefix('~').unwrap_or(agent);
    let is_name = !name.is_empty()
        && agent != "localhost"
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if !is_name || std::path::Path::new(agent).exists() {
        return Ok(None);
    }
    let Some(hub::Known { url, key }) = hub::at_hand()? else { return Ok(None) };
    // The hub has a card of its own, which is not that of an agent it does not know.
    let source = CardSource::agent(format!("{}/agents/{agent}", url.trim_end_matches('/')));
    Ok(Some((source, key.map(Secret::new))))
}

/// Returns the credential that was set, by flag, environment or file.
fn proof(settings: &Settings) -> Result<Option<Proof>, Failure> {
    // A flag says what is meant, whatever the environment holds besides.
    let by_flag =
        ["bearer", "api-key", "basic"].into_iter().find(|name| settings.given(name).is_some());
    let get = |name: &str| match by_flag {
        Some(given) if given != name => None,
        _ => settings.get(name),
    };
    if let Some(token) = get("bearer") {
        return Ok(Some(Proof::Bearer(Secret::new(token))));
    }
    if let Some(key) = get("api-key") {
        return Ok(Some(Proof::ApiKey { key: Secret::new(key), place: None }));
    }
    let Some(pair) = get("basic") else { return Ok(None) };
    let (user, password) =
        pair.split_once(':').ok_or_else(|| Failure::usage("--basic: expected USER:PASSWORD"))?;
    Ok(Some(Proof::Basic { user: user.to_owned(), password: Secret::new(password) }))
}

/// Reads the certificate that was set, and its key.
fn identity(settings: &Settings) -> Result<Option<Identity>, Failure> {
    let read = |path: &str| {
        let path = PathBuf::from(path);
        fs::read(&path).map_err(|error| Failure::file("read", &path, &error))
    };
    let Some(file) = settings.get("cert") else {
        return match settings.get("key") {
            Some(_) => Err(Failure::usage("--key: there is no --cert that it could belong to")),
            None => Ok(None),
        };
    };
    let chain = read(&file)?;
    let key = settings.get("key").map_or_else(|| Ok(chain.clone()), |key| read(&key))?;
    let identity = Identity::from_pem(&chain, &key);
    identity.map(Some).map_err(|error| Failure::usage(format!("--cert: {error}")))
}

/// Reads a file of public keys.
pub(crate) fn read_keys(path: &std::path::Path) -> Result<KeySet, Failure> {
    let text = fs::read_to_string(path).map_err(|error| Failure::file("read", path, &error))?;
    let keys: KeySet = json::from_str(&text)
        .map_err(|error| Failure::usage(format!("{}: no JWKS: {error}", path.display())))?;
    if keys.iter().next().is_none() {
        return Err(Failure::usage(format!("{} holds no key that can be used", path.display()))
            .hint("a JWKS looks like {\"keys\":[…]}; `nuncio card keygen` makes one"));
    }
    Ok(keys)
}

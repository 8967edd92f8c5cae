//! The agent that a command talks with: which one, how it is reached, and who we are to it.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use clap::{Args, ValueEnum};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use nuncio_client::{
    Agent, Client, Clocks, Credentials, Find, Followed, Options, Origin, Proof as Proving,
    credentials::required,
    discover::{Ask, Found, SignaturePolicy, Signatures, Source as CardSource},
    negotiate::Terms,
};
use nuncio_net::{CheckedUrl, Client as NetClient, Errand, Guard, Policy, Purpose, Secret, Trust};
use nuncio_protocol::{
    card::{AgentCard, Binding, sign::KeySet},
    json,
    operation::Request,
    service::{Answered, CallContext, Caller},
    version::Version,
};
use tokio::time::{Instant, timeout_at};

use crate::{
    failure::Failure,
    logins::{Logins, Proof},
    output::note,
    settings::{Flags as Common, Settings, Source},
};

/// Flags that say which agent, and how to reach it.
#[derive(Clone, Debug, Default, Args)]
#[group(skip)]
#[command(next_help_heading = "Agent")]
pub(crate) struct Flags {
    /// The agent: a host, a URL, or a file that holds its card.
    #[arg(short, long, value_name = "AGENT")]
    agent_card: Option<String>,

    /// Show this bearer token. Others on this machine can see flags: `A2ACLI_BEARER` or
    /// `nuncio auth login` keep it to yourself.
    #[arg(long, value_name = "TOKEN", conflicts_with_all = ["api_key", "basic"])]
    bearer: Option<String>,

    /// Show this key, where the agent's card wants it.
    #[arg(long, value_name = "KEY", conflicts_with = "basic")]
    api_key: Option<String>,

    /// Show this user name and password.
    #[arg(long, value_name = "USER:PASSWORD")]
    basic: Option<String>,

    /// Add a service parameter to every request: a header, or metadata of gRPC. Repeatable.
    #[arg(long, value_name = "NAME:VALUE")]
    svc_param: Vec<String>,

    /// Prefer a binding: jsonrpc, http+json or grpc. Repeatable, the best first.
    #[arg(long, value_name = "BINDING", value_delimiter = ',')]
    transport: Vec<String>,

    /// Speak this version of A2A, such as 0.3, whatever the card says.
    #[arg(long, value_name = "VERSION")]
    a2a_version: Option<String>,

    /// Give up after this time, such as 30s or 5m.
    #[arg(long, value_name = "TIME")]
    timeout: Option<String>,

    /// How often to ask again while waiting [default: 2s]
    #[arg(long, value_name = "TIME")]
    poll_interval: Option<String>,

    /// Accept any certificate. For development: whoever sits in between reads everything.
    #[arg(long)]
    insecure: bool,

    /// Trust the certificates of this issuer, too (PEM).
    #[arg(long, value_name = "FILE")]
    ca_cert: Option<PathBuf>,

    /// What the card's signatures are worth [default: off]
    #[arg(long, value_enum, value_name = "POLICY")]
    signatures: Option<Policed>,

    /// Believe the signatures of these keys (JWKS), wherever the card comes from.
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
}

/// What the signatures of a card are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Policed {
    /// They are not looked at.
    Off,
    /// They are verified and told about.
    Prefer,
    /// A card without a good one is refused.
    Require,
}

impl Policed {
    const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Prefer => "prefer",
            Self::Require => "require",
        }
    }

    const fn policy(self) -> SignaturePolicy {
        match self {
            Self::Off => SignaturePolicy::Off,
            Self::Prefer => SignaturePolicy::Prefer,
            Self::Require => SignaturePolicy::Require,
        }
    }
}

impl Flags {
    /// Names the agent, if no flag does.
    pub(crate) fn or_agent(mut self, agent: Option<String>) -> Self {
        self.agent_card = self.agent_card.or(agent);
        self
    }

    /// Puts the flags on top of everything else that was set.
    pub(crate) fn settings(&self, common: &Common) -> Result<Settings, Failure> {
        let mut settings = Settings::load(common)?;
        let list = |values: &[String], between| (!values.is_empty()).then(|| values.join(between));
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        settings.flag("agent-card", self.agent_card.as_deref());
        settings.flag("bearer", self.bearer.as_deref());
        settings.flag("api-key", self.api_key.as_deref());
        settings.flag("basic", self.basic.as_deref());
        settings.flag("svc-param", list(&self.svc_param, "\n"));
        settings.flag("transport", list(&self.transport, ","));
        settings.flag("a2a-version", self.a2a_version.as_deref());
        settings.flag("timeout", self.timeout.as_deref());
        settings.flag("poll-interval", self.poll_interval.as_deref());
        settings.switch("insecure", self.insecure);
        settings.flag("ca-cert", path(&self.ca_cert));
        settings.flag("signatures", self.signatures.map(Policed::name));
        settings.flag("keys", path(&self.keys));
        Ok(settings)
    }

    /// Finds the agent.
    pub(crate) async fn connect(&self, common: &Common) -> Result<Connected, Failure> {
        Connected::open(self.settings(common)?).await
    }
}

/// An agent that was found, and all that was set about it.
pub(crate) struct Connected {
    pub(crate) agent: Agent,
    pub(crate) settings: Settings,
    /// When the user stops waiting.
    pub(crate) deadline: Option<Instant>,
    pub(crate) poll_interval: Duration,
    has_credential: bool,
    is_debugging: bool,
}

impl Connected {
    pub(crate) async fn open(settings: Settings) -> Result<Self, Failure> {
        let limit = settings.duration("timeout")?;
        let deadline = limit.map(|limit| Instant::now() + limit);
        let poll_interval = settings.duration("poll-interval")?.unwrap_or(Duration::from_secs(2));
        let search = Search::new(&settings, Policed::Off)?;
        let found = within(deadline, search.card()).await?;
        let wearing = search.credentials(&found)?;
        let has_credential = wearing.is_some();
        let mut find = Find::new(search.ask.clone())
            .terms(terms(&settings, &found)?)
            .options(options(&settings)?);
        if let Some(credentials) = wearing {
            find = find.credentials(credentials);
        }
        let agent = within(deadline, search.client.agent(find)).await?;
        let is_debugging = settings.is_on("debug")?;
        let connected =
            Self { agent, settings, deadline, poll_interval, has_credential, is_debugging };
        connected.tell_way();
        Ok(connected)
    }

    /// Makes a call that is answered once.
    pub(crate) async fn call(&self, request: Request) -> Result<Answered, Failure> {
        self.debug_request(&request);
        // Large, and not every caller is to carry it.
        let calling = Box::pin(self.agent.call(self.context(None), request));
        let answer = within(self.deadline, calling).await;
        let answer = answer.map_err(|failure| self.explain(failure))?;
        self.debug("<", &String::from_utf8_lossy(&answer.json()));
        Ok(answer)
    }

    /// Opens a stream, behind an event of which the number is known.
    pub(crate) async fn stream(
        &self,
        request: Request,
        after: Option<u64>,
    ) -> Result<Followed, Failure> {
        self.debug_request(&request);
        let opened = Box::pin(self.agent.stream(self.context(after), request));
        within(self.deadline, opened).await.map_err(|failure| self.explain(failure))
    }

    /// Tells whether the card says that the agent streams.
    pub(crate) fn streams(&self) -> bool {
        self.agent.card().capabilities.streaming == Some(true)
    }

    /// Says what an agent wants that does not let us in.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        if !failure.is_auth() {
            return failure;
        }
        let agent = self.settings.get("agent-card").unwrap_or_default();
        let failure = if self.has_credential { failure.with_credential() } else { failure };
        failure.or_hint(|| login_hint(&agent, Some(&self.agent.card())))
    }

    /// Shows what goes over the wire, in the words of A2A 1.0.
    pub(crate) fn debug(&self, direction: &str, text: &str) {
        if self.is_debugging {
            note(&format!("{direction} {text}"));
        }
    }

    fn debug_request(&self, request: &Request) {
        if !self.is_debugging {
            return;
        }
        let way = self.agent.interface().map_or_else(String::new, |interface| {
            format!("{} at {}", interface.form.name(), shown_url(&interface.url))
        });
        note(&format!("> {} ({way}) {}", request.operation().name(), shown_request(request)));
    }

    /// Says what people should know about the way to the agent.
    fn tell_way(&self) {
        let ways = self.agent.ways();
        if self.is_debugging {
            for interface in &ways.interfaces {
                note(&format!("* way: {} at {}", interface.form.name(), shown_url(&interface.url)));
            }
            for rejected in &ways.rejected {
                note(&format!("* no way: {rejected}"));
            }
        }
    }

    fn context(&self, after: Option<u64>) -> CallContext {
        let mut ctx = CallContext::new(Caller::Anonymous);
        ctx.deadline = self.deadline.map(Instant::into_std);
        ctx.last_event = after;
        ctx
    }
}

/// Where a card is looked for, and with what.
pub(crate) struct Search {
    pub(crate) client: Client,
    /// One for all who ask, so that the card is fetched once.
    ask: Ask,
    agent: String,
    who: Who,
}

/// Who we are to whom.
struct Who {
    /// Where the card comes from; `None` for a file.
    home: Option<Origin>,
    /// A credential that was named on the command line, in the environment or in a file.
    proof: Option<Proof>,
    logins: Logins,
}

impl Search {
    /// Prepares to look for the card of the agent that was named.
    pub(crate) fn new(settings: &Settings, default: Policed) -> Result<Self, Failure> {
        let Some((agent, named_by)) = settings.find("agent-card") else {
            return Err(Failure::usage("which agent?")
                .hint("name it with -a, such as `-a localhost:7420`, or set A2ACLI_AGENT_CARD"));
        };
        let source =
            CardSource::parse(&agent).map_err(|error| Failure::usage(error.to_string()))?;
        let who = Who {
            home: source.as_url().and_then(|url| Origin::parse(url).ok()),
            proof: proof(settings)?,
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
        Ok(Self { client, ask, agent, who })
    }

    /// Fetches the card.
    pub(crate) async fn card(&self) -> Result<Arc<Found>, Failure> {
        let cached = self.client.cards().get(&self.ask).await;
        let cached = cached.map_err(|error| {
            let failure = Failure::from(nuncio_client::Error::from(error));
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
    fn credentials(&self, found: &Found) -> Result<Option<Arc<dyn Credentials>>, Failure> {
        let mut origins: Vec<Origin> = self.who.home.clone().into_iter().collect();
        for origin in interface_origins(&found.card) {
            if !origins.contains(&origin) {
                origins.push(origin);
            }
        }
        let mut all = Vec::new();
        for origin in origins {
            if let Some(proof) = self.who.proof_for(&origin) {
                all.push(proof.bind(&origin, Some(&found.card), self.client.net())?);
            }
        }
        Ok((!all.is_empty()).then(|| Arc::new(Several(all)) as Arc<dyn Credentials>))
    }
}

impl Who {
    /// Returns the credential for an origin. One that was named goes to the agent that was
    /// named, one that is kept goes where it belongs.
    fn proof_for(&self, origin: &Origin) -> Option<&Proof> {
        match &self.home {
            // This machine has many names.
            Some(home) if origin == home || (origin.is_loopback() && home.is_loopback()) => {
                let kept = || self.logins.get(origin).or_else(|| self.logins.get(home));
                self.proof.as_ref().or_else(kept)
            }
            Some(_) => self.logins.get(origin),
            // A file is the user's own word, all of it.
            None => self.proof.as_ref().or_else(|| self.logins.get(origin)),
        }
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

/// Waits for something, but not longer than the user does.
pub(crate) async fn within<T, E>(
    deadline: Option<Instant>,
    call: impl Future<Output = Result<T, E>>,
) -> Result<T, Failure>
where
    Failure: From<E>,
{
    let done = match deadline {
        Some(deadline) => timeout_at(deadline, call).await.map_err(|_| Failure::timeout())?,
        None => call.await,
    };
    match done {
        // The client keeps the same clock, and may be first to say so.
        Err(_) if is_over(deadline) => Err(Failure::timeout()),
        done => Ok(done?),
    }
}

/// Tells whether the user has stopped waiting.
pub(crate) fn is_over(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

/// Says how to log in.
fn login_hint(agent: &str, card: Option<&AgentCard>) -> String {
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

/// Returns what is wanted of the agent's interfaces.
fn terms(settings: &Settings, found: &Found) -> Result<Terms, Failure> {
    let mut terms = Terms::default();
    let version = settings.read("a2a-version", "a version such as 1.0 or 0.3", Version::parse)?;
    if let Some(version) = version {
        terms = terms.version(version);
    }
    let wanted = settings.read("transport", "jsonrpc, http+json or grpc", bindings)?;
    if let Some(wanted) = wanted {
        let offers = |binding: &Binding| {
            found.card.supported_interfaces.iter().any(|one| one.binding() == *binding)
        };
        if wanted.iter().any(offers) {
            terms = terms.bindings(wanted);
        } else {
            note("note: the agent offers no binding of --transport; its own order counts");
        }
    }
    // Another port of this machine, as agents have it for gRPC, is as near as the card.
    if found.url.as_ref().is_some_and(|url| Origin::of(url).is_loopback()) {
        for origin in interface_origins(&found.card).filter(Origin::is_loopback) {
            terms = terms.allow_origin(origin);
        }
    }
    Ok(terms)
}

fn bindings(text: &str) -> Option<Vec<Binding>> {
    let read = |name: &str| match Binding::parse(name.trim()) {
        Binding::Other(_) => None,
        binding => Some(binding),
    };
    text.split(',').map(read).collect()
}

/// Checks the settings that need no agent to be checked.
pub(crate) fn check(settings: &Settings) -> Result<(), Failure> {
    settings.read("a2a-version", "a version such as 1.0 or 0.3", Version::parse)?;
    settings.read("transport", "jsonrpc, http+json or grpc", bindings)?;
    options(settings).map(|_| ())
}

/// Returns the origins that a card names.
fn interface_origins(card: &AgentCard) -> impl Iterator<Item = Origin> {
    card.supported_interfaces.iter().flat_map(|interface| {
        // Places that speak gRPC are often named without a scheme.
        let texts = if interface.url.contains("://") {
            vec![interface.url.clone()]
        } else {
            ["http", "https"].map(|scheme| format!("{scheme}://{}", interface.url)).to_vec()
        };
        texts.into_iter().filter_map(|text| Origin::parse(&text).ok())
    })
}

fn options(settings: &Settings) -> Result<Options, Failure> {
    let mut headers = HeaderMap::new();
    let given = settings.get("svc-param").unwrap_or_default();
    for line in given.lines().filter(|line| !line.trim().is_empty()) {
        let (name, value) = service_parameter(line)?;
        headers.append(name, value);
    }
    // --timeout ends a wait, and nothing else does: tasks take long.
    let long = Duration::from_secs(24 * 60 * 60);
    let clocks = Clocks { wait: long, whole: long, ..Clocks::default() };
    Ok(Options { clocks, headers, ..Options::default() })
}

fn service_parameter(line: &str) -> Result<(HeaderName, HeaderValue), Failure> {
    let wrong = |what: &str| Failure::usage(format!("--svc-param: {what}"));
    let (name, value) = line
        .split_once(':')
        .ok_or_else(|| wrong("expected NAME:VALUE, such as `x-trace-id:abc`"))?;
    let name = HeaderName::try_from(name.trim())
        .map_err(|_| wrong(&format!("`{name}` is no name of a header")))?;
    if [header::AUTHORIZATION, header::COOKIE, header::PROXY_AUTHORIZATION].contains(&name) {
        // It would go wherever the card leads.
        return Err(wrong(&format!("`{name}` is a credential"))
            .hint("use --bearer, --api-key or --basic: they go to the agent's own origin only"));
    }
    let mut value = HeaderValue::try_from(value.trim())
        .map_err(|_| wrong(&format!("the value of `{name}` cannot be sent")))?;
    value.set_sensitive(true);
    Ok((name, value))
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

/// Returns a URL without its query, which may hold secrets.
pub(crate) fn shown_url(url: &CheckedUrl) -> String {
    url.as_str().split('?').next().unwrap_or_default().to_owned()
}

/// Writes a request for people to see, without the secrets of webhooks.
fn shown_request(request: &Request) -> String {
    let mut request = request.clone();
    let hide = |text: &mut String| {
        if !text.is_empty() {
            "…".clone_into(text);
        }
    };
    let config = match &mut request {
        Request::CreateTaskPushNotificationConfig(config) => Some(config),
        Request::SendMessage(send) | Request::SendStreamingMessage(send) => send
            .configuration
            .as_mut()
            .and_then(|wishes| wishes.task_push_notification_config.as_mut()),
        _ => None,
    };
    if let Some(config) = config {
        hide(&mut config.token);
        if let Some(authentication) = &mut config.authentication {
            hide(&mut authentication.credentials);
        }
    }
    request_json(&request)
}

fn request_json(request: &Request) -> String {
    match request {
        Request::SendMessage(request) | Request::SendStreamingMessage(request) => {
            json::to_string(request)
        }
        Request::GetTask(request) => json::to_string(request),
        Request::ListTasks(request) => json::to_string(request),
        Request::CancelTask(request) => json::to_string(request),
        Request::SubscribeToTask(request) => json::to_string(request),
        Request::CreateTaskPushNotificationConfig(request) => json::to_string(request),
        Request::GetTaskPushNotificationConfig(request) => json::to_string(request),
        Request::ListTaskPushNotificationConfigs(request) => json::to_string(request),
        Request::DeleteTaskPushNotificationConfig(request) => json::to_string(request),
        Request::GetExtendedAgentCard(request) => json::to_string(request),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_no_service_parameter() {
        assert!(service_parameter("x-trace-id: abc").is_ok());
        for line in ["Authorization: Bearer x", "cookie:a=b", "no colon", "a b:c", "a:\u{7f}"] {
            assert!(service_parameter(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_debugged_request_has_no_secrets() {
        let mut config =
            nuncio_protocol::push::TaskPushNotificationConfig::new("https://a.example");
        "swordfish".clone_into(&mut config.token);
        let shown = shown_request(&Request::CreateTaskPushNotificationConfig(config));
        assert!(shown.contains("a.example") && !shown.contains("swordfish"), "{shown}");
    }
}

//! The agent that a command talks with: which one, how it is reached, and who we are to it.

mod search;
mod shown;
mod wishes;

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};
use nuncio_client::{Agent, Find, Followed, discover::SignaturePolicy};
use nuncio_protocol::{
    operation::Request,
    service::{Answered, CallContext, Caller},
};
use tokio::time::{Instant, timeout_at};

use self::{
    search::login_hint,
    shown::shown_request,
    wishes::{options, terms},
};
pub(crate) use self::{
    search::{Search, in_directory, read_keys},
    shown::shown_url,
    wishes::check,
};
use crate::{
    failure::Failure,
    output::note,
    settings::{Flags as Common, Settings},
    terminal::Waiting,
};

/// Flags that say which agent, and how to reach it.
#[derive(Clone, Debug, Default, Args)]
#[group(skip)]
#[command(next_help_heading = "Agent")]
pub(crate) struct Flags {
    /// The agent: its name in the hub's directory, a host, a URL, or a file that holds its card.
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

    /// Show this certificate to an agent that asks for one (PEM).
    #[arg(long, value_name = "FILE")]
    cert: Option<PathBuf>,

    /// The private key of the certificate (PEM); otherwise it is in the same file.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,

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
        settings.flag("cert", path(&self.cert));
        settings.flag("key", path(&self.key));
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
        let waiting = Waiting::start(&settings, "looking for the agent");
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
        drop(waiting);
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

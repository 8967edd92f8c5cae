//! `nuncio auth`: credentials that are kept for later.

use std::io::{self, IsTerminal as _};

use clap::{Args, Subcommand, ValueEnum};
use nuncio_client::{
    Origin,
    credentials::{Kind as Required, required},
    discover::Source as CardSource,
};
use nuncio_net::Secret;
use nuncio_protocol::json;

use crate::{
    agent::{self, Policed, Search},
    failure::Failure,
    logins::{Logins, Place, Proof},
    output::{Output, note},
    settings::{self, Settings},
};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Keep a credential for an agent; it is shown to that origin and to no other.
    #[command(after_help = "\
Examples:
  nuncio auth login agent.example                   asks for it without showing it
  pass agent.example | nuncio auth login agent.example --as bearer
  nuncio auth login agent.example --as client-credentials --user my-client --token-url https://id.example/token")]
    Login(Box<Login>),
    /// List for whom a credential is kept.
    List(settings::Flags),
    /// Forget a credential.
    Logout(Logout),
}

#[derive(Debug, Args)]
pub(crate) struct Login {
    /// The agent: a host or a URL.
    #[arg(value_name = "AGENT", conflicts_with = "agent_card")]
    target: Option<String>,

    /// What it is; otherwise the agent's card says what it takes.
    #[arg(long = "as", value_enum, value_name = "KIND")]
    kind: Option<Kind>,

    /// The user's name, or the client's.
    #[arg(long)]
    user: Option<String>,

    /// The header of an API key, if the card does not say.
    #[arg(long, value_name = "NAME")]
    header: Option<String>,

    /// Where tokens are fetched with client credentials.
    #[arg(long, value_name = "URL")]
    token_url: Option<String>,

    /// What to ask for with client credentials. Repeatable.
    #[arg(long)]
    scope: Vec<String>,

    #[command(flatten)]
    agent: agent::Flags,

    #[command(flatten)]
    common: settings::Flags,
}

#[derive(Debug, Args)]
pub(crate) struct Logout {
    /// The agent, as it was named to log in.
    #[arg(value_name = "AGENT")]
    target: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A bearer token.
    Bearer,
    /// An API key.
    ApiKey,
    /// A user's name and password.
    Basic,
    /// A client's name and secret, to fetch tokens with (OAuth 2).
    ClientCredentials,
}

pub(crate) async fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Login(arguments) => login(*arguments).await,
        Command::List(common) => {
            let mut output = Settings::load(&common)?.output()?;
            list(&mut output)
        }
        Command::Logout(Logout { target }) => {
            let origin = origin(&target)?;
            if Logins::load()?.remove(&origin)? {
                note(&format!("the credential for {origin} is forgotten"));
                return Ok(());
            }
            Err(Failure::internal(format!("there is no credential for {origin}"))
                .hint("`nuncio auth list` shows those that there are"))
        }
    }
}

async fn login(arguments: Login) -> Result<(), Failure> {
    let Login { target, kind, user, header, token_url, scope, agent, common } = arguments;
    let settings = agent.or_agent(target).settings(&common)?;
    let Some(agent) = settings.get("agent-card") else {
        return Err(Failure::usage("which agent?")
            .hint("name it, such as `nuncio auth login agent.example`"));
    };
    let origin = origin(&agent)?;
    if !origin.is_https() && !origin.is_loopback() {
        note(&format!("warning: what is sent to {origin} can be read on the way"));
    }
    let mut logins = Logins::load()?;
    let (kind, place) = match (kind, header) {
        (Some(kind), header) => (kind, header),
        (None, Some(header)) => (Kind::ApiKey, Some(header)),
        (None, None) => (wanted(&settings).await.unwrap_or(Kind::Bearer), None),
    };
    let user = |what: &str| user.clone().ok_or_else(|| Failure::usage(format!("--user: {what}")));
    let proof = match kind {
        Kind::Bearer => Proof::Bearer(ask("token", &origin)?),
        Kind::ApiKey => {
            let place = place.map(|name| Place { location: "header".to_owned(), name });
            Proof::ApiKey { key: ask("API key", &origin)?, place }
        }
        Kind::Basic => {
            let user = user("whose password is it?")?;
            Proof::Basic { user, password: ask("password", &origin)? }
        }
        Kind::ClientCredentials => {
            let id = user("which client is it?")?;
            let token_url = token_url
                .ok_or_else(|| Failure::usage("--token-url: where are tokens fetched?"))?;
            let secret = ask("client secret", &origin)?;
            Proof::ClientCredentials { token_url, id, secret, scopes: scope }
        }
    };
    // What cannot be sent is better found out now.
    let search = Search::new(&settings, Policed::Off)?;
    proof.bind(&origin, None, search.client.net())?;
    let kind = proof.kind();
    logins.put(&origin, proof)?;
    note(&format!("{kind} for {origin} is kept in {}", logins.path().display()));
    Ok(())
}

/// Asks the agent's card what it takes; that nobody answers is no reason not to log in.
async fn wanted(settings: &Settings) -> Option<Kind> {
    let search = Search::new(settings, Policed::Off).ok()?;
    let found = search.card().await.ok()?;
    let kinds = required(&found.card).into_iter().flat_map(|requirement| requirement.all_of);
    kinds.into_iter().find_map(|kind| match kind {
        Required::ApiKey { .. } => Some(Kind::ApiKey),
        Required::Basic => Some(Kind::Basic),
        Required::OAuth2ClientCredentials { .. } => Some(Kind::ClientCredentials),
        Required::Bearer { .. }
        | Required::OAuth2WithUser { .. }
        | Required::OpenIdConnect { .. } => Some(Kind::Bearer),
        _ => None,
    })
}

/// Asks for a secret without showing it, or reads the first line of standard input.
fn ask(what: &str, origin: &Origin) -> Result<Secret, Failure> {
    let read = if io::stdin().is_terminal() {
        rpassword::prompt_password(format!("{what} for {origin}: "))
    } else {
        let mut line = String::new();
        io::stdin().read_line(&mut line).map(|_| line)
    };
    let secret = read.map_err(|error| Failure::internal(format!("read the {what}: {error}")))?;
    let secret = secret.trim();
    if secret.is_empty() {
        return Err(Failure::usage(format!("the {what} is empty"))
            .hint("write it to standard input, or type it when asked"));
    }
    Ok(Secret::new(secret))
}

fn origin(agent: &str) -> Result<Origin, Failure> {
    let source = CardSource::parse(agent).ok();
    let url = source.as_ref().and_then(CardSource::as_url);
    url.and_then(|url| Origin::parse(url).ok()).ok_or_else(|| {
        Failure::usage(format!("`{agent}` is no host and no URL"))
            .hint("a credential belongs to an origin, such as https://agent.example")
    })
}

fn list(output: &mut Output) -> Result<(), Failure> {
    let logins = Logins::load()?;
    if output.is_json() {
        let text = json::write_with(|writer| {
            writer.object(|document| {
                document.with("credentials", |writer| {
                    writer.array(logins.iter(), |writer, login| {
                        writer.object(|entry| {
                            entry.member("origin", &login.origin);
                            entry.member("kind", login.proof.kind());
                        });
                    });
                });
            });
        });
        output.json(&text)?;
        return Ok(());
    }
    for login in logins.iter() {
        output.field(&login.origin, login.proof.kind())?;
    }
    if logins.iter().next().is_none() {
        note("no credential is kept; `nuncio auth login AGENT` keeps one");
    }
    Ok(())
}

//! `nuncio card`: shows, signs and verifies agent cards.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand, ValueEnum};
use nuncio_client::{
    credentials::required,
    discover::{Found, Verdict},
};
use nuncio_protocol::{
    card::{
        AgentCard, inert, lint_text, read_any,
        sign::{self, Algorithm, KeySet, Signer},
    },
    json,
    operation::{GetExtendedAgentCardRequest, Request, Response},
    service::Answered,
};

use crate::{
    agent::{self, Connected, Policed, Search, read_keys, within},
    failure::Failure,
    output::{Output, note},
    settings::{self, Settings},
};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show who an agent is, what it can do, and how to reach it.
    #[command(after_help = "\
Examples:
  nuncio card get localhost:7420
  nuncio card get agent.example --validate
  nuncio card get agent.example --raw > card.json
  nuncio card get ./card.json -o json")]
    Get(Get),
    /// Sign a card.
    #[command(after_help = "\
Examples:
  nuncio card keygen --out key.pem > jwks.json
  nuncio card sign card.json --key key.pem > signed.json")]
    Sign(Sign),
    /// Verify the signatures of a card.
    #[command(after_help = "\
Examples:
  nuncio card verify signed.json --keys jwks.json
  nuncio card verify agent.example        with the keys that the agent's own origin serves")]
    Verify(Verify),
    /// Make a key to sign cards with; prints the public half as a JWKS.
    #[command(after_help = "\
Examples:
  nuncio card keygen --out key.pem > jwks.json")]
    Keygen(Keygen),
}

#[derive(Debug, Args)]
pub(crate) struct Get {
    /// The agent, as with -a.
    #[arg(value_name = "AGENT", conflicts_with = "agent_card")]
    target: Option<String>,

    /// Say what is wrong with the card.
    #[arg(long)]
    validate: bool,

    /// Show what only known callers may see, too.
    #[arg(long, conflicts_with = "raw")]
    extended: bool,

    /// Write the card as it came, byte for byte.
    #[arg(long)]
    raw: bool,

    #[command(flatten)]
    agent: agent::Flags,

    #[command(flatten)]
    common: settings::Flags,
}

#[derive(Debug, Args)]
pub(crate) struct Sign {
    /// The card; `-` reads standard input.
    card: PathBuf,

    /// The private key (PEM, or a JWK).
    #[arg(long, value_name = "FILE")]
    key: PathBuf,

    /// The name of the key; a fingerprint otherwise.
    #[arg(long)]
    kid: Option<String>,

    /// Where the public keys are to be found.
    #[arg(long, value_name = "URL")]
    jku: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The card: a file, a host or a URL.
    #[arg(value_name = "AGENT", conflicts_with = "agent_card")]
    target: Option<String>,

    #[command(flatten)]
    agent: agent::Flags,

    #[command(flatten)]
    common: settings::Flags,
}

#[derive(Debug, Args)]
pub(crate) struct Keygen {
    /// The file for the private key; it must not be there.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// How it signs.
    #[arg(long, value_enum, default_value_t = Kind::Es256)]
    algorithm: Kind,

    /// A name for the key, to be repeated when it signs; a fingerprint otherwise.
    #[arg(long)]
    kid: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// ECDSA on P-256: every SDK verifies it.
    Es256,
    /// Ed25519.
    Eddsa,
    /// RSA of 3072 bits.
    Rs256,
}

pub(crate) async fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Get(arguments) => get(arguments).await,
        Command::Sign(arguments) => sign_card(&arguments),
        Command::Verify(arguments) => verify(arguments).await,
        Command::Keygen(arguments) => keygen(&arguments),
    }
}

async fn get(arguments: Get) -> Result<(), Failure> {
    let Get { target, validate, extended, raw, agent, common } = arguments;
    let settings = agent.or_agent(target).settings(&common)?;
    let mut output = settings.output()?;
    if extended {
        let card = extended_card(settings).await?;
        return show(&mut output, &card, None);
    }
    let found = find(&settings, Policed::Prefer).await?;
    if raw {
        let mut stdout = io::stdout();
        stdout.write_all(found.text.as_bytes())?;
        stdout.flush()?;
    } else {
        show(&mut output, &found.card, Some(&found))?;
    }
    if validate { report(&mut output, &found) } else { Ok(()) }
}

async fn find(settings: &Settings, default: Policed) -> Result<std::sync::Arc<Found>, Failure> {
    let limit = settings.duration("timeout")?;
    let deadline = limit.map(|limit| tokio::time::Instant::now() + limit);
    let search = Search::new(settings, default)?;
    within(deadline, search.card()).await
}

async fn extended_card(settings: Settings) -> Result<AgentCard, Failure> {
    let connected = Connected::open(settings).await?;
    if connected.agent.card().capabilities.extended_agent_card != Some(true) {
        return Err(Failure::from(nuncio_protocol::error::Error::new(
            nuncio_protocol::error::ErrorKind::ExtendedAgentCardNotConfigured,
            "the card says that there is no extended one",
        ))
        .hint("leave --extended out"));
    }
    let request = Request::GetExtendedAgentCard(GetExtendedAgentCardRequest::default());
    match connected.call(request).await? {
        Answered::Other(response) => match *response {
            Response::Card(card) => Ok(card),
            _ => Err(Failure::internal("the answer is no card")),
        },
        _ => Err(Failure::internal("the answer is no card")),
    }
}

fn show(output: &mut Output, card: &AgentCard, found: Option<&Found>) -> Result<(), Failure> {
    if output.is_json() {
        output.json(&json::to_string(card))?;
        return Ok(());
    }
    fields(output, card)?;
    if let Some(found) = found {
        output.field("Signature", &signature(&found.verdict))?;
        if !found.form.is_v1() {
            output.field("Form", found.form.as_str())?;
        }
    }
    Ok(())
}

fn fields(output: &mut Output, card: &AgentCard) -> io::Result<()> {
    let said = |value: Option<bool>| if value == Some(true) { "yes" } else { "no" };
    output.field("Name", &card.name)?;
    if !card.description.is_empty() {
        output.field("Description", &card.description)?;
    }
    if !card.version.is_empty() {
        output.field("Version", &card.version)?;
    }
    if let Some(provider) = &card.provider {
        output.field("Provider", &format!("{} ({})", provider.organization, provider.url))?;
    }
    for interface in &card.supported_interfaces {
        let binding = interface.binding();
        let version = &interface.protocol_version;
        output.field("Interface", &format!("{binding} {version} {}", interface.url))?;
    }
    output.field("Streaming", said(card.capabilities.streaming))?;
    output.field("Push-Notifications", said(card.capabilities.push_notifications))?;
    output.field("Extended-Card", said(card.capabilities.extended_agent_card))?;
    for extension in &card.capabilities.extensions {
        let needed = if extension.required { " (required)" } else { "" };
        output.field("Extension", &format!("{}{needed}", extension.uri))?;
    }
    for requirement in required(card) {
        output.field("Needs", &requirement.to_string())?;
    }
    output.field("Takes", &card.default_input_modes.join(", "))?;
    output.field("Gives", &card.default_output_modes.join(", "))?;
    for skill in &card.skills {
        output.field("Skill", &format!("{}: {}", skill.id, skill.description))?;
        if output.is_verbose() {
            output.field("Tags", &skill.tags.join(", "))?;
            for example in &skill.examples {
                output.field("Example", example)?;
            }
        }
    }
    Ok(())
}

fn signature(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Unchecked => "not looked at".to_owned(),
        Verdict::Verified { kid, .. } => format!("verified, by {}", inert(kid)),
        Verdict::Unsigned => "absent".to_owned(),
        Verdict::Bad { reason } => format!("not verified: {reason}"),
        other => other.to_string(),
    }
}

/// Says what is wrong with a card; fails if that is against the specification.
fn report(output: &mut Output, found: &Found) -> Result<(), Failure> {
    let problems = lint_text(&found.text)
        .map_err(|error| Failure::invalid_card(format!("it is no card: {error}")))?;
    let mut errors = 0;
    for problem in &problems {
        errors += usize::from(problem.severity().as_str() == "error");
        if output.is_json() {
            note(&problem.to_string());
        } else {
            output.field("Problem", &problem.to_string())?;
        }
    }
    if errors == 0 {
        return Ok(());
    }
    Err(Failure::invalid_card(format!("the card has {errors} errors"))
        .hint("each problem says how to mend it"))
}

fn sign_card(Sign { card, key, kid, jku }: &Sign) -> Result<(), Failure> {
    let text = read_text(card)?;
    let (mut parsed, form) = read_any(&text)
        .map_err(|error| Failure::invalid_card(format!("{}: {error}", card.display())))?;
    let mut signer = read_signer(key)?;
    if let Some(kid) = kid {
        signer = signer.with_kid(kid);
    }
    if let Some(jku) = jku {
        signer = signer.with_jku(jku);
    }
    let failed = |error: sign::Error| Failure::invalid_card(error.to_string());
    let card = if form.is_v1() {
        sign::sign(&mut parsed, &signer).map_err(failed)?;
        json::to_string(&parsed)
    } else {
        // What 1.0 says about signing covers nothing else.
        sign::sign_text(&text, &signer).map_err(failed)?
    };
    let mut output = Output::new(crate::output::Format::Json, false);
    output.json(&card)?;
    Ok(())
}

fn read_text(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        io::stdin().read_to_string(&mut text).map(|_| ())
    } else {
        fs::read_to_string(path).map(|read| text = read)
    };
    read.map_err(|error| Failure::usage(format!("read {}: {error}", path.display())))?;
    Ok(text)
}

/// Reads the private key that signs cards.
pub(crate) fn read_signer(path: &Path) -> Result<Signer, Failure> {
    let text = read_text(path)?;
    let signer = if text.trim_start().starts_with('{') {
        Signer::from_jwk(&text)
    } else {
        Signer::from_pem(&text)
    };
    signer.map_err(|error| {
        Failure::usage(format!("{}: {error}", path.display()))
            .hint("`nuncio card keygen --out key.pem` makes a key")
    })
}

async fn verify(Verify { target, agent, common }: Verify) -> Result<(), Failure> {
    let settings = agent.or_agent(target).settings(&common)?;
    let mut output = settings.output()?;
    if let Some(file) = settings.get("keys") {
        // Read before anything is fetched, so that a wrong file is told about first.
        read_keys(Path::new(&file))?;
    }
    let found = find(&settings, Policed::Prefer).await?;
    let is_verified = found.verdict.is_verified();
    if output.is_json() {
        output.json(&json::write_with(|writer| {
            writer.object(|document| {
                document.member("verified", &is_verified);
                document.member("verdict", &signature(&found.verdict));
            });
        }))?;
    } else {
        output.field("Name", &found.card.name)?;
        output.field("Signature", &signature(&found.verdict))?;
    }
    if is_verified {
        return Ok(());
    }
    Err(Failure::signature("the card is not verified").hint(match found.verdict {
        Verdict::Unsigned => "sign it with `nuncio card sign`",
        _ => "name the signer's public keys with --keys",
    }))
}

fn keygen(Keygen { out, algorithm, kid }: &Keygen) -> Result<(), Failure> {
    let algorithm = match algorithm {
        Kind::Es256 => Algorithm::Es256,
        Kind::Eddsa => Algorithm::EdDsa,
        Kind::Rs256 => Algorithm::Rs256,
    };
    let failed = |error: sign::Error| Failure::internal(error.to_string());
    let mut signer = Signer::generate(algorithm).map_err(failed)?;
    if let Some(kid) = kid {
        signer = signer.with_kid(kid);
    }
    let pem = signer.to_pem().map_err(failed)?;
    write_secret(out, pem.as_bytes()).map_err(|error| Failure::file("write", out, &error))?;
    let keys = KeySet::from_iter([signer.public_key().clone()]);
    let mut output = Output::new(crate::output::Format::Json, false);
    output.json(&json::to_string(&keys))?;
    let kid = kid.as_ref().map(|kid| format!(" --kid {}", crate::again::quote(kid)));
    let key = crate::again::quote(&out.display().to_string());
    note("the private key is made: keep it secret");
    note(&format!("Sign: nuncio card sign CARD --key {key}{}", kid.unwrap_or_default()));
    Ok(())
}

/// Writes a new file that only the user may read.
fn write_secret(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

//! `nuncio config`: what is set, and who has set it; and the hub's file.

mod hub;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use nuncio_client::discover::Source as CardSource;
use nuncio_protocol::json;

pub(crate) use self::hub::refused;
use crate::{
    agent::{self, Connected, Policed, Search},
    failure::Failure,
    logins::Logins,
    output::{Output, note},
    settings::{self, KNOWN, Settings, Source},
};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show every setting, and whether it comes from a flag, the environment or a file.
    #[command(after_help = "\
Settings are, the first that is there: a flag; a variable A2ACLI_<FLAG>; a line of `.env`, in
this folder or above (or of the file of --config); a line of ~/.config/a2a-cli/.env.

Examples:
  nuncio config show
  A2ACLI_TIMEOUT=30s nuncio config show -o json")]
    Show(Arguments),
    /// Say what is wrong with the settings, or with the hub's file.
    #[command(after_help = "\
With FILE, or if there is a nuncio.yaml in this folder, it is the hub's file that is checked.
Every mistake is named with its line and what to do about it.

Examples:
  nuncio config check nuncio.yaml
  nuncio config check --online -a agent.example")]
    Check(Check),
    /// Print the JSON Schema of the hub's file, nuncio.yaml.
    Schema(hub::Schema),
    /// Print a nuncio.yaml made from a file of Harbor, PocketPaw or an opportunity agent.
    #[command(after_help = "\
What has no place in nuncio.yaml is named in a comment.

Examples:
  nuncio config import harbor.yaml > nuncio.yaml
  nuncio config import ~/.pocketpaw/config.json
  nuncio config import agent.yaml --from opportunity")]
    Import(hub::Import),
}

#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct Arguments {
    #[command(flatten)]
    agent: agent::Flags,

    #[command(flatten)]
    common: settings::Flags,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The hub's file; `nuncio.yaml` if that is here.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// Look whether the agent can be reached, too.
    #[arg(long)]
    online: bool,

    #[command(flatten)]
    arguments: Arguments,
}

pub(crate) async fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Show(Arguments { agent, common }) => {
            let settings = agent.settings(&common)?;
            let mut output = settings.output()?;
            show(&settings, &mut output)
        }
        Command::Schema(schema) => hub::schema(&schema),
        Command::Import(import) => hub::import(&import),
        Command::Check(Check { file, online, arguments }) => {
            if let Some(file) = file.or_else(hub::file_here) {
                let settings = Settings::load(&arguments.common)?;
                return hub::check(&file, &mut settings.output()?);
            }
            let settings = arguments.agent.settings(&arguments.common)?;
            check(settings, online).await
        }
    }
}

fn show(settings: &Settings, output: &mut Output) -> Result<(), Failure> {
    let found = |known: &settings::Known| {
        let (value, source) = settings
            .find(known.name)
            .unwrap_or_else(|| (known.default.to_owned(), Source::Default));
        let is_set = source != Source::Default;
        (if known.is_secret && is_set { "(secret)".to_owned() } else { value }, source)
    };
    if output.is_json() {
        let text = json::write_with(|writer| {
            writer.object(|document| {
                document.with("settings", |writer| {
                    writer.array(KNOWN, |writer, known| {
                        let (value, source) = found(known);
                        writer.object(|setting| {
                            setting.member("name", known.name);
                            setting.member("value", &value);
                            setting.member("source", &source.to_string());
                        });
                    });
                });
            });
        });
        output.json(&text)?;
        return Ok(());
    }
    for known in KNOWN {
        let (value, source) = found(known);
        let value = if value.is_empty() { "-" } else { &value };
        output.field(known.name, &format!("{value} ({source})"))?;
    }
    Ok(())
}

async fn check(settings: Settings, online: bool) -> Result<(), Failure> {
    let mut output = settings.output()?;
    for name in ["verbose", "debug", "insecure", "async"] {
        settings.is_on(name)?;
    }
    for name in ["timeout", "poll-interval"] {
        settings.duration(name)?;
    }
    Logins::load()?;
    if let Some(agent) = settings.get("agent-card") {
        CardSource::parse(&agent).map_err(|error| Failure::usage(error.to_string()))?;
        Search::new(&settings, Policed::Off)?;
        agent::check(&settings)?;
    }
    let unknown = settings.unknown();
    for (path, key) in &unknown {
        note(&format!("{}: {key} is no setting; `nuncio config show` lists them", path.display()));
    }
    if !unknown.is_empty() {
        return Err(Failure::usage(format!("{} settings mean nothing", unknown.len())));
    }
    if online {
        let connected = Connected::open(settings).await?;
        let name = connected.agent.card().name;
        output.field("Agent", &name)?;
    }
    if output.is_json() {
        output.json(r#"{"ok":true}"#)?;
    } else {
        output.field("Settings", "good")?;
    }
    Ok(())
}

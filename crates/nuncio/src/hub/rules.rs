//! `nuncio rules`: exceptions from what the hierarchy says.

use clap::{Args, Subcommand, ValueEnum};
use http::Method;
use serde::{Deserialize, Serialize};

use super::{Flags, json, names::Names, segment, table::Table};
use crate::failure::Failure;

/// Show, make and remove rules about who may call whom.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    flags: Flags,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Put a rule in force, in place of one with the same id.
    Put(Put),
    /// Take a rule out of force.
    Remove {
        /// Its id.
        id: String,
    },
}

#[derive(Debug, Args)]
struct Put {
    /// What the rule is called.
    id: String,
    /// Whether it allows or denies.
    #[arg(value_enum)]
    effect: Effect,
    /// Who calls: an agent, `team:AGENT` for it and all below it, `user:NAME`, or `*`.
    caller: String,
    /// Who is called: an agent, `team:AGENT`, or `*`.
    target: String,
    /// Only these operations, such as `SendMessage`. Repeatable.
    #[arg(long, value_name = "NAME")]
    operation: Vec<String>,
    /// Only these skills. Repeatable.
    #[arg(long, value_name = "ID")]
    skill: Vec<String>,
    /// Why the rule is there.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum Effect {
    Allow,
    Deny,
}

#[derive(Serialize)]
struct Body<'a> {
    effect: Effect,
    caller: Who<'a>,
    target: Who<'a>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    operations: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    skills: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
}

/// Whom a rule is about, as the hub writes it.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Who<'a> {
    Any,
    Agent(&'a str),
    Team(&'a str),
    User(&'a str),
}

impl<'a> Who<'a> {
    fn parse(text: &'a str) -> Self {
        match text.split_once(':') {
            _ if text == "*" => Self::Any,
            Some(("team", name)) => Self::Team(name),
            Some(("user", name)) => Self::User(name),
            _ => Self::Agent(text),
        }
    }
}

#[derive(Deserialize)]
struct List {
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
struct Rule {
    id: String,
    effect: String,
    caller: Shown,
    target: Shown,
    #[serde(default)]
    note: String,
}

/// Whom a rule is about, as the hub shows it.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Shown {
    Any,
    Agent(String),
    Team(String),
    User(String),
}

impl Shown {
    async fn text(&self, names: &mut Names<'_>) -> String {
        match self {
            Self::Any => "*".to_owned(),
            Self::Agent(id) => names.name(id).await,
            Self::Team(id) => format!("team:{}", names.name(id).await),
            Self::User(name) => format!("user:{name}"),
        }
    }
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let hub = arguments.flags.hub()?;
    let mut output = arguments.flags.output();
    match arguments.command {
        None => {
            let (list, bytes): (List, _) = hub.read("/api/v1/rules").await?;
            if output.is_json() {
                return json(&mut output, &bytes);
            }
            let mut names = Names::of(&hub);
            let mut table = Table::new(["ID", "EFFECT", "CALLER", "TARGET", "NOTE"]);
            for rule in list.rules {
                let (caller, target) =
                    (rule.caller.text(&mut names).await, rule.target.text(&mut names).await);
                table.row([rule.id, rule.effect, caller, target, rule.note]);
            }
            table.write(&mut output)?;
        }
        Some(Command::Put(put)) => {
            let body = Body {
                effect: put.effect,
                caller: Who::parse(&put.caller),
                target: Who::parse(&put.target),
                operations: &put.operation,
                skills: &put.skill,
                note: put.note.as_deref(),
            };
            let path = format!("/api/v1/rules/{}", segment(&put.id));
            let bytes = hub.call(Method::PUT, &path, Some(&body)).await?;
            if output.is_json() {
                return json(&mut output, &bytes);
            }
            output.field("Rule", &put.id)?;
        }
        Some(Command::Remove { id }) => {
            let path = format!("/api/v1/rules/{}", segment(&id));
            hub.call(Method::DELETE, &path, None::<&()>).await?;
            output.field("Removed", &id)?;
        }
    }
    Ok(())
}

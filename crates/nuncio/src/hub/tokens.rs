//! `nuncio token`: how agents and people come in.

use clap::{Args, Subcommand};
use http::Method;
use serde::{Deserialize, Serialize};

use super::{Flags, json, parse, segment, table::Table};
use crate::{failure::Failure, output::Output};

/// Make, list and revoke tokens of agents and keys of people.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    flags: Flags,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a token with which a new agent registers, and print it, this once.
    Enrol {
        /// The id of the only agent that may use it.
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
        /// The name or id of the agent below which the newcomer comes to stand.
        #[arg(long, value_name = "AGENT")]
        parent: Option<String>,
        /// More than one agent may use it.
        #[arg(long)]
        reusable: bool,
    },
    /// Make one more token for an agent, and print it, this once.
    New {
        /// The agent's name or id.
        agent: String,
    },
    /// Make a key for a person or program, and print it, this once.
    User {
        /// Who calls with it.
        name: String,
        /// They may change everything.
        #[arg(long, conflicts_with = "viewer")]
        admin: bool,
        /// They may look at everything.
        #[arg(long)]
        viewer: bool,
    },
    /// List all keys and tokens, without their secrets.
    List,
    /// Revoke a key or token, at once and for good.
    Revoke {
        /// Its id, as `nuncio token list` shows it.
        id: String,
    },
}

#[derive(Serialize)]
struct Enrolment<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
    reusable: bool,
}

#[derive(Serialize)]
struct NewKey<'a> {
    name: &'a str,
    scopes: &'a [&'a str],
}

#[derive(Deserialize)]
struct Issued {
    key: String,
}

#[derive(Deserialize)]
struct Keys {
    keys: Vec<Key>,
}

#[derive(Deserialize)]
struct Key {
    id: String,
    kind: String,
    name: String,
    scopes: Vec<String>,
    created: String,
    revoked: Option<String>,
    expires: Option<String>,
    last_used: Option<String>,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let hub = arguments.flags.hub()?;
    let mut output = arguments.flags.output();
    let issued = match arguments.command {
        Command::Enrol { agent, parent, reusable } => {
            let body = Enrolment { agent: agent.as_deref(), parent: parent.as_deref(), reusable };
            hub.call(Method::POST, "/api/v1/enrolments", Some(&body)).await?
        }
        Command::New { agent } => {
            let path = format!("/api/v1/agents/{}/tokens", segment(&agent));
            hub.call(Method::POST, &path, None::<&()>).await?
        }
        Command::User { name, admin, viewer } => {
            let scopes: &[&str] = match (admin, viewer) {
                (true, _) => &["admin"],
                (_, true) => &["read"],
                _ => &[],
            };
            let body = NewKey { name: &name, scopes };
            hub.call(Method::POST, "/api/v1/keys", Some(&body)).await?
        }
        Command::List => {
            let (keys, bytes): (Keys, _) = hub.read("/api/v1/keys").await?;
            if output.is_json() {
                return json(&mut output, &bytes);
            }
            return list(keys, &mut output);
        }
        Command::Revoke { id } => {
            let path = format!("/api/v1/keys/{}", segment(&id));
            hub.call(Method::DELETE, &path, None::<&()>).await?;
            return Ok(output.field("Revoked", &id)?);
        }
    };
    if output.is_json() {
        return json(&mut output, &issued);
    }
    let Issued { key } = parse(&issued)?;
    Ok(output.line(&key)?)
}

fn list(keys: Keys, output: &mut Output) -> Result<(), Failure> {
    let mut table = Table::new(["ID", "OF", "SCOPES", "CREATED", "LAST USED", "STATE"]);
    for key in keys.keys {
        let state = match (key.revoked, key.expires) {
            (Some(_), _) => "revoked".to_owned(),
            (None, Some(expires)) => format!("until {expires}"),
            (None, None) => "valid".to_owned(),
        };
        let scopes = if key.scopes.is_empty() { "-".to_owned() } else { key.scopes.join(",") };
        let last_used = key.last_used.unwrap_or_else(|| "-".to_owned());
        let owner = format!("{}:{}", key.kind, key.name);
        table.row([key.id, owner, scopes, key.created, last_used, state]);
    }
    Ok(table.write(output)?)
}

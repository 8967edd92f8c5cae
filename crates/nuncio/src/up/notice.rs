//! What a hub says when it is ready, to people and to the other commands.

use std::{io::IsTerminal as _, net::SocketAddr, path::Path};

use anyhow::Context as _;
use nuncio_hub::Hub;

use super::keys::Key;
use crate::{data, demo::TRY};

/// Leaves a note where the other commands look for a hub.
pub(super) fn leave(
    hub: &Hub,
    address: SocketAddr,
    key: &Key,
    file: Option<&Path>,
) -> anyhow::Result<()> {
    let path = data::hub_note()?;
    let note = data::HubNote {
        url: local_url(hub, address),
        key_file: key.path.clone(),
        // The other commands run in other folders.
        configuration: file.map(std::path::absolute).transpose()?,
    };
    let text = serde_json::to_string(&note).context("the note")?;
    data::write_secret(&path, text.as_bytes())
}

/// Says that the hub is ready.
#[expect(clippy::print_stderr, reason = "for people, and for scripts that wait for it")]
pub(super) fn say(hub: &Hub, address: SocketAddr, (key, login): (&Key, &str), has_demo: bool) {
    let url = local_url(hub, address);
    eprintln!("listening on {url}");
    if hub.settings.is_open {
        eprintln!("OPEN: everybody on this machine is an administrator");
    }
    if key.is_new {
        eprintln!("made the administrator's key, kept in {}", key.path.display());
    }
    eprintln!("log in:       {login}");
    if std::io::stderr().is_terminal() {
        eprintln!("              (good once, for a minute; `nuncio login` makes another)");
    }
    if has_demo {
        eprintln!("web:          {url}/");
        eprintln!("agents:       {url}/agents/NAME, by A2A 1.0 and 0.3");
        eprintln!("tools (MCP):  {url}/mcp, or `nuncio mcp`");
        for (index, command) in TRY.iter().enumerate() {
            eprintln!("{}{command}", if index == 0 { "try:          " } else { "              " });
        }
    } else if std::io::stderr().is_terminal() {
        eprintln!("agents:       nuncio agents");
        eprintln!("add one:      nuncio agents add https://agent.example");
        eprintln!("try some:     nuncio up --demo");
    }
}

fn local_url(hub: &Hub, address: SocketAddr) -> String {
    let scheme = if hub.settings.public_url.starts_with("https:") { "https" } else { "http" };
    format!("{scheme}://{address}")
}

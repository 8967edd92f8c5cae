//! What a hub says when it is ready, to people and to the other commands.

use std::{
    env, fs,
    io::IsTerminal as _,
    net::SocketAddr,
    path::{Path, absolute},
    process,
};

use anyhow::Context as _;
use nuncio_hub::Hub;
use nuncio_net::listen::reachable;

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
        process: Some(process::id()),
        // The other commands run in other folders.
        key_file: absolute(&key.path)?,
        configuration: file.map(absolute).transpose()?,
    };
    let text = serde_json::to_string(&note).context("the note")?;
    data::write_secret(&path, text.as_bytes())
}

/// Takes the note away when the hub has ended, unless another hub has left its own since.
pub(super) fn remove() -> anyhow::Result<()> {
    let path = data::hub_note()?;
    let Ok(text) = fs::read_to_string(&path) else { return Ok(()) };
    let note = serde_json::from_str::<data::HubNote>(&text);
    if note.is_ok_and(|note| note.process == Some(process::id())) {
        fs::remove_file(&path).with_context(|| format!("remove {}", path.display()))?;
    }
    Ok(())
}

/// Says that the hub is ready.
#[expect(clippy::print_stderr, reason = "for people, and for scripts that wait for it")]
pub(super) fn say(hub: &Hub, address: SocketAddr, (key, login): (&Key, &str), has_demo: bool) {
    let url = local_url(hub, address);
    eprintln!("listening on {}://{address}", scheme(hub));
    if hub.settings.is_open {
        eprintln!("OPEN: everybody on this machine is an administrator");
    }
    if key.is_new {
        eprintln!("made the administrator's key, kept in {}", key.path.display());
    }
    if address.ip().is_unspecified() && hub.settings.public_url == url {
        eprintln!(
            "for others:   cards and links say {url}; --public-url says where others find it"
        );
    }
    eprintln!("log in:       {login}");
    if std::io::stderr().is_terminal() {
        eprintln!("              (good once, for a minute; `nuncio login` makes another)");
    }
    if has_demo {
        eprintln!("web:          {url}/");
        eprintln!("agents:       {url}/agents/NAME, by A2A 1.0 and 0.3");
        eprintln!("tools (MCP):  {url}/mcp, or `nuncio mcp`");
        let program = typed();
        for (index, words) in TRY.iter().enumerate() {
            let label = if index == 0 { "try:" } else { "" };
            eprintln!("{label:<14}{program} {words}");
        }
    } else if std::io::stderr().is_terminal() {
        eprintln!("agents:       nuncio agents");
        eprintln!("add one:      nuncio agents add https://agent.example");
        eprintln!("try some:     nuncio up --demo");
    }
}

/// Returns what people have to type for this program: its name, if a shell finds it by that.
fn typed() -> String {
    const NAME: &str = "nuncio";
    let folders = env::var_os("PATH").unwrap_or_default();
    if env::split_paths(&folders).any(|folder| folder.join(NAME).is_file()) {
        return NAME.to_owned();
    }
    let Ok(program) = env::current_exe() else { return NAME.to_owned() };
    let here = env::current_dir().unwrap_or_default();
    match program.strip_prefix(here) {
        // A shell takes a word without a slash for a name.
        Ok(below) => Path::new(".").join(below).display().to_string(),
        Err(_) => program.display().to_string(),
    }
}

/// Returns where those on this machine find the hub.
fn local_url(hub: &Hub, address: SocketAddr) -> String {
    format!("{}://{}", scheme(hub), reachable(address))
}

fn scheme(hub: &Hub) -> &'static str {
    if hub.settings.public_url.starts_with("https:") { "https" } else { "http" }
}

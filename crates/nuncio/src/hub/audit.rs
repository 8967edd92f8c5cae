//! `nuncio audit`: who did what, and whether the trail hangs together.

use std::collections::VecDeque;

use clap::Args;
use serde::Deserialize;

use super::{Flags, json, names::Names, query, table::Table};
use crate::{failure::Failure, output::note};

/// How many lines are asked for at once.
const PAGE: &str = "1000";

/// Show who did what, and check that no line was removed or changed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nuncio audit                        the newest lines; the whole trail is checked
  nuncio audit --last 100000          more of them
  nuncio audit --after 4200 -o json   what came since, for other programs")]
pub(crate) struct Arguments {
    /// Begin behind this line. It is taken to be right: keep its hash elsewhere.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    after: u64,

    /// How many lines to show, from the end.
    #[arg(long, value_name = "COUNT", default_value_t = 50)]
    last: usize,

    #[command(flatten)]
    flags: Flags,
}

#[derive(Deserialize)]
struct Page {
    lines: Vec<Entry>,
    last: u64,
    more: bool,
    broken_at: Option<u64>,
}

#[derive(Deserialize)]
struct Entry {
    seq: u64,
    link: String,
    line: Line,
}

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    at: String,
    #[serde(default)]
    by: String,
    #[serde(default)]
    action: String,
    #[serde(default)]
    subject: String,
    #[serde(default)]
    detail: String,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let hub = arguments.flags.hub()?;
    let mut output = arguments.flags.output();
    let mut shown = VecDeque::new();
    let (mut after, mut total, mut broken) = (arguments.after, 0, None);
    loop {
        let query = query(&[
            ("after", Some(after.to_string())),
            ("limit", Some(PAGE.to_owned())),
            ("verify", Some("true".to_owned())),
        ]);
        let (page, bytes): (Page, _) = hub.read(&format!("/api/v1/audit{query}")).await?;
        if output.is_json() {
            json(&mut output, &bytes)?;
        }
        broken = broken.or(page.broken_at);
        total += page.lines.len();
        shown.extend(page.lines);
        shown.drain(..shown.len().saturating_sub(arguments.last));
        // A trail that grows while it is read has an end all the same.
        if !page.more || page.last == after {
            break;
        }
        after = page.last;
    }
    if !output.is_json() {
        let newest = shown.back().map(|entry: &Entry| (entry.seq, entry.link.clone()));
        let mut names = Names::of(&hub);
        let mut table = Table::new(["LINE", "WHEN", "WHO", "DID", "TO", "DETAIL"]);
        for Entry { seq, line, .. } in shown {
            let by = match line.by.strip_prefix("agent:") {
                Some(id) => names.name(id).await,
                None => line.by,
            };
            let is_agent = line.action.starts_with("agent.") || line.action == "token.new";
            let to = if is_agent { names.name(&line.subject).await } else { line.subject };
            // Whoever needs parts of a second asks for JSON.
            let at = line.at.split_once('.').map(|(seconds, _)| format!("{seconds}Z"));
            let at = at.unwrap_or(line.at);
            table.row([seq.to_string(), at, by, line.action, to, line.detail]);
        }
        table.write(&mut output)?;
        if let (None, Some((seq, link))) = (broken, newest) {
            note(&format!("{total} lines hang together; the hash of line {seq} is {link}"));
        }
    }
    match broken {
        None => Ok(()),
        Some(line) => Err(Failure::broken_trail(format!(
            "the audit trail does not hang together at line {line}"
        ))
        .hint("it was removed or changed, or the one before it: compare with a backup")),
    }
}

//! `nuncio audit`: who did what, and whether the trail hangs together.

use std::collections::VecDeque;

use clap::Args;
use nuncio_protocol::json::Raw;
use serde::{Deserialize, Serialize};

use super::{Flags, Hub, json, names::Names, parse, query, table::Table};
use crate::{
    failure::Failure,
    output::{Output, note},
};

/// How many lines are asked for at once.
const PAGE: &str = "1000";

/// How many lines people are shown who do not say how many.
const LINES: usize = 50;

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

    /// How many lines to show, from the end; without, 50 as text, and all as JSON.
    #[arg(long, value_name = "COUNT")]
    last: Option<usize>,

    #[command(flatten)]
    flags: Flags,
}

#[derive(Deserialize, Serialize)]
struct Page {
    lines: VecDeque<Raw>,
    last: u64,
    more: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    whole: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
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
    // All of it goes out as it comes in.
    let is_whole = output.is_json() && arguments.last.is_none();
    let most = if is_whole { 0 } else { arguments.last.unwrap_or(LINES) };
    let mut shown = VecDeque::new();
    let (mut after, mut total, mut broken) = (arguments.after, 0, None);
    loop {
        let query = query(&[
            ("after", Some(after.to_string())),
            ("limit", Some(PAGE.to_owned())),
            ("verify", Some("true".to_owned())),
        ]);
        let (page, bytes): (Page, _) = hub.read(&format!("/api/v1/audit{query}")).await?;
        if is_whole {
            json(&mut output, &bytes)?;
        }
        broken = broken.or(page.broken_at);
        total += page.lines.len();
        shown.extend(page.lines);
        shown.drain(..shown.len().saturating_sub(most));
        // A trail that grows while it is read has an end all the same.
        let is_end = !page.more || page.last == after;
        after = page.last;
        if is_end {
            break;
        }
    }
    if !output.is_json() {
        let newest = table(&hub, shown, &mut output).await?;
        if let (None, Some(Entry { seq, link, .. })) = (broken, newest) {
            note(&format!("{total} lines hang together; the hash of line {seq} is {link}"));
        }
    } else if !is_whole {
        let whole = Some(broken.is_none());
        let page = Page { lines: shown, last: after, more: false, whole, broken_at: broken };
        let page = serde_json::to_vec(&page).map_err(|error| Failure::internal(error.to_string()));
        json(&mut output, &page?)?;
    }
    match broken {
        None => Ok(()),
        Some(line) => Err(Failure::broken_trail(format!(
            "the audit trail does not hang together at line {line}"
        ))
        .hint("it was removed or changed, or the one before it: compare with a backup")),
    }
}

/// Shows lines as a table, and returns the newest.
async fn table(
    hub: &Hub,
    lines: VecDeque<Raw>,
    output: &mut Output,
) -> Result<Option<Entry>, Failure> {
    let mut names = Names::of(hub);
    let mut table = Table::new(["LINE", "WHEN", "WHO", "DID", "TO", "DETAIL"]);
    let mut newest = None;
    for entry in lines {
        let entry: Entry = parse(entry.as_str().as_bytes())?;
        let line = &entry.line;
        let by = match line.by.strip_prefix("agent:") {
            Some(id) => names.name(id).await,
            None => line.by.clone(),
        };
        let is_agent = line.action.starts_with("agent.") || line.action == "token.new";
        let to = if is_agent { names.name(&line.subject).await } else { line.subject.clone() };
        // Whoever needs parts of a second asks for JSON.
        let at = line.at.split_once('.').map(|(seconds, _)| format!("{seconds}Z"));
        let at = at.unwrap_or_else(|| line.at.clone());
        let (action, detail) = (line.action.clone(), line.detail.clone());
        table.row([entry.seq.to_string(), at, by, action, to, detail]);
        newest = Some(entry);
    }
    table.write(output)?;
    Ok(newest)
}

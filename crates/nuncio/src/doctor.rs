//! `nuncio doctor`: why an agent does not work, and what to do about it.
//!
//! The checks are in a table ([`check`]); each group has a file that tries them and writes what
//! it finds into a [`report`]. Nothing here decides by itself what a stranger's texts do to a
//! terminal: a report makes them inert as it takes them.

mod agreement;
mod card;
mod check;
mod conversation;
mod interface;
mod operations;
mod patient;
mod reach;
mod report;
mod streaming;
mod visit;
mod wire;
mod write;

use std::{process::ExitCode, sync::Arc, time::Duration};

use clap::{Args, ValueEnum};
use futures_util::future::join_all;
use http::HeaderName;
use nuncio_client::{
    Credentials, Origin,
    credentials::{ApiKey, Bearer, KeyPlace, Kind, required},
    discover::Source,
};
use nuncio_net::Secret;
use nuncio_protocol::card::AgentCard;

pub(crate) use self::visit::HouseDoctor;
use self::{
    patient::Patient,
    report::{Finding, Outcome, Report},
    wire::Wire,
};
use crate::{agent::in_directory, failure::Failure};

/// Which agent is examined, and how.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nuncio doctor https://agent.example
  nuncio doctor writer
  nuncio doctor localhost:8080 --read-only --format json")]
pub(crate) struct Arguments {
    /// Where the agent or its card is: a URL, a host, or its name in the hub's directory.
    #[arg(required_unless_present = "list")]
    agent: Option<String>,

    /// How the report is written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Call with this bearer token.
    #[arg(long, value_name = "TOKEN", env = "NUNCIO_BEARER", hide_env_values = true)]
    bearer: Option<String>,

    /// Call with this API key, where the card says that keys go.
    #[arg(long, value_name = "KEY", env = "NUNCIO_API_KEY", hide_env_values = true)]
    api_key: Option<String>,

    /// Whether the card's signature is looked at, and whether it must be there.
    #[arg(long, value_enum, default_value_t = Signatures::Prefer)]
    signatures: Signatures,

    /// How long each request may take, such as 10s, 500ms or 2m.
    #[arg(long, value_parser = duration, default_value = "10s")]
    timeout: Duration,

    /// Send no messages and change nothing.
    #[arg(long)]
    read_only: bool,

    /// List the checks instead of making them.
    #[arg(long)]
    list: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// One document.
    Json,
    /// For build servers.
    Junit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Signatures {
    /// They are not looked at.
    Off,
    /// A bad one is a failure, none is not.
    Prefer,
    /// None is a failure too.
    Require,
}

/// The agent was examined, and something is wrong.
const FAILED: u8 = 1;
const UNREACHABLE: u8 = 3;

#[expect(clippy::print_stdout, reason = "the report")]
pub(crate) async fn run(mut arguments: Arguments) -> Result<ExitCode, Failure> {
    if arguments.list {
        print!("{}", write::list(arguments.format == Format::Json));
        return Ok(ExitCode::SUCCESS);
    }
    let given = arguments.agent.as_deref().unwrap_or_default();
    let source = match in_directory(given)? {
        Some((source, key)) => {
            if arguments.api_key.is_none() {
                let key = || key.map(|key| key.expose().to_owned());
                arguments.bearer = arguments.bearer.or_else(key);
            }
            source
        }
        None => match Source::parse(given) {
            Ok(source) if source.as_url().is_some() => source,
            _ => {
                let what = "expected where an agent is: a URL, a host or a name";
                return Err(Failure::usage(what));
            }
        },
    };
    let asked = Asked {
        wire: Wire::new(arguments.timeout),
        source: &source,
        signatures: arguments.signatures,
        is_read_only: arguments.read_only,
        credentials: &|card| credentials(&arguments, &source, card),
    };
    let report = examine(asked).await.map_err(Failure::usage)?;
    let text = match arguments.format {
        Format::Text => write::text(&report),
        Format::Json => write::json(&report),
        Format::Junit => write::junit(&report),
    };
    let code = if report.is_unreachable {
        ExitCode::from(UNREACHABLE)
    } else if report.count(Outcome::Failure) > 0 {
        ExitCode::from(FAILED)
    } else {
        ExitCode::SUCCESS
    };
    // Dropped first, so that progress is gone when the report is there.
    drop(report);
    print!("{text}");
    Ok(code)
}

/// An examination that is to be made.
pub(crate) struct Asked<'a> {
    pub(crate) wire: Wire,
    pub(crate) source: &'a Source,
    pub(crate) signatures: Signatures,
    pub(crate) is_read_only: bool,
    /// Says what the agent is shown, once its card is known and before.
    pub(crate) credentials: &'a Presented<'a>,
}

/// What an agent is shown, as its card wants it.
pub(crate) type Presented<'a> =
    dyn Fn(Option<&AgentCard>) -> Result<Option<Arc<dyn Credentials>>, &'static str> + Sync + 'a;

/// Makes all checks. Fails if what was given cannot be used.
pub(crate) async fn examine(asked: Asked<'_>) -> Result<Report, &'static str> {
    let Asked { mut wire, source, signatures, is_read_only, credentials } = asked;
    let mut report = Report::new(&source.to_string(), wire.progress);
    wire.credentials = credentials(None)?;
    if !reach::check(&wire, source, &mut report).await {
        report.is_unreachable = true;
        report.skip_rest("nothing answered");
        report.sort();
        return Ok(report);
    }
    let seen = card::check(&wire, source, signatures, &mut report).await;
    let Some(seen) = seen else {
        report.skip_rest("there is no card");
        report.sort();
        return Ok(report);
    };
    wire.credentials = credentials(Some(&seen.found.card))?;
    card::check_security(&seen.found.card, wire.credentials.is_some(), &mut report);
    // All at once: the slowest decides how long it takes, and not the number of interfaces.
    let examined = join_all(seen.ways.interfaces.iter().map(|interface| {
        let patient = Patient::new(&wire, interface, &seen.found.card);
        Box::pin(examine_one(patient, is_read_only))
    }));
    let mut patients = Vec::new();
    for (patient, part) in examined.await {
        report.findings.extend(part);
        patients.extend(patient);
    }
    if is_read_only {
        report.skip_rest("--read-only: no message is sent");
    } else {
        report.about(None);
        agreement::check(&patients, &mut report).await;
    }
    report.skip_rest("no interface of the card could be examined");
    report.sort();
    Ok(report)
}

/// Examines one interface. Returns it if it answers, and what was found.
async fn examine_one(
    mut patient: Patient<'_>,
    read_only: bool,
) -> (Option<Patient<'_>>, Vec<Finding>) {
    let mut report = Report::new("", patient.wire.progress);
    report.about(Some(patient.name()));
    let answers = interface::check(&patient, &mut report).await;
    if answers && !read_only {
        conversation::check(&mut patient, &mut report).await;
        streaming::check(&patient, &mut report).await;
        operations::check(&patient, &mut report).await;
    }
    (answers.then_some(patient), std::mem::take(&mut report.findings))
}

/// Returns what the agent is shown. Where a key goes, its card says.
fn credentials(
    arguments: &Arguments,
    source: &Source,
    card: Option<&AgentCard>,
) -> Result<Option<Arc<dyn Credentials>>, &'static str> {
    const UNFIT: &str = "the credential has characters that cannot be sent";
    let Ok(origin) = Origin::parse(source.as_url().unwrap_or_default()) else { return Ok(None) };
    if let Some(token) = &arguments.bearer {
        let bearer = Bearer::new(origin, &Secret::new(token.clone())).map_err(|_| UNFIT)?;
        return Ok(Some(Arc::new(bearer)));
    }
    let Some(key) = &arguments.api_key else { return Ok(None) };
    let kinds = card.map(required).unwrap_or_default();
    let place = kinds.iter().flat_map(|one| &one.all_of).find_map(|kind| match kind {
        Kind::ApiKey { location, name } => Some(match location.as_str() {
            "query" => KeyPlace::Query(name.clone()),
            "cookie" => KeyPlace::Cookie(name.clone()),
            _ => KeyPlace::Header(HeaderName::try_from(name).ok()?),
        }),
        _ => None,
    });
    let place = place.unwrap_or(KeyPlace::Header(HeaderName::from_static("x-api-key")));
    let key = ApiKey::new(origin, place, &Secret::new(key.clone())).map_err(|_| UNFIT)?;
    Ok(Some(Arc::new(key)))
}

/// Reads `10s`, `500ms` or `2m`; a number alone is seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let expected = || "expected a time such as 10s, 500ms or 2m".to_owned();
    let digits = text.len() - text.trim_start_matches(|one: char| one.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| expected())?;
    let millis = match unit {
        "ms" => 1,
        "s" | "" => 1000,
        "m" => 60_000,
        _ => return Err(expected()),
    };
    let time = number.checked_mul(millis).filter(|time| (1..=3_600_000).contains(time));
    time.map(Duration::from_millis).ok_or_else(|| "expected 1ms to 60m".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, millis) in [("10s", 10_000), ("500ms", 500), ("2m", 120_000), ("3", 3_000)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "0s", "10h", "-1s", "1.5s", "61m", "99999999999999999999s"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}

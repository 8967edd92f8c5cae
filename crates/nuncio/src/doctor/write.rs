//! A report as text for people, JSON for programs, and `JUnit` for build servers.

use std::fmt::Write as _;

use nuncio_protocol::json::{Writer, write_with};

use super::{
    check::Check,
    report::{Finding, Outcome, Report},
};

/// Writes one line for each check, grouped, and the cause and fix of what is wrong.
pub(crate) fn text(report: &Report) -> String {
    let mut text = format!("{}\n", report.url);
    if let Some(agent) = &report.agent {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "{agent}");
    }
    let mut rest = &report.findings[..];
    while let Some(first) = rest.first() {
        let group = first.check.group();
        let end = rest.iter().position(|one| one.check.group() != group).unwrap_or(rest.len());
        let (findings, others) = rest.split_at(end);
        rest = others;
        let _ = writeln!(text, "\n{group}");
        let is_alike = |one: &Finding| one.outcome == Outcome::Skipped && one.what == first.what;
        if findings.iter().all(is_alike) {
            let _ = writeln!(text, "  {:<4}  {group}.*  {}", first.outcome, first.what);
        } else {
            lines(findings, report, &mut text);
        }
    }
    let _ = writeln!(
        text,
        "\n{} ok, {} warnings, {} failures, {} skipped",
        report.count(Outcome::Pass),
        report.count(Outcome::Warning),
        report.count(Outcome::Failure),
        report.count(Outcome::Skipped)
    );
    text
}

/// Writes what was found in one group: what is the same on several interfaces is one line.
fn lines(findings: &[Finding], report: &Report, text: &mut String) {
    let is_same = |one: &&Finding, other: &Finding| {
        (one.check, one.outcome, &one.what) == (other.check, other.outcome, &other.what)
    };
    for (index, finding) in findings.iter().enumerate() {
        if findings[..index].iter().any(|earlier| is_same(&earlier, finding)) {
            continue;
        }
        let same = findings.iter().filter(|other| is_same(other, finding));
        let subjects: Vec<&str> = same.filter_map(|one| one.subject.as_deref()).collect();
        let subject = match subjects.len() {
            0 => String::new(),
            count if count > 1 && count == report.interfaces() => "[all interfaces] ".to_owned(),
            _ => format!("[{}] ", subjects.join(", ")),
        };
        let (outcome, code, what) = (finding.outcome, finding.check.code(), &finding.what);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {outcome:<4}  {code}  {subject}{what}");
        if let (Some(cause), Some(fix)) = (finding.cause(), finding.fix()) {
            let _ = writeln!(text, "        cause: {cause}\n        fix: {fix}");
        }
    }
}

/// Writes one JSON document.
pub(crate) fn json(report: &Report) -> String {
    let mut text = write_with(|writer| {
        writer.object(|object| {
            object.member("url", &report.url);
            object.optional("agent", report.agent.as_ref());
            object.member("reachable", &!report.is_unreachable);
            object.with("checks", |writer| writer.array(&report.findings, finding));
            object.with("summary", |writer| summary(report, writer));
        });
    });
    text.push('\n');
    text
}

fn finding(writer: &mut Writer, finding: &Finding) {
    writer.object(|object| {
        object.member("code", finding.check.code());
        object.member("group", finding.check.group());
        object.optional("interface", finding.subject.as_ref());
        object.member("outcome", finding.outcome.as_str());
        object.member("message", &finding.what);
        object.optional("cause", finding.cause().map(str::to_owned).as_ref());
        object.optional("fix", finding.fix().map(str::to_owned).as_ref());
    });
}

fn summary(report: &Report, writer: &mut Writer) {
    let count = |outcome| i32::try_from(report.count(outcome)).unwrap_or(i32::MAX);
    writer.object(|object| {
        object.member("pass", &count(Outcome::Pass));
        object.member("warning", &count(Outcome::Warning));
        object.member("failure", &count(Outcome::Failure));
        object.member("skipped", &count(Outcome::Skipped));
    });
}

/// Writes one `testsuite`. Warnings are passed tests with what is wrong in their output.
pub(crate) fn junit(report: &Report) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        text,
        "<testsuite name=\"nuncio doctor {}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">",
        escaped(&report.url),
        report.findings.len(),
        report.count(Outcome::Failure),
        report.count(Outcome::Skipped)
    );
    for finding in &report.findings {
        let subject = finding.subject.as_ref().map(|subject| format!(" [{subject}]"));
        let name = format!("{}{}", finding.check.code(), subject.unwrap_or_default());
        let (class, name) = (finding.check.group(), escaped(&name));
        let _ = write!(text, "  <testcase classname=\"{class}\" name=\"{name}\"");
        let what = escaped(&finding.what);
        let more = format!(
            "cause: {}\nfix: {}",
            finding.cause().unwrap_or_default(),
            finding.fix().unwrap_or_default()
        );
        let more = escaped(&more);
        let _ = match finding.outcome {
            Outcome::Pass => writeln!(text, "/>"),
            Outcome::Skipped => writeln!(text, "><skipped message=\"{what}\"/></testcase>"),
            Outcome::Failure => {
                writeln!(text, "><failure message=\"{what}\">{more}</failure></testcase>")
            }
            Outcome::Warning => {
                writeln!(text, "><system-out>warning: {what}\n{more}</system-out></testcase>")
            }
        };
    }
    text.push_str("</testsuite>\n");
    text
}

/// Writes what can be checked, as text or JSON.
pub(crate) fn list(as_json: bool) -> String {
    if as_json {
        let mut text = write_with(|writer| {
            writer.array(Check::ALL, |writer, check| {
                writer.object(|object| {
                    object.member("code", check.code());
                    object.member("group", check.group());
                    object.member("tried", check.tried());
                    object.member("cause", check.cause());
                    object.member("fix", check.fix());
                });
            });
        });
        text.push('\n');
        return text;
    }
    let mut text = String::new();
    for check in Check::ALL {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}\t{}", check.code(), check.tried());
    }
    text
}

/// Escapes a text for XML. It is inert already, so there are no control characters in it.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            letter => escaped.push(letter),
        }
    }
    escaped
}

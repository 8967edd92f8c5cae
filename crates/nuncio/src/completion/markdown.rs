//! The command line as one page, `docs/reference/cli.md`.

use std::fmt::Write as _;

use clap::{Arg, Command, builder::StyledStr};

const HEAD: &str = "\
# Command line

Every command and every flag. `nuncio COMMAND --help` says the same; [exit codes and errors](errors.md#of-the-command-line) have a page of their own. Flags of client commands have a variable, `A2ACLI_<FLAG>`, too, except for `--stream`.

<!-- Printed by `nuncio man --markdown`; a test holds it to that. -->

| command | does |
|---|---|
";

/// Returns the page.
pub(super) fn page(mut command: Command) -> String {
    command.build();
    let mut all = Vec::new();
    collect(&command, "nuncio", &mut all);
    let mut page = HEAD.to_owned();
    for (name, one) in all.iter().filter(|(_, one)| is_real(one)) {
        let about = one.get_about().map(plain).unwrap_or_default();
        write(&mut page, format_args!("| [`{name}`](#{}) | {about} |\n", name.replace(' ', "-")));
    }
    page.push_str("\n## Flags that many commands have\n");
    for heading in headings(&all) {
        write(&mut page, format_args!("\n### {heading}\n\n"));
        table(&mut page, shared(&all, &heading).into_iter());
    }
    for (name, one) in all.iter().filter(|(_, one)| is_real(one)) {
        describe(&mut page, name, one);
    }
    page
}

/// Collects commands, each before those below it.
fn collect<'a>(command: &'a Command, name: &str, all: &mut Vec<(String, &'a Command)>) {
    all.push((name.to_owned(), command));
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        collect(below, &format!("{name} {}", below.get_name()), all);
    }
}

/// Whether there is something to say about it: a name for others says nothing itself, unless it
/// does something alone, as `nuncio agents` does.
fn is_real(command: &Command) -> bool {
    !command.is_subcommand_required_set()
}

fn describe(page: &mut String, name: &str, command: &Command) {
    let about =
        command.get_long_about().or_else(|| command.get_about()).map(plain).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").trim();
    write(page, format_args!("\n## {name}\n\n{about}\n\n```text\n{usage}\n```\n"));
    let positional = shown(command).filter(|arg| arg.is_positional());
    let flags = shown(command).filter(|arg| !arg.is_positional() && heading_of(arg).is_none());
    let mut own = positional.chain(flags).peekable();
    if own.peek().is_some() {
        page.push('\n');
        table(page, own);
    }
    let mut groups: Vec<&str> = Vec::new();
    for heading in shown(command).filter_map(heading_of) {
        if !groups.contains(&heading) {
            groups.push(heading);
        }
    }
    for heading in groups {
        let flags = shown(command).filter(|arg| heading_of(arg) == Some(heading));
        let names: Vec<String> = flags.map(|arg| format!("`{}`", name_of(arg))).collect();
        let anchor = heading.to_lowercase().replace(' ', "-");
        write(page, format_args!("\n[{heading}](#{anchor}): {}\n", names.join(", ")));
    }
    if let Some(after) = command.get_after_long_help().or_else(|| command.get_after_help()) {
        write(page, format_args!("\n```text\n{}\n```\n", after.to_string().trim_end()));
    }
}

/// Returns the headings of flags, in the order in which they are first met.
fn headings(all: &[(String, &Command)]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for heading in all.iter().flat_map(|(_, one)| shown(one)).filter_map(heading_of) {
        if !found.iter().any(|other| other == heading) {
            found.push(heading.to_owned());
        }
    }
    found
}

/// Returns the flags below a heading, each once.
fn shared<'a>(all: &[(String, &'a Command)], heading: &str) -> Vec<&'a Arg> {
    let mut flags: Vec<&Arg> = Vec::new();
    for arg in all.iter().flat_map(|(_, one)| shown(one)) {
        let is_new = !flags.iter().any(|other| row(other) == row(arg));
        if heading_of(arg) == Some(heading) && is_new {
            flags.push(arg);
        }
    }
    flags
}

/// Returns the heading of a flag. What has no name of its own belongs to its command, whatever
/// stood before it.
fn heading_of(arg: &Arg) -> Option<&str> {
    arg.get_help_heading().filter(|_| !arg.is_positional())
}

fn shown(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| !arg.is_hide_set() && arg.get_id() != "help")
}

fn table<'a>(page: &mut String, flags: impl Iterator<Item = &'a Arg>) {
    page.push_str("| | |\n|---|---|\n");
    for arg in flags {
        page.push_str(&row(arg));
    }
}

fn row(arg: &Arg) -> String {
    let mut meaning = arg.get_long_help().or_else(|| arg.get_help()).map(plain).unwrap_or_default();
    let mut add = |text: String| meaning.extend([" ".to_owned(), text]);
    if arg.get_action().takes_values() {
        let values = arg.get_possible_values();
        let values: Vec<String> = values
            .iter()
            .filter(|value| !value.is_hide_set())
            .map(|value| format!("`{}`", value.get_name()))
            .collect();
        if !values.is_empty() {
            add(format!("One of {}.", values.join(", ")));
        }
        let defaults: Vec<_> = arg.get_default_values().iter().map(|one| one.display()).collect();
        for default in defaults {
            add(format!("Default: `{default}`."));
        }
    }
    if let Some(variable) = arg.get_env() {
        add(format!("Variable: `{}`.", variable.display()));
    }
    if let Some(aliases) = arg.get_visible_aliases().filter(|aliases| !aliases.is_empty()) {
        let aliases: Vec<String> = aliases.iter().map(|alias| format!("`--{alias}`")).collect();
        add(format!("Also: {}.", aliases.join(", ")));
    }
    format!("| `{}` | {meaning} |\n", signature(arg).replace('|', "\\|"))
}

/// Returns how an argument is written, with its value.
fn signature(arg: &Arg) -> String {
    let values = arg.get_value_names().unwrap_or_default();
    let values: Vec<String> = values.iter().map(|name| format!("<{name}>")).collect();
    if arg.is_positional() {
        return values.join(" ");
    }
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let mut text: String = [short, long].into_iter().flatten().collect::<Vec<_>>().join(", ");
    if arg.get_action().takes_values() && !values.is_empty() {
        text.extend([" ", &values.join(" ")]);
    }
    text
}

fn name_of(arg: &Arg) -> String {
    match (arg.get_long(), arg.get_short()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some(short)) => format!("-{short}"),
        (None, None) => arg.get_id().to_string(),
    }
}

/// Makes one line of a text, that a table can hold, and that ends as a sentence does.
fn plain(text: &StyledStr) -> String {
    let text = text.to_string();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
    if line.is_empty() || line.ends_with(['.', '!', '?', ':']) { line } else { line + "." }
}

fn write(page: &mut String, text: std::fmt::Arguments<'_>) {
    page.write_fmt(text).expect("a text takes everything");
}

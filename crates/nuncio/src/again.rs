//! The exact command with which to go on, to be copied and pasted.

use std::fmt::Write as _;

use nuncio_protocol::ids::TaskId;

use crate::settings::Settings;

/// Returns the command that answers a task.
pub(crate) fn reply(settings: &Settings, task: &TaskId) -> String {
    format!("{} --task-id {} 'YOUR ANSWER'", start(settings, "send"), quote(task.as_str()))
}

/// Returns the command that follows a task, behind an event if its number is known.
pub(crate) fn subscribe(settings: &Settings, task: &TaskId, after: Option<u64>) -> String {
    let after = after.map(|seq| format!(" --after {seq}")).unwrap_or_default();
    format!("{} {}{after}", start(settings, "task subscribe"), quote(task.as_str()))
}

/// Returns the command that waits for a task.
pub(crate) fn wait(settings: &Settings, task: &TaskId) -> String {
    format!("{} --wait {}", start(settings, "task get"), quote(task.as_str()))
}

/// Returns the command that lists the tasks of the agent.
pub(crate) fn list(settings: &Settings) -> String {
    start(settings, "task list")
}

/// Begins a command with what was given on the command line. What is set elsewhere is set for
/// the next command, too; a secret is not repeated.
fn start(settings: &Settings, command: &str) -> String {
    let mut text = format!("nuncio {command}");
    let mut add = |flag: &str, value: &str| {
        text.extend([" ", flag, " ", value]);
    };
    if let Some(agent) = settings.given("agent-card") {
        add("-a", &quote(agent));
    }
    for (name, variable) in [("bearer", "TOKEN"), ("api-key", "KEY"), ("basic", "PASSWORD")] {
        if settings.given(name).is_some() {
            add(&format!("--{name}"), &format!("\"${variable}\""));
        }
    }
    for name in ["config", "transport", "a2a-version", "ca-cert", "signatures", "keys"] {
        if let Some(value) = settings.given(name) {
            add(&format!("--{name}"), &quote(value));
        }
    }
    if settings.given("insecure").is_some() {
        text.push_str(" --insecure");
    }
    if settings.given("output") == Some("json") {
        text.push_str(" -o json");
    }
    text
}

/// Writes a text so that a shell reads it as one word, and a terminal shows it as it is.
pub(crate) fn quote(text: &str) -> String {
    let is_plain = |letter: char| {
        letter.is_ascii_alphanumeric()
            || matches!(letter, '-' | '_' | '.' | '/' | ':' | '@' | '+' | ',')
    };
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    if !text.chars().any(char::is_control) {
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    // Identifiers are an agent's to choose, whatever it may think of us.
    let mut quoted = String::from("$'");
    for letter in text.chars() {
        match letter {
            '\'' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => {
                // Writing to a string cannot fail.
                let _ = write!(quoted, "\\u{:04x}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_word_is_one_word_to_a_shell() {
        let check = |text, expected| assert_eq!(quote(text), expected);
        check("http://127.0.0.1:7420", "http://127.0.0.1:7420");
        check("a b", "'a b'");
        check("it's; rm -rf $HOME", r"'it'\''s; rm -rf $HOME'");
        check("", "''");
        check("a\u{1b}'b", r"$'a\u001b\'b'");
    }
}

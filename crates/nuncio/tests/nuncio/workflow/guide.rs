//! The guide, played as it is written.

use std::{os::unix::fs::symlink, process::Command};

use super::{AGENTS, LINES, PUBLISH, SHOUT, Shop, came_of};

const GUIDE: &str = include_str!("../../../../../docs/guides/workflows.md");

/// Returns the blocks of a language, in their order.
fn blocks(language: &str) -> impl Iterator<Item = &'static str> {
    let start = format!("```{language}\n");
    GUIDE.split("```").enumerate().filter_map(move |(place, block)| {
        let block = block.strip_prefix(start.trim_start_matches('`'))?;
        (place % 2 == 1).then_some(block)
    })
}

/// Returns the commands, each with what it is said to print.
fn steps() -> Vec<(String, String)> {
    let mut steps: Vec<(String, String)> = Vec::new();
    for line in blocks("console").flat_map(str::lines) {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push((command.to_owned(), String::new())),
            (None, Some((_, printed))) => printed.extend([line, "\n"]),
            (None, None) => panic!("a session begins with a command: {line}"),
        }
    }
    steps
}

/// Returns the identifiers of a text, in their order.
fn ids(text: &str) -> Vec<&str> {
    let is_letter = |letter: char| letter.is_ascii_hexdigit() || letter == '-';
    let words = text.split(|letter| !is_letter(letter));
    words.filter(|word| word.len() == 36 && word.matches('-').count() == 4).collect()
}

/// Replaces what is different in every run: identifiers, times, and how long something took.
fn normal(text: &str) -> String {
    let mut text = ids(text).into_iter().fold(text.to_owned(), |text, id| text.replace(id, "ID"));
    for (what, name) in [
        (r"20\d\d-\d\d-\d\dT[0-9:.]+Z", "TIME"),
        (r"\b\d+[smh] ago\b|\bnow\b", "WHEN"),
        (r"\b\d+\.\d\b", "N"),
        ("  +", "  "),
    ] {
        text = regex::Regex::new(what).expect("a pattern").replace_all(&text, name).into_owned();
    }
    text
}

#[test]
fn the_guide_works_as_typed() {
    let shop = Shop::open();
    let tools = tempfile::tempdir().expect("a folder of its own");
    symlink(env!("CARGO_BIN_EXE_nuncio"), tools.path().join("nuncio")).expect("our own folder");
    let path = format!("{}:/usr/bin:/bin", tools.path().display());
    let mut known: Vec<(String, String)> = Vec::new();
    let steps = steps();
    assert!(steps.len() >= 12, "a guide shows something");
    for (typed, printed) in steps {
        let meant = known.iter().fold(typed.clone(), |text, (told, id)| text.replace(told, id));
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{meant} 2>&1")]).current_dir(shop.user.home());
        shell.env_clear().env("HOME", shop.user.home()).env("PATH", &path);
        let came = came_of(shell);
        assert_eq!(normal(&came.out), normal(&printed), "{typed}\n{}", came.out);
        for (told, id) in ids(&printed).into_iter().zip(ids(&came.out)) {
            known.push((told.to_owned(), id.to_owned()));
        }
    }
}

#[test]
fn the_files_of_the_guide_are_the_examples() {
    let files = [AGENTS, SHOUT, PUBLISH, LINES];
    for block in blocks("yaml") {
        assert!(files.iter().any(|file| file.contains(block)), "{block}");
    }
    assert!(blocks("yaml").count() >= 3);
    let shop = Shop::open();
    let words = ["workflow", "validate", "shout.yaml", "publish.yaml", "lines.yaml"];
    assert_eq!(shop.did(&words), "", "each is without errors and warnings");
}

//! Pages of the reference say what the program does.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use regex::Regex;

use crate::cli::support::User;

const PAGE: &str = include_str!("../../../../docs/reference/errors.md");
const COMMANDS: &str = include_str!("../../../../docs/reference/cli.md");

#[test]
fn the_page_of_the_command_line_is_what_the_program_prints() {
    let came = User::new().run(&["man", "--markdown"]);
    assert_eq!((came.code, &*came.err), (0, ""));
    let command = "cargo run -p nuncio -- man --markdown > docs/reference/cli.md";
    assert!(came.out == COMMANDS, "docs/reference/cli.md is not as it should be: {command}");
}

#[test]
fn the_version_says_what_the_program_is_made_of() {
    let version = User::new().run(&["--version"]).out;
    let (first, features) = version.split_once('\n').expect("two lines");
    let name = concat!("nuncio ", env!("CARGO_PKG_VERSION"), " (");
    assert!(first.starts_with(name) && first.ends_with(')'), "{version}");
    assert!(features.starts_with("features: ") && features.contains("postgres"), "{version}");
}

/// Returns the first cells of the rows of a section.
fn documented(section: &str) -> BTreeSet<String> {
    let (_, text) = PAGE.split_once(&format!("\n## {section}\n")).expect("the section");
    let rows = text.split("\n## ").next().expect("it ends").lines();
    let first = rows.filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    first.map(str::to_owned).collect()
}

/// Returns what stands in the sources of a crate, tests left out.
fn sources(folder: &str) -> Vec<String> {
    let mut left = vec![PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder)];
    let mut texts = Vec::new();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).expect("a folder").map(|entry| entry.unwrap().path()));
        } else if path.file_name() != Some("tests.rs".as_ref()) {
            let text = fs::read_to_string(Path::new(&path)).expect("a source");
            texts.push(text.split("#[cfg(test)]").next().unwrap_or_default().to_owned());
        }
    }
    texts
}

fn found(texts: &[String], pattern: &str) -> BTreeSet<String> {
    let pattern = Regex::new(pattern).expect("a pattern");
    let all = texts.iter().flat_map(|text| pattern.captures_iter(text));
    all.map(|found| found[1].to_owned()).collect()
}

#[test]
fn every_error_of_the_command_line_has_cause_and_remedy() {
    let codes = found(&sources("src"), r#""((?:A2ACLI|NUNCIO)_ERR_[A-Z_]*[A-Z])""#);
    assert_eq!(codes, documented("Of the command line"));
    assert!(codes.len() > 10, "{codes:?}");
}

#[test]
fn every_error_of_the_api_has_cause_and_remedy() {
    let http = sources("../hub/src/http");
    let mut codes = found(&http, r#"StatusCode::[A-Z_]+,\s*"([A-Z_]+)""#);
    codes.extend(found(&http, r#"\bcode: "([A-Z_]+)""#));
    codes.extend(found(&sources("../hub/src/http/problem.rs"), r#"=> "([A-Z_]+)""#));
    codes.extend(found(&sources("../hub/src/error.rs"), r#"=> "([A-Z_]+)""#));
    // The form of the opportunity agents has a page of its own, `docs/reference/facades.md`.
    codes.remove("INVALID_PROTOCOL_VERSION");
    assert_eq!(codes, documented("Of the hub's API"));
}

//! Where pages lead.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use regex::Regex;

use super::root;

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        }
    }
}

/// Returns the places of a page that a link can name.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let names = headings.map(|line| {
        let text = line.trim_start_matches('#').trim().to_lowercase();
        let kept =
            text.chars().filter(|one| one.is_alphanumeric() || matches!(one, ' ' | '-' | '_'));
        kept.map(|one| if one == ' ' { '-' } else { one }).collect()
    });
    names.collect()
}

#[test]
fn every_link_of_every_page_leads_somewhere() {
    let root = root();
    let mut all: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
            .map(|name| root.join(name))
            .to_vec();
    pages(&root.join("docs"), &mut all);
    let link = Regex::new(r"\]\(([^)\s]+)\)").expect("a pattern");
    let mut wrong = Vec::new();
    for page in all {
        let text = fs::read_to_string(&page).expect("a page");
        for found in link.captures_iter(&text) {
            let target = &found[1];
            if target.contains("://") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let folder = page.parent().expect("a folder");
            let path = if path.is_empty() { page.clone() } else { folder.join(path) };
            let has_anchor = || {
                let text = fs::read_to_string(&path).unwrap_or_default();
                anchor.is_empty() || anchors(&text).contains(anchor)
            };
            if !path.exists() || !has_anchor() {
                wrong.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

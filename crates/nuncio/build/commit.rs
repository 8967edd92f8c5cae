//! Which commit a program is made of.
//!
//! Development builds do not look: every commit would build the program again. Others read the
//! files of git, so that neither git nor a repository is needed, and no time or path gets in.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// So much of a commit's name tells it from all others.
const LENGTH: usize = 12;

/// Whether this is a program for others.
pub(crate) fn is_release() -> bool {
    env::var("PROFILE").is_ok_and(|profile| profile == "release")
}

/// Finds the commit: the one that the environment names, or that of the repository.
pub(crate) fn find(root: &Path) -> Option<String> {
    println!("cargo:rerun-if-env-changed=NUNCIO_COMMIT");
    let named = env::var("NUNCIO_COMMIT").ok().filter(|name| is_sane(name));
    named.or_else(|| if is_release() { of_repository(root) } else { None })
}

/// Keeps line ends and the like out of what Cargo is told.
fn is_sane(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
}

fn of_repository(root: &Path) -> Option<String> {
    let folder = git_folder(&root.join(".git"))?;
    let head = read(&folder.join("HEAD"))?;
    let Some(name) = head.strip_prefix("ref: ") else { return short(&head) };
    // A work tree has its own HEAD, and its branches where the repository is.
    let shared = read(&folder.join("commondir")).map(|path| folder.join(path));
    let places = [Some(folder), shared];
    let mut places = places.iter().flatten();
    places.find_map(|place| {
        let loose = read(&place.join(name)).and_then(|commit| short(&commit));
        loose.or_else(|| packed(&read(&place.join("packed-refs"))?, name))
    })
}

/// Finds the folder that git keeps things in; in a work tree a file says where it is.
fn git_folder(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return Some(path.to_owned());
    }
    let told = read(path)?;
    Some(path.parent()?.join(told.strip_prefix("gitdir: ")?))
}

/// Reads a file of one line or more, and has Cargo look here again when it changes.
fn read(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    println!("cargo:rerun-if-changed={}", path.display());
    Some(text.trim().to_owned())
}

fn packed(refs: &str, name: &str) -> Option<String> {
    let line = refs.lines().find(|line| line.split(' ').nth(1) == Some(name))?;
    short(line)
}

fn short(commit: &str) -> Option<String> {
    let short = commit.get(..LENGTH)?;
    short.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| short.to_owned())
}

//! `nuncio backup` and `nuncio restore`, from outside.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use nuncio_testkit::program::Program;

use crate::cli::support::User;

fn start(user: &User, folder: &Path) -> Program {
    let folder = folder.to_str().expect("text");
    Program::start(&mut user.command(&["up", "--port", "0", "--demo", "--data-dir", folder]))
}

#[test]
fn a_copy_of_a_running_hub_comes_back_elsewhere() {
    let user = User::new();
    let (old, new) = (user.home().join("old"), user.home().join("new"));
    let (copy, old_text) = (user.home().join("copy"), old.to_str().expect("text"));
    let hub = start(&user, &old);
    assert_eq!(user.run(&["send", "-a", "echo", "before"]).code, 0);
    let came = user.run(&["backup", "copy", "--data-dir", old_text]);
    assert_eq!((came.code, &*came.out), (0, "Backup: copy\n"), "{}", came.err);
    assert_eq!(user.run(&["send", "-a", "echo", "behind"]).code, 0);
    for entry in fs::read_dir(&copy).expect("a folder") {
        let path = entry.expect("a file").path();
        let mode = path.metadata().expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
    let refused = user.run(&["restore", "copy", "--data-dir", old_text, "--replace"]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("a hub uses"), "{}", refused.err);
    drop(hub);

    let refused = user.run(&["restore", "copy", "--data-dir", old_text]);
    assert!(refused.err.contains("--replace"), "{}", refused.err);
    let came = user.run(&["restore", "copy", "--data-dir", new.to_str().expect("text")]);
    assert_eq!(came.code, 0, "{}", came.err);
    for secret in ["admin.key", "pair.pem", "sealing.key"] {
        let read = |folder: &Path| fs::read(folder.join(secret)).expect("a secret");
        assert_eq!(read(&old), read(&new), "{secret}");
    }
    let _hub = start(&user, &new);
    let tasks = user.run(&["tasks", "-o", "json"]).out;
    assert!(tasks.contains("COMPLETED") && tasks.matches("\"id\"").count() == 1, "{tasks}");
}

#[test]
fn a_copy_that_is_spoilt_changes_nothing() {
    let user = User::new();
    let folder = user.home().join("hub");
    drop(start(&user, &folder));
    let place = ["--data-dir", folder.to_str().expect("text")];
    let run = |words: &[&str]| user.run(&[words, &place].concat());
    assert_eq!(run(&["backup", "copy"]).code, 0);
    let before = fs::read(folder.join("nuncio.db")).expect("a database");
    fs::write(user.home().join("copy/nuncio.db"), "no database at all").expect("our own");
    let came = run(&["restore", "copy", "--replace"]);
    assert_eq!(came.code, 1);
    assert!(came.err.contains("spoilt"), "{}", came.err);
    assert!(fs::read(folder.join("nuncio.db")).expect("a database") == before);
    fs::remove_file(user.home().join("copy/nuncio.db")).expect("our own");
    assert!(run(&["restore", "copy", "--replace"]).err.contains("no copy of `nuncio backup`"));
    let came = user.run(&["backup", "copy", "--data-dir", "nowhere"]);
    assert!(came.err.contains("nowhere is not there"), "{}", came.err);
}

//! Each injected fault is seen to bite, and only where it should.

use std::fs;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;

use nuncio_testkit::disk::Small;
use nuncio_testkit::faults::{Environment, Faults, Moment};
use nuncio_testkit::process::Process;

/// A program that carries out one system call for each line it is sent.
fn writer(file: &Path, environment: Environment) -> Process {
    let victim = env!("CARGO_BIN_EXE_testkit-victim");
    Process::spawn(victim, ["write".as_ref(), file.as_os_str()], environment)
}

/// Sends the calls one after the other and returns what came of each.
async fn run(writer: &mut Process, calls: &[&str]) -> Vec<String> {
    let mut answers = Vec::new();
    for call in calls {
        // The program may be dead already.
        let _ = writer.send(call).await;
        match writer.line().await {
            Some(line) if line == "open" => answers.extend(writer.line().await),
            Some(line) => answers.push(line),
            None => break,
        }
    }
    answers
}

/// Kills at the last of the calls and returns the file as it was left.
async fn killed_at_last(calls: &[&str], moment: Moment) -> String {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("file");
    let last = calls.len() as u64;
    let mut writer = writer(&file, Faults::under(directory.path()).kill_at(last, moment));
    let answers = run(&mut writer, calls).await;
    assert_eq!(answers, vec!["done"; calls.len() - 1], "{calls:?} {moment:?}");
    assert_eq!(writer.wait().await.signal(), Some(9), "{calls:?} {moment:?}");
    fs::read_to_string(file).expect("the file exists")
}

#[tokio::test]
async fn a_kill_leaves_none_half_or_all_of_the_call() {
    for (call, left) in [
        ("write bbbb", ["aaaa", "aaaabb", "aaaabbbb"]),
        ("write-vectored bbbb", ["aaaa", "aaaabb", "aaaabbbb"]),
        ("write-at-0 bbbb", ["aaaa", "bbaa", "bbbb"]),
        ("truncate", ["aaaa", "aaaa", ""]),
        ("sync", ["aaaa"; 3]),
        ("sync-data", ["aaaa"; 3]),
    ] {
        for (moment, left) in Moment::ALL.into_iter().zip(left) {
            assert_eq!(killed_at_last(&["write aaaa", call], moment).await, left, "{call}");
        }
    }
}

#[tokio::test]
async fn calls_of_all_kinds_are_counted_together() {
    let calls = ["write a", "sync", "write-vectored bb", "sync-data", "truncate", "write c"];
    for last in 1..=calls.len() {
        let left = killed_at_last(&calls[..last], Moment::Before).await;
        assert_eq!(left, ["", "a", "a", "abb", "abb", ""][last - 1]);
    }
}

#[tokio::test]
async fn files_elsewhere_are_neither_counted_nor_harmed() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for fault in [
        Faults::under(here.path()).kill_at(1, Moment::Before),
        Faults::under(here.path()).fsync_error_at(1),
        Faults::under(here.path()).disk_full_while("/"),
    ] {
        let mut writer = writer(&there.path().join("file"), fault);
        assert_eq!(run(&mut writer, &["write a", "sync"]).await, ["done", "done"]);
        writer.close_input();
        assert!(writer.wait().await.success());
    }
}

#[tokio::test]
async fn a_failed_sync_stays_failed() {
    let directory = tempfile::tempdir().unwrap();
    let faults = Faults::under(directory.path()).fsync_error_at(2);
    let mut writer = writer(&directory.path().join("file"), faults);
    let calls = ["write a", "sync", "write b", "sync-data", "sync", "write c"];
    let failed = std::io::Error::from_raw_os_error(5).kind().to_string();
    let expected = ["done", "done", "done", &failed, &failed, "done"];
    assert_eq!(run(&mut writer, &calls).await, expected);
}

#[tokio::test]
async fn a_disk_is_full_while_the_marker_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let marker = tempfile::NamedTempFile::new().unwrap();
    let faults = Faults::under(directory.path()).disk_full_while(marker.path());
    let file = directory.path().join("file");
    let mut writer = writer(&file, faults);
    let full = std::io::ErrorKind::StorageFull.to_string();
    let calls = ["write a", "write-vectored aa", "write-at-0 a", "sync"];
    assert_eq!(run(&mut writer, &calls).await, [&full, &full, &full, "done"]);
    drop(marker);
    assert_eq!(run(&mut writer, &calls[..1]).await, ["done"]);
    assert_eq!(fs::read_to_string(file).unwrap(), "a");
}

#[tokio::test]
async fn the_positioned_vectors_of_c_are_seen_too() {
    let directory = tempfile::tempdir().unwrap();
    let (source, program) = (directory.path().join("p.c"), directory.path().join("p"));
    let text = r#"
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <sys/uio.h>
        int main(int count, char **words) {
            struct iovec parts[] = {{"xaa", 3}, {"bby", 3}};
            return count == 2 && pwritev(open(words[1], O_WRONLY | O_CREAT, 0600), parts, 2, 1) == 6;
        }
    "#;
    fs::write(&source, text).unwrap();
    let compiled = Command::new("cc").arg(source).arg("-o").arg(&program).status().unwrap();
    assert!(compiled.success());
    let file = directory.path().join("file");
    let faults = Faults::under(directory.path()).kill_at(1, Moment::Torn);
    let mut process = Process::spawn(program, [&file], faults);
    assert_eq!(process.wait().await.signal(), Some(9));
    assert_eq!(fs::read(file).unwrap(), b"\0xaa");
}

#[test]
fn a_small_disk_is_soon_full_and_then_gone() {
    let Some(disk) = Small::new(64) else { return };
    let path = disk.path().to_owned();
    let mut file = fs::File::create(path.join("file")).unwrap();
    let most_of_it = vec![7; 60 * 1024];
    file.write_all(&most_of_it).unwrap();
    let error = file.write_all(&most_of_it).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    drop(disk);
    assert!(!path.exists());
}

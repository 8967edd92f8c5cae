//! Children that tests talk to, stop and kill.

use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use nuncio_testkit::process::Process;
use tokio::time::{sleep, timeout};

const NO_ENVIRONMENT: [(&str, &str); 0] = [];

fn echo() -> Process {
    Process::spawn(env!("CARGO_BIN_EXE_testkit-victim"), ["echo"], NO_ENVIRONMENT)
}

fn shell(script: &str) -> Process {
    Process::spawn("sh", ["-c", script], [("WORD", "a word")])
}

#[tokio::test]
async fn lines_go_in_and_come_out_in_order() {
    let mut process = echo();
    for line in ["one", "", "three and more"] {
        process.send(line).await.unwrap();
    }
    assert_eq!(process.line().await.as_deref(), Some("one"));
    assert_eq!(process.line().await.as_deref(), Some(""));
    assert_eq!(process.line().await.as_deref(), Some("three and more"));
    process.close_input();
    assert_eq!(process.line().await, None);
    assert!(process.wait().await.success());
    assert!(process.send("late").await.is_err());
}

#[tokio::test]
async fn lines_written_before_a_kill_can_be_read_after_it() {
    let mut process = shell("echo $WORD; echo other; echo done >&2; exec sleep 1000");
    // Until both lines lie in the pipe, which nobody need have read.
    while process.errors() != "done\n" {
        sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(process.kill9().await.signal(), Some(9));
    assert_eq!(process.line().await.as_deref(), Some("a word"));
    assert_eq!(process.line().await.as_deref(), Some("other"));
    assert_eq!(process.line().await, None);
}

#[tokio::test]
async fn a_stopped_process_says_nothing_until_resumed() {
    let mut process = echo();
    process.stop();
    process.send("hello").await.unwrap();
    assert!(timeout(Duration::from_millis(200), process.line()).await.is_err());
    process.resume();
    assert_eq!(process.line().await.as_deref(), Some("hello"));
}

#[tokio::test]
async fn terminate_asks_and_the_status_tells() {
    let mut process = shell("trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done");
    assert_eq!(process.line().await.as_deref(), Some("ready"));
    process.terminate();
    assert_eq!(process.wait().await.code(), Some(7));
    // Its id may belong to another by now.
    process.terminate();
}

#[tokio::test]
async fn a_dropped_process_dies_with_its_children() {
    let mut process = shell("sleep 1000 & echo $!; wait");
    let child = process.line().await.unwrap();
    let ids = [process.id().to_string(), child];
    drop(process);
    let gone = async {
        for id in ids {
            let path = format!("/proc/{id}/stat");
            while std::fs::read_to_string(&path).is_ok_and(|stat| !stat.contains(") Z ")) {
                sleep(Duration::from_millis(5)).await;
            }
        }
    };
    timeout(Duration::from_secs(30), gone).await.expect("both die");
}

//! Programs as agents.

use std::time::Duration;

use nuncio_protocol::{
    message::Message,
    state::TaskState,
    task::{StreamResponse, Task},
};
use nuncio_server::kinds::Command;

use super::desk::{Desk, text};

fn shell(script: &str) -> Desk {
    Desk::hire(Command::new("sh", ["-c", script]))
}

fn parts(task: &Task) -> Vec<&str> {
    let parts = task.artifacts.iter().flat_map(|artifact| &artifact.parts);
    parts.filter_map(|part| part.as_text()).collect()
}

#[tokio::test]
async fn what_a_program_says_at_once_is_one_part() {
    assert_eq!(parts(&shell("tr a-z A-Z").ask("hello").await), ["HELLO"]);
    assert!(shell("true").ask("hello").await.artifacts.is_empty());
}

#[tokio::test]
async fn a_program_that_works_is_seen_to_work() {
    let events = shell("cat").follow("hello").await;
    let states: Vec<TaskState> = events.iter().filter_map(StreamResponse::state).collect();
    assert_eq!(states, [TaskState::Submitted, TaskState::Working, TaskState::Completed]);
}

#[tokio::test]
async fn a_program_is_killed_with_all_that_it_has_started() {
    let desk = shell("sleep 1000 & echo $!; wait");
    let id = desk.begin(Message::user("go")).await;
    let child = loop {
        let said = text(&desk.look_at(&id).await);
        if said.ends_with('\n') {
            break said.trim().to_owned();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let is_running = || {
        let state = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        // What nobody waits for any more is as good as gone.
        !state.is_empty() && !state.contains(") Z ")
    };
    assert!(is_running());
    assert_eq!(desk.cancel(&id).await.status.state, TaskState::Canceled);
    while is_running() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

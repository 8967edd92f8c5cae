//! How much memory a small task takes once it has ended.
//!
//! The only test of its process, so that nobody else's memory is counted.
#![cfg(target_os = "linux")]

use nuncio_protocol::{
    ids::{ArtifactId, ContextId, TaskId},
    json::Shared,
    message::{Message, Part},
    state::TaskState,
    task::{Artifact, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatus},
    time::Timestamp,
};
use nuncio_tasks::{
    log::Batch,
    memory::MemoryStore,
    scope::{Name, Place},
    store::{Append, Appended, Create, Created, Head, LEASE, Lease, Store, Tenancy},
};

/// So many that what the process has anyway does not count.
const TASKS: usize = 20_000;

/// What one task may take, lists and indexes included.
const MOST_BYTES: usize = 1_500;

#[tokio::test]
async fn a_small_task_that_has_ended_takes_no_more_than_promised() {
    let store = MemoryStore::new();
    for _ in 0..TASKS / 100 {
        run(&store).await;
    }
    let before = resident();
    for _ in 0..TASKS {
        run(&store).await;
    }
    let bytes = (resident() - before) / TASKS;
    println!("{bytes} bytes a task");
    assert!(bytes <= MOST_BYTES, "{bytes} bytes a task, {MOST_BYTES} are allowed");
}

/// Asks something short and gets a short answer.
async fn run(store: &MemoryStore) {
    let now = Timestamp::from_millis(Timestamp::now().as_millis()).expect("now is a moment");
    let name = |text| Name::parse(text).expect("a short text is a name");
    let place = Place { tenant: name("acme"), agent: name("echo"), caller: name("user:ann") };
    let context = ContextId::generate();
    let status = TaskStatus::new(TaskState::Submitted, now);
    let mut task = Task::new(TaskId::generate(), context.clone(), status);
    task.history.push(Message::user("What is the capital of France?"));
    let batch = Batch::open(&task, context).expect("a task may begin so");
    let lease = Some(Lease { owner: name("one"), lasts: LEASE });
    let create = Create { lease, ..Create::new(place, batch) };
    let Ok(Created::New(head)) = store.create(create).await else { panic!("it is new") };

    let mut batch = follow(&head);
    batch.status(TaskState::Working, None, now).expect("legal");
    let head = write(store, &head, batch, Tenancy::Keep).await;

    let mut batch = follow(&head);
    let id = ArtifactId::generate();
    let artifact = StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
        task_id: head.id.clone(),
        context_id: head.context.clone(),
        artifact: Artifact::new(id, vec![Part::text("The capital of France is Paris.")]),
        append: false,
        last_chunk: true,
        metadata: None,
    });
    batch.output(Shared::new(artifact)).expect("legal");
    batch.status(TaskState::Completed, None, now).expect("legal");
    write(store, &head, batch, Tenancy::End).await;
}

fn follow(head: &Head) -> Batch {
    Batch::follow(head.id.clone(), head.context.clone(), head.state)
}

async fn write(store: &MemoryStore, head: &Head, batch: Batch, tenancy: Tenancy) -> Head {
    let append = Append { tenancy, ..Append::output(head.reference, head.epoch, batch) };
    match store.append(append).await.expect("it is written") {
        Appended::Done { head, .. } => head,
        Appended::Repeated { .. } => panic!("it has no key"),
    }
}

/// Returns how much memory the process has.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("there is a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")).expect("in kilobytes");
    kilobytes.trim().parse::<usize>().expect("a number") * 1024
}

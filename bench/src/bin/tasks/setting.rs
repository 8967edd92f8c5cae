//! Tasks to measure with.

use std::{fs, sync::Arc};

pub(crate) use nuncio_bench::figures::{say, spread};
use nuncio_protocol::{
    ids::{ArtifactId, ContextId, TaskId},
    message::{Message, Part},
    state::TaskState,
    task::{Artifact, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatus},
    time::Timestamp,
};
use nuncio_tasks::{
    log::{Batch, Folded, Seq},
    scope::{Name, Place},
    store::{Create, Created, Head, Lease, Store},
};

pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).expect("a short text is a name")
}

pub(crate) fn place() -> Place {
    Place { tenant: name("acme"), agent: name("echo"), caller: name("user:ann") }
}

/// A task as an echo leaves it: asked for, worked on, one result, completed.
pub(crate) fn finished() -> Create {
    let mut batch = opened();
    let now = Timestamp::now();
    batch.status(TaskState::Working, None, now).expect("a submitted task can be worked on");
    batch.output(chunk(&batch, "hello, world")).expect("work has results");
    batch.status(TaskState::Completed, None, now).expect("work can be completed");
    let folded = fold(&batch);
    Create { snapshot: Some(folded.snapshot()), lease: None, ..create(batch) }
}

/// A task that is being worked on.
pub(crate) fn running() -> Create {
    create(opened())
}

pub(crate) async fn put(store: &Arc<dyn Store>, create: Create) -> Head {
    match store.create(create).await.expect("the store takes tasks") {
        Created::New(head) => head,
        Created::Repeated(_) => unreachable!("there was no key"),
    }
}

/// A piece of a result.
pub(crate) fn chunk(batch: &Batch, text: &str) -> nuncio_protocol::json::Shared<StreamResponse> {
    let artifact_id = ArtifactId::parse("result").expect("a short text is an identifier");
    nuncio_protocol::json::Shared::new(StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
        task_id: batch.task().clone(),
        context_id: batch.context().clone(),
        artifact: Artifact::new(artifact_id, vec![Part::text(text)]),
        append: true,
        last_chunk: false,
        metadata: None,
    }))
}

fn opened() -> Batch {
    let (id, context) = (TaskId::generate(), ContextId::generate());
    let mut message = Message::user("say hello to the world");
    message.task_id = Some(id.clone());
    message.context_id = Some(context.clone());
    let mut task =
        Task::new(id, context.clone(), TaskStatus::new(TaskState::Submitted, Timestamp::now()));
    task.history.push(message);
    Batch::open(&task, context).expect("a task may begin as submitted")
}

fn create(batch: Batch) -> Create {
    let lease = Lease { owner: name("bench"), lasts: std::time::Duration::from_secs(3600) };
    Create { lease: Some(lease), ..Create::new(place(), batch) }
}

fn fold(batch: &Batch) -> Folded {
    let entries: Vec<_> = batch
        .records()
        .iter()
        .enumerate()
        .map(|(index, record)| nuncio_tasks::log::Entry {
            seq: Seq::START.plus(index + 1),
            record: record.clone(),
        })
        .collect();
    Folded::from_log(None, &entries).expect("a batch folds")
}

/// Resident memory of this process, in bytes.
pub(crate) fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("Linux tells");
    let kib = line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok());
    kib.expect("Linux tells in KiB") * 1024
}

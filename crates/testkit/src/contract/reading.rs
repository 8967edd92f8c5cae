//! Reading tasks and their logs.

use bytes::Bytes;
use nuncio_protocol::{message::Message, state::TaskState};
use nuncio_tasks::{
    log::{Batch, Folded, Kind, Seq, Snapshot},
    store::{Append, Create, Head, Limit, Mark, Store, TaskRef, Want},
};

use super::{
    Fixture,
    story::{
        ann, append, artifact, bob, cancel, end, folded, follow, input, log, moment, new, opening,
        owned, progress, signal, status, write,
    },
};

/// Whoever reads the task as of n and then the entries behind n has what everybody has.
pub async fn a_task_at_any_place_and_what_follows_is_the_task_now(fixture: Fixture) {
    let store = fixture.store();
    for snapshots in [Snapshots::None, Snapshots::Some, Snapshots::All] {
        let head = tell(store, snapshots).await;
        let now = folded(store, &head, Want::ALL).await;
        assert_eq!(now.seq, head.seq);
        let entries = log(store, head.reference).await;
        assert_eq!(Folded::from_log(None, &entries).expect("folded"), now);
        for place in 1..=entries.len() {
            let (before, after) = entries.split_at(place);
            let mut at = folded(store, &head, Want::at(Seq(place as u64))).await;
            assert_eq!(at, Folded::from_log(None, before).expect("folded"), "as of {place}");
            for entry in after {
                at.apply(&entry.record).expect("folded");
            }
            assert_eq!(at, now, "from {place} on");
        }
    }
}

/// Behind the end is now; before the start is nothing.
pub async fn a_place_outside_the_log_is_the_end_or_a_gap(fixture: Fixture) {
    let store = fixture.store();
    for snapshots in [Snapshots::None, Snapshots::All] {
        let head = tell(store, snapshots).await;
        let now = folded(store, &head, Want::ALL).await;
        assert_eq!(folded(store, &head, Want::at(head.seq.next())).await, now);
        assert_eq!(folded(store, &head, Want::at(Seq(u64::MAX))).await, now);
        let start = store.load(&(&ann()).into(), &head.id, Want::at(Seq::START)).await;
        let start = start.expect("the store answers").expect("the task is there");
        assert!(start.is_gap());
        assert_eq!(start.head, head);
    }
}

/// Nobody can tell whether the owner writes snapshots.
pub async fn snapshots_change_nothing_for_readers(fixture: Fixture) {
    let store = fixture.store();
    let mut head = new(store, owned(&ann())).await;
    let plain = folded(store, &head, Want::ALL).await;
    let snapshot = Some(plain.snapshot());
    head = write(store, Append { snapshot, ..append(&head, follow(&head)) }).await;
    assert_eq!(folded(store, &head, Want::ALL).await, plain);

    let mut bytes = head.bytes;
    let mut expected = plain;
    for text in ["one", "two", "three"] {
        let batch = progress(&head, text);
        bytes += batch.bytes() as u64;
        for record in batch.records() {
            expected.apply(record).expect("folded");
        }
        let snapshot = Some(expected.snapshot());
        head = write(store, Append { snapshot, ..append(&head, batch) }).await;
        assert_eq!(folded(store, &head, Want::ALL).await, expected);
    }
    let entries = log(store, head.reference).await;
    assert_eq!(entries.len(), 4, "snapshots are not in the log");
    assert_eq!(head.bytes, bytes, "snapshots are not counted");
}

/// Somebody else has written in between: the snapshot is of a task that never was.
pub async fn a_snapshot_of_another_place_is_not_kept(fixture: Fixture) {
    let store = fixture.store();
    let wrong = |seq| {
        let text = Bytes::from_static(b"not a task");
        Some(Snapshot { seq, task: text.clone(), history: text.clone(), artifacts: text })
    };
    for seq in [Seq(0), Seq(2), Seq(9)] {
        let head = new(store, Create { snapshot: wrong(seq), ..opening(&ann()) }).await;
        folded(store, &head, Want::ALL).await;
    }
    let head = new(store, owned(&ann())).await;
    let seen = folded(store, &head, Want::ALL).await;
    let head = write(store, signal(&head, cancel(&head))).await;
    for seq in [Seq(0), Seq(1), Seq(2), Seq(4), Seq(u64::MAX)] {
        let batch = follow(&head);
        let batch = if seq == Seq(2) { progress(&head, "on it") } else { batch };
        write(store, Append { snapshot: wrong(seq), ..append(&head, batch) }).await;
        let now = folded(store, &head, Want::ALL).await;
        assert_eq!(Folded::from_log(None, &log(store, head.reference).await), Ok(now));
    }
    assert_eq!(folded(store, &head, Want::at(Seq(1))).await, seen);
}

/// Readers who want less get less.
pub async fn parts_that_are_not_wanted_are_left_out(fixture: Fixture) {
    let store = fixture.store();
    for snapshots in [Snapshots::None, Snapshots::Some, Snapshots::All] {
        let head = tell(store, snapshots).await;
        for at in [None, Some(head.seq), Some(Seq(4))] {
            let whole = folded(store, &head, Want { at, history: true, artifacts: true }).await;
            assert!(!whole.task.history.is_empty() && !whole.task.artifacts.is_empty());
            for (history, artifacts) in [(true, false), (false, true), (false, false)] {
                let mut expected = whole.clone();
                if !history {
                    expected.task.history.clear();
                }
                if !artifacts {
                    expected.task.artifacts.clear();
                }
                let part = folded(store, &head, Want { at, history, artifacts }).await;
                assert_eq!(part, expected);
            }
        }
    }
}

/// Page by page from any place, without a gap or a repeat.
pub async fn a_tail_is_read_in_pages(fixture: Fixture) {
    let store = fixture.store();
    let head = tell(store, Snapshots::Some).await;
    let entries = log(store, head.reference).await;
    for size in [1, 2, 3, 100] {
        for start in 0..=entries.len() {
            let mut after = Seq(start as u64);
            for page in entries[start..].chunks(size) {
                let limit = Limit { entries: size, bytes: usize::MAX };
                let tail = store.tail(head.reference, after, limit).await.expect("read");
                assert_eq!(tail.entries, page);
                assert_eq!(tail.mark, Some(mark(&head)));
                after = page[page.len() - 1].seq;
            }
        }
    }
}

/// No further entry once the limit is reached; never none when there is one.
pub async fn a_tail_stops_at_its_bytes_but_has_one_entry(fixture: Fixture) {
    let store = fixture.store();
    let mut head = new(store, owned(&ann())).await;
    for length in [10, 20_000, 10, 10] {
        head = write(store, append(&head, progress(&head, &"x".repeat(length)))).await;
    }
    let entries = log(store, head.reference).await;
    for start in 0..entries.len() {
        let sizes: Vec<usize> = entries[start..].iter().map(|e| e.record.bytes()).collect();
        for bytes in [0, 1, sizes[0], sizes[0] + 1, 20_000, 40_000, usize::MAX] {
            let limit = Limit { entries: 100, bytes };
            let tail = store.tail(head.reference, Seq(start as u64), limit).await.expect("read");
            let mut total = 0;
            let fitting = sizes.iter().take_while(|&&size| {
                let wanted = total < bytes;
                total += size;
                wanted
            });
            let count = fitting.count().max(1);
            assert_eq!(tail.entries, entries[start..start + count], "{bytes} from {start}");
        }
    }
}

/// There is nothing yet, but the task is there.
pub async fn a_tail_behind_the_end_is_empty(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, owned(&ann())).await;
    for after in [Seq(1), Seq(2), Seq(u64::from(u32::MAX))] {
        let limit = Limit { entries: 10, bytes: 1_000 };
        let tail = store.tail(head.reference, after, limit).await.expect("read");
        assert!(tail.entries.is_empty());
        assert_eq!(tail.mark, Some(mark(&head)));
    }
}

/// Nor entries.
pub async fn the_tail_of_a_task_that_is_gone_has_no_mark(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, owned(&ann())).await;
    let limit = Limit { entries: 10, bytes: 1_000 };
    let gone = TaskRef(head.reference.0 + 1_000);
    let tail = store.tail(gone, Seq::START, limit).await.expect("read");
    assert!(tail.entries.is_empty());
    assert_eq!(tail.mark, None);
}

/// For many tasks at once, as of now; tasks that are gone are left out.
pub async fn marks_tell_how_far_tasks_are(fixture: Fixture) {
    let store = fixture.store();
    let first = new(store, opening(&ann())).await;
    let second = new(store, owned(&bob())).await;
    let second = end(store, &second, TaskState::Failed).await;
    let third = tell(store, Snapshots::All).await;
    let gone = TaskRef(third.reference.0 + 1_000);
    let asked = vec![third.reference, gone, first.reference, second.reference];
    let mut marks = store.marks(asked).await.expect("read");
    marks.sort_by_key(|mark| mark.task);
    let mut expected = [mark(&first), mark(&second), mark(&third)];
    expected.sort_by_key(|mark| mark.task);
    assert_eq!(marks, expected);
    assert_eq!(store.marks(Vec::new()).await.expect("read"), []);
}

fn mark(head: &Head) -> Mark {
    Mark { task: head.reference, seq: head.seq, state: head.state }
}

/// How often the owner writes a snapshot.
#[derive(Clone, Copy)]
enum Snapshots {
    None,
    Some,
    All,
}

/// A task that has everything: progress, chunks, a question, an answer, a wish to cancel. It
/// is still unfinished.
async fn tell(store: &dyn Store, snapshots: Snapshots) -> Head {
    let mut head = new(store, owned(&ann())).await;
    let mut folded = folded(store, &head, Want::ALL).await;
    let steps: [fn(&Head) -> Batch; 8] = [
        |head| progress(head, "on it"),
        |head| artifact(head, "a", "one "),
        |head| {
            let mut batch = artifact(head, "a", "two");
            let question = Some(Message::agent("which?"));
            batch.status(TaskState::InputRequired, question, moment(60)).expect("legal");
            batch
        },
        |head| input(head, "this"),
        |head| artifact(head, "b", "three"),
        cancel,
        |head| progress(head, "stopping"),
        |head| status(head, TaskState::Working),
    ];
    for (number, step) in steps.into_iter().enumerate() {
        let batch = step(&head);
        for record in batch.records() {
            folded.apply(record).expect("folded");
        }
        let keep = match snapshots {
            Snapshots::None => false,
            Snapshots::Some => number == 3,
            Snapshots::All => true,
        };
        let signals = batch.records().iter().all(|record| record.kind != Kind::Output);
        let append = if signals { signal(&head, batch) } else { append(&head, batch) };
        let snapshot = keep.then(|| folded.snapshot());
        head = write(store, Append { snapshot, ..append }).await;
    }
    head
}

//! What an agent keeps for itself.

use bytes::Bytes;
use nuncio_protocol::state::TaskState;
use nuncio_tasks::store::{Append, Appended, Create, Error, Head, MAX_NOTE_BYTES, Store};

use super::{
    Fixture,
    story::{
        Image, TERMINAL, ann, append, bob, end, exists, follow, input, key, log, new, next_epoch,
        opening, owned, progress, refused, reread, signal, status, write,
    },
};

/// Any bytes, none at all among them, and those of other tasks stay where they are.
pub async fn a_note_comes_back_byte_by_byte(fixture: Fixture) {
    let store = fixture.store();
    let all: Bytes = (0..=u8::MAX).collect();
    let largest = Bytes::from(vec![0xfe; MAX_NOTE_BYTES]);
    let mut noted = Vec::new();
    for note in [all, largest, Bytes::new()] {
        let opened = new(store, with_note(owned(&ann()), &note)).await;
        let later = new(store, owned(&bob())).await;
        write(store, Append { note: Some(note.clone()), ..append(&later, follow(&later)) }).await;
        noted.extend([(opened, note.clone()), (later, note)]);
    }
    let without = new(store, owned(&ann())).await;
    for (head, note) in noted {
        assert_eq!(note_of(store, &head).await, Some(note));
    }
    assert_eq!(note_of(store, &without).await, None);
}

/// A batch without one leaves it alone.
pub async fn the_newest_note_is_kept(fixture: Fixture) {
    let store = fixture.store();
    let mut head = new(store, with_note(owned(&ann()), "first")).await;
    for (batch, note, expected) in [
        (progress(&head, "on it"), None, "first"),
        (progress(&head, "still"), Some("second"), "second"),
        (follow(&head), None, "second"),
        (follow(&head), Some("third, which is longer"), "third, which is longer"),
        (follow(&head), Some("4"), "4"),
    ] {
        let note = note.map(Bytes::from);
        head = write(store, Append { note, ..append(&head, batch) }).await;
        assert_eq!(note_of(store, &head).await, Some(Bytes::from(expected)));
    }
}

/// No entry, no other time, no other epoch.
pub async fn a_note_alone_changes_nothing_else(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, owned(&ann())).await;
    let before = Image::of(store, &head).await;
    let note = Some(Bytes::from("alone"));
    let after = write(store, Append { note, ..append(&head, follow(&head)) }).await;
    assert_eq!(after, head);
    assert_eq!(Image::of(store, &head).await, before);
}

/// Neither by a former owner, nor by one who is wrong about the state, nor a second time.
pub async fn a_note_of_a_refused_batch_is_not_kept(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, with_note(owned(&ann()), "kept")).await;
    let message = Append { key: Some(key("m", 1)), ..signal(&head, input(&head, "more")) };
    let head = write(store, message.clone()).await;
    let note = Some(Bytes::from("refused"));

    let fenced = Append { epoch: Some(next_epoch(&head)), ..append(&head, follow(&head)) };
    let fenced = Append { note: note.clone(), ..fenced };
    assert!(matches!(refused(store, fenced).await, Error::Fenced { .. }));
    let asking = Head { state: TaskState::InputRequired, ..head.clone() };
    let wrong = Append { note: note.clone(), ..append(&asking, follow(&asking)) };
    assert!(matches!(refused(store, wrong).await, Error::StateChanged { .. }));
    let repeated = store.append(Append { note: note.clone(), ..message }).await.expect("answered");
    assert!(matches!(repeated, Appended::Repeated { .. }), "found {repeated:?}");
    let reused = Append { key: Some(key("m", 2)), ..signal(&head, input(&head, "else")) };
    assert!(matches!(refused(store, Append { note, ..reused }).await, Error::KeyReused));
    assert_eq!(note_of(store, &head).await, Some(Bytes::from("kept")));
}

/// Whatever else is wrong, and leaving nothing behind.
pub async fn a_note_that_is_too_large_is_refused_first(fixture: Fixture) {
    let store = fixture.store();
    let bytes = MAX_NOTE_BYTES + 1;
    let note = Bytes::from(vec![b'x'; bytes]);
    let head = new(store, Create { key: Some(key("used", 1)), ..owned(&ann()) }).await;
    for text in ["used", "unused"] {
        let create = Create { key: Some(key(text, 1)), ..with_note(opening(&ann()), &note) };
        let refused = store.create(create).await;
        check_too_large(refused.expect_err("it is too large"), bytes);
    }
    new(store, Create { key: Some(key("unused", 2)), ..opening(&ann()) }).await;

    let before = Image::of(store, &head).await;
    let too_large = |append| Append { note: Some(note.clone()), ..append };
    let right = append(&head, progress(&head, "on it"));
    let fenced = Append { epoch: Some(next_epoch(&head)), ..right.clone() };
    for wrong in [right, fenced] {
        check_too_large(refused(store, too_large(wrong)).await, bytes);
    }
    assert_eq!(Image::of(store, &head).await, before);
    assert_eq!(note_of(store, &head).await, None);
}

/// The end takes nothing from it, and its last owner may still change it.
pub async fn a_note_stays_when_the_task_ends(fixture: Fixture) {
    let store = fixture.store();
    for state in TERMINAL {
        let head = new(store, with_note(owned(&ann()), "before")).await;
        let quiet = end(store, &head, state).await;
        assert_eq!(note_of(store, &quiet).await, Some(Bytes::from("before")));
        let head = new(store, owned(&ann())).await;
        let note = Some(Bytes::from("with the end"));
        let head = write(store, Append { note, ..append(&head, status(&head, state)) }).await;
        assert_eq!(note_of(store, &head).await, Some(Bytes::from("with the end")));
        let note = Some(Bytes::from("behind the end"));
        let after = write(store, Append { note, ..append(&head, follow(&head)) }).await;
        assert_eq!((&after, reread(store, &head).await), (&head, head.clone()));
        assert_eq!(note_of(store, &head).await, Some(Bytes::from("behind the end")));
    }
}

/// It is written whole or not at all, and one that was written is not lost to an older one.
pub async fn notes_at_once_leave_the_one_that_came_last(fixture: Fixture) {
    let head = new(fixture.store(), owned(&ann())).await;
    let writers: Vec<_> = (0..40)
        .map(|number: u64| {
            let store = fixture.shared().clone();
            let note = Some(Bytes::copy_from_slice(&number.to_be_bytes()));
            let message = Append { note, ..signal(&head, input(&head, &number.to_string())) };
            tokio::spawn(async move { (write(&*store, message).await.seq, number) })
        })
        .collect();
    let mut written = Vec::new();
    for writer in writers {
        written.push(writer.await.expect("the writer is done"));
    }
    let (last, number) = written.into_iter().max().expect("there are some");
    assert_eq!(last, log(fixture.store(), head.reference).await.last().expect("an entry").seq);
    let expected = Bytes::copy_from_slice(&number.to_be_bytes());
    assert_eq!(note_of(fixture.store(), &head).await, Some(expected));
}

/// A task that was refused has none, and one that is not there neither.
pub async fn the_note_of_a_task_that_is_not_there_is_none(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, with_note(owned(&ann()), "noted")).await;
    let late = Create { most_unfinished: 1, ..with_note(opening(&ann()), "late") };
    let id = late.batch.task().clone();
    assert!(matches!(store.create(late).await, Err(Error::TooMany { .. })));
    assert!(!exists(store, &Head { id, ..head.clone() }).await);
    let gone = Head { reference: nuncio_tasks::store::TaskRef(1 << 40), ..head };
    assert_eq!(note_of(store, &gone).await, None);
}

fn with_note(create: Create, note: impl AsRef<[u8]>) -> Create {
    Create { note: Some(Bytes::copy_from_slice(note.as_ref())), ..create }
}

async fn note_of(store: &dyn Store, head: &Head) -> Option<Bytes> {
    store.note(head.reference).await.expect("the store answers")
}

#[track_caller]
fn check_too_large(error: Error, expected: usize) {
    match error {
        Error::NoteTooLarge { bytes } => assert_eq!(bytes, expected),
        other => panic!("expected a note that is too large, found {other:?}"),
    }
}

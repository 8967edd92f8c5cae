//! Opening tasks and writing behind their logs.

use std::sync::Arc;

use nuncio_protocol::{
    ids::{ContextId, TaskId},
    message::Message,
    state::TaskState,
    task::{Task, TaskStatus},
    time::Timestamp,
};
use nuncio_tasks::{
    log::{Kind, Seq},
    scope::Place,
    store::{Append, Appended, Create, Created, Epoch, Error, TaskRef, Tenancy, Want, order},
};

use super::{
    Fixture,
    story::{
        Image, TERMINAL, UNFINISHED, acme, ann, append, artifact, bob, cancel, chunk, context, end,
        ended, folded, follow, input, lease, log, moment, new, next_epoch, opening, opening_as,
        opening_in, opening_of, owned, place, progress, refused, reread, signal, status, status_at,
        write,
    },
};

/// Head, log and fold say what the opening said.
pub async fn a_new_task_reads_back_as_it_was_opened(fixture: Fixture) {
    let store = fixture.store();
    let create = opening(&ann());
    let batch = create.batch.clone();
    let head = new(store, create).await;
    assert_eq!((&head.id, &head.context), (batch.task(), batch.context()));
    assert_eq!(head.place, ann());
    assert_eq!((head.state, head.seq), (TaskState::Submitted, Seq(1)));
    assert_eq!(head.updated, moment(0));
    assert_eq!(head.bytes, batch.bytes() as u64);
    assert_eq!((head.epoch, head.owned), (Epoch(0), false));
    assert_eq!(reread(store, &head).await, head);

    let entries = log(store, head.reference).await;
    assert_eq!(entries.len(), 1);
    assert_eq!((entries[0].seq, &entries[0].record), (Seq(1), &batch.records()[0]));

    let folded = folded(store, &head, Want::ALL).await;
    assert_eq!(folded.seq, Seq(1));
    assert_eq!(folded.task.id, head.id);
    assert_eq!(folded.task.history[0].text(), "hello");
}

/// An agent may ask, or be done, at once.
pub async fn a_task_may_be_opened_in_any_state(fixture: Fixture) {
    let store = fixture.store();
    for state in UNFINISHED.into_iter().chain(TERMINAL) {
        let head = new(store, opening_as(&ann(), state, moment(0))).await;
        assert_eq!(reread(store, &head).await.state, state);
    }
}

/// The log so far goes in with the task.
pub async fn a_task_is_opened_with_a_whole_batch(fixture: Fixture) {
    let store = fixture.store();
    let mut create = opening(&ann());
    create.batch.status(TaskState::Working, None, moment(1)).expect("legal");
    create.batch.status(TaskState::Completed, None, moment(2)).expect("legal");
    let bytes = create.batch.bytes() as u64;
    let head = new(store, Create { lease: Some(lease("one")), ..create }).await;
    assert_eq!((head.state, head.seq), (TaskState::Completed, Seq(3)));
    assert_eq!((head.updated, head.bytes), (moment(2), bytes));
    assert!(!head.owned, "a lease ends with the task");
    assert_eq!(log(store, head.reference).await.len(), 3);
}

/// Identifiers are made by servers, so a second one is somebody's mistake.
pub async fn an_identifier_is_unique_within_its_tenant(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, opening(&ann())).await;
    let before = Image::of(store, &head).await;
    let context = ContextId::generate();
    let again =
        Task::new(head.id.clone(), context.clone(), TaskStatus::new(TaskState::Working, moment(1)));
    match store.create(opening_of(&bob(), &again, context)).await {
        Err(Error::Exists(id)) => assert_eq!(id, head.id),
        other => panic!("expected that the task exists, found {other:?}"),
    }
    assert_eq!(Image::of(store, &head).await, before);
}

/// Every batch goes behind the last one, and the head counts all bytes.
pub async fn a_log_is_numbered_from_one_without_a_gap(fixture: Fixture) {
    let store = fixture.store();
    let mut head = new(store, owned(&ann())).await;
    let mut bytes = head.bytes;
    for round in 0..10 {
        let mut batch = progress(&head, &format!("round {round}"));
        for part in 0..round % 4 {
            batch.output(chunk(&head, "a", &format!("{round}.{part} "))).expect("legal");
        }
        bytes += batch.bytes() as u64;
        let expected = head.seq.plus(batch.records().len());
        head = write(store, append(&head, batch)).await;
        assert_eq!((head.seq, head.bytes), (expected, bytes));
        assert_eq!(reread(store, &head).await, head);
    }
    let seqs: Vec<u64> = log(store, head.reference).await.iter().map(|entry| entry.seq.0).collect();
    assert_eq!(seqs, (1..=head.seq.0).collect::<Vec<_>>());
}

/// Kind, event and message of every entry are what was written, whatever the text.
pub async fn texts_come_back_byte_by_byte(fixture: Fixture) {
    let store = fixture.store();
    let mut head = new(store, owned(&ann())).await;
    let mut written = Vec::new();
    for text in
        ["", "plain", "null \0 in it", "\"quoted\" \\ \n", "żółć 漢字 🦦", &"x".repeat(100_000)]
    {
        for batch in [progress(&head, text), artifact(&head, "a", text), input(&head, text)] {
            written.extend(batch.records().iter().cloned());
            head = write(store, append(&head, batch)).await;
        }
    }
    let read: Vec<_> = log(store, head.reference).await.into_iter().map(|e| e.record).collect();
    assert_eq!(read[1..], written);
    assert_eq!(read[3].kind, Kind::Input);
}

/// Readers who look while batches of three are written never see one or two of them.
pub async fn a_batch_is_seen_whole_or_not_at_all(fixture: Fixture) {
    let store = Arc::clone(fixture.shared());
    let mut head = new(&*store, owned(&ann())).await;
    let task = head.reference;
    let writer = tokio::spawn(async move {
        for _ in 0..50 {
            let mut batch = progress(&head, "one");
            batch.output(chunk(&head, "a", "two")).expect("legal");
            batch.output(chunk(&head, "a", "three")).expect("legal");
            head = write(&*store, append(&head, batch)).await;
        }
    });
    let store = fixture.store();
    loop {
        let entries = log(store, task).await;
        let mark = store.marks(vec![task]).await.expect("the store answers")[0];
        assert_eq!(entries.len() % 3, 1, "a part of a batch was seen");
        assert_eq!(mark.seq.0 % 3, 1, "a part of a batch was seen");
        assert!(mark.seq.0 >= entries.len() as u64, "the mark is behind what was read before");
        if entries.len() == 151 {
            break;
        }
        tokio::task::yield_now().await;
    }
    writer.await.expect("the writer is done");
}

/// Anybody may signal at any time; nobody's signal is lost or doubled.
pub async fn signals_at_once_get_places_without_a_gap(fixture: Fixture) {
    let head = new(fixture.store(), owned(&ann())).await;
    let writers: Vec<_> = (0..40)
        .map(|_| {
            let (store, head) = (Arc::clone(fixture.shared()), head.clone());
            tokio::spawn(async move { write(&*store, signal(&head, cancel(&head))).await.seq.0 })
        })
        .collect();
    let mut seqs = Vec::new();
    for writer in writers {
        seqs.push(writer.await.expect("the writer is done"));
    }
    seqs.sort_unstable();
    assert_eq!(seqs, (2..=41).collect::<Vec<_>>());
    assert_eq!(log(fixture.store(), head.reference).await.len(), 41);
}

/// Of many writers who saw the same state, one changes it.
pub async fn outputs_at_once_are_one_winner_and_a_changed_state(fixture: Fixture) {
    let head = new(fixture.store(), owned(&ann())).await;
    let writers: Vec<_> = (0..20)
        .map(|number| {
            let (store, head) = (Arc::clone(fixture.shared()), head.clone());
            let batch = status(&head, TERMINAL[number % 4]);
            tokio::spawn(async move { store.append(append(&head, batch)).await })
        })
        .collect();
    let mut winners = 0;
    for writer in writers {
        match writer.await.expect("the writer is done") {
            Ok(Appended::Done { .. }) => winners += 1,
            Err(Error::StateChanged { .. }) => {}
            other => panic!("expected a changed state, found {other:?}"),
        }
    }
    assert_eq!(winners, 1);
    assert_eq!(reread(fixture.store(), &head).await.seq, Seq(2));
}

/// Whoever writes with another epoch is not the owner.
pub async fn a_wrong_epoch_is_fenced_and_changes_nothing(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, owned(&ann())).await;
    let before = Image::of(store, &head).await;
    for wrong in [Epoch(0), next_epoch(&head)] {
        let mut batch = progress(&head, "late");
        batch.output(chunk(&head, "a", "later")).expect("legal");
        batch.status(TaskState::Completed, None, moment(9)).expect("legal");
        let late = Append { epoch: Some(wrong), tenancy: Tenancy::End, ..append(&head, batch) };
        match refused(store, late).await {
            Error::Fenced { held, current } => assert_eq!((held, current), (wrong, head.epoch)),
            other => panic!("expected a fence, found {other:?}"),
        }
        assert_eq!(Image::of(store, &head).await, before);
    }
}

/// A batch for another state changes nothing, also when the writer is the owner.
pub async fn another_state_is_refused_and_changes_nothing(fixture: Fixture) {
    let store = fixture.store();
    for found in UNFINISHED {
        let head = new(store, opening_as(&ann(), found, moment(0))).await;
        let before = Image::of(store, &head).await;
        for expected in UNFINISHED.into_iter().filter(|&expected| expected != found) {
            let mut other = head.clone();
            other.state = expected;
            let batch = status(&other, TaskState::Completed);
            match refused(store, append(&head, batch)).await {
                Error::StateChanged { expected: told, found: is } => {
                    assert_eq!((told, is), (expected, found));
                }
                other => panic!("expected a changed state, found {other:?}"),
            }
            assert_eq!(Image::of(store, &head).await, before);
        }
    }
}

/// An owner who was replaced learns that, whatever the new one has done since.
pub async fn the_epoch_is_compared_before_the_state(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, owned(&ann())).await;
    let late =
        Append { epoch: Some(Epoch(7)), ..append(&head, status(&head, TaskState::Completed)) };
    end(store, &head, TaskState::Failed).await;
    assert!(matches!(refused(store, late).await, Error::Fenced { .. }));
}

/// The state that ends a task is its last.
pub async fn nothing_follows_the_end(fixture: Fixture) {
    let store = fixture.store();
    for state in TERMINAL {
        let working = new(store, owned(&ann())).await;
        let head = end(store, &working, state).await;
        let before = Image::of(store, &head).await;
        let late = [
            append(&working, progress(&working, "late")),
            append(&working, artifact(&working, "a", "late")),
            append(&working, status(&working, TaskState::Completed)),
            signal(&working, cancel(&working)),
            signal(&working, input(&working, "late")),
        ];
        for late in late {
            match refused(store, late).await {
                Error::StateChanged { found, .. } => assert_eq!(found, state),
                other => panic!("expected a changed state, found {other:?}"),
            }
        }
        let take = Append { tenancy: Tenancy::Take(lease("two")), ..signal(&head, follow(&head)) };
        store.append(take).await.expect("an empty batch fits every state");
        assert_eq!(Image::of(store, &head).await, before);
    }
}

/// Anybody may say something or ask for an end, with or without an owner.
pub async fn signals_need_no_epoch_in_any_unfinished_state(fixture: Fixture) {
    let store = fixture.store();
    for state in UNFINISHED {
        for owner in [None, Some(lease("one"))] {
            let opening = opening_as(&ann(), state, moment(0));
            let head = new(store, Create { lease: owner, ..opening }).await;
            let head = write(store, signal(&head, cancel(&head))).await;
            assert_eq!((head.state, head.seq), (state, Seq(2)));
            let head = write(store, signal(&head, input(&head, "more"))).await;
            assert_eq!(head.seq, Seq(3));
            let kinds: Vec<Kind> =
                log(store, head.reference).await.iter().map(|entry| entry.record.kind).collect();
            assert_eq!(kinds, [Kind::Opened, Kind::Cancel, Kind::Input]);
        }
    }
}

/// The question stays in the history, and the answer comes behind it.
pub async fn an_input_makes_a_waiting_task_work_again(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, owned(&ann())).await;
    let mut batch = follow(&head);
    let question = Some(Message::agent("which?"));
    batch.status(TaskState::InputRequired, question, moment(1)).expect("legal");
    let head = write(store, append(&head, batch)).await;
    let head = write(store, signal(&head, input(&head, "that"))).await;
    assert_eq!(head.state, TaskState::Working);
    let folded = folded(store, &head, Want::ALL).await;
    let said: Vec<String> = folded.task.history.iter().map(Message::text).collect();
    assert_eq!(said, ["hello", "which?", "that"]);
}

/// An empty batch is for what stands beside the log.
pub async fn an_empty_batch_writes_no_entry(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, opening(&ann())).await;
    let take = Append { tenancy: Tenancy::Take(lease("one")), ..signal(&head, follow(&head)) };
    let taken = write(store, take).await;
    assert_eq!((taken.seq, taken.state, taken.updated), (head.seq, head.state, head.updated));
    assert_eq!((taken.epoch, taken.owned), (Epoch(1), true));
    assert_eq!(log(store, head.reference).await.len(), 1);
}

/// Also when the agent's clock goes back; an artifact has no time.
pub async fn the_time_is_that_of_the_newest_status(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, owned(&ann())).await;
    let head = write(store, append(&head, status_at(&head, TaskState::Working, moment(50)))).await;
    assert_eq!(head.updated, moment(50));
    let head = write(store, append(&head, artifact(&head, "a", "text"))).await;
    assert_eq!(head.updated, moment(50));
    let earlier = Timestamp::from_parts(1_780_000_020, 123_456_789).expect("on the calendar");
    let head = write(store, append(&head, status_at(&head, TaskState::Working, earlier))).await;
    assert_eq!(order(head.updated), order(earlier));
    assert_eq!(order(reread(store, &head).await.updated), order(earlier));
}

/// A handle of nothing finds nothing.
pub async fn a_task_that_is_not_there_is_gone(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, owned(&ann())).await;
    let gone = TaskRef(head.reference.0 + 1_000);
    let append = Append { task: gone, ..append(&head, progress(&head, "hello?")) };
    assert!(matches!(refused(store, append).await, Error::Gone));
    let found = store.find(&acme(), &TaskId::generate()).await.expect("the store answers");
    assert_eq!(found, None);
    let loaded = store.load(&acme(), &TaskId::generate(), Want::ALL).await;
    assert!(loaded.expect("the store answers").is_none());
}

/// Nobody can join a conversation of somebody else by naming it.
pub async fn a_context_belongs_to_one_caller(fixture: Fixture) {
    let store = fixture.store();
    let open = |place, given| {
        let opening = opening_in(&place, context("chat"), TaskState::Submitted, moment(0));
        Create { context_is_given: given, ..opening }
    };
    new(store, open(ann(), true)).await;
    new(store, open(ann(), true)).await;
    new(store, open(place("acme", "other", "user:ann"), true)).await;
    for foreign in [bob(), place("acme", "other", "user:bob")] {
        match store.create(open(foreign, true)).await {
            Err(Error::ForeignContext) => {}
            other => panic!("expected a foreign context, found {other:?}"),
        }
    }
    // Another tenant's equal name is another conversation.
    new(store, open(place("evil", "echo", "user:bob"), true)).await;

    let ended = ended(store, &ann(), TaskState::Completed).await;
    let theirs = opening_in(&bob(), ended.context, TaskState::Submitted, moment(0));
    let created = store.create(Create { context_is_given: true, ..theirs }).await;
    assert!(matches!(created, Err(Error::ForeignContext)), "the end gives nothing away");
}

/// Two callers who choose the same new conversation at once do not both get it.
pub async fn a_context_opened_by_two_at_once_is_given_to_one(fixture: Fixture) {
    for round in 0..10 {
        let openers: Vec<_> = (0..8)
            .map(|number| {
                let place = if number % 2 == 0 { ann() } else { bob() };
                let context = context(&format!("chat {round}"));
                let opening = opening_in(&place, context, TaskState::Working, moment(0));
                let store = Arc::clone(fixture.shared());
                tokio::spawn(async move {
                    store.create(Create { context_is_given: true, ..opening }).await
                })
            })
            .collect();
        let mut callers = Vec::new();
        for opener in openers {
            match opener.await.expect("the opener is done") {
                Ok(Created::New(head)) => callers.push(head.place.caller),
                Err(Error::ForeignContext) => {}
                other => panic!("expected a foreign context, found {other:?}"),
            }
        }
        assert_eq!(callers.len(), 4, "one of the callers gets the conversation, four times");
        callers.dedup();
        assert_eq!(callers.len(), 1);
    }
}

/// The limit counts what is unfinished, of the caller, in the tenant, for all agents.
pub async fn unfinished_tasks_are_limited_for_each_caller(fixture: Fixture) {
    let store = fixture.store();
    let other_agent = place("acme", "other", "user:ann");
    let limited = |place: &Place| Create { most_unfinished: 2, ..owned(place) };
    let first = new(store, limited(&ann())).await;
    let second = new(store, limited(&other_agent)).await;
    for place in [ann(), other_agent] {
        match store.create(limited(&place)).await {
            Err(Error::TooMany { what, limit }) => {
                assert_eq!((what, limit), ("unfinished tasks", 2));
            }
            other => panic!("expected too many, found {other:?}"),
        }
    }
    // Neither others nor what ends at once are in the way.
    new(store, limited(&bob())).await;
    new(store, limited(&place("evil", "echo", "user:ann"))).await;
    let done = opening_as(&ann(), TaskState::Completed, moment(0));
    new(store, Create { most_unfinished: 2, ..done }).await;

    let waiting = write(store, append(&first, status(&first, TaskState::InputRequired))).await;
    assert!(store.create(limited(&ann())).await.is_err(), "a waiting task is unfinished");
    end(store, &waiting, TaskState::Canceled).await;
    new(store, limited(&ann())).await;
    end(store, &second, TaskState::Failed).await;
    new(store, limited(&ann())).await;
    assert!(store.create(limited(&ann())).await.is_err());
}

//! What is removed, and what never is.

use std::time::Duration;

use nuncio_protocol::{
    ids::TaskId,
    state::TaskState,
    task::{Task, TaskStatus},
};
use nuncio_tasks::{
    log::Seq,
    scope::Place,
    store::{
        Append, Appended, Create, Created, Error, Filter, Head, Keep, Limit, Page, Progress,
        Retention, Store, Swept, Want,
    },
};

use super::{
    Fixture,
    parents::child_of,
    story::{
        Image, LONG, SHORT, TERMINAL, UNFINISHED, acme, ann, append, artifact, bob, end, ended,
        eventually, exists, folded, follow, input, key, lease, log, moment, new, opening,
        opening_as, opening_of, owned, place, progress, refused, reread, signal, status, status_at,
        webhook, webhook_id, write,
    },
};

/// Each state has its own rule, and the time counts from the end.
pub async fn tasks_are_removed_by_age(fixture: Fixture) {
    let store = fixture.store();
    let mut heads = Vec::new();
    for state in TERMINAL {
        heads.push(ended(store, &ann(), state).await);
    }
    let [completed, failed, canceled, rejected] = &heads[..] else { panic!("there are four") };
    let rules = [
        (TaskState::Completed, older_than(Duration::ZERO)),
        (TaskState::Failed, older_than(LONG)),
        (TaskState::Canceled, Keep { age: None, count: None }),
    ];
    assert_eq!(sweep(store, &rules).await, 1);
    assert!(!exists(store, completed).await);
    for stays in [failed, canceled, rejected] {
        assert!(exists(store, stays).await, "{:?}", stays.state);
    }
    let rules = [(TaskState::Failed, older_than(SHORT))];
    eventually("the failed task is old enough", async || {
        (sweep(store, &rules).await == 1).then_some(())
    })
    .await;
    assert!(!exists(store, failed).await);
    assert!(exists(store, canceled).await && exists(store, rejected).await);
}

/// The newest stay.
pub async fn tasks_are_kept_by_count_for_each_state_and_tenant(fixture: Fixture) {
    let store = fixture.store();
    let evil = place("evil", "echo", "user:ann");
    let other_agent = place("acme", "other", "user:bob");
    let mut heads = Vec::new();
    for place in [&ann(), &other_agent, &ann(), &bob(), &other_agent] {
        heads.push(ended(store, place, TaskState::Completed).await);
    }
    let mut theirs = Vec::new();
    for _ in 0..3 {
        theirs.push(ended(store, &evil, TaskState::Completed).await);
    }
    let failed = ended(store, &ann(), TaskState::Failed).await;
    // The oldest by the time of its status is the one that ended last.
    let last = new(store, owned(&ann())).await;
    let last =
        write(store, append(&last, status_at(&last, TaskState::Completed, moment(-1_000)))).await;

    assert_eq!(sweep(store, &[(TaskState::Completed, newest(2))]).await, 5);
    for (number, head) in heads.iter().enumerate() {
        assert_eq!(exists(store, head).await, number == 4, "{number}");
    }
    for (number, head) in theirs.iter().enumerate() {
        assert_eq!(exists(store, head).await, number > 0, "{number}");
    }
    assert!(exists(store, &failed).await && exists(store, &last).await);
    assert_eq!(sweep(store, &[(TaskState::Completed, newest(2))]).await, 0);
    assert_eq!(sweep(store, &[(TaskState::Completed, newest(0))]).await, 4);
    assert!(exists(store, &failed).await);

    // Either reason is enough.
    let both = Keep { age: Some(LONG), count: Some(0) };
    assert_eq!(sweep(store, &[(TaskState::Failed, both)]).await, 1);
}

/// For ever is the default.
pub async fn no_rule_removes_nothing(fixture: Fixture) {
    let store = fixture.store();
    let mut images = Vec::new();
    for state in TERMINAL {
        let head = ended(store, &ann(), state).await;
        images.push((Image::of(store, &head).await, head));
    }
    let swept = store.sweep(&retention(&[]), 100).await.expect("swept");
    assert_eq!(swept, Swept::default());
    for (image, head) in images {
        assert_eq!(Image::of(store, &head).await, image);
    }
}

/// Not even by a rule for its state.
pub async fn a_live_task_is_never_removed(fixture: Fixture) {
    let store = fixture.store();
    let mut images = Vec::new();
    for state in UNFINISHED {
        for owner in [None, Some(lease("one"))] {
            let opening = opening_as(&ann(), state, moment(-1_000_000));
            let head = new(store, Create { lease: owner, ..opening }).await;
            images.push((Image::of(store, &head).await, head));
        }
    }
    let everything = Keep { age: Some(Duration::ZERO), count: Some(0) };
    let retention = Retention {
        tasks: TaskState::ALL.iter().map(|&state| (state, everything)).collect(),
        logs: Some(Duration::ZERO),
        keys: Some(Duration::ZERO),
        dead_letters: Some(Duration::ZERO),
    };
    assert_eq!(store.sweep(&retention, 100).await.expect("swept"), Swept::default());
    for (image, head) in images {
        assert_eq!(Image::of(store, &head).await, image);
    }
}

/// The rest goes the next time.
pub async fn a_sweep_removes_no_more_than_asked_for(fixture: Fixture) {
    let store = fixture.store();
    for _ in 0..5 {
        ended(store, &ann(), TaskState::Completed).await;
    }
    let retention = retention(&[(TaskState::Completed, older_than(Duration::ZERO))]);
    for expected in [2, 2, 1, 0] {
        let swept = store.sweep(&retention, 2).await.expect("swept");
        assert_eq!(swept, Swept { tasks: expected, ..Swept::default() });
    }
}

/// The key still tells that the request was heard.
pub async fn all_that_belongs_to_a_task_goes_with_it_but_its_key(fixture: Fixture) {
    let store = fixture.store();
    let parent = TaskId::generate();
    let create = || Create {
        key: Some(key("task", 1)),
        webhooks: vec![webhook("a"), webhook("b")],
        note: Some("noted".into()),
        parent: Some(parent.clone()),
        ..owned(&ann())
    };
    let head = new(store, create()).await;
    let child = new(store, child_of(owned(&ann()), &head.id)).await;
    let message =
        |head: &Head| Append { key: Some(key("message", 1)), ..signal(head, input(head, "more")) };
    let head = write(store, message(&head)).await;
    let claimed = store.claim_deliveries(lease("sender"), 100).await.expect("claimed");
    let dead = Progress::Dead { error: "no".to_owned() };
    assert!(store.settle(&claimed[0], dead).await.expect("settled"));
    let letter = store.dead_letters(&acme(), 10).await.expect("read").remove(0);
    let head = end(store, &head, TaskState::Completed).await;
    let bystander = new(store, owned(&ann())).await;

    assert_eq!(sweep(store, &[(TaskState::Completed, older_than(Duration::ZERO))]).await, 1);
    assert!(!exists(store, &head).await);
    let loaded = store.load(&acme(), &head.id, Want::ALL).await.expect("the store answers");
    assert!(loaded.is_none());
    let limit = Limit { entries: 10, bytes: 1_000 };
    let tail = store.tail(head.reference, Seq::START, limit).await.expect("read");
    assert!(tail.entries.is_empty() && tail.mark.is_none());
    assert_eq!(store.marks(vec![head.reference]).await.expect("read"), []);
    let page = Page { after: None, size: 10, history: false, artifacts: false };
    let filter = Filter { context: Some(head.context.clone()), ..Filter::default() };
    assert_eq!(store.list(&acme(), filter, page.clone()).await.expect("listed").total, 0);
    assert_eq!(store.list(&acme(), Filter::default(), page).await.expect("listed").total, 2);
    assert_eq!(store.note(head.reference).await.expect("read"), None);
    assert_eq!(store.parent(head.reference).await.expect("read"), None);
    assert_eq!(store.children(&acme(), &parent, 10).await.expect("read"), []);
    let orphans = store.children(&acme(), &head.id, 10).await.expect("read");
    assert_eq!(orphans, std::slice::from_ref(&child), "it was opened for what is gone");
    assert_eq!(store.parent(child.reference).await.expect("read").as_ref(), Some(&head.id));

    let late = append(&bystander, progress(&bystander, "late"));
    let late = Append { task: head.reference, ..late };
    assert!(matches!(refused(store, late).await, Error::Gone));
    let put = store.put_webhook(head.reference, webhook("c"), 10).await;
    assert!(matches!(put, Err(Error::Gone)));
    assert!(store.webhooks(head.reference).await.expect("read").is_empty());
    store.delete_webhook(head.reference, &webhook_id("b")).await.expect("nothing to delete");
    assert!(!store.settle(&claimed[1], Progress::Sent).await.expect("answered"));
    assert!(store.dead_letters(&acme(), 10).await.expect("read").is_empty());
    assert!(!store.resend(&acme(), letter.id).await.expect("answered"));
    assert!(store.claim_deliveries(lease("sender"), 100).await.expect("claimed").is_empty());

    let status = TaskStatus::new(TaskState::Working, moment(0));
    let namesake = Task::new(head.id.clone(), head.context.clone(), status);
    let namesake = new(store, opening_of(&bob(), &namesake, head.context.clone())).await;
    assert_ne!(namesake.reference, head.reference, "handles are never used again");
    assert!(store.webhooks(namesake.reference).await.expect("read").is_empty());
    assert_eq!(store.note(namesake.reference).await.expect("read"), None);
    assert_eq!(store.parent(namesake.reference).await.expect("read"), None);

    match store.create(create()).await.expect("answered") {
        Created::Repeated(None) => {}
        other => panic!("expected a repeated request for what is gone, found {other:?}"),
    }
    let mut other = create();
    other.key = Some(key("task", 2));
    assert!(matches!(store.create(other).await, Err(Error::KeyReused)));
    match store.append(message(&bystander)).await.expect("answered") {
        Appended::Repeated { task, seq } => {
            assert_eq!((task, seq), (head.id, Seq(2)));
        }
        other @ Appended::Done { .. } => {
            panic!("expected a repeated message, found {other:?}")
        }
    }
}

/// The task is as it was; what led to it can no longer be read.
pub async fn logs_are_removed_beyond_the_snapshot(fixture: Fixture) {
    let store = fixture.store();
    let live = new(store, owned(&ann())).await;
    let head = end_with_snapshot(store, &ann()).await;
    let before = folded(store, &head, Want::ALL).await;
    let rule = Retention { logs: Some(Duration::ZERO), ..retention(&[]) };
    let swept = store.sweep(&rule, 100).await.expect("swept");
    assert_eq!(swept, Swept { logs: 1, ..Swept::default() });
    assert_eq!(store.sweep(&rule, 100).await.expect("swept"), Swept::default());

    assert_eq!(reread(store, &head).await, head);
    assert_eq!(folded(store, &head, Want::ALL).await, before);
    assert_eq!(folded(store, &head, Want::at(head.seq)).await, before);
    let parts = folded(store, &head, Want { at: None, history: false, artifacts: true }).await;
    assert!(parts.task.history.is_empty());
    assert_eq!(parts.task.artifacts, before.task.artifacts);
    for seq in 1..head.seq.0 {
        let loaded = store.load(&acme(), &head.id, Want::at(Seq(seq))).await;
        let loaded = loaded.expect("the store answers").expect("the task is there");
        assert!(loaded.is_gap(), "as of {seq}");
        assert_eq!(loaded.head, head);
    }
    let limit = Limit { entries: 10, bytes: 1_000 };
    let tail = store.tail(head.reference, Seq(1), limit).await.expect("read");
    assert!(tail.entries.is_empty());
    assert_eq!(tail.mark.map(|mark| mark.seq), Some(head.seq));
    let page = Page { after: None, size: 10, history: true, artifacts: true };
    let listed = store.list(&acme(), Filter::default(), page).await.expect("listed");
    let listed = listed.tasks.iter().find(|task| task.head.id == head.id);
    assert_eq!(listed.expect("the task is listed").fold().expect("folded"), before);
    assert_eq!(log(store, live.reference).await.len(), 1, "a live task keeps its log");

    // What is removed altogether is not in the way of what ends later.
    assert_eq!(sweep(store, &[(TaskState::Completed, newest(0))]).await, 1);
    let later = end_with_snapshot(store, &ann()).await;
    assert_eq!(store.sweep(&rule, 100).await.expect("swept").logs, 1);
    assert!(log(store, later.reference).await.is_empty());
}

/// Every event is delivered, or is a dead letter.
pub async fn a_log_stays_while_a_webhook_needs_it(fixture: Fixture) {
    let store = fixture.store();
    let head = end_with_snapshot(store, &ann()).await;
    let other = end_with_snapshot(store, &ann()).await;
    let hooked = new(store, Create { webhooks: vec![webhook("a")], ..owned(&ann()) }).await;
    let mut whole = folded(store, &hooked, Want::ALL).await;
    let batch = status(&hooked, TaskState::Completed);
    whole.apply(&batch.records()[0]).expect("folded");
    let last = Append { snapshot: Some(whole.snapshot()), ..append(&hooked, batch) };
    let hooked = write(store, last).await;

    let rule = Retention { logs: Some(Duration::ZERO), ..retention(&[]) };
    assert_eq!(store.sweep(&rule, 100).await.expect("swept").logs, 2);
    assert!(log(store, head.reference).await.is_empty());
    assert!(log(store, other.reference).await.is_empty());
    assert_eq!(log(store, hooked.reference).await.len(), 2);

    let mut claimed = store.claim_deliveries(lease("sender"), 100).await.expect("claimed");
    let mut delivery = claimed.remove(0);
    for _ in 0..2 {
        assert_eq!(store.sweep(&rule, 100).await.expect("swept").logs, 0);
        assert!(store.settle(&delivery, Progress::Sent).await.expect("settled"));
        delivery.seq = delivery.seq.next();
    }
    assert_eq!(store.sweep(&rule, 100).await.expect("swept").logs, 1);
    assert!(log(store, hooked.reference).await.is_empty());
}

/// An hour is not over yet.
pub async fn logs_keys_and_letters_stay_for_their_time(fixture: Fixture) {
    let store = fixture.store();
    let head = end_with_snapshot(store, &ann()).await;
    dead_letter(store).await;
    new(store, Create { key: Some(key("k", 1)), ..opening(&ann()) }).await;
    let rule = Retention {
        logs: Some(LONG),
        keys: Some(LONG),
        dead_letters: Some(LONG),
        ..retention(&[])
    };
    assert_eq!(store.sweep(&rule, 100).await.expect("swept"), Swept::default());
    assert_eq!(log(store, head.reference).await.len() as u64, head.seq.0);
    assert_eq!(store.dead_letters(&acme(), 10).await.expect("read").len(), 1);
    let again = store.create(Create { key: Some(key("k", 1)), ..opening(&ann()) }).await;
    assert!(matches!(again, Ok(Created::Repeated(Some(_)))));
}

/// Afterwards the same request is a new one.
pub async fn keys_are_removed_by_age(fixture: Fixture) {
    let store = fixture.store();
    let keyed = |text| Create { key: Some(key(text, 1)), ..opening(&ann()) };
    let mut heads = Vec::new();
    for text in ["a", "b", "gone", "c"] {
        heads.push(new(store, keyed(text)).await);
    }
    let forget = |head: &Head| Append { forget_key: true, ..append(head, follow(head)) };
    write(store, forget(&heads[2])).await;
    let rule = Retention { keys: Some(Duration::ZERO), ..retention(&[]) };
    for expected in [2, 1, 0] {
        let swept = store.sweep(&rule, 2).await.expect("swept");
        assert_eq!(swept, Swept { keys: expected, ..Swept::default() });
    }
    let again = new(store, keyed("a")).await;
    // Its key is no longer that of the task which it opened first.
    write(store, forget(&heads[0])).await;
    match store.create(keyed("a")).await.expect("answered") {
        Created::Repeated(Some(head)) => assert_eq!(head, again),
        other => panic!("expected a repeated request, found {other:?}"),
    }
}

/// Afterwards nobody can send them again.
pub async fn letters_are_removed_by_age(fixture: Fixture) {
    let store = fixture.store();
    for _ in 0..3 {
        dead_letter(store).await;
    }
    let letters = store.dead_letters(&acme(), 10).await.expect("read");
    assert!(store.resend(&acme(), letters[0].id).await.expect("answered"));
    let rule = Retention { dead_letters: Some(Duration::ZERO), ..retention(&[]) };
    for expected in [2, 1, 0] {
        let swept = store.sweep(&rule, 2).await.expect("swept");
        assert_eq!(swept, Swept { dead_letters: expected, ..Swept::default() });
    }
    assert!(store.dead_letters(&acme(), 10).await.expect("read").is_empty());
    assert!(store.claim_deliveries(lease("sender"), 10).await.expect("claimed").is_empty());
    assert!(!store.resend(&acme(), letters[0].id).await.expect("answered"));
}

fn older_than(age: Duration) -> Keep {
    Keep { age: Some(age), count: None }
}

fn newest(count: u64) -> Keep {
    Keep { age: None, count: Some(count) }
}

fn retention(tasks: &[(TaskState, Keep)]) -> Retention {
    Retention { tasks: tasks.iter().copied().collect(), ..Retention::default() }
}

async fn sweep(store: &dyn Store, rules: &[(TaskState, Keep)]) -> usize {
    let swept = store.sweep(&retention(rules), 100).await.expect("swept");
    assert_eq!(swept, Swept { tasks: swept.tasks, ..Swept::default() });
    swept.tasks
}

/// A task that has ended, with a snapshot of its end.
async fn end_with_snapshot(store: &dyn Store, place: &Place) -> Head {
    let head = new(store, owned(place)).await;
    let head = write(store, append(&head, progress(&head, "on it"))).await;
    let head = write(store, append(&head, artifact(&head, "a", "result"))).await;
    let mut whole = folded(store, &head, Want::ALL).await;
    let batch = status(&head, TaskState::Completed);
    whole.apply(&batch.records()[0]).expect("folded");
    write(store, Append { snapshot: Some(whole.snapshot()), ..append(&head, batch) }).await
}

/// A live task whose first event could not be sent.
async fn dead_letter(store: &dyn Store) {
    new(store, Create { webhooks: vec![webhook("a")], ..owned(&ann()) }).await;
    let claimed = store.claim_deliveries(lease("sender"), 10).await.expect("claimed");
    let dead = Progress::Dead { error: "no".to_owned() };
    assert!(store.settle(&claimed[0], dead).await.expect("settled"));
}

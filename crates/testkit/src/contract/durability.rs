//! What a store remembers after it was closed.
//!
//! Stores that forget everything, and so cannot be opened again, pass these checks as they
//! are. A store that only one process can have may take all leases for over when it is opened.

use std::time::Duration;

use nuncio_protocol::{ids::TaskId, state::TaskState};
use nuncio_tasks::{
    log::Seq,
    store::{
        Append, Claim, Create, Created, Epoch, Error, Filter, Page, Progress, Reason, Tenancy,
        Wake, Want,
    },
};

use super::{
    Fixture,
    story::{
        Image, LONG, acme, ann, append, artifact, bob, claim, context, end, eventually, folded,
        follow, input, key, lease, moment, new, opening_in, owned, progress, refused, reread,
        short_lease, signal, status, tenure, webhook, write,
    },
};

/// Tasks, logs, snapshots, keys, webhooks, notes, parents and lists.
pub async fn everything_is_there_after_opening_again(mut fixture: Fixture) {
    let store = fixture.store();
    let keyed = || Create {
        key: Some(key("task", 1)),
        webhooks: vec![webhook("a")],
        note: Some("noted".into()),
        parent: Some(TaskId::parse("root").expect("an identifier")),
        ..opening_in(&ann(), context("chat"), TaskState::Working, moment(0))
    };
    let live = new(store, keyed()).await;
    let live = write(store, append(&live, progress(&live, "on it"))).await;
    let message = Append { key: Some(key("message", 1)), ..signal(&live, input(&live, "more")) };
    let live = write(store, message).await;
    let whole = folded(store, &live, Want::ALL).await;
    let snapshot = Some(whole.snapshot());
    let live = write(store, Append { snapshot, ..append(&live, follow(&live)) }).await;
    let done = new(store, owned(&bob())).await;
    let done = write(store, append(&done, artifact(&done, "a", "result"))).await;
    let done = end(store, &done, TaskState::Completed).await;
    let images = [
        Image::of(store, &live).await.without_lease(),
        Image::of(store, &done).await.without_lease(),
    ];
    if !fixture.reopen().await {
        return;
    }

    let store = fixture.store();
    for (image, head) in images.into_iter().zip([&live, &done]) {
        assert_eq!(Image::of(store, head).await.without_lease(), image);
    }
    let note = store.note(live.reference).await.expect("read");
    assert_eq!(note.as_deref(), Some(&b"noted"[..]));
    let parent = store.parent(live.reference).await.expect("read").expect("there is one");
    let children = store.children(&acme(), &parent, 10).await.expect("read");
    assert_eq!((parent.as_str(), &children[..]), ("root", &[reread(store, &live).await][..]));
    match store.create(keyed()).await.expect("answered") {
        Created::Repeated(Some(head)) => assert_eq!(head.id, live.id),
        other => panic!("expected a repeated request, found {other:?}"),
    }
    let reused = Append { key: Some(key("message", 2)), ..signal(&live, input(&live, "else")) };
    assert!(matches!(refused(store, reused).await, Error::KeyReused));
    let page = Page { after: None, size: 10, history: true, artifacts: true };
    for (filter, total) in [
        (Filter::default(), 2),
        (Filter { context: Some(context("chat")), ..Filter::default() }, 1),
        (Filter { states: vec![TaskState::Completed], ..Filter::default() }, 1),
    ] {
        let listed = store.list(&acme(), filter, page.clone()).await.expect("listed");
        assert_eq!((listed.total, listed.tasks.len() as u64), (total, total));
    }
    let fresh = new(store, owned(&ann())).await;
    assert!(fresh.reference != live.reference && fresh.reference != done.reference);
    write(store, signal(&live, input(&live, "still here"))).await;
}

/// Nobody writes with an epoch from before, and nobody's work is forgotten.
pub async fn leases_and_epochs_outlive_the_store(mut fixture: Fixture) {
    let store = fixture.store();
    let abandoned = new(store, Create { lease: Some(short_lease("one")), ..owned(&ann()) }).await;
    let brief = Claim { lease: short_lease("two"), ..claim("two") };
    let once = eventually("the lease is over", async || {
        store.claim(brief.clone()).await.expect("claimed").pop()
    })
    .await;
    assert_eq!(once.reason, Reason::Abandoned { times: 1 });
    let released = new(store, owned(&ann())).await;
    store.release(vec![tenure(&released)]).await.expect("released");
    let ask = |head| Append { tenancy: Tenancy::End, ..append(head, status(head, ASKING)) };
    let sleeping = new(store, owned(&ann())).await;
    let soon = Append { wake: Wake::After(Duration::ZERO), ..ask(&sleeping) };
    let sleeping = write(store, soon).await;
    let waiting = new(store, owned(&ann())).await;
    let waiting = write(store, ask(&waiting)).await;
    if !fixture.reopen().await {
        return;
    }

    let store = fixture.store();
    let mut claimed = Vec::new();
    while claimed.len() < 3 {
        claimed.push(
            eventually("a task can be claimed", async || {
                let claim = Claim { most: 1, ..claim("three") };
                store.claim(claim).await.expect("claimed").pop()
            })
            .await,
        );
    }
    for (head, epoch, reason) in [
        (&abandoned, Epoch(3), Reason::Abandoned { times: 2 }),
        (&released, Epoch(2), Reason::Released),
        (&sleeping, Epoch(2), Reason::Woken),
    ] {
        let found = claimed.iter().find(|claimed| claimed.head.id == head.id);
        let found = found.expect("the task was claimed");
        assert_eq!((found.head.epoch, found.reason), (epoch, reason));
        let late = append(head, follow(head));
        assert!(matches!(refused(store, late).await, Error::Fenced { .. }));
    }
    assert_eq!(reread(store, &waiting).await.epoch, Epoch(1));
}

/// What was sent stays sent, what was to be sent is sent.
pub async fn deliveries_outlive_the_store(mut fixture: Fixture) {
    let store = fixture.store();
    let webhooks = ["sent", "later", "dead", "taken"].map(webhook).into();
    let head = new(store, Create { webhooks, ..owned(&ann()) }).await;
    let claimed = store.claim_deliveries(short_lease("sender"), 10).await.expect("claimed");
    for delivery in &claimed {
        let progress = match delivery.webhook.id.as_str() {
            "sent" => Progress::Sent,
            "later" => Progress::Retry { after: LONG, error: "503".to_owned() },
            "dead" => Progress::Dead { error: "410".to_owned() },
            _ => continue,
        };
        assert!(store.settle(delivery, progress).await.expect("settled"));
    }
    if !fixture.reopen().await {
        return;
    }

    let store = fixture.store();
    let hooks = store.webhooks(head.reference).await.expect("read");
    let sent: Vec<(&str, Seq)> = hooks.iter().map(|hook| (hook.id.as_str(), hook.sent)).collect();
    assert_eq!(sent, [("sent", Seq(1)), ("later", Seq(0)), ("dead", Seq(1)), ("taken", Seq(0))]);
    let again = eventually("the delivery is over", async || {
        store.claim_deliveries(lease("other"), 10).await.expect("claimed").pop()
    })
    .await;
    assert_eq!((again.webhook.id.as_str(), again.seq), ("taken", Seq(1)));
    let taken = claimed.iter().find(|delivery| delivery.webhook.id == again.webhook.id);
    let taken = taken.expect("it was taken before");
    assert!(again.epoch > taken.epoch);
    assert!(!store.settle(taken, Progress::Sent).await.expect("answered"));
    let letters = store.dead_letters(&acme(), 10).await.expect("read");
    assert_eq!((letters.len(), letters[0].webhook.as_str()), (1, "dead"));
    assert_eq!((&*letters[0].error, letters[0].attempts), ("410", 1));
    assert!(store.resend(&acme(), letters[0].id).await.expect("answered"));
}

const ASKING: TaskState = TaskState::InputRequired;

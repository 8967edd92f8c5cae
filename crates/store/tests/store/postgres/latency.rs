//! R10: a database that is far away.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use nuncio_hub::store::{Commit, Committed, HubStore, Kind, NewEvent, Record, Version};
use nuncio_protocol::{
    ids::{ContextId, Organisation, PushConfigId, TaskId},
    time::Timestamp,
    version::Version as Spoken,
};
use nuncio_store::postgres::{Options, PostgresStore};
use nuncio_tasks::{
    scope::Scope,
    store::{
        Claim, Create, Created, Error, Filter, Head, Lease, NewWebhook, Page, Sealed, Store, Tenure,
    },
};
use nuncio_testkit::services::{self, postgres::Database};
use tokio::{
    task::JoinSet,
    time::{Instant, interval, timeout},
};

use crate::postgres::{
    slow_line::SlowLine,
    story::{ann, end_of, eventually, input, lease, name, new, open, opening, opening_of},
};

/// What R10 promises to bear.
const FAR: Duration = Duration::from_millis(300);

/// How long a store may take until it writes.
const SOON: Duration = Duration::from_secs(12);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_far_from_its_database_soon_writes_after_a_start_and_a_loss() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    // Makes the tables.
    drop(open(database.url()).await);
    let line = SlowLine::start(&database.url()).await;
    line.set_latency(FAR);
    let store = open(line.url(&database.url())).await;

    // The place is new, too.
    let head =
        soon("the first task is opened", async || match store.create(opening(ann())).await {
            Ok(Created::New(head)) => Some(head),
            Ok(Created::Repeated(_)) => panic!("there is no key to repeat"),
            Err(Error::Unavailable(_)) => None,
            Err(other) => panic!("found {other:?}"),
        })
        .await;
    check_writes(&store, &head).await;

    database
        .query(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
             WHERE datname = current_database() AND application_name = 'nuncio'",
        )
        .await;
    check_writes(&store, &head).await;
}

/// One connection after the other writes, and none is refused once it does.
async fn check_writes(store: &Arc<dyn Store>, head: &Head) {
    soon("a message is written", async || end_of(store.append(input(head, "one")).await).ok())
        .await;
    for _ in 0..3 {
        end_of(store.append(input(head, "more")).await).expect("it is written");
    }
}

async fn soon<T>(what: &str, ask: impl AsyncFnMut() -> Option<T>) -> T {
    let answer = timeout(SOON, eventually(what, ask)).await;
    answer.unwrap_or_else(|_| panic!("it was not soon that {what}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_far_from_its_database_commits_what_it_knows() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let store = far_from(&database).await;
    let seen =
        async || HubStore::changes(&store, Version(0)).await.ok().map(|changes| changes.version);
    let done = |answer| match answer {
        Ok(Committed::Done { version, .. }) => Some(version),
        Ok(Committed::Behind) => panic!("nobody else writes"),
        Err(Error::Unavailable(_)) => None,
        Err(other) => panic!("found {other:?}"),
    };
    let commit = async |seen| {
        let record =
            Record { kind: Kind::Agent, key: "echo".to_owned(), body: Some("{}".to_owned()) };
        let event = NewEvent {
            organisation: Organisation::parse("acme").expect("a name"),
            name: "AGENT_ONLINE".to_owned(),
            agent: None,
            at: Timestamp::now(),
            payload: "{}".to_owned(),
        };
        let (records, events, audit) = (vec![record], vec![event], vec!["{}".to_owned()]);
        store.commit(Commit { seen, records, events, audit }).await
    };
    let mut version =
        soon("something is written", async || done(commit(seen().await?).await)).await;
    for _ in 0..3 {
        version = done(commit(version).await).expect("it is written");
    }
    store.audit(vec!["{}".to_owned()]).await.expect("it is written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_are_kept_far_from_the_database() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let head = new(&*open(database.url()).await).await;
    let store = far_from(&database).await;
    let webhook = |id: &str| NewWebhook {
        id: PushConfigId::parse(id).expect("an id"),
        url: "https://hooks.example/a2a".to_owned(),
        secrets: Sealed(b"secret".to_vec()),
        version: Spoken::V1_0,
    };
    let task = head.reference;
    soon("a webhook is kept", async || store.put_webhook(task, webhook("a"), 9).await.ok()).await;
    for id in ["a", "b", "c"] {
        store.put_webhook(task, webhook(id), 9).await.expect("it is kept");
    }
    store.delete_webhook(task, &webhook("b").id).await.expect("it is removed");
    let kept = soon("they are read", async || store.webhooks(task).await.ok()).await;
    let kept: Vec<_> = kept.iter().map(|webhook| webhook.id.as_str()).collect();
    assert_eq!(kept, ["a", "c"]);
}

/// Opens a store with a long line to its database, which has its tables.
async fn far_from(database: &Database) -> PostgresStore {
    drop(open(database.url()).await);
    let line = SlowLine::start(&database.url()).await;
    line.set_latency(FAR);
    let options = Options::new(line.url(&database.url()));
    PostgresStore::open(&options).await.expect("the store opens")
}

/// G6, G7: nobody who lists tasks keeps an owner from its leases.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_task_keeps_its_lease_while_many_list_a_conversation() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let near = open(database.url()).await;
    let line = SlowLine::start(&database.url()).await;
    let far = open(line.url(&database.url())).await;
    let lasts = Duration::from_secs(6);
    let owner = Lease { owner: name("one"), lasts };
    let opened = far.create(Create { lease: Some(owner.clone()), ..opening(ann()) }).await;
    let Ok(Created::New(head)) = opened else { panic!("expected a task, found {opened:?}") };

    line.set_latency(Duration::from_millis(100));
    let listing = Listing::start(&far, &head.context);
    let tenure = Tenure { task: head.reference, epoch: head.epoch };
    let renewals = async {
        // As the engine does it.
        let mut ticks = interval(lasts / 3);
        loop {
            ticks.tick().await;
            match far.renew(owner.clone(), vec![tenure]).await {
                Ok(lost) => assert_eq!(lost, []),
                Err(error) => println!("a renewal failed: {error:?}"),
            }
        }
    };
    let takeover = eventually_taken(&*near);
    tokio::select! {
        () = renewals => {}
        taken = takeover => panic!("the task was taken over: {taken:?}"),
        () = tokio::time::sleep(lasts * 2) => {}
    }
    listing.end().await;
    let found = near.find(&Scope::from(&ann()), &head.id).await.expect("answered");
    let found = found.expect("it is there");
    assert_eq!((found.epoch.0, found.owned), (1, true));
}

/// Returns when another process has got the task.
async fn eventually_taken(store: &dyn Store) -> Head {
    let mut looks = interval(Duration::from_millis(200));
    loop {
        looks.tick().await;
        let claim = Claim {
            lease: lease("two"),
            agents: vec![name("echo")],
            orphaned_after: Duration::from_secs(3600),
            most: 1,
        };
        if let Some(claimed) = store.claim(claim).await.expect("claimed").pop() {
            return claimed.head;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_are_looked_for_while_many_list_a_conversation() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let line = SlowLine::start(&database.url()).await;
    let store = open(line.url(&database.url())).await;
    let head = new(&*store).await;
    line.set_latency(Duration::from_millis(100));
    let listing = Listing::start(&store, &head.context);
    // The connections are open.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut failures = 0;
    for _ in 0..5 {
        failures += usize::from(store.claim_deliveries(lease("one"), 10).await.is_err());
    }
    let Answers { refused, .. } = listing.end().await;
    assert!(refused > 0, "there were too few to wait for one another");
    assert_eq!(failures, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_that_are_refused_for_want_of_time_cost_no_connection() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let line = SlowLine::start(&database.url()).await;
    let store = open(line.url(&database.url())).await;
    let context = ContextId::generate();
    let first = opening_of(ann(), TaskId::generate(), context.clone());
    assert!(matches!(store.create(first).await, Ok(Created::New(_))));
    new(&*store).await;
    // All connections for lists are open.
    let listing = Listing::start(&store, &context);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(listing.end().await.refused, 0);
    let before = backends(&database).await;

    line.set_latency(Duration::from_millis(100));
    let listing = Listing::start(&store, &context);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let Answers { listed, refused } = listing.end().await;
    assert!(refused > 0, "there were too few to wait for one another");
    assert!(listed >= 40, "{listed} were listed, {refused} refused");
    let after = backends(&database).await;
    assert!(after.is_superset(&before), "{before:?} became {after:?}");
}

/// The processes that serve the store.
async fn backends(database: &Database) -> BTreeSet<String> {
    let pids = database
        .query(
            "SELECT pid FROM pg_stat_activity \
             WHERE datname = current_database() AND application_name = 'nuncio'",
        )
        .await;
    pids.lines().map(str::to_owned).collect()
}

/// Many who list the tasks of a conversation, again and again.
struct Listing {
    clients: JoinSet<()>,
    listed: Arc<AtomicU64>,
    refused: Arc<AtomicU64>,
}

struct Answers {
    listed: u64,
    refused: u64,
}

impl Listing {
    fn start(store: &Arc<dyn Store>, context: &ContextId) -> Self {
        let (listed, refused) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let mut clients = JoinSet::new();
        for _ in 0..60 {
            let (store, context) = (Arc::clone(store), context.clone());
            let (listed, refused) = (Arc::clone(&listed), Arc::clone(&refused));
            clients.spawn(async move {
                loop {
                    let filter = Filter { context: Some(context.clone()), ..Filter::default() };
                    let page = Page { after: None, size: 10, history: false, artifacts: false };
                    let asked = Instant::now();
                    let answer = store.list(&Scope::from(&ann()), filter, page).await;
                    assert!(asked.elapsed() < Duration::from_secs(8), "an answer comes in time");
                    match answer {
                        Ok(page) => {
                            assert_eq!(page.total, 1);
                            listed.fetch_add(1, Ordering::SeqCst);
                        }
                        Err(Error::Unavailable(_)) => {
                            refused.fetch_add(1, Ordering::SeqCst);
                        }
                        Err(other) => panic!("found {other:?}"),
                    }
                }
            });
        }
        Self { clients, listed, refused }
    }

    /// Sends them away, and tells what answers they had.
    async fn end(mut self) -> Answers {
        self.clients.abort_all();
        while let Some(ended) = self.clients.join_next().await {
            assert!(ended.is_err_and(|error| error.is_cancelled()), "a client has failed");
        }
        let count = |number: &AtomicU64| number.load(Ordering::SeqCst);
        Answers { listed: count(&self.listed), refused: count(&self.refused) }
    }
}

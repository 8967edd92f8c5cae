//! What the embedded store does beyond the contract: its directory, its transactions, its
//! backups.

use std::{cmp::Reverse, path::Path};

use nuncio_protocol::{
    ids::{ContextId, TaskId},
    message::Message,
    state::TaskState,
    task::{Task, TaskStatus},
    time::Timestamp,
};
use nuncio_store::sqlite::{BackupError, OpenError, Options, Replace, SqliteStore};
use nuncio_tasks::{
    log::{Batch, Seq},
    scope::{Name, Place, Scope},
    store::{
        Append, Appended, Claim, Create, Created, Error, Filter, Head, LEASE, Lease, Limit, Page,
        Position, Reason, Store, Tenure, Want, order,
    },
};

fn open(directory: &Path) -> SqliteStore {
    SqliteStore::open(directory, Options::default()).expect("the store can be opened")
}

fn name(text: &str) -> Name {
    Name::parse(text).expect("a short text is a name")
}

fn ann() -> Place {
    Place { tenant: name("acme"), agent: name("echo"), caller: name("user:ann") }
}

fn lease(owner: &str) -> Lease {
    Lease { owner: name(owner), lasts: LEASE }
}

fn opening() -> Create {
    let context = ContextId::generate();
    let status = TaskStatus::new(TaskState::Working, Timestamp::now());
    let mut task = Task::new(TaskId::generate(), context.clone(), status);
    task.history.push(Message::user("hello"));
    let batch = Batch::open(&task, context).expect("a task may begin so");
    Create { lease: Some(lease("one")), ..Create::new(ann(), batch) }
}

async fn create(store: &SqliteStore) -> Head {
    match store.create(opening()).await.expect("the task is created") {
        Created::New(head) => head,
        Created::Repeated(head) => panic!("repeats {head:?}"),
    }
}

fn progress(head: &Head, text: &str) -> Append {
    let mut batch = Batch::follow(head.id.clone(), head.context.clone(), head.state);
    batch
        .status(TaskState::Working, Some(Message::agent(text)), Timestamp::now())
        .expect("working follows working");
    Append::output(head.reference, head.epoch, batch)
}

async fn append(store: &SqliteStore, head: &Head, text: &str) -> Head {
    match store.append(progress(head, text)).await.expect("the batch is written") {
        Appended::Done { head, .. } => head,
        Appended::Repeated { task, .. } => panic!("repeats {task}"),
    }
}

fn claim() -> Claim {
    Claim { lease: lease("two"), agents: vec![name("echo")], orphaned_after: LEASE, most: 100 }
}

async fn all(store: &SqliteStore) -> Vec<(TaskId, Vec<String>)> {
    let page = Page { after: None, size: 10_000, history: true, artifacts: true };
    let listed = store
        .list(&Scope::tenant(name("acme")), Filter::default(), page)
        .await
        .expect("the store can be listed");
    assert_eq!(listed.total, listed.tasks.len() as u64);
    let mut logs = Vec::new();
    for task in listed.tasks {
        let limit = Limit { entries: usize::MAX, bytes: usize::MAX };
        let tail = store.tail(task.head.reference, Seq::START, limit).await.expect("it reads");
        assert_eq!(tail.entries.len() as u64, task.head.seq.0);
        let texts = tail.entries.iter().map(|entry| format!("{:?}", entry.record.event));
        logs.push((task.head.id.clone(), texts.collect()));
    }
    logs.sort();
    logs
}

#[tokio::test]
async fn what_was_written_is_there_after_opening_again() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let head = create(&store).await;
    append(&store, &head, "one").await;
    let before = all(&store).await;
    drop(store);
    let store = open(directory.path());
    assert_eq!(all(&store).await, before);
    let loaded = store.load(&(&ann()).into(), &head.id, Want::ALL).await.unwrap().unwrap();
    assert_eq!(loaded.fold().unwrap().seq, Seq(2));
}

#[tokio::test]
async fn a_directory_in_use_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let error = SqliteStore::open(directory.path(), Options::default()).unwrap_err();
    assert!(matches!(&error, OpenError::InUse { path } if path == directory.path()), "{error}");
    assert!(error.to_string().contains(directory.path().to_str().unwrap()));
    drop(store);
    open(directory.path());
}

#[tokio::test]
async fn a_closed_store_answers_and_its_directory_is_free() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let head = create(&store).await;
    store.close().await;
    let found = store.find(&(&ann()).into(), &head.id).await;
    assert!(matches!(found, Err(Error::Unavailable(_))), "{found:?}");
    let created = store.create(opening()).await;
    assert!(matches!(created, Err(Error::Unavailable(_))), "{created:?}");
    let backup = store.backup(&directory.path().join("backup")).await;
    assert!(matches!(backup, Err(BackupError::Unavailable(_))), "{backup:?}");
    assert_eq!(all(&open(directory.path())).await.len(), 1);
    store.close().await;
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt;

    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("deep").join("data");
    let store = open(&directory);
    create(&store).await;
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    let files: Vec<_> = directory.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[tokio::test]
async fn a_newer_database_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()));
    rusqlite::Connection::open(directory.path().join("nuncio.db"))
        .unwrap()
        .execute("INSERT INTO migrations (version, name) VALUES (999, 'later')", ())
        .unwrap();
    let error = SqliteStore::open(directory.path(), Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::Newer { found: 999, .. }), "{error}");
}

#[tokio::test]
async fn leases_of_an_earlier_process_are_over() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let (kept, returned) = (create(&store).await, create(&store).await);
    let tenure = Tenure { task: returned.reference, epoch: returned.epoch };
    store.release(vec![tenure]).await.unwrap();
    drop(store);

    let store = open(directory.path());
    let found = store.find(&(&ann()).into(), &kept.id).await.unwrap().unwrap();
    assert!(!found.owned);
    let claimed = store.claim(claim()).await.unwrap();
    let mut reasons: Vec<_> = claimed
        .into_iter()
        .map(|claimed| (claimed.head.reference, claimed.reason, claimed.head.owned))
        .collect();
    reasons.sort_by_key(|(reference, ..)| *reference);
    let expected = [
        (kept.reference, Reason::Abandoned { times: 1 }, true),
        (returned.reference, Reason::Released, true),
    ];
    assert_eq!(reasons, expected);
    assert!(store.claim(claim()).await.unwrap().is_empty());
}

/// Everything that every way of listing must agree on.
#[tokio::test]
async fn scopes_of_many_places_are_listed_in_one_order() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    // One agent has most of the tasks, the other has few; both have many callers.
    for number in 0..240_u32 {
        let mut create = opening();
        let agent = if number % 12 == 0 { "seldom" } else { "often" };
        create.place.agent = name(agent);
        create.place.caller = name(&format!("user:{}", number % 60));
        store.create(create).await.unwrap();
    }
    for agent in [None, Some("seldom"), Some("often")] {
        for caller in [None, Some("user:0"), Some("user:7")] {
            let scope =
                Scope { tenant: name("acme"), agent: agent.map(name), caller: caller.map(name) };
            check_pages(&store, &scope).await;
        }
    }
}

/// Pages of a scope, one after the other, are what a reader of the whole tenant sees of it.
async fn check_pages(store: &SqliteStore, scope: &Scope) {
    let page = |after, size| Page { after, size, history: false, artifacts: false };
    let everything = Scope::tenant(scope.tenant.clone());
    let whole = store.list(&everything, Filter::default(), page(None, 1000)).await.expect("reads");
    let expected: Vec<Head> = whole
        .tasks
        .into_iter()
        .map(|task| task.head)
        .filter(|head| scope.sees(&head.place))
        .collect();
    assert!(expected.is_sorted_by_key(|head| {
        (Reverse(order(head.updated)), Reverse(head.id.as_str().to_owned()))
    }));
    let mut found: Vec<Head> = Vec::new();
    loop {
        let after =
            found.last().map(|last| Position { updated: order(last.updated), id: last.id.clone() });
        let listed =
            store.list(scope, Filter::default(), page(after, 7)).await.expect("the store reads");
        assert_eq!(listed.total, expected.len() as u64, "{scope:?}");
        found.extend(listed.tasks.into_iter().map(|task| task.head));
        if !listed.more {
            break;
        }
    }
    assert_eq!(found, expected, "{scope:?}");
}

#[tokio::test]
async fn nonsense_in_the_database_is_an_error_and_no_panic() {
    for sql in [
        "UPDATE tasks SET state = 77",
        "UPDATE tasks SET seq = -1",
        "UPDATE tasks SET lease = 9",
        "UPDATE tasks SET updated = 9223372036854775807",
        "UPDATE tasks SET updated_nanos = 2147483647",
        "UPDATE tasks SET updated_nanos = 9223372036854775807",
        "UPDATE tasks SET id = ''",
        "UPDATE places SET agent = ''",
        "UPDATE pieces SET seq = -5",
        "UPDATE pieces SET seq = 0",
        "UPDATE pieces SET body = x''",
        "UPDATE pieces SET body = x'01'",
        "UPDATE pieces SET body = CAST(x'09' || substr(body, 2) AS BLOB)",
        "UPDATE pieces SET body = CAST(replace(body, '\"', CAST(x'ff' AS TEXT)) AS BLOB)",
    ] {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path());
        let head = create(&store).await;
        drop(store);
        let database = rusqlite::Connection::open(directory.path().join("nuncio.db")).unwrap();
        database.execute(sql, ()).unwrap();
        drop(database);

        let store = open(directory.path());
        let loaded = store.load(&(&ann()).into(), &head.id, Want::ALL).await;
        let is_spoilt = match &loaded {
            Err(Error::Spoilt(_)) | Ok(None) => true,
            Ok(Some(loaded)) => loaded.is_gap() || loaded.fold().is_err(),
            Err(_) => false,
        };
        assert!(is_spoilt, "{sql}: {loaded:?}");
        let appended = store.append(progress(&head, "more")).await;
        let claimed = store.claim(claim()).await;
        for error in [appended.err(), claimed.err()].into_iter().flatten() {
            let is_expected = matches!(error, Error::Spoilt(_) | Error::StateChanged { .. });
            assert!(is_expected, "{sql}: {error}");
        }
    }
}

#[tokio::test]
async fn a_backup_in_the_middle_of_writing_is_a_prefix_of_every_task() {
    let directory = tempfile::tempdir().unwrap();
    let backup = directory.path().join("backup");
    let store = open(&directory.path().join("data"));
    let mut writers = Vec::new();
    let (written, mut has_written) = tokio::sync::mpsc::channel(8);
    for _ in 0..8 {
        let (store, written) = (store.clone(), written.clone());
        writers.push(tokio::spawn(async move {
            let mut head = create(&store).await;
            written.send(head.clone()).await.expect("somebody waits");
            for round in 0..200 {
                head = append(&store, &head, &format!("{round} {}", "x".repeat(500))).await;
            }
        }));
    }
    let mut acknowledged = Vec::new();
    for _ in 0..8 {
        acknowledged.push(has_written.recv().await.unwrap().id);
    }
    store.backup(&backup).await.unwrap();
    for writer in writers {
        writer.await.unwrap();
    }
    let complete = all(&store).await;
    assert!(complete.iter().all(|(_, log)| log.len() == 201));

    let restored = directory.path().join("restored");
    SqliteStore::restore(&backup, &restored, Replace::Never).unwrap();
    let restored = all(&open(&restored)).await;
    for id in acknowledged {
        assert!(restored.iter().any(|(found, _)| *found == id), "{id} is missing");
    }
    for ((id, part), (expected, whole)) in restored.iter().zip(&complete) {
        assert_eq!(id, expected);
        assert!(whole.starts_with(part), "{id}");
    }
    let beside: Vec<_> = directory.path().read_dir().unwrap().collect();
    assert_eq!(beside.len(), 3, "{beside:?}");
}

#[tokio::test]
async fn a_backup_replaces_a_database_only_if_told() {
    let directory = tempfile::tempdir().unwrap();
    let (data, other) = (directory.path().join("data"), directory.path().join("other"));
    let backup = directory.path().join("backup");
    let store = open(&data);
    create(&store).await;
    store.backup(&backup).await.unwrap();
    // Again, in place of the first.
    store.backup(&backup).await.unwrap();

    let in_use = SqliteStore::restore(&backup, &data, Replace::Existing).unwrap_err();
    assert!(matches!(in_use, BackupError::Directory(OpenError::InUse { .. })), "{in_use}");

    let mine = open(&other);
    for _ in 0..3 {
        create(&mine).await;
    }
    drop(mine);
    let refused = SqliteStore::restore(&backup, &other, Replace::Never).unwrap_err();
    assert!(matches!(refused, BackupError::NotEmpty { .. }), "{refused}");
    assert_eq!(all(&open(&other)).await.len(), 3);
    // A log that was left behind belongs to what is replaced.
    std::fs::write(other.join("nuncio.db-wal"), [7; 4096]).unwrap();
    SqliteStore::restore(&backup, &other, Replace::Existing).unwrap();
    assert_eq!(all(&open(&other)).await, all(&store).await);
}

#[tokio::test]
async fn a_spoilt_backup_is_not_restored() {
    let directory = tempfile::tempdir().unwrap();
    let backup = directory.path().join("backup");
    let store = open(&directory.path().join("data"));
    for _ in 0..100 {
        create(&store).await;
    }
    store.backup(&backup).await.unwrap();
    let whole = std::fs::read(&backup).unwrap();
    let half = whole[..whole.len() / 2].to_vec();
    let mut scribbled = whole.clone();
    scribbled[8192..12288].fill(0xAB);
    for (what, bytes) in [
        ("empty", Vec::new()),
        ("half", half),
        ("scribbled", scribbled),
        ("text", vec![b'x'; 9000]),
    ] {
        std::fs::write(&backup, bytes).unwrap();
        let target = directory.path().join(what);
        let error = SqliteStore::restore(&backup, &target, Replace::Never).unwrap_err();
        assert!(matches!(error, BackupError::Spoilt { .. }), "{what}: {error:?}");
        let left: Vec<_> = target.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left, [target.join("lock")], "{what}");
    }
}

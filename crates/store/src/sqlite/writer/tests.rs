use std::sync::{
    Barrier,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use rusqlite::ffi;
use tempfile::TempDir;

use super::*;
use crate::sqlite::connection;

/// A writer on a table of its own, which counts commits and fatal failures.
struct Bench {
    writer: Arc<Writer>,
    commits: Arc<AtomicUsize>,
    fatal: Arc<AtomicUsize>,
    directory: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(prepare: impl FnOnce(&mut Connection)) -> Self {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let path = directory.path().join("test.db");
        let mut connection = connection::writer(&path).expect("a database can be made");
        connection
            .execute_batch("CREATE TABLE words (word TEXT NOT NULL)")
            .expect("a table can be made");
        let commits = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&commits);
        connection
            .commit_hook(Some(move || {
                counted.fetch_add(1, SeqCst);
                false
            }))
            .expect("commits can be counted");
        prepare(&mut connection);
        let fatal = Arc::new(AtomicUsize::new(0));
        let failed = Arc::clone(&fatal);
        let on_fatal = OnFatal::new(move |_| {
            failed.fetch_add(1, SeqCst);
        });
        let writer = Writer::start(connection, Clock::start(1), on_fatal).expect("it starts");
        Self { writer: Arc::new(writer), commits, fatal, directory }
    }

    /// Lets the thread wait inside an operation until so many others are in the queue.
    async fn while_it_waits(&self, count: usize, queue: impl FnOnce()) {
        let barrier = Arc::new(Barrier::new(2));
        let (started, has_started) = oneshot::channel();
        let held = Arc::clone(&barrier);
        let writer = Arc::clone(&self.writer);
        let waiting = tokio::spawn(async move {
            let mut started = Some(started);
            let wait = move |_: Writing<'_>| {
                // Once, also if it runs again.
                if let Some(started) = started.take() {
                    let _ = started.send(());
                    held.wait();
                }
                Ok(())
            };
            writer.write(wait).await
        });
        has_started.await.expect("the operation runs");
        queue();
        while self.writer.room.available_permits() > QUEUE - 1 - count {
            tokio::task::yield_now().await;
        }
        barrier.wait();
        waiting.await.expect("no panic").expect("the operation succeeds");
    }

    fn words(&self) -> Vec<String> {
        let reader = connection::reader(&self.directory.path().join("test.db")).expect("it reads");
        let mut statement = reader.prepare("SELECT word FROM words ORDER BY rowid").expect("sql");
        let words = statement.query_map((), |row| row.get(0)).expect("it reads");
        words.collect::<Result<_, _>>().expect("words are texts")
    }
}

fn insert(word: &'static str) -> impl Fn(Writing<'_>) -> Result<(), Fault> + Send {
    move |writing| {
        writing.connection.execute("INSERT INTO words VALUES (?1)", (word,))?;
        Ok(())
    }
}

fn failure(code: i32) -> Fault {
    rusqlite::Error::SqliteFailure(ffi::Error::new(code), None).into()
}

#[tokio::test]
async fn what_waits_shares_a_transaction() {
    let bench = Bench::new();
    let mut answers = Vec::new();
    bench
        .while_it_waits(MOST_OPERATIONS, || {
            for _ in 0..MOST_OPERATIONS {
                let writer = Arc::clone(&bench.writer);
                answers.push(tokio::spawn(async move { writer.write(insert("word")).await }));
            }
        })
        .await;
    for answer in answers {
        answer.await.unwrap().unwrap();
    }
    assert_eq!(bench.words().len(), MOST_OPERATIONS);
    let commits = bench.commits.load(SeqCst);
    assert!(commits <= MOST_OPERATIONS / 4, "{commits} commits");
}

#[tokio::test]
async fn one_after_the_other_each_has_its_commit() {
    let bench = Bench::new();
    for done in 1..=5 {
        bench.writer.write(insert("word")).await.unwrap();
        assert_eq!(bench.commits.load(SeqCst), done);
    }
}

#[tokio::test]
async fn a_refusal_leaves_the_others_alone() {
    let bench = Bench::new();
    let refuse = |writing: Writing<'_>| {
        insert("second")(writing)?;
        Err::<(), _>(Error::KeyReused.into())
    };
    let (first, second, third) = tokio::join!(
        bench.writer.write(insert("first")),
        bench.writer.write(refuse),
        bench.writer.write(insert("third"))
    );
    first.unwrap();
    third.unwrap();
    assert!(matches!(second, Err(Error::KeyReused)));
    assert_eq!(bench.words(), ["first", "third"]);
}

/// Neither those before nor those behind are lost or written twice, and a refusal that has
/// written nothing costs nobody a second run.
#[tokio::test]
async fn operations_run_again_when_one_of_them_is_undone() {
    for wrote in [false, true] {
        let bench = Bench::new();
        let runs = Arc::new(AtomicUsize::new(0));
        let mut answers = Vec::new();
        bench
            .while_it_waits(5, || {
                for number in 0..5 {
                    let (writer, runs) = (Arc::clone(&bench.writer), Arc::clone(&runs));
                    answers.push(tokio::spawn(async move {
                        let run = move |writing: Writing<'_>| {
                            runs.fetch_add(1, SeqCst);
                            if number != 2 || wrote {
                                insert("word")(writing)?;
                            }
                            if number == 2 { Err(Error::KeyReused.into()) } else { Ok(number) }
                        };
                        writer.write(run).await
                    }));
                }
            })
            .await;
        for (number, answer) in answers.into_iter().enumerate() {
            let answer = answer.await.unwrap();
            assert_eq!(answer.ok(), (number != 2).then_some(number));
        }
        assert_eq!(bench.words().len(), 4);
        let runs = runs.load(SeqCst);
        assert!(if wrote { (6..=10).contains(&runs) } else { runs == 5 }, "{runs} runs");
    }
}

#[tokio::test]
async fn a_spoilt_row_leaves_the_others_alone() {
    let bench = Bench::new();
    let spoilt = |writing: Writing<'_>| {
        insert("second")(writing)?;
        Ok(writing.connection.query_row("SELECT 'x'", (), |row| row.get::<_, i64>(0))?)
    };
    let (first, second) =
        tokio::join!(bench.writer.write(insert("first")), bench.writer.write(spoilt));
    first.unwrap();
    assert!(matches!(second, Err(Error::Spoilt(_))), "{second:?}");
    assert_eq!(bench.words(), ["first"]);
    assert_eq!(bench.fatal.load(SeqCst), 0);
}

#[tokio::test]
async fn nobody_is_told_of_success_whose_commit_failed() {
    let bench = Bench::with(|connection| {
        connection.commit_hook(Some(|| true)).expect("commits can be refused");
    });
    let (first, second) =
        tokio::join!(bench.writer.write(insert("first")), bench.writer.write(insert("second")));
    assert!(first.is_err() && second.is_err());
    assert_eq!(bench.words(), [""; 0]);
}

#[tokio::test]
async fn nothing_is_written_once_a_sync_has_failed() {
    for code in [ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_DIR_FSYNC] {
        let bench = Bench::new();
        let fail = move |writing: Writing<'_>| {
            insert("failed")(writing)?;
            Err::<(), _>(failure(code))
        };
        let error = bench.writer.write(fail).await.unwrap_err();
        assert!(matches!(error, Error::Unavailable(_)), "{error}");
        assert_eq!(bench.fatal.load(SeqCst), 1);
        let error = bench.writer.write(insert("later")).await.unwrap_err();
        assert!(matches!(error, Error::Unavailable(_)), "{error}");
        assert_eq!(bench.words(), [""; 0]);
    }
}

#[tokio::test]
async fn a_transaction_that_failed_as_a_whole_can_be_tried_again() {
    let bench = Bench::new();
    let fail = |writing: Writing<'_>| {
        insert("failed")(writing)?;
        Err::<(), _>(failure(ffi::SQLITE_FULL))
    };
    let error = bench.writer.write(fail).await.unwrap_err();
    assert!(matches!(error, Error::DiskFull(_)), "{error}");
    bench.writer.write(insert("later")).await.unwrap();
    assert_eq!(bench.words(), ["later"]);
    assert_eq!(bench.fatal.load(SeqCst), 0);
}

#[tokio::test]
async fn what_is_in_the_queue_is_written_before_the_end() {
    let bench = Bench::new();
    bench
        .while_it_waits(10, || {
            for _ in 0..10 {
                let writer = Arc::clone(&bench.writer);
                // Nobody waits for these any more.
                drop(tokio::spawn(async move { writer.write(insert("word")).await }));
            }
        })
        .await;
    bench.writer.close();
    assert_eq!(bench.words().len(), 10);
    let late = bench.writer.write(insert("late")).await;
    assert!(matches!(late, Err(Error::Unavailable(_))));
}

#[tokio::test]
async fn the_log_is_carried_into_the_database_when_it_is_long() {
    let bench = Bench::new();
    let fill = |writing: Writing<'_>| {
        writing.connection.execute("INSERT INTO words VALUES (hex(zeroblob(1000000)))", ())?;
        Ok(())
    };
    for _ in 0..30 {
        bench.writer.write(fill).await.unwrap();
    }
    let log = bench.directory.path().join("test.db-wal").metadata().unwrap().len();
    // 30 times two megabytes went through it.
    assert!(log < 30_000_000, "{log}");
}

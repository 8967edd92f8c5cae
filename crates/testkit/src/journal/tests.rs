use super::*;

/// A log whose events have 10 times their seq as hash, the last one terminal.
fn log(task: &str, key: Option<&str>, seqs: &[u64]) -> Log {
    let entry =
        |seq: &u64| Entry { seq: *seq, hash: seq * 10, is_terminal: Some(seq) == seqs.last() };
    let entries = seqs.iter().map(entry).collect();
    Log { task: task.to_owned(), key: key.map(str::to_owned), entries }
}

fn journal(path: &Path, note: impl FnOnce(&mut Journal)) -> Journal {
    let mut journal = Journal::open(path, 7);
    note(&mut journal);
    journal
}

#[track_caller]
fn check(note: impl FnOnce(&mut Journal), logs: &[Log], expected: Option<&str>) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let journal = journal(&directory.path().join("journal"), note);
    assert_eq!(journal.first_difference(logs).as_deref(), expected);
}

#[test]
fn what_agrees_passes() {
    let note = |journal: &mut Journal| {
        journal.sent("k");
        journal.sent("never answered");
        journal.acked("a", 1);
        journal.seen("a", "from the start", 1, 10);
        journal.seen("a", "joined late", 2, 20);
        journal.seen("a", "from the start", 2, 20);
        journal.seen("a", "joined late", 3, 30);
        journal.seen("b", "from the start", 1, 10);
        journal.acked("a", 3);
    };
    check(note, &[log("a", Some("k"), &[1, 2, 3]), log("b", None, &[1])], None);
    check(|_| (), &[], None);
}

#[test]
fn an_acknowledged_task_that_is_missing_is_found() {
    let note = |journal: &mut Journal| journal.acked("a", 1);
    check(note, &[log("b", None, &[1])], Some("task a was acknowledged and is missing"));
}

#[test]
fn an_acknowledged_event_that_is_missing_is_found() {
    let expected = "task a: seq 3 was acknowledged, but the log ends at 2";
    check(|journal| journal.acked("a", 3), &[log("a", None, &[1, 2])], Some(expected));
    let expected = "task a: seq 1 was acknowledged, but the log ends at 0";
    check(|journal| journal.acked("a", 1), &[log("a", None, &[])], Some(expected));
}

#[test]
fn seqs_other_than_one_to_n_are_found() {
    for (seqs, expected) in [
        (&[2, 3][..], "task a: seq 2 stands where 1 should"),
        (&[1, 3], "task a: seq 3 stands where 2 should"),
        (&[1, 2, 2], "task a: seq 2 stands where 3 should"),
        (&[0, 1], "task a: seq 0 stands where 1 should"),
    ] {
        check(|_| (), &[log("a", None, seqs)], Some(expected));
    }
}

#[test]
fn what_follows_a_terminal_state_is_found() {
    let mut bad = log("a", None, &[1, 2, 3]);
    bad.entries[1].is_terminal = true;
    check(|_| (), &[bad], Some("task a: seq 3 follows the terminal state of 2"));
}

#[test]
fn a_stream_that_skips_repeats_or_goes_back_is_found() {
    for (second, expected) in
        [(3, "task a: stream s has seq 3 after 1"), (1, "task a: stream s has seq 1 after 1")]
    {
        let note = |journal: &mut Journal| {
            journal.seen("a", "s", 1, 10);
            journal.seen("a", "s", second, second * 10);
        };
        check(note, &[log("a", None, &[1, 2, 3])], Some(expected));
    }
}

#[test]
fn a_seen_event_that_disappeared_or_changed_is_found() {
    let logs = [log("a", None, &[1, 2])];
    for (seq, hash, expected) in [
        (3, 30, "task a: stream s saw seq 3, which the log has not"),
        (0, 0, "task a: stream s saw seq 0, which the log has not"),
        (2, 21, "task a: stream s saw seq 2 with hash 21, the log has 20"),
    ] {
        check(|journal| journal.seen("a", "s", seq, hash), &logs, Some(expected));
    }
    let expected = "task b: stream s saw seq 1, which the log has not";
    check(|journal| journal.seen("b", "s", 1, 10), &logs, Some(expected));
}

#[test]
fn doubled_and_foreign_tasks_are_found() {
    let sent = |journal: &mut Journal| journal.sent("k");
    let (a, b) = (log("a", Some("k"), &[1]), log("b", Some("k"), &[1]));
    check(sent, &[a.clone(), b], Some("key k made two tasks, a and b"));
    check(sent, &[a.clone(), a.clone()], Some("task a is there twice"));
    check(|_| (), &[a], Some("task a has key k, which nobody sent"));
}

#[test]
fn a_journal_goes_on_after_a_kill_that_tore_its_last_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let steps = journal(&path, |journal| {
        journal.sent("a key");
        journal.acked("a", 1);
        journal.seen("a", "s", 1, u64::MAX);
    })
    .steps;
    for torn in 0.."acked\ta\t12".len() {
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, whole.clone() + &"acked\ta\t12"[..torn]).unwrap();
        let again = journal(&path, |_| ());
        assert_eq!(again.steps, steps);
        assert_eq!(fs::read_to_string(&path).unwrap(), whole);
    }
    let longer = journal(&path, |journal| journal.acked("a", 2));
    assert_eq!(longer.steps[..3], steps);
    assert_eq!(Journal::open(&path, 7).steps, longer.steps);
}

#[test]
fn a_failed_check_names_the_seed() {
    let directory = tempfile::tempdir().unwrap();
    let journal = journal(&directory.path().join("journal"), |journal| journal.acked("a", 1));
    let panic = std::panic::catch_unwind(|| journal.check(&[])).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.starts_with("task a was acknowledged and is missing (NUNCIO_SEED=7, "), "{text}");
}

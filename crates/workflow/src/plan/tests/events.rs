//! What happens from outside: questions, cancels, and what cannot have happened.

use nuncio_protocol::json;
use proptest::prelude::*;

use super::*;

#[test]
fn a_question_of_a_node_is_one_of_the_run() {
    let workflow = workflow(&["in", "a", "b", "out"], &["in>a", "in>b", "a>out", "b>out"]);
    let mut run = Run::new(&workflow);
    run.start("a");
    run.start("b");
    assert_eq!(run.plan.state(), TaskState::Working);
    run.apply(Event::Asked { call: run.find("b"), question: Question::Credential });
    assert_eq!(run.plan.state(), TaskState::AuthRequired);
    run.apply(Event::Asked { call: run.find("a"), question: Question::Input });
    assert_eq!(run.plan.state(), TaskState::InputRequired);
    assert_eq!(run.plan.questions().len(), 2);
    run.apply(Event::Answered { call: run.find("a") });
    run.finish("b", "x");
    assert_eq!(run.plan.state(), TaskState::Working);
    assert_eq!(run.plan.questions(), []);
    run.finish("a", "x");
    assert_eq!(run.plan.state(), TaskState::Completed);
}

#[test]
fn a_run_that_is_canceled_ends_when_its_calls_have() {
    let workflow = workflow(
        &["in", "a", "b", "each over: '[1,2]', do: {type: agent}", "out"],
        &["in>a", "in>b", "in>each", "a>out", "b>out", "each>out"],
    );
    let mut run = Run::new(&workflow);
    run.start("a");
    run.start("each[0]");
    run.apply(Event::StopRequested { cause: Cause::Canceled });
    assert_eq!(
        (run.starts().len(), run.cancels()),
        (0, vec!["a".to_owned(), "each[0]".to_owned()])
    );
    run.finish("a", "too late to stop");
    run.apply(Event::Failed {
        call: run.find("each[0]"),
        reason: "gone".to_owned(),
        is_final: false,
    });
    run.check(
        TaskState::Canceled,
        &["in:completed", "a:completed", "b:canceled", "each:failed", "out:canceled"],
    );
    let mut run = Run::new(&workflow);
    run.apply(Event::StopRequested { cause: Cause::TimedOut });
    run.check(
        TaskState::Failed,
        &["in:completed", "a:canceled", "b:canceled", "each:canceled", "out:canceled"],
    );
}

#[test]
fn a_call_that_somebody_else_cancels_has_failed() {
    let workflow = workflow(&["in", "a", "out"], &["in>a", "a>out"]);
    let mut run = Run::new(&workflow);
    run.start("a");
    run.apply(Event::Canceled { call: run.find("a"), reason: "by its owner".to_owned() });
    run.check(TaskState::Failed, &["in:completed", "a:failed", "out:canceled"]);
}

#[test]
fn what_cannot_have_happened_is_refused() {
    let workflow = workflow(&["in", "a", "b", "out"], &["in>a", "a>b", "b>out"]);
    let mut run = Run::new(&workflow);
    let call = |node: &str, iteration, item, attempt| Call {
        node: crate::graph::NodeId::parse(node).unwrap(),
        iteration,
        item,
        attempt,
    };
    let a = call("a", 1, None, 1);
    for event in [
        Event::Started { call: call("nobody", 1, None, 1) },
        Event::Started { call: call("b", 1, None, 1) },
        Event::Started { call: call("in", 1, None, 1) },
        Event::Started { call: call("a", 2, None, 1) },
        Event::Started { call: call("a", 1, Some(0), 1) },
        Event::Started { call: call("a", 1, None, 2) },
        Event::Finished { call: a.clone(), artifacts: Vec::new() },
        Event::Answered { call: a.clone() },
        Event::Skipped { call: a.clone(), reason: String::new() },
    ] {
        assert!(run.plan.apply(event.clone()).is_err(), "{event}");
    }
    run.start("a");
    for event in [
        Event::Started { call: a.clone() },
        Event::Answered { call: a.clone() },
        Event::Skipped { call: a.clone(), reason: String::new() },
    ] {
        assert!(run.plan.apply(event.clone()).is_err(), "{event}");
    }
    run.finish("a", "x");
    let again = Event::Finished { call: a, artifacts: Vec::new() };
    assert_eq!(
        run.plan.apply(again).unwrap_err().to_string(),
        "`finished` of `a` cannot happen: it is not to be worked on"
    );
}

proptest! {
    #[test]
    fn events_are_written_and_read_again(
        kind in 0usize..8, node in "[a-z][a-z0-9_-]{0,8}", iteration in 1u32..9, item in prop::option::of(0u32..9),
        attempt in 1u32..9, text in ".{0,20}", flag in any::<bool>(),
    ) {
        let Ok(node) = crate::graph::NodeId::parse(&node) else { return Ok(()) };
        let call = Call { node, iteration, item, attempt };
        let event = match kind {
            0 => Event::Started { call },
            1 => Event::Finished { call, artifacts: artifact(Part::text(text)) },
            2 => Event::Failed { call, reason: text, is_final: flag },
            3 => Event::Canceled { call, reason: text },
            4 => Event::Skipped { call, reason: text },
            5 => Event::Asked { call, question: if flag { Question::Input } else { Question::Credential } },
            6 => Event::Answered { call },
            _ => Event::StopRequested { cause: if flag { Cause::Canceled } else { Cause::TimedOut } },
        };
        let written = json::to_string(&event);
        prop_assert_eq!(json::from_str::<Event>(&written), Ok(event));
    }
}

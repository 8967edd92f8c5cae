//! Where a person sits who answers what a run asks: a terminal, or nobody.

use std::{
    collections::VecDeque,
    future::pending,
    io::{self, IsTerminal as _, Write as _},
    thread,
};

use tokio::sync::oneshot;

use super::{events::Event, view::Question};
use crate::output::{Output, note};

/// Asks a person, one question after the other.
pub(super) struct Desk {
    is_manned: bool,
    /// What is to be asked; the first of them is being asked.
    questions: VecDeque<Question>,
    /// The line that the person is writing.
    line: Option<oneshot::Receiver<Option<String>>>,
}

impl Desk {
    pub(super) fn new(output: &Output) -> Self {
        let is_manned =
            !output.is_json() && io::stdin().is_terminal() && io::stderr().is_terminal();
        Self { is_manned, questions: VecDeque::new(), line: None }
    }

    /// Tells whether there is a person to be asked.
    pub(super) const fn is_manned(&self) -> bool {
        self.is_manned
    }

    /// Tells whether a person is being asked.
    pub(super) fn is_asking(&self) -> bool {
        self.is_manned && !self.questions.is_empty()
    }

    /// Learns what is asked, and what no longer is. `true` if it is a question.
    pub(super) fn take(&mut self, event: &Event) -> bool {
        let Some(node) = &event.node else { return false };
        let is_same = |asked: &Question| asked.node == *node && asked.item == event.item;
        let was_first = self.questions.front().is_some_and(is_same);
        self.questions.retain(|asked| !is_same(asked));
        let is_question = event.kind == "node.waiting";
        if self.is_manned && was_first {
            self.prompt();
        }
        if is_question {
            let said = |text: &Option<String>| text.clone().unwrap_or_default();
            let (sort, text) = (said(&event.payload.question), said(&event.payload.text));
            self.ask(Question { node: node.clone(), item: event.item, sort, text });
        }
        is_question
    }

    /// Asks something.
    pub(super) fn ask(&mut self, question: Question) {
        self.questions.push_back(question);
        if self.is_manned && self.questions.len() == 1 {
            self.prompt();
        }
    }

    /// Tells whether something is being asked, or will be.
    pub(super) fn has(&self, question: &Question) -> bool {
        let is_same = |asked: &Question| asked.node == question.node && asked.item == question.item;
        self.questions.iter().any(is_same)
    }

    /// Takes what is being asked off the desk, since it is answered.
    pub(super) fn asked(&mut self) -> Option<Question> {
        let asked = self.questions.pop_front();
        self.prompt();
        asked
    }

    /// Waits for a line of the person's, for as long as anything is asked; `None` if there will be
    /// none. The future may be dropped, and no line is lost.
    pub(super) async fn line(&mut self) -> Option<String> {
        if !self.is_asking() {
            return pending().await;
        }
        loop {
            let line = self.line.get_or_insert_with(read);
            let text = line.await.ok().flatten();
            self.line = None;
            match text {
                Some(text) if text.trim().is_empty() => self.prompt(),
                text => return text.map(|text| text.trim().to_owned()),
            }
        }
    }

    fn prompt(&self) {
        let Some(question) = self.questions.front() else { return };
        note(&question.told());
        let mut error = io::stderr();
        // Whoever does not see the prompt can still write.
        let _ = error.write_all(b"> ").and_then(|()| error.flush());
    }
}

/// Reads a line on a thread of its own: nothing can call back a read that waits for a person.
fn read() -> oneshot::Receiver<Option<String>> {
    let (sender, receiver) = oneshot::channel();
    thread::spawn(move || {
        let mut text = String::new();
        let read = io::stdin().read_line(&mut text);
        // Nobody waits for it any more if this fails.
        let _ = sender.send(read.ok().filter(|count| *count > 0).map(|_| text));
    });
    receiver
}

//! What came of the cases.

use std::time::Duration;

use nuncio_protocol::dialect::WireForm;
use tokio::time::{Instant, timeout};

use crate::{
    differences::{Difference, Kind},
    target::Outcome,
};

/// Far longer than any case takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// What came of the cases on one interface.
pub(crate) struct Report {
    label: String,
    form: WireForm,
    begun: Instant,
    passed: usize,
    lacking: Vec<&'static Difference>,
    failed: Vec<String>,
}

impl Report {
    pub(crate) fn new(label: &str, form: WireForm) -> Self {
        let (label, begun) = (label.to_owned(), Instant::now());
        Self { label, form, begun, passed: 0, lacking: Vec::new(), failed: Vec::new() }
    }

    /// Waits for a case. Where the SDK is known to do otherwise, it must do just that.
    pub(crate) async fn case(&mut self, name: &'static str, case: impl Future<Output = Outcome>) {
        let problem = match timeout(PATIENCE, case).await {
            Ok(outcome) => outcome.err().map(|error| error.to_string()),
            Err(_) => Some("nothing came of it in a minute".to_owned()),
        };
        let known = Difference::known(&self.label, self.form, name);
        match (problem, known) {
            (None, None) => self.passed += 1,
            (None, Some(known)) => {
                self.failed.push(format!("{name}: no longer so, take it out: {}", known.how));
            }
            (Some(problem), Some(known)) if problem.contains(known.shows) => match known.kind {
                Kind::Lacks => self.lacking.push(known),
                Kind::Differs => self.passed += 1,
            },
            (Some(problem), _) => self.failed.push(format!("{name}: {problem}")),
        }
    }

    /// Prints it; tells whether a case has failed.
    #[expect(clippy::print_stdout, reason = "it is run to be read")]
    pub(crate) fn tell(&self) -> bool {
        let name = format!("we to {}, {}", self.label, self.form.name());
        for problem in &self.failed {
            let problem: String = problem.chars().take(600).collect();
            println!("FAILED {name}: {problem}");
        }
        let passed = self.passed + self.lacking.len();
        let total = passed + self.failed.len();
        let mut without = String::new();
        if !self.lacking.is_empty() {
            let why: Vec<&str> = self.lacking.iter().map(|one| one.how).collect();
            without = format!(" ({} not in the SDK: {})", why.len(), why.join("; "));
        }
        let took = self.begun.elapsed().as_secs_f64();
        println!("interop: {name}: {passed} of {total} cases passed{without}, {took:.1} s");
        !self.failed.is_empty()
    }
}

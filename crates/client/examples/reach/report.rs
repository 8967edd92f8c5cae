//! What came of the cases.

use std::{
    collections::BTreeMap,
    env,
    fs::OpenOptions,
    io::{self, Write as _},
    time::Duration,
};

use nuncio_protocol::{
    dialect::WireForm,
    json::{Object, Raw},
};
use tokio::time::{Instant, timeout};

use crate::{
    differences::{Difference, Kind},
    target::Outcome,
};

/// Far longer than any case takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the matrix calls an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Column {
    Send,
    Stream,
    Subscribe,
    Get,
    List,
    Cancel,
    Push,
    ExtendedCard,
    Errors,
}

/// Who it is in the matrix.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) peer: String,
    pub(crate) sdk: String,
    pub(crate) way: String,
}

/// What came of the cases on one interface.
pub(crate) struct Report {
    label: String,
    form: WireForm,
    begun: Instant,
    passed: usize,
    lacking: Vec<&'static Difference>,
    failed: Vec<String>,
    cells: BTreeMap<Column, Cell>,
}

/// What came of the cases of one operation.
#[derive(Default)]
struct Cell {
    passed: usize,
    other: Vec<&'static Difference>,
    failed: Vec<String>,
}

impl Report {
    pub(crate) fn new(label: &str, form: WireForm) -> Self {
        let (label, begun) = (label.to_owned(), Instant::now());
        Self {
            label,
            form,
            begun,
            passed: 0,
            lacking: Vec::new(),
            failed: Vec::new(),
            cells: BTreeMap::new(),
        }
    }

    /// Waits for a case. Where the SDK is known to do otherwise, it must do just that.
    pub(crate) async fn case(
        &mut self,
        column: Column,
        name: &'static str,
        case: impl Future<Output = Outcome>,
    ) {
        let problem = match timeout(PATIENCE, case).await {
            Ok(outcome) => outcome.err().map(|error| error.to_string()),
            Err(_) => Some("nothing came of it in a minute".to_owned()),
        };
        let known = Difference::known(&self.label, self.form, name);
        let cell = self.cells.entry(column).or_default();
        let mut fail = |problem: String| {
            cell.failed.push(problem.clone());
            self.failed.push(problem);
        };
        match (problem, known) {
            (None, None) => {
                cell.passed += 1;
                self.passed += 1;
            }
            (None, Some(known)) => {
                fail(format!("{name}: no longer so, take it out: {}", known.how));
            }
            (Some(problem), Some(known)) if problem.contains(known.shows) => {
                cell.other.push(known);
                match known.kind {
                    Kind::Lacks => self.lacking.push(known),
                    Kind::Differs => self.passed += 1,
                }
            }
            (Some(problem), _) => fail(format!("{name}: {problem}")),
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
    /// Adds a line for each operation to the report of the matrix, if there is one.
    pub(crate) fn write(&self, row: &Row) -> io::Result<()> {
        let Some(file) = env::var_os("NUNCIO_INTEROP_REPORT") else { return Ok(()) };
        let mut report = OpenOptions::new().create(true).append(true).open(file)?;
        let (binding, version) = place(self.form);
        for (column, cell) in &self.cells {
            let why: Vec<&str> = cell.other.iter().map(|one| one.how).collect();
            let mut line: Vec<(&str, Raw)> = [
                ("peer", &*row.peer),
                ("sdk", &*row.sdk),
                ("role", "agent"),
                ("binding", binding),
                ("version", version),
                ("way", &*row.way),
                ("operation", column.name()),
            ]
            .map(|(name, text)| (name, Raw::string(text)))
            .into();
            if !cell.failed.is_empty() {
                line.push(("problem", Raw::string(&cell.failed.join("; "))));
            } else if !why.is_empty() {
                line.push(("lacks", Raw::string(&why.join("; "))));
                line.push(("partly", Raw::bool(cell.passed > 0)));
            }
            let line = format!("{}\n", Object::from_members(line).as_str());
            report.write_all(line.as_bytes())?;
        }
        Ok(())
    }
}

impl Column {
    const fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Stream => "stream",
            Self::Subscribe => "subscribe",
            Self::Get => "get",
            Self::List => "list",
            Self::Cancel => "cancel",
            Self::Push => "push",
            Self::ExtendedCard => "extended card",
            Self::Errors => "errors",
        }
    }
}

/// Returns the binding and the version of A2A.
const fn place(form: WireForm) -> (&'static str, &'static str) {
    match form {
        WireForm::V1 => ("JSONRPC", "1.0"),
        WireForm::V1Http => ("HTTP+JSON", "1.0"),
        WireForm::V1Grpc => ("GRPC", "1.0"),
        WireForm::V03 => ("JSONRPC", "0.3"),
        WireForm::V03Http => ("HTTP+JSON", "0.3"),
        WireForm::V03Grpc => ("GRPC", "0.3"),
        _ => ("another", "another"),
    }
}

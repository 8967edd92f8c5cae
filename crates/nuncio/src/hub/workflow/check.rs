//! What is wrong with files, told in lines that editors understand.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use http::Method;
use nuncio_workflow::{
    problem::{Code, Problem},
    validate::{Inputs, Known},
};
use serde::{Deserialize, Serialize};

use super::{Workflows, file::File};
use crate::{
    failure::Failure,
    hub::{Flags, Hub, parse},
    output::{Output, note},
};

/// Something that is wrong with a workflow, or may be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Flaw {
    /// From 1; 0 for the file as a whole.
    line: u32,
    column: u32,
    code: String,
    severity: Severity,
    message: String,
    /// The way to it, such as `nodes[2].config.prompt`.
    key: String,
    /// What to do about it.
    fix: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Severity {
    Error,
    Warning,
}

impl From<&Problem> for Flaw {
    fn from(problem: &Problem) -> Self {
        Self {
            line: problem.place().line(),
            column: problem.place().column(),
            code: problem.code().as_str().to_owned(),
            severity: if problem.is_warning() { Severity::Warning } else { Severity::Error },
            message: problem.what().to_owned(),
            key: problem.key().to_owned(),
            fix: problem.fix().to_owned(),
        }
    }
}

impl Flaw {
    pub(super) fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    fn is(&self, code: Code) -> bool {
        self.code == code.as_str()
    }

    /// Returns it as a line, for a file.
    pub(super) fn line(&self, file: &str) -> String {
        // The file as a whole begins where it begins.
        let (line, column) = (self.line.max(1), self.column.max(1));
        format!("{file}:{line}:{column}: {self}")
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = if self.is_error() { "error" } else { "warning" };
        write!(f, "{severity}: {}; {} [{}]", self.message, self.fix, self.code)
    }
}

#[derive(Serialize)]
struct Report<'a> {
    files: Vec<Judged<'a>>,
}

#[derive(Serialize)]
struct Judged<'a> {
    file: &'a str,
    problems: Vec<Flaw>,
}

/// Says what is wrong with files; a failure if there is an error.
pub(super) async fn run(
    paths: &[PathBuf],
    flags: &Flags,
    offline: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    let files = paths.iter().map(|path| File::read(path)).collect::<Result<Vec<_>, _>>()?;
    let ours = inputs_of(&files);
    let hub = if offline { None } else { Asked::open(flags).await? };
    let mut judged = Vec::with_capacity(files.len());
    for file in &files {
        let problems = match &hub {
            Some(hub) => hub.judge(file, &ours).await?,
            None => judge_alone(file, &ours),
        };
        judged.push(Judged { file: &file.path, problems });
    }
    let all = || judged.iter().flat_map(|judged| &judged.problems);
    let errors = all().filter(|flaw| flaw.is_error()).count();
    let bad = judged.iter().filter(|judged| judged.problems.iter().any(Flaw::is_error)).count();
    if output.is_json() {
        let report = serde_json::to_string(&Report { files: judged })
            .map_err(|error| Failure::internal(error.to_string()))?;
        output.json(&report)?;
    } else {
        for judged in &judged {
            for flaw in &judged.problems {
                output.line(&flaw.line(judged.file))?;
            }
        }
    }
    if errors > 0 {
        let (errors, files) = (counted(errors, "error"), counted(files.len(), "file"));
        return Err(Failure::invalid_workflow(format!("{errors} in {bad} of {files}")));
    }
    if !output.is_json() {
        note(&format!("{} without errors", counted(files.len(), "file")));
    }
    Ok(())
}

fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// Returns the workflows of files by the names that they will have, with what they need.
pub(super) fn inputs_of(files: &[File]) -> BTreeMap<String, Inputs> {
    let mut named = BTreeMap::new();
    for file in files {
        let (Some(workflow), _) = file.check(&Known::default()) else { continue };
        let Ok(name) = file.name(None) else { continue };
        if named.insert(name.as_str().to_owned(), Inputs::of(&workflow)).is_some() {
            note(&format!("warning: {}: another of these files is called {name}, too", file.path));
        }
    }
    named
}

/// Says what is wrong with a file beside others, where nobody knows what else there is.
pub(super) fn judge_alone(file: &File, ours: &BTreeMap<String, Inputs>) -> Vec<Flaw> {
    let (_, problems) = file.check(&Known::default().workflows(ours.clone()));
    let mut flaws: Vec<Flaw> = problems.iter().map(Flaw::from).collect();
    for flaw in flaws.iter_mut().filter(|flaw| flaw.is(Code::UnknownWorkflow)) {
        // It may well be in the hub.
        flaw.severity = Severity::Warning;
    }
    flaws
}

/// A hub that is asked what there is.
struct Asked {
    hub: Hub,
    /// The workflows that it keeps.
    theirs: BTreeMap<String, Inputs>,
}

#[derive(Serialize)]
struct Draft<'a> {
    source: &'a str,
}

#[derive(Deserialize)]
struct Said {
    problems: Vec<Flaw>,
}

impl Asked {
    /// Finds the hub. Without one that was asked for by name, files are judged alone.
    async fn open(flags: &Flags) -> Result<Option<Self>, Failure> {
        let hub = flags.hub()?;
        match hub.read::<Workflows>("/api/v1/workflows").await {
            Ok((Workflows { workflows }, _)) => {
                let theirs = workflows.into_iter().map(|workflow| {
                    let mut inputs = Inputs::default();
                    for input in workflow.inputs {
                        let names =
                            if input.required { &mut inputs.needed } else { &mut inputs.optional };
                        names.insert(input.name);
                    }
                    (workflow.name, inputs)
                });
                let theirs = theirs.collect();
                Ok(Some(Self { hub, theirs }))
            }
            Err(failure) if flags.hub.is_none() && failure.is_unreachable() => {
                note("no hub answers, so nobody knows which agents there are");
                Ok(None)
            }
            Err(failure) => Err(failure.or_hint(|| "--offline asks no hub".to_owned())),
        }
    }

    /// Says what is wrong with a file beside others and beside what the hub has.
    async fn judge(
        &self,
        file: &File,
        ours: &BTreeMap<String, Inputs>,
    ) -> Result<Vec<Flaw>, Failure> {
        let draft = Draft { source: &file.text };
        let said = self.hub.call(Method::POST, "/api/v1/workflows/validate", Some(&draft)).await?;
        let Said { problems } = parse(&said)?;
        let mut workflows = self.theirs.clone();
        workflows.extend(ours.clone());
        let (_, found) = file.check(&Known::default().workflows(workflows));
        // The hub does not know the other files, and not everybody sees all that it keeps.
        let is_unknown_there = |flaw: &Flaw| {
            problems.iter().any(|said| said.is(Code::UnknownWorkflow) && said.line == flaw.line)
        };
        let here = found.iter().map(Flaw::from);
        let here = here.filter(|flaw| !flaw.is(Code::UnknownWorkflow) || is_unknown_there(flaw));
        let about_workflows = [Code::UnknownWorkflow, Code::MissingInput, Code::UnknownInput];
        let there =
            problems.iter().filter(|said| !about_workflows.iter().any(|code| said.is(*code)));
        let mut flaws: Vec<Flaw> = here.chain(there.cloned()).collect();
        flaws.sort();
        flaws.dedup();
        Ok(flaws)
    }
}

//! Whether a workflow fits what is there: agents, tools, commands, other workflows, inputs.
//!
//! What is wrong with a file by itself is found when it is [read](crate::graph::Workflow::read);
//! [`validate`] tells both at once.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    document::Place,
    graph::{Kind, Node, Problems, SubWorkflow, Target, Workflow, read},
    nearest::{did_you_mean, nearest},
    problem::{Code, Invalid, Problem},
};

/// What is there. What is not said is not looked at.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Known {
    agents: Option<BTreeSet<String>>,
    capabilities: Option<BTreeSet<String>>,
    tools: Option<BTreeSet<String>>,
    commands: Option<BTreeSet<String>>,
    workflows: Option<BTreeMap<String, Inputs>>,
}

/// The inputs of a workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// Those that a run cannot do without.
    pub needed: BTreeSet<String>,
    /// The others.
    pub optional: BTreeSet<String>,
}

impl Inputs {
    /// Returns the inputs of a workflow.
    pub fn of(workflow: &Workflow) -> Self {
        let mut inputs = Self::default();
        for (node, input) in workflow.inputs() {
            let is_needed = input.default.is_none() && !input.is_optional;
            let names = if is_needed { &mut inputs.needed } else { &mut inputs.optional };
            names.insert(node.id().as_str().to_owned());
        }
        inputs
    }
}

impl Known {
    /// Says which agents are in the directory.
    pub fn agents(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.agents = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Says what agents in the directory can do.
    pub fn capabilities(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.capabilities = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Says which tools have a name of their own.
    pub fn tools(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Says which programs the administrator has set up.
    pub fn commands(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.commands = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Says which workflows there are, and what they need.
    pub fn workflows(mut self, workflows: impl IntoIterator<Item = (String, Inputs)>) -> Self {
        self.workflows = Some(workflows.into_iter().collect());
        self
    }

    /// Tells what a node names that is not there.
    pub(crate) fn check(&self, node: &Node, key: &str, problems: &mut Problems) {
        self.check_kind(node.kind(), node.place(), key, problems);
    }

    fn check_kind(&self, kind: &Kind, place: Place, key: &str, problems: &mut Problems) {
        let mut look = |known: Option<&BTreeSet<String>>, code, sort: &str, name: &str, place| {
            let Some(known) = known.filter(|known| !known.contains(name)) else { return };
            problems.add(|| unknown(code, place, key, sort, name, known.iter()));
        };
        match kind {
            Kind::External(external) => match &external.target {
                Target::Agent(name) => {
                    look(self.agents.as_ref(), Code::UnknownAgent, "agent", name, external.place);
                }
                Target::Capability(name) => {
                    let known = self.capabilities.as_ref();
                    look(known, Code::UnknownAgent, "agent that can", name, external.place);
                }
                Target::Url(_) => {}
            },
            Kind::Command(command) => {
                let known = self.commands.as_ref();
                look(known, Code::UnknownCommand, "command", &command.command, place);
            }
            Kind::Tool(tool) => self.check_tool(&tool.tool, place, key, problems),
            Kind::Agent(agent) => {
                agent.tools.iter().for_each(|tool| self.check_tool(tool, place, key, problems));
            }
            Kind::Workflow(workflow) => self.check_workflow(workflow, key, problems),
            Kind::Map(map) => self.check_kind(&map.body, place, &format!("{key}.do"), problems),
            _ => {}
        }
    }

    fn check_tool(&self, tool: &str, place: Place, key: &str, problems: &mut Problems) {
        let workflows = || self.workflows.as_ref().map(|known| known.keys().cloned().collect());
        let (known, code, sort, name) = match tool.split_once("://") {
            None => (self.tools.clone(), Code::UnknownTool, "tool", tool),
            Some(("agent", name)) => (self.agents.clone(), Code::UnknownAgent, "agent", name),
            Some(("workflow", name)) => (workflows(), Code::UnknownWorkflow, "workflow", name),
            Some(_) => return,
        };
        if let Some(known) = known.filter(|known| !known.contains(name)) {
            problems.add(|| unknown(code, place, key, sort, name, known.iter()));
        }
    }

    fn check_workflow(&self, node: &SubWorkflow, key: &str, problems: &mut Problems) {
        let Some(known) = &self.workflows else { return };
        let (name, place) = (&node.workflow, node.place);
        let Some(inputs) = known.get(name) else {
            let sort = "workflow";
            problems.add(|| unknown(Code::UnknownWorkflow, place, key, sort, name, known.keys()));
            return;
        };
        let given = node.inputs.iter().map(|(name, _)| name.as_str());
        for problem in inputs.check(given, place, &format!("{key}.inputs")) {
            problems.add(|| problem);
        }
    }
}

impl Inputs {
    /// Tells which inputs are missing, and which are given and not there.
    fn check<'a>(
        &self,
        given: impl IntoIterator<Item = &'a str>,
        place: Place,
        key: &str,
    ) -> Vec<Problem> {
        let given: BTreeSet<&str> = given.into_iter().collect();
        let missing = self.needed.iter().filter(|name| !given.contains(name.as_str()));
        let missing = missing.map(|name| {
            let what = format!("the input `{name}` is missing");
            Problem::new(Code::MissingInput, place, key, what, "give it a value")
        });
        let is_known = |name: &str| self.needed.contains(name) || self.optional.contains(name);
        let surplus = given.iter().filter(|name| !is_known(name)).map(|name| {
            let names = || self.needed.iter().chain(&self.optional);
            let near = nearest(name, names().map(String::as_str));
            let all: Vec<&str> = names().map(String::as_str).collect();
            let fix = did_you_mean(near, format!("there are: {}", all.join(", ")));
            let what = format!("there is no input `{name}`");
            Problem::new(Code::UnknownInput, place, key, what, fix)
        });
        missing.chain(surplus).collect()
    }
}

fn unknown<'a>(
    code: Code,
    place: Place,
    key: &str,
    sort: &str,
    name: &str,
    known: impl Iterator<Item = &'a String>,
) -> Problem {
    let near = nearest(name, known.map(String::as_str));
    let fix = did_you_mean(near, "set it up first, or name another one");
    Problem::new(code, place, key, format!("there is no {sort} `{name}`"), fix)
}

/// Reads a workflow and tells everything that is wrong with it, warnings included.
///
/// There is a workflow only if nothing but warnings was found.
pub fn validate(text: &str, known: &Known) -> (Option<Workflow>, Vec<Problem>) {
    match read::read(text, false, known) {
        Ok(workflow) => {
            let warnings = workflow.warnings().to_vec();
            (Some(workflow), warnings)
        }
        Err(invalid) => (None, invalid.problems().to_vec()),
    }
}

/// Tells what a workflow names that is not there any more.
pub fn recheck(workflow: &Workflow, known: &Known) -> Vec<Problem> {
    let mut problems = Problems::default();
    for (number, node) in workflow.nodes().iter().enumerate() {
        known.check(node, &format!("nodes[{number}].config"), &mut problems);
    }
    problems.into_sorted()
}

/// Tells whether a run can begin with these inputs.
pub fn inputs<'a>(
    workflow: &Workflow,
    given: impl IntoIterator<Item = &'a str>,
) -> Result<(), Invalid> {
    let problems = Inputs::of(workflow).check(given, Place::NOWHERE, "inputs");
    if problems.is_empty() { Ok(()) } else { Err(Invalid::new(problems)) }
}

#[cfg(test)]
mod tests;

//! Nodes that are called by themselves, without their workflow (U-16, U-18).
//!
//! Whatever the templates of a node refer to is then in the message: data `{"topic": …}` has
//! values by the names of nodes, and every other name stands for the message as a whole.

use std::collections::BTreeMap;

use nuncio_protocol::{
    ids::ArtifactId,
    message::{Message, Part},
    task::Artifact,
};

use super::{Callee, inputs::of_value, job, with_job};
use crate::{
    graph::{Kind, Workflow},
    plan::prompt,
    template::{self, Found, Limits, Output, Scope},
};

/// What comes of a message to a node.
#[derive(Clone, Debug)]
pub enum Alone {
    /// Somebody is told something.
    Give(Callee, Box<Message>),
    /// The node has nothing to do but to say this.
    Say(Vec<Part>),
}

/// Puts together what a node does for a message. Fails with why it cannot be called by itself.
pub fn prepare(workflow: &Workflow, node: &str, message: Message) -> Result<Alone, String> {
    let id = node;
    let node = workflow.node(id).ok_or_else(|| format!("there is no node `{id}`"))?;
    let kind = match node.kind() {
        Kind::Map(map) => &*map.body,
        kind => kind,
    };
    let (scope, limits) = (Said::new(workflow, &message), Limits::default());
    let told = |error: template::Error| error.to_string();
    let parts = match prompt(kind) {
        Some(prompt) => {
            let parts = prompt
                .templates()
                .iter()
                .map(|template| template.render(&scope, limits).map(template::Rendered::into_part));
            parts.collect::<Result<Vec<_>, _>>().map_err(told)?
        }
        None => message.parts.clone(),
    };
    // What else was said is for nobody: nodes are told what to do by their workflow.
    let message = Message { metadata: None, ..message };
    let give = |to, message| Ok(Alone::Give(to, Box::new(message)));
    match kind {
        Kind::External(external) => {
            give(job::callee(&external.target), Message { parts, ..message })
        }
        Kind::Workflow(sub) => {
            let inputs = job::inputs(sub, &scope, limits).map_err(told)?;
            let message = job::with_version(Message { parts: vec![inputs], ..message }, sub);
            give(Callee::Agent(sub.workflow.clone()), message)
        }
        Kind::Agent(_) | Kind::Tool(_) | Kind::Command(_) | Kind::Http(_) => {
            let (job, sort) = job::job(kind, &scope, limits).map_err(told)?;
            let message = with_job(Message { parts, ..message }, &job);
            give(Callee::Node(id.to_owned(), sort), message)
        }
        Kind::Input(_) | Kind::Output(_) => Ok(Alone::Say(parts)),
        Kind::Wait(_) | Kind::Approval(_) | Kind::Asset(_) | Kind::Map(_) => Err(format!(
            "the node `{id}` is of type {}, which does nothing by itself; run its workflow",
            kind.name()
        )),
    }
}

/// What a message says to templates.
struct Said<'a> {
    workflow: &'a Workflow,
    named: BTreeMap<String, Output>,
    whole: Output,
}

impl<'a> Said<'a> {
    fn new(workflow: &'a Workflow, message: &Message) -> Self {
        let output = |parts| Output::new(vec![Artifact::new(ArtifactId::generate(), parts)]);
        let data = message.parts.iter().filter_map(|part| part.as_data()?.as_object());
        let named = data.flat_map(|object| object.members()).filter_map(|(name, value)| {
            workflow.node(&name).is_some().then(|| (name, output(vec![of_value(value)])))
        });
        Self { workflow, named: named.collect(), whole: output(message.parts.clone()) }
    }
}

impl Scope for Said<'_> {
    fn find(&self, name: &str) -> Option<Found<'_>> {
        Some(Found::Output(self.named.get(name).unwrap_or(&self.whole)))
    }

    fn names(&self) -> Vec<&str> {
        self.workflow.nodes().iter().map(|node| node.id().as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use nuncio_protocol::json::Raw;

    use super::*;

    const GRAPH: &str = "
name: w
nodes:
  - {id: a, type: input}
  - {id: b, type: input}
  - {id: ask, type: external, config: {agent: clerk, prompt: '{{a}} and {{b}}'}}
  - {id: pass, type: external, config: {agent: clerk}}
  - {id: sleep, type: wait, config: {for: 1s}}
edges:
  - {from: a, to: ask}
  - {from: b, to: ask}
  - {from: ask, to: pass}
  - {from: pass, to: sleep}
";

    fn told(node: &str, part: Part) -> Result<String, String> {
        let workflow = Workflow::read(GRAPH).expect("a workflow");
        let message = Message { parts: vec![part], ..Message::user("") };
        Ok(match prepare(&workflow, node, message)? {
            Alone::Give(Callee::Agent(name), message) => format!("{name}: {}", message.text()),
            Alone::Give(to, _) => panic!("{to:?}"),
            Alone::Say(parts) => format!("says {}", parts[0].as_text().unwrap_or_default()),
        })
    }

    #[test]
    fn what_templates_refer_to_is_in_the_message() {
        let by_name = Raw::parse_text(r#"{"a":"x","b":2}"#).expect("JSON");
        assert_eq!(told("ask", Part::data(by_name)), Ok("clerk: x and 2".to_owned()));
        assert_eq!(told("ask", Part::text("it")), Ok("clerk: it and it".to_owned()));
        assert_eq!(told("pass", Part::text("it")), Ok("clerk: it".to_owned()));
        assert_eq!(told("a", Part::text("it")), Ok("says it".to_owned()));
    }

    #[test]
    fn a_node_that_does_nothing_by_itself_says_so() {
        let refused = told("sleep", Part::text("it")).expect_err("it only waits");
        assert!(refused.contains("type wait"), "{refused}");
    }
}

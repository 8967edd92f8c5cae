//! Whether something can be an answer to what a run asks, before it is said.
//!
//! An approval takes one of its options and nothing else. Whoever says something else is told so
//! at once, and the run goes on waiting; what it hears all the same, it asks again about.

use std::sync::Arc;

use nuncio_protocol::{
    error::{Error, ErrorKind},
    ids::TaskId,
    json::Object,
    message::Message,
};
use nuncio_tasks::{engine::Tasks, scope::Scope};

use super::{
    entry::{Log, read_log},
    job::{self, NotChosen},
    names,
};
use crate::{
    graph::{Kind, Node, Workflow},
    plan::{Call, Plan},
};

/// The member of a message's metadata that names the node whose question it answers.
const NODE: &str = "node";

/// Returns what to say to whoever answers an approval of a run, or of a run within it, with none
/// of its options. `None` if the message may be said, as most may.
pub async fn objection(
    tasks: &Tasks,
    scope: &Scope,
    run: &TaskId,
    message: &Message,
) -> Result<Option<String>, Error> {
    let log = match read_log(tasks, scope, run).await {
        // It has given its work to nobody yet.
        Err(error) if error.kind() == ErrorKind::TaskNotFound => return Ok(None),
        log => log?,
    };
    let Some(plan) = plan(&log) else { return Ok(None) };
    let told = |call: &Call| log.unheard.iter().any(|(_, to)| to.as_ref() == Some(call));
    let asking = plan.questions().into_iter().map(|(call, _)| call);
    let Some(call) = addressee(asking.filter(|call| !told(call)), message) else {
        return Ok(None);
    };
    let kind = match plan.workflow().node(call.node.as_str()).map(Node::kind) {
        Some(Kind::Map(map)) => &*map.body,
        Some(kind) => kind,
        None => return Ok(None),
    };
    match kind {
        Kind::Approval(approval) => Ok(match job::choose(message, &job::options(approval)) {
            Err(NotChosen::Unclear(told)) => Some(told),
            Ok(_) | Err(NotChosen::Rejected(_)) => None,
        }),
        Kind::Workflow(_) => {
            let scope = Scope::tenant(scope.tenant.clone());
            let (task, message) = (names::task_of(run, &call), inward(message.clone()));
            Box::pin(objection(tasks, &scope, &task, &message)).await
        }
        _ => Ok(None),
    }
}

/// Returns a run as its log says that it stands. `None` if it is none.
fn plan(log: &Log) -> Option<Plan> {
    let begun = log.begun.as_ref()?;
    let workflow = Workflow::read(&begun.source).ok()?;
    let mut plan = Plan::new(Arc::new(workflow), begun.inputs.clone()).ok()?;
    for dated in &log.happened {
        plan.apply(dated.event.clone()).ok()?;
    }
    Some(plan)
}

/// Returns which of the calls that ask a message is for: the one that it names, or the first.
pub(super) fn addressee(mut asking: impl Iterator<Item = Call>, message: &Message) -> Option<Call> {
    let named = message.metadata.as_ref().and_then(|metadata| metadata.get(NODE)?.as_text());
    match named {
        None => asking.next(),
        Some(name) => asking.find(|call| {
            let whole = Call { iteration: 1, attempt: 1, ..call.clone() };
            *name == *call.node.as_str() || whole.to_string() == name
        }),
    }
}

/// Makes a message to a run one for whoever does the work of a node, to whom the names of our
/// nodes say nothing.
pub(super) fn inward(mut message: Message) -> Message {
    let metadata = message.metadata.take().map(|metadata| metadata.without(NODE));
    message.metadata = metadata.filter(|metadata: &Object| !metadata.is_empty());
    message
}

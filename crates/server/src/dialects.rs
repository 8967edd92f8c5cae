//! What an agent speaks besides A2A 1.0, and what a dialect asks for beside its wire form.
//!
//! The wire forms themselves are pure functions in [`nuncio_protocol::dialect`]. Here is what
//! they cannot do: settings, names that callers give to tasks, who may ask for what, and the
//! documents that a dialect has at paths of its own. A dialect that is not switched on has no
//! paths: they are not found, as if nobody had thought of them.

mod molecule;
pub(crate) mod names;
mod opportunity;
mod pocketpaw;
mod time_limit;
mod upal;

use std::{collections::BTreeSet, fmt, sync::Arc};

use http::{Response, StatusCode, request::Parts};
use nuncio_protocol::{
    card::AgentCard,
    dialect::{Legacy, Offered, WireForm, molecule as molecule_form},
    error::{Error, ErrorKind, ErrorTable, reason},
    http::{HttpForm, V1Http},
    json::Raw,
    operation::Request,
    service::{A2aService, CallContext, Events},
    wire::JsonRpcForm,
};

pub(crate) use self::time_limit::TimeLimited;
pub use self::{
    molecule::Molecule,
    opportunity::{InvalidSchema, Opportunity},
    pocketpaw::{InvalidSetting, PocketPaw, Switch},
};

use crate::{body::Body, respond};

/// The member of a request's metadata that names the skill that is asked for (C-32).
pub const SKILL_ID: &str = "skillId";

/// What an agent speaks besides A2A 1.0: 0.3, unless told otherwise.
///
/// A request with a slash in its method, such as `message/send`, does not tell whose it is, and
/// the answers differ. It is therefore answered in one form: that of the dialect that was
/// switched on last of those that have such methods, or the one that
/// [`slash_methods`](Self::slash_methods) names.
///
/// ```
/// use nuncio_server::dialects::{Dialects, Molecule, Opportunity, PocketPaw};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let dialects = Dialects::default()
///     .upal()
///     .opportunity(
///         Opportunity::default()
///             .schema("validate", r#"{"type": "object", "required": ["problem"]}"#)?
///             .allow("validate", ["orchestrator-agent"]),
///     )
///     .pocketpaw(PocketPaw::default());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Dialects {
    legacy: Option<Legacy>,
    lenient: bool,
    only_legacy: bool,
    pub(crate) pocketpaw: Option<PocketPaw>,
    opportunity: Option<Opportunity>,
    molecule: Option<Molecule>,
    upal: bool,
}

impl Default for Dialects {
    fn default() -> Self {
        Self { legacy: Some(Legacy::V03), ..Self::none() }
    }
}

impl From<Offered> for Dialects {
    /// Switches on what is offered, each with its default settings.
    fn from(offered: Offered) -> Self {
        Self {
            legacy: offered.legacy,
            lenient: offered.lenient,
            only_legacy: offered.only_legacy,
            pocketpaw: offered.pocketpaw.then(PocketPaw::default),
            opportunity: offered.opportunity.then(Opportunity::default),
            molecule: offered.molecule.then(Molecule::default),
            upal: offered.upal,
        }
    }
}

impl Dialects {
    /// Speaks A2A 1.0 and nothing else.
    pub fn none() -> Self {
        Self {
            legacy: None,
            lenient: false,
            only_legacy: false,
            pocketpaw: None,
            opportunity: None,
            molecule: None,
            upal: false,
        }
    }

    /// Speaks `PocketPaw`: its JSON-RPC at `/a2a` and its routes below `/a2a/tasks`.
    pub fn pocketpaw(mut self, settings: PocketPaw) -> Self {
        self.pocketpaw = Some(settings);
        self.slash_methods(Legacy::PocketPaw)
    }

    /// Speaks the capability envelope of the opportunity agents at `/a2a`.
    pub fn opportunity(mut self, settings: Opportunity) -> Self {
        self.opportunity = Some(settings);
        self
    }

    /// Speaks Upal: the agent's skills are its nodes, at `/a2a/nodes/{skill}`.
    pub fn upal(mut self) -> Self {
        self.upal = true;
        self
    }

    /// Speaks molecule, with `message/sendSubscribe` and `GET /tasks/{id}`.
    pub fn molecule(mut self, settings: Molecule) -> Self {
        self.molecule = Some(settings);
        self.slash_methods(Legacy::Molecule)
    }

    /// Answers Harbor's driver in the form it reads.
    pub fn harbor(self) -> Self {
        self.slash_methods(Legacy::Harbor)
    }

    /// Chooses the form in which methods with a slash are answered.
    pub fn slash_methods(mut self, form: Legacy) -> Self {
        self.legacy = Some(form);
        self
    }

    /// Takes requests of 1.0 that do not name their version, which the specification forbids.
    pub fn lenient(mut self) -> Self {
        self.lenient = true;
        self
    }

    /// Returns the switches, as the choice of a wire form needs them.
    pub(crate) fn offered(&self) -> Offered {
        Offered {
            legacy: self.legacy,
            molecule: self.molecule.is_some(),
            opportunity: self.opportunity.is_some(),
            upal: self.upal,
            pocketpaw: self.pocketpaw.is_some(),
            lenient: self.lenient,
            only_legacy: self.only_legacy,
        }
    }

    /// Returns the documents that everybody may read at paths that only a dialect has.
    pub(crate) fn documents(
        &self,
        agent: &str,
        card: &AgentCard,
        url: &str,
    ) -> Vec<(String, String)> {
        let mut documents = Vec::new();
        if self.opportunity.is_some() {
            documents.push(opportunity::capabilities(agent, card));
        }
        if self.upal {
            documents.extend(upal::cards(agent, card, url));
        }
        documents
    }

    /// Returns the card as the dialect that answers slash methods wants to see it.
    pub(crate) fn card(&self, card: &AgentCard) -> AgentCard {
        match self.legacy {
            Some(Legacy::PocketPaw) => pocketpaw::below_a2a(card),
            _ => card.clone(),
        }
    }
}

/// The dialects of one agent at work.
#[derive(Clone)]
pub(crate) struct Spoken {
    dialects: Dialects,
    agent: String,
    skills: BTreeSet<String>,
}

impl Spoken {
    pub(crate) fn new(dialects: Dialects, agent: &str, card: &AgentCard) -> Self {
        let skills = card.skills.iter().map(|skill| skill.id.clone()).collect();
        Self { dialects, agent: agent.to_owned(), skills }
    }

    /// Returns why nobody is answered, if that is so.
    pub(crate) fn disabled(&self) -> Option<Error> {
        self.dialects.pocketpaw.as_ref().and_then(PocketPaw::disabled)
    }

    /// Answers a question about the health of the agent, if this is one.
    pub(crate) fn health(&self, path: &str, is_stopping: bool) -> Option<Response<Body>> {
        self.dialects.opportunity.as_ref().filter(|_| path == opportunity::HEALTH)?;
        let status = if is_stopping { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
        let text = opportunity::health(&self.agent, is_stopping);
        Some(respond::document(status, respond::JSON, text))
    }

    /// Returns the reader and writer of a form in which every call is one JSON document.
    pub(crate) fn json_rpc(&self, form: WireForm) -> Option<Box<dyn JsonRpcForm>> {
        match form {
            WireForm::Molecule => Some(Box::new(molecule_form::Molecule { flat: self.is_flat() })),
            other => other.json_rpc(&self.agent),
        }
    }

    /// Returns the reader and writer of a form in which method and path speak, too.
    pub(crate) fn http(&self, form: WireForm, table: ErrorTable) -> Option<Box<dyn HttpForm>> {
        match form {
            WireForm::V1Http => Some(Box::new(V1Http { table })),
            WireForm::MoleculeHttp => {
                Some(Box::new(molecule_form::MoleculeHttp { flat: self.is_flat() }))
            }
            other => other.http(),
        }
    }

    /// Holds a request to what its dialect asks for, before the agent hears of it.
    pub(crate) fn check(
        &self,
        form: WireForm,
        head: &Parts,
        ctx: &mut CallContext,
        request: &mut Request,
    ) -> Result<(), Error> {
        match (form, &self.dialects.opportunity) {
            (WireForm::Opportunity, Some(settings)) => {
                settings.check(&self.skills, head, ctx, request)
            }
            (WireForm::Upal, _) => upal::check(&self.skills, &self.agent, head, request),
            (WireForm::Molecule, _) => molecule::check(&self.agent, head),
            (WireForm::PocketPaw | WireForm::PocketPawHttp, _) => {
                pocketpaw::tell_history(request);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Returns what it takes to end a stream as its form wants it, if that is not as it ends
    /// anyway.
    pub(crate) fn ending(&self, form: WireForm, ctx: &CallContext) -> Option<Ending> {
        let is_flat = form == WireForm::Molecule && self.is_flat();
        // Looking a task up is done for no other.
        is_flat.then(|| Ending(CallContext { parent: None, ..ctx.clone() }))
    }

    fn is_flat(&self) -> bool {
        self.dialects.molecule.is_some_and(|settings| settings.flat)
    }
}

/// How a stream ends in a form that wants it otherwise: by whom the task is looked up.
pub(crate) struct Ending(CallContext);

impl Ending {
    pub(crate) fn put(self, service: &Arc<dyn A2aService>, events: Events) -> Events {
        molecule::end_with_whole_task(Arc::clone(service), self.0, events)
    }
}

impl fmt::Debug for Spoken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spoken").field("dialects", &self.dialects).finish_non_exhaustive()
    }
}

/// Says that there is no such skill, by whichever name the dialect calls it.
fn no_such_skill(text: String) -> Error {
    Error::new(ErrorKind::InvalidParams, text).with_reason(reason::SKILL_NOT_FOUND)
}

/// Tells the agent something about a message, which is all that it gets to see of a request.
pub(crate) fn tell(request: &mut Request, key: &str, value: Raw) {
    if let Request::SendMessage(send) | Request::SendStreamingMessage(send) = request {
        let metadata = send.message.metadata.take().unwrap_or_default();
        send.message.metadata = Some(metadata.with(key, value));
    }
}

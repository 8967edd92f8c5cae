//! The directory: agents, keys and rules, and every way to change them.
//!
//! [`Directory`] is a handle. Reading is reading a [`State`], without waiting. Changing is
//! deciding on a state, writing records, events and audit lines at once, and only then showing
//! the next state; if another process has written meanwhile, it is decided anew.

mod approvals;
mod change;
mod configured;
mod discover;
mod edit;
mod feed;
mod gather;
mod health;
mod keys;
mod notes;
mod options;
mod register;
mod rules;
mod search;
mod tell;
mod triggers;
mod workflows;

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard as Loaded};
use nuncio_auth::{
    KeyRecord, KeySource,
    rules::{Asker, Decision, Question, Settings},
};
use nuncio_protocol::ids::{AgentId, Organisation};
use tokio::sync::Mutex;

pub(crate) use self::{
    approvals::{Approval, Decision as ApprovalDecision},
    tell::Delegation,
};
pub use self::{
    change::Actor,
    configured::{Configured, ConfiguredAgent},
    discover::{Discovery, Network},
    edit::{Below, Patch},
    feed::{Feed, Item, Passing, Reader},
    health::{Heartbeat, Probed},
    keys::{ADMIN, ADMINISTRATOR, ENROL, Enrolment, Issued, MAX_TOKENS, READ},
    options::{Liveness, Options},
    register::{NewAgent, Registered, Registrar, Registration},
    rules::{CONFIGURED, MAX_RULES},
    search::{MAX_PAGE, Page, Query},
    workflows::{MAX_VERSIONS, MAX_WORKFLOWS},
};
use self::{change::Change, gather::Gathering, health::Beats, notes::Uses, search::may_see};
use crate::{
    agent::Agent,
    error::Error,
    state::State,
    store::{Commit, Committed, HubStore, Version},
};

/// Knows which agents exist and who may call whom. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Directory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Arc<dyn HubStore>,
    state: ArcSwap<State>,
    /// Held by whoever changes something, so that processes and not callers race.
    turn: Mutex<Turn>,
    beats: Beats,
    gathering: Gathering,
    feed: Feed,
    uses: Uses,
    options: Options,
}

/// Whether the state may be behind what we have written ourselves.
///
/// So it is from before a commit until what was committed is shown, and it stays so if whoever
/// wanted it has gone away meanwhile.
#[derive(Debug, Default)]
struct Turn {
    is_behind: bool,
}

impl Directory {
    /// Reads what a store has.
    pub async fn open(store: Arc<dyn HubStore>, options: Options) -> Result<Self, Error> {
        let state = State::new(options.settings).after(store.changes(Version::default()).await?)?;
        let feed = Feed::new(Arc::clone(&store), store.last_event().await?);
        let directory = Self(Arc::new(Inner {
            store,
            state: ArcSwap::from_pointee(state),
            turn: Mutex::default(),
            beats: Beats::default(),
            gathering: Gathering::default(),
            feed,
            uses: Uses::default(),
            options,
        }));
        directory.read_beats().await?;
        Ok(directory)
    }

    /// Returns everything as it is now.
    pub fn state(&self) -> Loaded<Arc<State>> {
        self.0.state.load()
    }

    /// Returns what happens.
    pub fn feed(&self) -> &Feed {
        &self.0.feed
    }

    /// Returns the database.
    pub fn store(&self) -> &Arc<dyn HubStore> {
        &self.0.store
    }

    /// Returns how it was told to behave.
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// Decides whether somebody may call an agent.
    pub fn decide(&self, question: &Question<'_>) -> Decision {
        let state = self.state();
        state.decider().decide(&**state, question)
    }

    /// Tells whether somebody may know of an agent: whoever may call it may, and administrators.
    pub fn sees(&self, asker: Asker<'_>, agent: &AgentId) -> bool {
        may_see(&self.state(), asker, agent)
    }

    /// Returns an agent that somebody may know of. One that they may not know of is no other
    /// than one that is not there.
    pub fn visible(&self, asker: Asker<'_>, text: &str) -> Result<Arc<Agent>, Error> {
        let state = self.state();
        seen(&state, asker, state.find(asker.organisation(), text))
    }

    /// Returns the agent that somebody calls, as [`visible`](Self::visible) does, or who stands
    /// in for it if it was removed.
    pub fn callee(&self, asker: Asker<'_>, text: &str) -> Result<Arc<Agent>, Error> {
        let state = self.state();
        seen(&state, asker, state.callee(asker.organisation(), text))
    }

    /// Puts other settings of the hierarchy in force, and ends what rested on the old ones.
    pub async fn set_settings(&self, settings: Settings, actor: &Actor) -> Result<(), Error> {
        self.change(|state| {
            let mut change = Change::new(actor);
            let organisations: std::collections::BTreeSet<&Organisation> =
                state.agents().map(|agent| &agent.organisation).collect();
            for organisation in organisations {
                change.raise_epoch(state, organisation);
                change.happened(crate::event::Name::RulesChanged, organisation, &[]);
            }
            change.note("hierarchy", &settings_name(settings), "");
            Ok((change, ()))
        })
        .await?;
        let _turn = self.0.turn.lock().await;
        self.0.state.store(Arc::new(self.state().under(settings)));
        Ok(())
    }

    /// Reads what other processes have written. Where there are none, nothing is read, unless
    /// somebody of ours has gone away between writing and showing.
    pub async fn refresh(&self) -> Result<(), Error> {
        let mut turn = self.0.turn.lock().await;
        if turn.is_behind || self.0.store.is_shared() {
            self.catch_up().await?;
            turn.is_behind = false;
        }
        Ok(())
    }

    async fn catch_up(&self) -> Result<(), Error> {
        let state = self.state();
        let changes = self.0.store.changes(state.version()).await?;
        if changes.version != state.version() {
            self.0.state.store(Arc::new(state.after(changes)?));
            self.0.feed.reached(self.0.store.last_event().await?);
        }
        Ok(())
    }

    /// Changes something: decides on what there is, writes it, and shows it.
    ///
    /// Dropping the future may leave the change written and not shown; the next one to change
    /// or refresh anything then shows it.
    async fn change<T>(
        &self,
        mut decide: impl FnMut(&State) -> Result<(Change, T), Error>,
    ) -> Result<T, Error> {
        let mut turn = self.0.turn.lock().await;
        loop {
            let state = self.0.state.load_full();
            let (change, outcome) = decide(&state)?;
            if change.is_empty() {
                return Ok(outcome);
            }
            let (records, events, audit) = change.into_parts();
            let commit = Commit { seen: state.version(), records: records.clone(), events, audit };
            turn.is_behind = true;
            match self.0.store.commit(commit).await? {
                Committed::Done { version, last_event } => {
                    let changes = crate::store::Changes { version, records };
                    self.0.state.store(Arc::new(state.after(changes)?));
                    self.0.feed.reached(last_event);
                    turn.is_behind = false;
                    return Ok(outcome);
                }
                Committed::Behind => self.catch_up().await?,
            }
        }
    }
}

fn seen(state: &State, asker: Asker<'_>, agent: Option<&Arc<Agent>>) -> Result<Arc<Agent>, Error> {
    let agent = agent.filter(|agent| may_see(state, asker, &agent.id));
    agent.cloned().ok_or(Error::no_agent())
}

fn settings_name(settings: Settings) -> String {
    let roots = if settings.root_siblings { ", roots are siblings" } else { "" };
    format!("{:?}{roots}", settings.hierarchy).to_lowercase()
}

impl KeySource for Directory {
    fn find(&self, id: &str) -> Option<Arc<KeyRecord>> {
        self.state().key(id).cloned()
    }
}

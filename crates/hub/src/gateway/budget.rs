//! What callers may have done, and what agents may be asked for: counters by minute and by day.
//!
//! Those of a minute are counted here, and come back little by little: whoever is too fast is told
//! to wait (429). Those of a day are counted in the database, by all hubs on it together, and
//! begin anew at midnight, UTC: whoever has used theirs up is told so (402).

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwap;
use nuncio_protocol::{
    error::{Error, ErrorKind},
    ids::Organisation,
    service::Caller,
    time::Timestamp,
};
use tokio::time::Instant;

use crate::{
    agent::Agent,
    limits::draw,
    state::State,
    store::{Allowance, HubStore},
};

/// How much one caller may have done, or one agent may be asked for. What is not said is not
/// limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Messages in a minute.
    pub calls_per_minute: Option<u32>,
    /// Messages in a day.
    pub calls_per_day: Option<u64>,
    /// Tasks that have not ended: of a caller, or of an agent that is called elsewhere.
    pub tasks_in_flight: Option<u32>,
}

/// Budgets of everybody, and of some by name. What a named one does not say is as for everybody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Of each of those who are not named.
    pub usual: Budget,
    /// By name.
    pub named: HashMap<String, Budget>,
}

/// All budgets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budgets {
    /// Of callers: agents by their names, people as `user:NAME`.
    pub callers: Named,
    /// Of agents, for all their callers together.
    pub agents: Named,
}

/// Counts.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    budgets: ArcSwap<Budgets>,
    /// When the bucket of a minute will be full.
    minutes: Mutex<HashMap<String, Instant>>,
}

/// So many buckets are kept before full ones are looked for.
const ROOM: usize = 10_000;

const DAY_MILLIS: i64 = 86_400_000;

/// Somebody whose calls are counted.
pub(super) struct Payer {
    /// Under this name, of which there is one in the database.
    key: String,
    /// What people call it.
    title: String,
    budget: Budget,
}

impl Budget {
    fn counts_messages(self) -> bool {
        self.calls_per_minute.is_some() || self.calls_per_day.is_some()
    }

    fn or(self, usual: Self) -> Self {
        Self {
            calls_per_minute: self.calls_per_minute.or(usual.calls_per_minute),
            calls_per_day: self.calls_per_day.or(usual.calls_per_day),
            tasks_in_flight: self.tasks_in_flight.or(usual.tasks_in_flight),
        }
    }
}

impl Named {
    /// Returns the budget of somebody.
    pub fn of(&self, name: &str) -> Budget {
        self.named.get(name).copied().unwrap_or_default().or(self.usual)
    }
}

impl Counters {
    pub(super) fn set(&self, budgets: Budgets) {
        self.budgets.store(budgets.into());
    }

    /// Returns how many unfinished tasks a caller may have, if that was said.
    pub(super) fn tasks_of(&self, state: &State, caller: &Caller) -> Option<u32> {
        if self.is_unlimited() {
            return None;
        }
        let name = name_of(state, caller)?;
        self.budgets.load().callers.of(&name).tasks_in_flight
    }

    /// Returns how many calls an agent gets at once, if that was said.
    pub(super) fn tasks_for(&self, agent: &str) -> Option<u32> {
        self.budgets.load().agents.of(agent).tasks_in_flight
    }

    /// Tells whether nobody has a budget, so that nobody's calls need to be counted.
    fn is_unlimited(&self) -> bool {
        let budgets = self.budgets.load();
        let is_unlimited = |of: &Named| of.usual == Budget::default() && of.named.is_empty();
        is_unlimited(&budgets.callers) && is_unlimited(&budgets.agents)
    }

    /// Counts a message, or says why it is too many.
    pub(super) async fn spend(&self, store: &dyn HubStore, payers: &[Payer]) -> Result<(), Error> {
        let now = Instant::now();
        for payer in payers {
            if let Some(limit) = payer.budget.calls_per_minute {
                self.draw(payer, limit, now)?;
            }
        }
        let daily = payers.iter().filter(|payer| payer.budget.calls_per_day.is_some());
        let daily: Vec<&Payer> = daily.collect();
        if daily.is_empty() {
            return Ok(());
        }
        let allowances = daily.iter().map(|payer| Allowance {
            key: payer.key.clone(),
            limit: payer.budget.calls_per_day.unwrap_or(u64::MAX),
        });
        let millis = Timestamp::now().as_millis();
        let day = u32::try_from(millis.div_euclid(DAY_MILLIS)).unwrap_or(0);
        let used_up = store.spend(day, allowances.collect()).await.map_err(Error::from)?;
        match used_up.and_then(|index| daily.get(index)) {
            None => Ok(()),
            Some(payer) => Err(payer.used_up(millis)),
        }
    }

    /// Returns for whom a message to an agent counts, of its caller, unless everything is theirs,
    /// and the agent: those who have a budget for messages.
    pub(super) fn payers(
        &self,
        state: &State,
        organisation: &Organisation,
        caller: &Caller,
        agent: &Agent,
    ) -> Vec<Payer> {
        if self.is_unlimited() {
            return Vec::new();
        }
        let budgets = self.budgets.load();
        let own = match caller {
            Caller::Agent(id) => format!("{organisation}/caller/agent:{id}"),
            Caller::User(name) => format!("{organisation}/caller/user:{name}"),
            _ => String::new(),
        };
        let caller = name_of(state, caller).map(|name| Payer {
            key: own,
            budget: budgets.callers.of(&name),
            title: format!("of `{name}`"),
        });
        let agent = Payer {
            key: format!("{organisation}/agent/{}", agent.id),
            budget: budgets.agents.of(agent.name.as_str()),
            title: format!("for agent `{}`", agent.name),
        };
        let has_budget = |payer: &Payer| payer.budget.counts_messages();
        caller.into_iter().chain([agent]).filter(has_budget).collect()
    }

    fn draw(&self, payer: &Payer, limit: u32, now: Instant) -> Result<(), Error> {
        let mut minutes = self.minutes();
        if minutes.len() >= ROOM && !minutes.contains_key(&payer.key) {
            minutes.retain(|_, full| *full > now);
        }
        let level = draw(minutes.entry(payer.key.clone()).or_insert(now), limit, now);
        match level.wait {
            None => Ok(()),
            Some(wait) => {
                let text = format!(
                    "too fast: the budget {} is {limit} calls a minute; wait as long as \
                     `Retry-After` says",
                    payer.title
                );
                Err(Error::new(ErrorKind::RateLimited, text).with_retry_after(wait))
            }
        }
    }

    fn minutes(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.minutes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Payer {
    fn used_up(&self, millis: i64) -> Error {
        let limit = self.budget.calls_per_day.unwrap_or_default();
        let left = DAY_MILLIS - millis.rem_euclid(DAY_MILLIS);
        let text = format!(
            "the budget {} is used up: {limit} calls a day; it begins anew at midnight, UTC",
            self.title
        );
        let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
        Error::new(ErrorKind::BudgetExceeded, text).with_retry_after(left)
    }
}

/// Returns what the configuration calls somebody.
fn name_of(state: &State, caller: &Caller) -> Option<String> {
    match caller {
        Caller::Agent(id) => {
            let id = nuncio_protocol::ids::AgentId::parse(id).ok()?;
            state.agent(&id).map(|agent| agent.name.as_str().to_owned())
        }
        Caller::User(name) => Some(format!("user:{name}")),
        // Whoever sits at an open hub has it for themselves.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_budget_says_what_is_different() {
        let usual =
            Budget { calls_per_minute: Some(5), calls_per_day: Some(10), ..Budget::default() };
        let ann = Budget { calls_per_day: Some(99), ..Budget::default() };
        let named = Named { usual, named: [("user:ann".to_owned(), ann)].into() };
        assert_eq!(named.of("user:bob"), usual);
        assert_eq!(named.of("user:ann"), Budget { calls_per_day: Some(99), ..usual });
    }
}

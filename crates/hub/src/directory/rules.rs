//! Rules, as an administrator changes them.

use std::collections::BTreeSet;

use nuncio_auth::rules::Rule;
use nuncio_protocol::{
    ids::Organisation,
    json::{self, Raw},
};

use super::{Actor, Change, Directory};
use crate::{error::Error, event, store::Kind};

/// How many rules an organisation may have.
pub const MAX_RULES: usize = 10_000;

impl Directory {
    /// Puts a rule in force, in place of one with the same id.
    pub async fn put_rule(&self, rule: &Rule, actor: &Actor) -> Result<(), Error> {
        check_id(&rule.id)?;
        self.change(|state| {
            let mut change = Change::new(actor);
            let current = state.rule(&rule.id);
            if current.is_some_and(|current| current.organisation != rule.organisation) {
                return Err(Error::invalid("id", "is taken; choose another"));
            }
            if current == Some(rule) {
                return Ok((change, ()));
            }
            let count = state.rules().filter(|other| other.organisation == rule.organisation);
            if current.is_none() && count.count() >= MAX_RULES {
                return Err(Error::TooMany { what: "rules", limit: MAX_RULES });
            }
            change.put(Kind::Rule, &rule.id, Some(json::to_string(rule)));
            changed(&mut change, state, &rule.organisation, &rule.id);
            change.note("rule.put", &rule.id, "");
            Ok((change, ()))
        })
        .await
    }

    /// Takes a rule out of force.
    pub async fn remove_rule(
        &self,
        organisation: &Organisation,
        id: &str,
        actor: &Actor,
    ) -> Result<(), Error> {
        self.change(|state| {
            let mut change = Change::new(actor);
            let rule = state.rule(id).filter(|rule| rule.organisation == *organisation);
            rule.ok_or(Error::Unknown { what: "rule" })?;
            check_id(id)?;
            change.put(Kind::Rule, id, None);
            changed(&mut change, state, organisation, id);
            change.note("rule.remove", id, "");
            Ok((change, ()))
        })
        .await
    }

    /// Puts the rules of the configuration file in force, and takes those out that it no longer
    /// has. Their ids begin with [`CONFIGURED`].
    pub async fn set_configured_rules(
        &self,
        organisation: &Organisation,
        rules: &[Rule],
    ) -> Result<(), Error> {
        self.change(|state| {
            let mut change = Change::new(&Actor::configuration());
            let wanted: BTreeSet<&str> = rules.iter().map(|rule| &*rule.id).collect();
            let ours = state.rules().filter(|rule| rule.organisation == *organisation);
            for gone in ours.filter(|rule| rule.id.starts_with(CONFIGURED)) {
                if !wanted.contains(&*gone.id) {
                    change.put(Kind::Rule, &gone.id, None);
                    change.note("rule.remove", &gone.id, "");
                }
            }
            for rule in rules.iter().filter(|rule| state.rule(&rule.id) != Some(rule)) {
                change.put(Kind::Rule, &rule.id, Some(json::to_string(rule)));
                change.note("rule.put", &rule.id, "");
            }
            if !change.is_empty() {
                changed(&mut change, state, organisation, CONFIGURED);
            }
            Ok((change, ()))
        })
        .await
    }
}

/// Begins the ids of rules that the configuration file has.
pub const CONFIGURED: &str = "configuration/";

/// Refuses to change a rule that the file would bring back.
fn check_id(id: &str) -> Result<(), Error> {
    match id.strip_prefix(CONFIGURED) {
        Some(_) => Err(Error::invalid("id", "is of a rule in the hub's file; change it there")),
        None => Ok(()),
    }
}

fn changed(
    change: &mut Change,
    state: &crate::state::State,
    organisation: &Organisation,
    id: &str,
) {
    change.raise_epoch(state, organisation);
    change.happened(event::Name::RulesChanged, organisation, &[("rule", Raw::string(id))]);
}

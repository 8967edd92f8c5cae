//! Which of several agents with one skill is called, and why.

use std::{sync::Arc, time::Duration};

use super::turnstile::{Load, Reported};
use crate::agent::{Agent, Match, Status};

/// The time of an answer that nothing is known about: more than most take, so that saying
/// nothing is no advantage (HG-04).
const UNKNOWN_MS: u32 = 1_000;
const SLOWEST_MS: u32 = 10_000;

/// An agent that offers what is looked for.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) agent: Arc<Agent>,
    /// By what it offers it.
    pub(crate) matched: Match,
    /// How much it has to do for us.
    pub(crate) load: Load,
    /// How much it says it has to do.
    pub(crate) reported: Option<Reported>,
    /// How long its breaker stays open, if it is.
    pub(crate) rest: Option<Duration>,
    /// Why the caller may not, if so.
    pub(crate) denied: Option<String>,
}

/// Who can be called, the best first, and who cannot, by name.
#[derive(Clone, Debug)]
pub(crate) struct Ranking {
    pub(crate) ranked: Vec<Ranked>,
    pub(crate) left_out: Vec<LeftOut>,
}

/// An agent that can be called.
#[derive(Clone, Debug)]
pub(crate) struct Ranked {
    pub(crate) agent: Arc<Agent>,
    /// What agents are ordered by, the highest first: 100 for one that is well, 10 for each step
    /// of trust, 4 for the id of a skill or 2 for a tag, and `1000/(1000 + t)` for an answer in
    /// `t` milliseconds, behind everything that it has to do already. Each step is larger than
    /// all that follow it.
    pub(crate) score: f64,
    pub(crate) why: String,
}

/// An agent that is not called.
#[derive(Clone, Debug)]
pub(crate) struct LeftOut {
    pub(crate) agent: Arc<Agent>,
    pub(crate) why: String,
    /// Whether the caller may not call it, however it is.
    pub(crate) is_denied: bool,
}

impl Ranking {
    /// Returns all that the caller may call, also those that cannot be called now.
    pub(crate) fn allowed(&self) -> impl Iterator<Item = &Agent> {
        let resting = self.left_out.iter().filter(|left| !left.is_denied);
        self.ranked.iter().map(|one| &*one.agent).chain(resting.map(|left| &*left.agent))
    }
}

/// Orders the agents that offer something.
pub(crate) fn rank(candidates: impl IntoIterator<Item = Candidate>) -> Ranking {
    let mut ranking = Ranking { ranked: Vec::new(), left_out: Vec::new() };
    for candidate in candidates {
        match obstacle(&candidate) {
            Some(why) => {
                let is_denied = candidate.denied.is_some();
                ranking.left_out.push(LeftOut { agent: candidate.agent, why, is_denied });
            }
            None => ranking.ranked.push(Ranked::of(candidate)),
        }
    }
    ranking.left_out.sort_by(|one, other| one.agent.name.cmp(&other.agent.name));
    ranking.ranked.sort_by(|one, other| {
        let by_score = other.score.total_cmp(&one.score);
        by_score.then_with(|| one.agent.name.cmp(&other.agent.name))
    });
    ranking
}

fn obstacle(candidate: &Candidate) -> Option<String> {
    if let Some(denied) = &candidate.denied {
        return Some(format!("forbidden: {denied}"));
    }
    match candidate.agent.status {
        Status::Online | Status::Degraded => {}
        status => return Some(status.to_string()),
    }
    let rest = candidate.rest?;
    Some(format!("it fails; it is tried again in {} ms", rest.as_millis()))
}

impl Ranked {
    fn of(candidate: Candidate) -> Self {
        let Candidate { agent, matched, load, reported, .. } = candidate;
        let is_well = agent.status == Status::Online;
        let hint = agent.standing.latency_hint_ms;
        // What it does for others is in its heartbeats, and so is what it does for us.
        let calls = load.under_way + load.waiting;
        let active = reported.map_or(0, |reported| usize::try_from(reported.active).unwrap_or(0));
        let before = u32::try_from(calls.max(active)).unwrap_or(u32::MAX);
        let time = f64::from(hint.unwrap_or(UNKNOWN_MS).min(SLOWEST_MS));
        let time = time * (1.0 + f64::from(before));
        let (points, by) = match matched {
            Match::Skill => (4.0, "skill"),
            Match::Tag => (2.0, "tag"),
        };
        let score = if is_well { 100.0 } else { 0.0 }
            + 10.0 * f64::from(agent.standing.trust)
            + points
            + 1000.0 / (1000.0 + time);
        let hint = hint.map_or_else(|| "unknown".to_owned(), |hint| format!("{hint} ms"));
        let why = format!(
            "{}, trust {}, by {by}, latency {hint}, {before} calls before",
            agent.status, agent.standing.trust
        );
        Self { agent, score, why }
    }
}

#[cfg(test)]
mod tests {
    use nuncio_protocol::{
        ids::{AgentId, Organisation},
        time::Timestamp,
    };
    use proptest::prelude::*;

    use super::*;
    use crate::agent::{Addresses, Delivery, Origin, Standing, Watch};

    fn candidate(name: &str, status: Status, trust: u8, hint: Option<u32>) -> Candidate {
        let now = Timestamp::now();
        let agent = Agent {
            id: AgentId::parse(name).expect("an id"),
            organisation: Organisation::parse("acme").expect("a name"),
            name: name.parse().expect("a name"),
            role: None,
            card: None,
            held_card: None,
            parent: None,
            addresses: Addresses::default(),
            delivery: Delivery::default(),
            standing: Standing { trust, latency_hint_ms: hint },
            watch: Watch::default(),
            status,
            status_since: now,
            origin: Origin::Administrator,
            forwarded_to: None,
            hosting: None,
            allowed_agents: std::collections::BTreeMap::default(),
            created: now,
            updated: now,
        };
        Candidate {
            agent: Arc::new(agent),
            matched: Match::Skill,
            load: Load::default(),
            reported: None,
            rest: None,
            denied: None,
        }
    }

    fn names(candidates: impl IntoIterator<Item = Candidate>) -> Vec<String> {
        let ranked = rank(candidates).ranked;
        ranked.iter().map(|ranked| ranked.agent.name.to_string()).collect()
    }

    #[test]
    fn the_well_go_first_then_the_trusted_then_the_fast_then_the_idle() {
        use Status::{Degraded, Online};
        let mut tagged = candidate("tagged", Online, 3, Some(1));
        tagged.matched = Match::Tag;
        let mut loaded = candidate("loaded", Online, 3, Some(100));
        loaded.load = Load { under_way: 2, waiting: 1 };
        let mut working = candidate("working", Online, 3, Some(100));
        working.reported = Some(Reported { active: 5, most: None });
        let found = names([
            candidate("degraded", Degraded, 5, Some(1)),
            candidate("unsaid", Online, 3, None),
            tagged,
            candidate("slow", Online, 3, Some(900)),
            working,
            loaded,
            candidate("fast", Online, 3, Some(100)),
            candidate("friend", Online, 4, None),
        ]);
        let expected =
            ["friend", "fast", "loaded", "working", "slow", "unsaid", "tagged", "degraded"];
        assert_eq!(found, expected);
    }

    #[test]
    fn who_cannot_be_called_is_left_out_and_it_is_said_why() {
        let mut broken = candidate("broken", Status::Online, 5, None);
        broken.rest = Some(Duration::from_secs(7));
        let mut forbidden = candidate("forbidden", Status::Online, 5, None);
        forbidden.denied = Some("not in `allowed_agents`".to_owned());
        let resting = Status::ALL.into_iter().filter(|status| !status.is_up());
        let resting = resting.map(|status| candidate(status.as_str(), status, 5, None));
        let Ranking { ranked, left_out } = rank(resting.chain([broken, forbidden]));
        assert!(ranked.is_empty());
        for LeftOut { agent, why, .. } in &left_out {
            let expected = match agent.name.as_str() {
                "broken" => "it fails; it is tried again in 7000 ms",
                "forbidden" => "forbidden: not in `allowed_agents`",
                status => status,
            };
            assert_eq!(why, expected);
        }
        assert_eq!(left_out.len(), 8);
    }

    #[test]
    fn equals_are_in_the_order_of_their_names() {
        let all = ["c", "a", "b"].map(|name| candidate(name, Status::Online, 3, Some(5)));
        assert_eq!(names(all), ["a", "b", "c"]);
    }

    proptest! {
        /// Whatever else is known: more trust, a better match, less time and fewer calls never
        /// make it worse, and a step outweighs all that follow it.
        #[test]
        fn t14_each_step_outweighs_all_that_follow_it(
            trust in 1u8..=5, hint in prop::option::of(0u32..100_000), calls in 0usize..1_000,
            other_trust in 1u8..=5, other_hint in prop::option::of(0u32..100_000),
            other_calls in 0usize..1_000, by_tag: bool, other_by_tag: bool,
        ) {
            let made = |trust, hint, calls, by_tag| {
                let mut made = candidate("a", Status::Online, trust, hint);
                made.load.under_way = calls;
                made.matched = if by_tag { Match::Tag } else { Match::Skill };
                Ranked::of(made).score
            };
            let (one, other) = (
                made(trust, hint, calls, by_tag),
                made(other_trust, other_hint, other_calls, other_by_tag),
            );
            let key = |trust: u8, by_tag: bool| (trust, !by_tag);
            if key(trust, by_tag) > key(other_trust, other_by_tag) {
                prop_assert!(one > other);
            }
            prop_assert!(made(trust, hint, calls + 1, by_tag) <= one);
            prop_assert!(made(trust, Some(UNKNOWN_MS), calls, by_tag) >= made(trust, None, calls, by_tag));
        }
    }
}

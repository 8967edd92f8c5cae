//! Who is called first, and why.

use std::{cmp::Ordering, fmt, time::Duration};

/// How peers are ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ranking {
    /// By trust, then by how well the peer matches, then by measured time; peers that fail
    /// are left out. See [`Route::score`].
    #[default]
    Measured,
    /// As Harbor 1.3 ranks, number by number: `5·trust + 1000/max(1, hint in ms) + 10` if a
    /// skill's id matches. A fast stranger outranks a slow friend, and whoever gives no hint
    /// outranks all; nobody is left out for failing.
    HarborV1,
}

/// How a peer matches a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    /// No capability was asked for.
    Any,
    /// The peer has not said what it offers.
    Undeclared,
    /// A tag of a skill matches.
    Tag,
    /// The id of a skill matches.
    Skill,
}

/// Somebody to call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Route {
    /// The peer's URL.
    pub url: String,
    /// How far it is trusted, 1 to 5.
    pub trust: u8,
    /// The time of a usual answer by its entry; zero if unsaid.
    pub latency_hint: Duration,
    /// The time of a usual answer as measured, if it was.
    pub measured: Option<Duration>,
    /// How it matches.
    pub matched: Match,
    /// What routes are ordered by, the highest first.
    ///
    /// Unless Harbor's formula is chosen: `10·trust`, plus 4 for the id of a skill or 2 for a
    /// tag, plus `1000/(1000 + t)` for an answer in `t` milliseconds. The steps are larger
    /// than all that follows them, so trust outweighs any match, and a match any speed. The
    /// time is the measured one, else the hint, else 1 s; more than 10 s count as 10 s.
    pub score: f64,
    ranking: Ranking,
}

/// What came of looking for somebody to call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Considered {
    /// Who can be called, the best first.
    pub routes: Vec<Route>,
    /// Who cannot, in the order of their URLs.
    pub left_out: Vec<LeftOut>,
}

/// Somebody who is not called.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// The peer's URL.
    pub url: String,
    /// Why not.
    pub why: Why,
}

/// Why a peer is not called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// It says what it offers, and that is not it.
    NotOffered,
    /// It failed so many times in a row, the last time a moment ago.
    Down {
        /// How many times.
        failures: u32,
    },
    /// Its breaker is open.
    Resting {
        /// For so long; zero while a call tries whether it is well again.
        left: Duration,
    },
}

/// A peer that may become a route.
#[derive(Debug)]
pub(super) struct Candidate<'a> {
    pub(super) url: &'a str,
    pub(super) trust: u8,
    pub(super) hint: Duration,
    pub(super) measured: Option<Duration>,
    /// How often it failed, if it is to be left alone.
    pub(super) failures: Option<u32>,
    /// How long its breaker stays open, if it is.
    pub(super) rest: Option<Duration>,
    /// `None` if it offers something else.
    pub(super) matched: Option<Match>,
}

/// The time of an answer that nothing is known about: more than most take, so that saying
/// nothing is no advantage (HG-04).
const UNKNOWN: Duration = Duration::from_secs(1);
const SLOWEST: Duration = Duration::from_secs(10);

pub(super) fn rank<'a>(
    ranking: Ranking,
    candidates: impl Iterator<Item = Candidate<'a>>,
) -> Considered {
    let (mut routes, mut left_out) = (Vec::new(), Vec::new());
    for candidate in candidates {
        let Candidate { url, trust, hint, measured, failures, rest, matched } = candidate;
        let url = url.to_owned();
        let resting = rest.map(|left| Why::Resting { left });
        let unwell = resting.or_else(|| failures.map(|failures| Why::Down { failures }));
        match (matched, unwell) {
            (None, _) => left_out.push(LeftOut { url, why: Why::NotOffered }),
            (Some(_), Some(why)) if ranking == Ranking::Measured => {
                left_out.push(LeftOut { url, why });
            }
            (Some(matched), _) => {
                let mut route = Route {
                    url,
                    trust,
                    latency_hint: hint,
                    measured,
                    matched,
                    score: 0.0,
                    ranking,
                };
                route.score = route.terms().iter().sum();
                routes.push(route);
            }
        }
    }
    routes.sort_by(Route::order);
    Considered { routes, left_out }
}

impl Route {
    /// Says how the score comes about.
    pub fn explain(&self) -> String {
        let [trust, matched, speed] = self.terms();
        let time = match (self.ranking, self.measured) {
            (Ranking::Measured, Some(measured)) => format!("{} ms measured", millis(measured)),
            _ if self.latency_hint.is_zero() => "no latency known".to_owned(),
            _ => format!("{} ms by its entry", millis(self.latency_hint)),
        };
        format!(
            "{}: trust {} ({trust}) + {} ({matched}) + {time} ({speed:.3}) = {:.3}",
            self.url, self.trust, self.matched, self.score
        )
    }

    /// Returns Harbor's capability score: 1 if the id of a skill matches, else 0 (H-31).
    pub const fn capability_score(&self) -> u8 {
        matches!(self.matched, Match::Skill) as u8
    }

    /// Returns what trust, match and speed add to the score.
    fn terms(&self) -> [f64; 3] {
        let trust = f64::from(self.trust);
        match self.ranking {
            Ranking::Measured => {
                let matched = match self.matched {
                    Match::Skill => 4.0,
                    Match::Tag => 2.0,
                    Match::Any | Match::Undeclared => 0.0,
                };
                [10.0 * trust, matched, 1.0 / (1.0 + self.time().as_secs_f64())]
            }
            Ranking::HarborV1 => {
                let latency = self.latency_hint.as_secs_f64() * 1000.0;
                let capability = f64::from(self.capability_score());
                [5.0 * trust, 10.0 * capability, 1000.0 / latency.max(1.0)]
            }
        }
    }

    fn time(&self) -> Duration {
        let hint = Some(self.latency_hint).filter(|hint| !hint.is_zero());
        self.measured.or(hint).unwrap_or(UNKNOWN).min(SLOWEST)
    }

    /// The highest score first; of equals the one with the lower hint, then by URL.
    fn order(&self, other: &Self) -> Ordering {
        let by_hint = || self.latency_hint.cmp(&other.latency_hint);
        let by_score = other.score.total_cmp(&self.score);
        by_score.then_with(by_hint).then_with(|| self.url.cmp(&other.url))
    }
}

const fn millis(time: Duration) -> u128 {
    time.as_millis()
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "nothing asked for",
            Self::Undeclared => "skills not known",
            Self::Tag => "tag of a skill",
            Self::Skill => "id of a skill",
        })
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = &self.url;
        match self.why {
            Why::NotOffered => write!(f, "{url} offers other skills"),
            Why::Down { failures } => write!(f, "{url} failed {failures} times in a row just now"),
            Why::Resting { left } => {
                write!(f, "{url} has failed and is left alone for {} ms more", millis(left))
            }
        }
    }
}

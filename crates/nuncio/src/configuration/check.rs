//! Whether the parts of a configuration fit together.

use std::collections::BTreeMap;

use super::{
    Agent, Configuration, Error, Hosted, Place, Placed, Problem, Subject, nearest::nearest,
};

/// Looks for what contradicts something else.
pub(super) fn check(configuration: &Configuration) -> Result<(), Error> {
    let mut problems = Vec::new();
    names(configuration, &mut problems);
    for (index, agent) in configuration.agents.iter().enumerate() {
        self::agent(&format!("agents[{index}]"), agent, &mut problems);
    }
    parents(configuration, &mut problems);
    peers(configuration, &mut problems);
    rules(configuration, &mut problems);
    issuers(configuration, &mut problems);
    whole(configuration, &mut problems);
    if problems.is_empty() { Ok(()) } else { Err(Error::Invalid { problems }) }
}

/// Looks for what is allowed and may yet be a mistake.
pub(super) fn warnings(configuration: &Configuration) -> Vec<Problem> {
    let known = |name: &str| configuration.agents.iter().any(|agent| agent.name.get() == name);
    let mut found = Vec::new();
    let mut doubt = |name: &Placed<String>, key: String| {
        if known(name) {
            return;
        }
        let problem = at(name, key, format_args!("no agent `{}` is in this file", name.get()));
        let names = configuration.agents.iter().map(|agent| agent.name.as_str());
        found.push(match nearest(name, names) {
            Some(near) => problem.fix(format_args!("did you mean `{near}`?")),
            None => problem.fix("it must be registered by other means"),
        });
    };
    for (index, agent) in configuration.agents.iter().enumerate() {
        if let Some(parent) = &agent.parent {
            doubt(parent, format!("agents[{index}].parent"));
        }
    }
    for (index, rule) in configuration.rules.iter().enumerate() {
        for (key, subject) in [("caller", &rule.caller), ("target", &rule.target)] {
            if let Subject::Agent(name) | Subject::Team(name) = subject.get() {
                let name = subject.with(name.clone());
                doubt(&name, format!("rules[{index}].{key}"));
            }
        }
    }
    found
}

fn at<T>(value: &Placed<T>, key: impl Into<String>, what: impl std::fmt::Display) -> Problem {
    Problem::new(Place::at(value.line, value.column), key, what)
}

fn names(configuration: &Configuration, problems: &mut Vec<Problem>) {
    let mut first: BTreeMap<String, &Placed<String>> = BTreeMap::new();
    for (index, Agent { name, .. }) in configuration.agents.iter().enumerate() {
        let key = format!("agents[{index}].name");
        if !is_name(name) {
            let fix = "use letters, digits, `-`, `_` and `.`, 1 to 128 of them";
            problems.push(at(name, &key, format_args!("`{}` is no name", name.get())).fix(fix));
        }
        // Names that differ in capitals alone would be taken for each other.
        match first.entry(name.to_lowercase()) {
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(name);
            }
            std::collections::btree_map::Entry::Occupied(entry) => {
                let line = entry.get().line;
                let what = format!("`{}` is the name of the agent in line {line}, too", name.get());
                problems.push(at(name, key, what).fix("give it another name"));
            }
        }
    }
}

/// A name that is safe in URLs, rules and logs.
fn is_name(name: &str) -> bool {
    let is_fit = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    (1..=128).contains(&name.len())
        && name.chars().all(is_fit)
        && name.starts_with(char::is_alphanumeric)
}

fn agent(key: &str, agent: &Agent, problems: &mut Vec<Problem>) {
    let mut wrong = |key: String, what: String, fix: &str| {
        problems.push(at(&agent.name, key, what).fix(fix));
    };
    let name = agent.name.get();
    if agent.reached().is_none() {
        let is_lost = agent.card.is_none() && agent.url.is_none() && agent.kind.is_none();
        let what = if is_lost {
            "nothing says where it is"
        } else {
            "more than one thing says where it is"
        };
        wrong(key.to_owned(), format!("`{name}`: {what}"), "set one of `card`, `url` and `kind`");
    }
    match (agent.kind, agent.command.is_empty()) {
        (Some(Hosted::Command), true) => wrong(
            format!("{key}.command"),
            format!("`{name}` has no program to run"),
            "add `command: [program, argument]`",
        ),
        (None | Some(Hosted::Echo), false) => wrong(
            format!("{key}.command"),
            format!("`{name}` runs no program"),
            "add `kind: command`, or remove `command`",
        ),
        _ => {}
    }
    if agent.heartbeat && agent.probe.is_some() {
        wrong(
            format!("{key}.probe"),
            format!("`{name}` sends heartbeats and is probed"),
            "remove one of `heartbeat` and `probe`",
        );
    }
    if agent.allow_http {
        return;
    }
    for (member, url) in agent.urls().filter(|(_, url)| url.is_plain()) {
        wrong(
            format!("{key}.{member}"),
            format!("{url} is plain http"),
            "use https, or set `allow_http: true` for a network that is safe",
        );
    }
}

/// Looks for agents that are above themselves, and for trees that are too high.
fn parents(configuration: &Configuration, problems: &mut Vec<Problem>) {
    const DEPTH: usize = 32;
    let parent_of: BTreeMap<&str, &str> = configuration
        .agents
        .iter()
        .filter_map(|agent| Some((agent.name.as_str(), agent.parent.as_ref()?.as_str())))
        .collect();
    for (index, agent) in configuration.agents.iter().enumerate() {
        let Some(parent) = &agent.parent else { continue };
        let key = format!("agents[{index}].parent");
        let mut above = Some(parent.as_str());
        let mut depth = 0;
        while let Some(current) = above {
            if current == agent.name.get() {
                let what = format!("`{current}` would be above itself");
                problems.push(at(parent, key, what).fix("break the circle"));
                break;
            }
            depth += 1;
            // A circle further up has no end; whoever is in it is told.
            if depth > configuration.agents.len() {
                break;
            }
            above = parent_of.get(current).copied();
        }
        if above.is_none() && depth > DEPTH {
            let what = format!("it is {depth} steps below the top, more than {DEPTH}");
            problems.push(at(parent, format!("agents[{index}].parent"), what));
        }
    }
}

fn peers(configuration: &Configuration, problems: &mut Vec<Problem>) {
    let mut seen = BTreeMap::new();
    for (index, peer) in configuration.peers.iter().enumerate() {
        let key = format!("peers[{index}].url");
        if peer.url.is_plain() && !peer.allow_plaintext {
            let what = format!("{} is plain http", peer.url.get());
            let fix = "use https, or set `allow_plaintext: true` for a network that is safe";
            problems.push(at(&peer.url, &key, what).fix(fix));
        }
        let canonical = peer.url.as_str().trim_end_matches('/').to_owned();
        if let Some(line) = seen.insert(canonical, peer.url.line) {
            let what = format!("{} stands in line {line}, too", peer.url.get());
            problems.push(at(&peer.url, key, what).fix("keep one of them"));
        }
    }
}

fn rules(configuration: &Configuration, problems: &mut Vec<Problem>) {
    for (index, rule) in configuration.rules.iter().enumerate() {
        if let Subject::User(name) = rule.target.get() {
            let what = format!("`user:{name}` cannot be called");
            let fix = "a target is an agent, `team:NAME` or `*`";
            problems.push(at(&rule.target, format!("rules[{index}].target"), what).fix(fix));
        }
    }
}

fn issuers(configuration: &Configuration, problems: &mut Vec<Problem>) {
    let mut prefixes = BTreeMap::new();
    for (index, issuer) in configuration.authentication.issuers.iter().enumerate() {
        let key = format!("authentication.issuers[{index}]");
        if issuer.audience.is_empty() {
            let what = "tokens for nobody would be believed";
            let fix = "name the audience that tokens have in `aud`";
            problems.push(at(&issuer.issuer, format!("{key}.audience"), what).fix(fix));
        }
        if let Some(line) = prefixes.insert(&issuer.prefix, issuer.issuer.line) {
            let what = format!("the issuer in line {line} may use the same names for others");
            let fix = "give each issuer but one a `prefix` of its own";
            problems.push(at(&issuer.issuer, format!("{key}.prefix"), what).fix(fix));
        }
    }
}

fn whole(configuration: &Configuration, problems: &mut Vec<Problem>) {
    let mut wrong = |key: &str, what: String, fix: &str| {
        problems.push(Problem::new(Place::at(0, 0), key, what).fix(fix));
    };
    let Configuration { listen, authentication, organisation, redis, .. } = configuration;
    if authentication.open && !listen.is_loopback() {
        let what =
            format!("{listen} can be reached from elsewhere, so callers must prove who they are");
        wrong("authentication.open", what, "remove `open`, or listen at 127.0.0.1");
    }
    if organisation.is_empty() || organisation.chars().any(char::is_control) {
        wrong("organisation", "it needs a name".to_owned(), "leave it out, or name it");
    }
    let is_redis = |url: &str| url.starts_with("redis://") || url.starts_with("rediss://");
    if redis.as_ref().is_some_and(|url| !is_redis(url.secret().expose())) {
        let what = "expected a URL that begins with redis:// or rediss://".to_owned();
        wrong("redis", what, "write redis://host:6379");
    }
    let limits = &configuration.limits;
    if *limits.offline.get() <= limits.heartbeat {
        let what =
            format!("an agent that beats every {} would be offline in between", limits.heartbeat);
        problems
            .push(at(&limits.offline, "limits.offline", what).fix("make it a few heartbeats long"));
    }
}

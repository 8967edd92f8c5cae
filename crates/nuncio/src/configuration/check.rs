//! Whether the parts of a configuration fit together.

use std::collections::{BTreeMap, HashMap, hash_map::Entry};

use nuncio_auth::rules::MAX_DEPTH;
use nuncio_hub::{
    agent::MAX_ROLE_BYTES,
    name::{AgentName, Look, MAX_BYTES},
};
use nuncio_protocol::ids::Organisation;

use super::{
    Agent, CardSignatures, CertifiedCaller, Configuration, Credential, Kind, Place, Placed,
    Problem, Subject, budgets, check_kinds, nearest::nearest,
};

/// Looks for what contradicts something else.
pub(super) fn check(configuration: &Configuration) -> Vec<Problem> {
    let mut problems = Vec::new();
    names(configuration, &mut problems);
    for (index, agent) in configuration.agents.iter().enumerate() {
        self::agent(&format!("agents[{index}]"), agent, &mut problems);
    }
    check_kinds::check(configuration, &mut problems);
    budgets::check(configuration, &mut problems);
    parents(configuration, &mut problems);
    rules(configuration, &mut problems);
    issuers(configuration, &mut problems);
    certificates(configuration, &mut problems);
    whole(configuration, &mut problems);
    problems
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
        for (skill, access) in &agent.skills {
            for allowed in &access.allowed_agents {
                let key = format!("agents[{index}].skills.{skill}.allowed_agents");
                doubt(&agent.name.with(allowed.clone()), key);
            }
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

pub(super) fn at<T>(
    value: &Placed<T>,
    key: impl Into<String>,
    what: impl std::fmt::Display,
) -> Problem {
    Problem::new(Place::at(value.line, value.column), key, what)
}

fn names(configuration: &Configuration, problems: &mut Vec<Problem>) {
    let mut first: HashMap<Look, &Placed<String>> = HashMap::new();
    for (index, agent) in configuration.agents.iter().enumerate() {
        let Agent { name, parent, skills, .. } = agent;
        let key = format!("agents[{index}].name");
        if let Some(parsed) = self::name(name, name, &key, problems) {
            match first.entry(parsed.look()) {
                Entry::Vacant(entry) => {
                    entry.insert(name);
                }
                Entry::Occupied(entry) => {
                    let (other, line) = (entry.get().get(), entry.get().line);
                    let what = if other == name.get() {
                        format!("`{other}` is the name of the agent in line {line}, too")
                    } else {
                        format!("`{}` is easily taken for `{other}` in line {line}", name.get())
                    };
                    problems.push(at(name, key, what).fix("give it another name"));
                }
            }
        }
        if let Some(parent) = parent {
            self::name(parent, parent, &format!("agents[{index}].parent"), problems);
        }
        for (skill, access) in skills {
            let key = format!("agents[{index}].skills.{skill}.allowed_agents");
            for allowed in &access.allowed_agents {
                self::name(allowed, name, &key, problems);
            }
        }
    }
}

/// Reads the name of an agent as the hub does.
fn name(
    text: &str,
    place: &Placed<String>,
    key: &str,
    problems: &mut Vec<Problem>,
) -> Option<AgentName> {
    let parsed = AgentName::parse(text).ok();
    if parsed.is_none() {
        let such_as = AgentName::from_title(text).map(|name| format!(", such as `{name}`"));
        let problem = at(place, key, format_args!("`{text}` is no name of an agent"));
        problems.push(problem.fix(format_args!(
            "use 1 to {MAX_BYTES} of a-z, digits, `-`, `_` and `.`, a letter or digit at both \
             ends{}",
            such_as.unwrap_or_default()
        )));
    }
    parsed
}

fn agent(key: &str, agent: &Agent, problems: &mut Vec<Problem>) {
    let mut wrong = |key: String, what: String, fix: &str| {
        problems.push(at(&agent.name, key, what).fix(fix));
    };
    let name = agent.name.get();
    if agent.reached().is_none() {
        let what = if agent.card.is_none() && agent.url.is_none() {
            "nothing says where it is"
        } else {
            "more than one thing says where it is"
        };
        let fix = "set one of `card` and `url`, or `kind` for one that the hub runs itself";
        wrong(key.to_owned(), format!("`{name}`: {what}"), fix);
    }
    if (agent.kind == Some(Kind::Command)) == agent.command.is_empty() {
        wrong(
            format!("{key}.command"),
            format!("`{name}`: a program and `kind: command` belong together"),
            "write both, such as `kind: command` and `command: [tr, a-z, A-Z]`, or neither",
        );
    }
    if let Some(Credential { bearer, api_key, basic, .. }) = &agent.credential {
        let given = [bearer, api_key, basic].into_iter().flatten().count();
        if given != 1 {
            wrong(
                format!("{key}.credential"),
                format!("`{name}`: expected one of `bearer`, `api_key` and `basic`"),
                "name the one that the agent takes, such as `bearer: ${TOKEN}`",
            );
        }
    }
    let role = agent.role.as_deref().unwrap_or_default();
    if role.len() > MAX_ROLE_BYTES || role.chars().any(char::is_control) {
        wrong(
            format!("{key}.role"),
            format!("`{name}`: expected one line of at most {MAX_ROLE_BYTES} bytes"),
            "say in a few words what it is for",
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
        // The one at the top is the first level.
        if above.is_none() && depth >= MAX_DEPTH {
            let what =
                format!("it is in level {} of the tree, which may have {MAX_DEPTH}", depth + 1);
            problems.push(at(parent, format!("agents[{index}].parent"), what));
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

fn certificates(configuration: &Configuration, problems: &mut Vec<Problem>) {
    const KEY: &str = "authentication.certificates";
    let Some(certificates) = &configuration.authentication.certificates else { return };
    let mut wrong = |key: &str, what: &str, fix: &str| {
        problems.push(Problem::new(Place::at(0, 0), format!("{KEY}{key}"), what).fix(fix));
    };
    if configuration.tls.as_ref().is_none_or(|tls| tls.client_ca.is_none()) {
        let fix = "name the file with their issuers in `tls.client_ca`";
        wrong("", "callers are asked for no certificate", fix);
    }
    if certificates.agents_by_uri.as_ref().is_some_and(|prefix| !prefix.ends_with('/')) {
        let what = "the name of an agent would begin in the midst of a word";
        wrong(".agents_by_uri", what, "end it with a `/`");
    }
    for (index, certified) in certificates.callers.iter().enumerate() {
        let CertifiedCaller { caller, uri, dns_name, sha256 } = certified;
        let key = format!("{KEY}.callers[{index}]");
        if !matches!(caller.get(), Subject::Agent(_) | Subject::User(_)) {
            let what = format!("`{}` is not one caller", caller.get());
            let fix = "name an agent, or `user:NAME`";
            problems.push(at(caller, format!("{key}.caller"), what).fix(fix));
        }
        let given = [uri.is_some(), dns_name.is_some(), sha256.is_some()];
        if given.iter().filter(|is_given| **is_given).count() != 1 {
            let what = "expected one of `uri`, `dns_name` and `sha256`";
            let fix = "name what the certificate of this caller has, in an entry for each";
            problems.push(at(caller, key, what).fix(fix));
        }
    }
}

fn whole(configuration: &Configuration, problems: &mut Vec<Problem>) {
    let mut wrong = |key: &str, what: String, fix: &str| {
        problems.push(Problem::new(Place::at(0, 0), key, what).fix(fix));
    };
    let Configuration { listen, authentication, organisation, .. } = configuration;
    if authentication.open && !listen.is_loopback() {
        let what =
            format!("{listen} can be reached from elsewhere, so callers must prove who they are");
        wrong("authentication.open", what, "remove `open`, or listen at 127.0.0.1");
    }
    if Organisation::parse(organisation).is_err() || organisation.chars().any(char::is_control) {
        wrong(
            "organisation",
            "it needs a name of at most 256 bytes".to_owned(),
            "leave it out, or name it",
        );
    }
    let cards = &configuration.cards;
    if cards.signatures == CardSignatures::Require && cards.trusted_keys.is_empty() {
        wrong(
            "cards.signatures",
            "cards must be signed, and nobody is trusted to sign them".to_owned(),
            "add a file with public keys, such as `trusted_keys: [{keys: trusted.jwks}]`",
        );
    }
    let limits = &configuration.limits;
    if *limits.offline.get() <= limits.heartbeat {
        let what =
            format!("an agent that beats every {} would be offline in between", limits.heartbeat);
        problems
            .push(at(&limits.offline, "limits.offline", what).fix("make it a few heartbeats long"));
    }
}

mod against_naive;
mod table;

use std::collections::HashMap;

use nuncio_protocol::{
    ids::{AgentId, Organisation},
    json,
    operation::Operation,
};

use super::*;

/// A directory that is a table.
#[derive(Clone, Debug, Default)]
pub(super) struct Directory {
    agents: HashMap<AgentId, Entry>,
    /// Agents with all above them, where that is known.
    lines: HashMap<AgentId, Vec<AgentKey>>,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    organisation: Organisation,
    parent: Option<AgentId>,
    limits: Vec<SkillLimit>,
}

impl Places for Directory {
    fn place(&self, agent: &AgentId) -> Option<Place<'_>> {
        let entry = self.agents.get(agent)?;
        let Entry { organisation, parent, limits } = entry;
        let line = self.lines.get(agent).map(Vec::as_slice);
        Some(Place { organisation, parent: parent.as_ref(), line, limits })
    }
}

impl Tree for Directory {
    fn children(&self, agent: &AgentId) -> impl Iterator<Item = &AgentId> {
        let is_child = move |entry: &Entry| entry.parent.as_ref() == Some(agent);
        self.agents.iter().filter(move |(_, entry)| is_child(entry)).map(|(id, _)| id)
    }
}

impl Directory {
    /// Puts in agents of `acme`, each written `agent` or `agent<parent`.
    fn of(agents: &[&str]) -> Self {
        let mut directory = Self::default();
        for agent in agents {
            directory.add("acme", agent);
        }
        directory
    }

    fn add(&mut self, organisation: &str, agent: &str) {
        let (agent, parent) = match agent.split_once('<') {
            Some((agent, parent)) => (agent, Some(id(parent))),
            None => (agent, None),
        };
        let organisation = org(organisation);
        self.agents.insert(id(agent), Entry { organisation, parent, limits: Vec::new() });
    }

    /// Returns the same directory with everybody above those whose tree is sound.
    fn with_lines(&self) -> Self {
        let line = |agent: &AgentId| {
            let line = places::Line::from(self, agent, self.place(agent)?)?;
            Some((agent.clone(), line.iter().cloned().collect()))
        };
        Self { lines: self.agents.keys().filter_map(line).collect(), ..self.clone() }
    }

    fn limit(&mut self, agent: &str, skill: &str, allowed: &[&str]) {
        let limit = SkillLimit::new(skill, allowed.iter().map(|agent| id(agent)));
        self.agents.get_mut(&id(agent)).expect("an agent").limits.push(limit);
    }
}

fn id(text: &str) -> AgentId {
    AgentId::parse(text).expect("an id")
}

fn org(text: &str) -> Organisation {
    Organisation::parse(text).expect("an organisation")
}

/// Reads a rule without its id and organisation.
fn rule(number: usize, members: &str) -> Rule {
    let text = format!(r#"{{"id":"r{number}","organisation":"acme",{members}}}"#);
    json::from_str(&text).expect("a rule")
}

fn rules(settings: Settings, texts: &[&str]) -> Rules {
    let texts = texts.iter().enumerate();
    Rules::new(settings, texts.map(|(number, members)| rule(number + 1, members)))
}

#[track_caller]
fn check_rule(text: &str, expected: Result<(), &str>) {
    let found = json::from_str::<Rule>(text);
    match (found, expected) {
        (Ok(rule), Ok(())) => {
            let written = json::to_string(&rule);
            assert_eq!(json::from_str::<Rule>(&written).unwrap(), rule, "{written}");
        }
        (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
        (found, _) => panic!("{text}: {found:?}"),
    }
}

#[test]
fn a_rule_is_read_and_written_alike() {
    let with = |rest: &str| format!(r#"{{"id":"r","organisation":"o","effect":"deny",{rest}}}"#);
    check_rule(&with(r#""caller":"any","target":"any""#), Ok(()));
    check_rule(&with(r#""caller":{"user":"ann"},"target":{"team":"t"},"note":"why""#), Ok(()));
    check_rule(
        &with(
            r#""caller":{"agent":"a"},"target":"any","operations":["GetTask"],"skills":["s","t"]"#,
        ),
        Ok(()),
    );
}

#[test]
fn a_rule_that_could_be_misread_is_refused() {
    let with = |rest: &str| format!(r#"{{"id":"r","organisation":"o","effect":"deny",{rest}}}"#);
    for (rest, part) in [
        (r#""caller":"any""#, "target"),
        (r#""target":"any""#, "caller"),
        (r#""caller":"all","target":"any""#, "any"),
        (r#""caller":{},"target":"any""#, "agent"),
        (r#""caller":{"agent":"a","team":"b"},"target":"any""#, "agent"),
        (r#""caller":{"agent":""},"target":"any""#, "1 to 256"),
        (r#""caller":"any","target":{"user":"ann"}"#, "target"),
        (r#""caller":"any","target":"any","operations":[]"#, "at least one"),
        (r#""caller":"any","target":"any","operations":["GetTask","GetTask"]"#, "twice"),
        (r#""caller":"any","target":"any","operations":["message/send"]"#, "operation"),
        (r#""caller":"any","target":"any","skills":[]"#, "skills"),
        (r#""caller":"any","target":"any","skills":[""]"#, "skills"),
        (r#""caller":"any","target":"any","skill":["s"]"#, "no such member"),
        (r#""caller":"any","caller":"any","target":"any""#, "caller"),
        (r#""caller":"any","target":"any","note":null"#, "note"),
    ] {
        check_rule(&with(rest), Err(part));
    }
    check_rule(r#"{"id":"","organisation":"o","effect":"deny"}"#, Err("1 to 256"));
    check_rule(r#"{"id":"r","organisation":"o","effect":"drop"}"#, Err("deny"));
}

#[test]
fn a_grant_covers_what_it_names() {
    let grant = Grant {
        operations: [Operation::SendMessage, Operation::GetTask].into_iter().collect(),
        skills: ["write"].into_iter().collect(),
    };
    assert_eq!(grant.check(Operation::SendMessage, Some("write")), Ok(()));
    assert_eq!(grant.check(Operation::SendMessage, Some("read")), Err(Outside::Skill));
    assert_eq!(grant.check(Operation::SendMessage, None), Err(Outside::NoSkill));
    assert_eq!(grant.check(Operation::GetTask, None), Ok(()));
    let refused = Outside::Operation(Operation::CancelTask);
    assert_eq!(grant.check(Operation::CancelTask, None), Err(refused));
    for operation in Operation::ALL {
        assert_eq!(Grant::ALL.check(*operation, None), Ok(()));
        assert!(Operations::ALL.contains(*operation));
    }
    assert_eq!(Operations::ALL.iter().count(), Operation::ALL.len());
}

#[test]
fn each_reason_has_a_code_and_a_sentence_of_its_own() {
    let codes: std::collections::HashSet<_> = Reason::ALL.iter().map(|one| one.code()).collect();
    let texts: std::collections::HashSet<_> = Reason::ALL.iter().map(Reason::to_string).collect();
    assert_eq!((codes.len(), texts.len()), (Reason::ALL.len(), Reason::ALL.len()));
}

#[track_caller]
fn check_move_to(directory: &Directory, agent: &str, parent: Option<&str>, expected: &str) {
    let parent = parent.map(id);
    let found = check_move(directory, &id(agent), parent.as_ref());
    let text = found.map_or_else(|error| error.to_string(), |()| "fine".to_owned());
    assert!(text.contains(expected), "{agent} below {parent:?}: {text}");
}

#[test]
fn an_agent_moves_only_where_the_tree_stays_one() {
    let mut tree = Directory::of(&["a", "b<a", "c<b", "d", "lost<gone", "x<y", "y<x"]);
    tree.add("other", "f");
    check_move_to(&tree, "c", Some("a"), "fine");
    check_move_to(&tree, "a", Some("d"), "fine");
    check_move_to(&tree, "c", None, "fine");
    check_move_to(&tree, "a", Some("a"), "its own parent");
    check_move_to(&tree, "a", Some("b"), "below the agent");
    check_move_to(&tree, "a", Some("c"), "below the agent");
    check_move_to(&tree, "a", Some("nobody"), "no such parent");
    check_move_to(&tree, "a", Some("f"), "no such parent");
    check_move_to(&tree, "nobody", Some("a"), "no such agent");
    check_move_to(&tree, "a", Some("lost"), "broken");
    check_move_to(&tree, "a", Some("x"), "broken");
    // Out of a loop there is a way: to the top.
    check_move_to(&tree, "x", None, "fine");
}

#[test]
fn a_tree_has_at_most_32_levels() {
    let mut tree = Directory::of(&["n1", "m1", "m2<m1"]);
    for number in 2..=31 {
        tree.add("acme", &format!("n{number}<n{}", number - 1));
    }
    check_move_to(&tree, "m2", Some("n31"), "fine");
    check_move_to(&tree, "m1", Some("n30"), "fine");
    check_move_to(&tree, "m1", Some("n31"), "more than 32");
    check_move_to(&tree, "n1", Some("m1"), "fine");
    check_move_to(&tree, "n1", Some("m2"), "more than 32");
}

#[test]
fn the_reference_has_every_reason() {
    let page = include_str!("../../../../docs/reference/rules.md");
    for reason in Reason::ALL {
        let answer = if reason.allows() { "allowed" } else { "denied" };
        let line = format!("| `{}` | {answer} |", reason.code());
        assert!(page.contains(&line), "{line}");
    }
}

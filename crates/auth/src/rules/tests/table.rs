//! The truth table of the catalogue's T-04: each kinship, each setting, with and without rules.

use super::*;

const STRICT: Settings = Settings { hierarchy: Hierarchy::Strict, root_siblings: false };
const LINEAGE: Settings = Settings { hierarchy: Hierarchy::Lineage, ..STRICT };

/// ```text
/// root             other-root      (acme)      foreign (other organisation)
/// ├── lead
/// │   ├── one
/// │   └── two
/// └── peer
///     └── cousin
/// ```
fn tree() -> Directory {
    let agents = ["root", "other-root", "lead<root", "peer<root", "one<lead", "two<lead"];
    let mut directory = Directory::of(&agents);
    directory.add("acme", "cousin<peer");
    directory.add("other", "foreign");
    directory
}

fn asker<'a>(organisation: &'a Organisation, text: &'a str, id: &'a AgentId) -> Asker<'a> {
    match text.split_once(':') {
        Some(("user", name)) => Asker::User { name, organisation },
        Some(_) => Asker::Administrator { organisation },
        None => Asker::Agent { id, organisation },
    }
}

struct Table<'a> {
    settings: Settings,
    rules: &'a [&'a str],
    directory: Directory,
}

impl Table<'_> {
    /// Asks for an operation and a skill, `-` for none.
    #[track_caller]
    fn check(&self, caller: &str, target: &str, asked: (&str, &str), code: &str) {
        let (acme, caller_id, target) = (org("acme"), id(caller), id(target));
        let question = Question {
            operation: Operation::from_name(asked.0),
            skill: Some(asked.1).filter(|skill| *skill != "-"),
            ..Question::new(asker(&acme, caller, &caller_id), &target)
        };
        let decision = rules(self.settings, self.rules).decide(&self.directory, &question);
        assert_eq!(decision.reason().code(), code, "{question:?}: {decision}");
    }
}

const ANYTHING: (&str, &str) = ("-", "-");

#[track_caller]
fn check(settings: Settings, caller: &str, target: &str, code: &str) {
    let table = Table { settings, rules: &[], directory: tree() };
    table.check(caller, target, ANYTHING, code);
}

#[track_caller]
fn check_ruled(rules: &[&str], caller: &str, target: &str, code: &str) {
    let table = Table { settings: STRICT, rules, directory: tree() };
    table.check(caller, target, ANYTHING, code);
}

#[test]
fn t04_the_hierarchy_allows_one_step() {
    for settings in [STRICT, LINEAGE] {
        check(settings, "one", "one", "SELF");
        check(settings, "lead", "one", "PARENT");
        check(settings, "one", "lead", "CHILD");
        check(settings, "one", "two", "SIBLING");
        check(settings, "lead", "peer", "SIBLING");
        check(settings, "one", "cousin", "UNRELATED");
        check(settings, "one", "peer", "UNRELATED");
        check(settings, "peer", "one", "UNRELATED");
        check(settings, "root", "other-root", "UNRELATED");
        check(settings, "lead", "other-root", "UNRELATED");
    }
    check(STRICT, "root", "one", "UNRELATED");
    check(STRICT, "one", "root", "UNRELATED");
}

#[test]
fn t04_lineage_allows_the_whole_way_up_and_down() {
    check(LINEAGE, "root", "one", "ANCESTOR");
    check(LINEAGE, "one", "root", "DESCENDANT");
    check(LINEAGE, "root", "cousin", "ANCESTOR");
    check(LINEAGE, "one", "other-root", "UNRELATED");
}

#[test]
fn t04_agents_without_a_parent_are_siblings_only_if_set() {
    let settings = Settings { root_siblings: true, ..STRICT };
    check(settings, "root", "other-root", "ROOT_SIBLING");
    check(settings, "root", "foreign", "NOT_FOUND");
    check(settings, "lead", "other-root", "UNRELATED");
}

#[test]
fn t04_another_organisation_looks_like_nothing() {
    let lookup = |target: &str| {
        let (acme, caller, target) = (org("acme"), id("root"), id(target));
        let asker = Asker::Agent { id: &caller, organisation: &acme };
        rules(STRICT, &[]).decide(&tree(), &Question::new(asker, &target))
    };
    assert_eq!(lookup("foreign"), lookup("never-was"));
    check(STRICT, "user:ann", "foreign", "NOT_FOUND");
    check(STRICT, "admin:", "foreign", "NOT_FOUND");
    // Not even a rule opens the border.
    let open = r#""effect":"allow","caller":"any","target":"any""#;
    check_ruled(&[open], "root", "foreign", "NOT_FOUND");
}

#[test]
fn t04_a_caller_must_be_an_agent_of_the_organisation_of_its_credential() {
    check(STRICT, "never-was", "root", "UNKNOWN_CALLER");
    // It learns nothing about targets either.
    check(STRICT, "never-was", "never-was-either", "UNKNOWN_CALLER");
    check(STRICT, "foreign", "root", "UNKNOWN_CALLER");
    check(STRICT, "foreign", "foreign", "UNKNOWN_CALLER");
}

#[test]
fn people_and_administrators_reach_all_agents_of_their_organisation() {
    check(STRICT, "user:ann", "one", "MEMBER");
    check(STRICT, "admin:", "one", "ADMINISTRATOR");
    let deny_ann = r#""effect":"deny","caller":{"user":"ann"},"target":{"team":"lead"}"#;
    check_ruled(&[deny_ann], "user:ann", "one", "RULE_DENIES");
    check_ruled(&[deny_ann], "user:ann", "peer", "MEMBER");
    check_ruled(&[deny_ann], "user:bob", "one", "MEMBER");
    check_ruled(&[deny_ann], "admin:", "one", "ADMINISTRATOR");
    let deny_all = r#""effect":"deny","caller":"any","target":{"agent":"one"}"#;
    check_ruled(&[deny_all], "user:bob", "one", "RULE_DENIES");
    check_ruled(&[deny_all], "admin:", "one", "RULE_DENIES");
}

#[test]
fn t04_a_rule_allows_what_the_hierarchy_does_not() {
    let allow = r#""effect":"allow","caller":{"agent":"one"},"target":{"team":"peer"}"#;
    check_ruled(&[allow], "one", "cousin", "RULE_ALLOWS");
    check_ruled(&[allow], "one", "peer", "RULE_ALLOWS");
    check_ruled(&[allow], "cousin", "one", "UNRELATED");
    check_ruled(&[allow], "two", "cousin", "UNRELATED");
    let teams = r#""effect":"allow","caller":{"team":"lead"},"target":{"team":"peer"}"#;
    check_ruled(&[teams], "two", "cousin", "RULE_ALLOWS");
    check_ruled(&[teams], "lead", "cousin", "RULE_ALLOWS");
    check_ruled(&[teams], "root", "cousin", "UNRELATED");
}

#[test]
fn t04_a_denying_rule_outweighs_all_but_oneself() {
    let allow = r#""effect":"allow","caller":"any","target":"any""#;
    let deny = r#""effect":"deny","caller":"any","target":"any""#;
    for caller in ["lead", "two", "root", "user:ann", "admin:"] {
        check_ruled(&[allow, deny], caller, "one", "RULE_DENIES");
    }
    check_ruled(&[allow, deny], "one", "one", "SELF");
}

#[test]
fn a_rule_of_another_organisation_does_nothing() {
    let mut foreign = rule(1, r#""effect":"deny","caller":"any","target":"any""#);
    foreign.organisation = org("other");
    let (acme, caller, target) = (org("acme"), id("lead"), id("one"));
    let asker = Asker::Agent { id: &caller, organisation: &acme };
    let decision = Rules::new(STRICT, [foreign]).decide(&tree(), &Question::new(asker, &target));
    assert_eq!(decision.reason(), Reason::Parent);
}

#[test]
fn rules_count_for_their_operations_and_skills() {
    let allow = r#""effect":"allow","caller":{"agent":"one"},"target":{"agent":"cousin"},
        "operations":["SendMessage","GetTask"],"skills":["write"]"#;
    let table = Table { settings: STRICT, rules: &[allow], directory: tree() };
    table.check("one", "cousin", ANYTHING, "RULE_ALLOWS");
    table.check("one", "cousin", ("SendMessage", "write"), "RULE_ALLOWS");
    table.check("one", "cousin", ("SendMessage", "read"), "OUTSIDE_RULE");
    table.check("one", "cousin", ("SendMessage", "-"), "OUTSIDE_RULE");
    table.check("one", "cousin", ("SendStreamingMessage", "write"), "OUTSIDE_RULE");
    table.check("one", "cousin", ("GetTask", "-"), "RULE_ALLOWS");
    table.check("one", "cousin", ("CancelTask", "-"), "OUTSIDE_RULE");

    let deny = r#""effect":"deny","caller":"any","target":{"agent":"one"},"skills":["pay"]"#;
    let table = Table { settings: STRICT, rules: &[deny], directory: tree() };
    table.check("lead", "one", ANYTHING, "PARENT");
    table.check("lead", "one", ("SendMessage", "pay"), "RULE_DENIES");
    table.check("lead", "one", ("SendMessage", "write"), "PARENT");
    // To name no skill is no way round.
    table.check("lead", "one", ("SendMessage", "-"), "SKILL_REQUIRED");
    table.check("lead", "one", ("GetTask", "-"), "PARENT");
    table.check("lead", "one", ("-", "pay"), "RULE_DENIES");
    table.check("user:ann", "one", ("SendMessage", "-"), "SKILL_REQUIRED");
}

#[test]
fn o13_a_limited_skill_is_for_the_agents_on_its_list() {
    let mut directory = tree();
    directory.limit("one", "pay", &["two"]);
    let allow = r#""effect":"allow","caller":{"agent":"cousin"},"target":{"agent":"one"}"#;
    let table = Table { settings: STRICT, rules: &[allow], directory };
    table.check("two", "one", ("SendMessage", "pay"), "SIBLING");
    table.check("two", "one", ("SendMessage", "-"), "SIBLING");
    table.check("lead", "one", ("SendMessage", "pay"), "SKILL_LIMITED");
    table.check("lead", "one", ("SendMessage", "write"), "PARENT");
    table.check("lead", "one", ("SendMessage", "-"), "SKILL_REQUIRED");
    table.check("lead", "one", ("GetTask", "-"), "PARENT");
    table.check("lead", "one", ANYTHING, "PARENT");
    table.check("cousin", "one", ("SendMessage", "pay"), "SKILL_LIMITED");
    table.check("cousin", "one", ("SendMessage", "write"), "RULE_ALLOWS");
    table.check("user:ann", "one", ("SendMessage", "pay"), "MEMBER");
}

#[test]
fn a_broken_tree_is_a_no() {
    let mut directory = Directory::of(&["a<b", "b<a", "self<self", "orphan<gone", "child<orphan"]);
    directory.add("other", "foreign");
    directory.add("acme", "defector<foreign");
    directory.add("acme", "n1");
    for number in 2..=33 {
        directory.add("acme", &format!("n{number}<n{}", number - 1));
    }
    let table = Table { settings: LINEAGE, rules: &[], directory };
    for (caller, target) in [
        ("a", "b"),
        ("self", "n1"),
        ("n1", "self"),
        ("child", "orphan"),
        ("orphan", "child"),
        ("n1", "defector"),
        ("n32", "n33"),
        ("n1", "n33"),
        ("user:ann", "a"),
    ] {
        table.check(caller, target, ANYTHING, "BROKEN_TREE");
    }
    table.check("n31", "n32", ANYTHING, "PARENT");
    table.check("n1", "n32", ANYTHING, "ANCESTOR");
    table.check("a", "a", ANYTHING, "SELF");
    let allow = [r#""effect":"allow","caller":"any","target":"any""#];
    let table = Table { rules: &allow, ..table };
    table.check("a", "b", ANYTHING, "BROKEN_TREE");
}

#[test]
fn a_decision_says_which_rule_it_was() {
    let deny = r#""effect":"deny","caller":"any","target":{"agent":"one"},"note":"on leave""#;
    let (acme, caller, target) = (org("acme"), id("lead"), id("one"));
    let asker = Asker::Agent { id: &caller, organisation: &acme };
    let decision = rules(STRICT, &[deny]).decide(&tree(), &Question::new(asker, &target));
    assert_eq!(decision.rule(), Some("r1"));
    assert_eq!(decision.to_string(), "denied: a rule denies it (rule `r1`)");
    assert_eq!(
        json::to_string(&decision),
        r#"{"allowed":false,"code":"RULE_DENIES","reason":"a rule denies it","rule":"r1"}"#,
    );
}

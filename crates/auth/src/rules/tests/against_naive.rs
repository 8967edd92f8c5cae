//! Random trees and rules, decided also by a reference that knows neither lines nor an index.

use proptest::prelude::*;

use super::*;

const AGENTS: [&str; 9] = ["a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "gone"];
const SKILLS: [&str; 3] = ["s0", "s1", "s2"];

/// Decides by going through everything, as the documentation says it.
fn naive(
    directory: &Directory,
    settings: Settings,
    rules: &[Rule],
    question: &Question<'_>,
) -> bool {
    let get = |agent: &AgentId| directory.agents.get(agent);
    let ours = question.caller.organisation();
    let caller = match question.caller {
        Asker::Agent { id, .. } => Some(id),
        _ => None,
    };
    for agent in caller.into_iter().chain([question.target]) {
        if get(agent).is_none_or(|entry| entry.organisation != *ours) {
            return false;
        }
    }
    if caller == Some(question.target) {
        return true;
    }
    // Everybody above, however far; a loop or a gap shows by not ending at the top.
    let above = |agent: &AgentId| -> Option<Vec<AgentId>> {
        let mut found = Vec::new();
        let mut here = get(agent)?;
        while let Some(parent) = &here.parent {
            found.push(parent.clone());
            here = get(parent).filter(|entry| entry.organisation == *ours)?;
            if found.len() > 31 {
                return None;
            }
        }
        Some(found)
    };
    let Some(above_target) = above(question.target) else { return false };
    let Some(above_caller) = caller.map_or(Some(Vec::new()), above) else { return false };
    let is_meant = |who: &Who, agent: Option<&AgentId>, above: &[AgentId]| match who {
        Who::Any => true,
        Who::Agent(named) => agent == Some(named),
        Who::Team(named) => agent == Some(named) || above.contains(named),
        Who::User(named) => {
            matches!(question.caller, Asker::User { name, .. } if *name == **named)
        }
    };
    let about: Vec<&Rule> = rules
        .iter()
        .filter(|rule| rule.organisation == *ours)
        .filter(|rule| is_meant(&rule.caller, caller, &above_caller))
        .filter(|rule| is_meant(&rule.target, Some(question.target), &above_target))
        .collect();
    let closed: Vec<&str> = get(question.target)
        .into_iter()
        .flat_map(|entry| &entry.limits)
        .filter(|limit| caller.is_some_and(|caller| !limit.allows(caller)))
        .map(SkillLimit::skill)
        .collect();
    let related = caller.is_none_or(|caller| {
        let (up, down) = (above_target.contains(caller), above_caller.contains(question.target));
        match settings.hierarchy {
            _ if above_target.first() == Some(caller) => true,
            _ if above_caller.first() == Some(question.target) => true,
            _ if above_caller.is_empty() && above_target.is_empty() => settings.root_siblings,
            Hierarchy::Lineage if up || down => true,
            _ => !above_caller.is_empty() && above_caller.first() == above_target.first(),
        }
    });
    // One concrete request: an operation, and for messages a skill or none.
    let one = |operation: Operation, skill: Option<&str>| -> bool {
        let is_message = format!("{operation:?}").starts_with("Send");
        let covers = |rule: &&&Rule, unnamed: bool| {
            rule.operations.contains(operation)
                && match &rule.skills {
                    Skills::Any => true,
                    Skills::Only(_) if !is_message => unnamed,
                    Skills::Only(only) => {
                        skill.map_or(unnamed, |skill| only.iter().any(|one| one == skill))
                    }
                }
        };
        let denied = about
            .iter()
            .filter(|rule| rule.effect == Effect::Deny)
            .any(|rule| covers(&rule, is_message));
        let allowed = about
            .iter()
            .filter(|rule| rule.effect == Effect::Allow)
            .any(|rule| covers(&rule, !is_message));
        let limited =
            is_message && skill.map_or(!closed.is_empty(), |skill| closed.contains(&skill));
        !denied && (allowed || related) && !limited
    };
    question.operation.is_some_and(|operation| one(operation, question.skill))
}

fn places() -> impl Strategy<Value = Directory> {
    let entry = (
        prop::option::weighted(0.8, 0..AGENTS.len()),
        prop::bool::weighted(0.9),
        prop::option::weighted(0.2, (0..SKILLS.len(), prop::collection::vec(0..8usize, 0..3))),
    );
    prop::collection::vec(entry, 8).prop_map(|entries| {
        let mut directory = Directory::default();
        for (agent, (parent, is_ours, limit)) in AGENTS.iter().zip(entries) {
            let text = match parent {
                Some(parent) => format!("{agent}<{}", AGENTS[parent]),
                None => (*agent).to_owned(),
            };
            directory.add(if is_ours { "acme" } else { "other" }, &text);
            if let Some((skill, allowed)) = limit {
                let allowed: Vec<&str> = allowed.into_iter().map(|one| AGENTS[one]).collect();
                directory.limit(agent, SKILLS[skill], &allowed);
            }
        }
        directory
    })
}

/// Trees without loops: each parent comes before its child.
fn sound_places() -> impl Strategy<Value = Directory> {
    places().prop_map(|mut directory| {
        for (agent, entry) in &mut directory.agents {
            entry.organisation = org("acme");
            entry.parent = entry.parent.take().filter(|parent| parent < agent);
        }
        directory
    })
}

fn who(users: bool) -> impl Strategy<Value = Who> {
    let user = u32::from(users);
    prop_oneof![
        2 => Just(Who::Any),
        4 => (0..8usize).prop_map(|agent| Who::Agent(id(AGENTS[agent]))),
        4 => (0..8usize).prop_map(|agent| Who::Team(id(AGENTS[agent]))),
        user => Just(Who::User("ann".into())),
    ]
}

fn some_rules() -> impl Strategy<Value = Vec<Rule>> {
    let operations = prop::sample::subsequence(Operation::ALL.to_vec(), 1..=11);
    let skills = prop::sample::subsequence(SKILLS.to_vec(), 1..=3);
    let one = (
        any::<bool>(),
        who(true),
        who(false),
        prop::option::of(operations),
        prop::option::of(skills),
    );
    prop::collection::vec(one, 0..6).prop_map(|rules| {
        let number = |(index, rule)| {
            let (allows, caller, target, operations, skills) = rule;
            let effect = if allows { Effect::Allow } else { Effect::Deny };
            let operations: Option<Vec<Operation>> = operations;
            let skills: Option<Vec<&str>> = skills;
            Rule {
                operations: operations.map_or(Operations::ALL, |list| list.into_iter().collect()),
                skills: skills.map_or(Skills::Any, |list| list.into_iter().collect()),
                ..Rule::new(format!("r{index}"), org("acme"), effect, (caller, target))
            }
        };
        rules.into_iter().enumerate().map(number).collect()
    })
}

fn settings() -> impl Strategy<Value = Settings> {
    (any::<bool>(), any::<bool>()).prop_map(|(lineage, root_siblings)| Settings {
        hierarchy: if lineage { Hierarchy::Lineage } else { Hierarchy::Strict },
        root_siblings,
    })
}

fn check_all(
    directory: &Directory,
    settings: Settings,
    list: &[Rule],
) -> Result<(), TestCaseError> {
    let rules = Rules::new(settings, list.iter().cloned());
    let acme = org("acme");
    let ids = AGENTS.map(id);
    let agents = ids.iter().map(|id| Asker::Agent { id, organisation: &acme });
    let people = [
        Asker::User { name: "ann", organisation: &acme },
        Asker::Administrator { organisation: &acme },
    ];
    for caller in agents.chain(people) {
        for target in &ids {
            let mut any_allowed = false;
            let grant = rules.grant(directory, (caller, target), SKILLS);
            for operation in Operation::ALL {
                for skill in [None, Some("s0"), Some("s1"), Some("s2")] {
                    let operation = Some(*operation);
                    let question = Question { caller, target, operation, skill };
                    let decision = rules.decide(directory, &question);
                    let expected = naive(directory, settings, list, &question);
                    prop_assert_eq!(
                        decision.is_allowed(),
                        expected,
                        "{:?}: {}",
                        question,
                        decision
                    );
                    any_allowed |= expected;
                    let granted = grant.as_ref().is_ok_and(|grant| {
                        operation.is_some_and(|one| grant.check(one, skill).is_ok())
                    });
                    prop_assert!(!granted || expected, "{:?} granted by {:?}", question, grant);
                    let sends = operation.is_some_and(|one| !one.name().starts_with("Send"));
                    prop_assert!(!sends || granted == expected, "{:?}: {:?}", question, grant);
                }
            }
            // Who may do something may also call at all.
            let decision = rules.decide(directory, &Question::new(caller, target));
            prop_assert!(decision.is_allowed() || !any_allowed, "{decision}");
            prop_assert_eq!(decision.is_allowed(), grant.is_ok());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn sound_trees_are_decided_as_the_naive_reference_does(
        directory in sound_places(), settings in settings(), rules in some_rules(),
    ) {
        check_all(&directory, settings, &rules)?;
        check_all(&directory.with_lines(), settings, &rules)?;
    }

    /// Parents are anybody: loops, gaps and foreign parents are common.
    #[test]
    fn broken_trees_end_and_are_decided_as_the_naive_reference_does(
        directory in places(), settings in settings(), rules in some_rules(),
    ) {
        check_all(&directory, settings, &rules)?;
        check_all(&directory.with_lines(), settings, &rules)?;
    }

    #[test]
    fn a_checked_move_leaves_a_sound_tree(
        directory in sound_places(), agent in 0..8usize, parent in 0..9usize,
    ) {
        let (agent, parent) = (id(AGENTS[agent]), id(AGENTS[parent]));
        let allowed = check_move(&directory, &agent, Some(&parent)).is_ok();
        let mut moved = directory;
        moved.agents.get_mut(&agent).expect("an agent").parent = Some(parent);
        let (acme, anything) = (org("acme"), Rules::default());
        let user = Asker::User { name: "ann", organisation: &acme };
        let is_sound = moved.agents.keys().all(|target| {
            anything.decide(&moved, &Question::new(user, target)).is_allowed()
        });
        prop_assert_eq!(allowed, is_sound);
    }
}

//! One tool for every skill of every agent, for clients that want that.

use rmcp::model::{Tool, ToolAnnotations};

use super::{
    tools::{Titled as _, UseSkill, tool},
    ways::{Found, Told, Wanted, Ways},
};
use crate::output::inert;

/// So many agents are on a page of tools.
const PAGE: usize = 100;

/// The longest name that all clients take.
const LONGEST: usize = 64;

/// The longest description of a skill.
const MOST_WORDS: usize = 600;

/// Returns the tools of a page of agents, and what to ask with for the next page.
pub(super) async fn page(
    ways: &dyn Ways,
    after: Option<String>,
) -> Result<(Vec<Tool>, Option<String>), Told> {
    let Found { agents, next } = agents(ways, after).await?;
    let mut tools = Vec::new();
    for agent in &agents {
        for skill in &agent.skills {
            let whole: Vec<char> = skill.description.chars().collect();
            let mut words: String = whole.iter().take(MOST_WORDS).collect();
            if whole.len() > MOST_WORDS {
                words.push('…');
            }
            let description = format!(
                "Gives work to the agent {}, for its skill {}. The agent says of it: {}",
                agent.name,
                inert(&skill.name),
                inert(&words)
            );
            let annotations =
                ToolAnnotations::new().read_only(false).destructive(true).open_world(true);
            let title = format!("{}: {}", agent.name, inert(&skill.name));
            let name = name(&agent.name, &skill.id);
            let made = tool::<UseSkill>(name, description, annotations.title_is(title));
            tools.push(made.with_output_schema::<super::report::Report>());
        }
    }
    // Two skills whose names differ in odd letters only: the first one has the tool.
    let mut seen = std::collections::HashSet::new();
    tools.retain(|tool| seen.insert(tool.name.clone()));
    Ok((tools, next))
}

/// Finds agent and skill of a tool.
pub(super) async fn find(ways: &dyn Ways, tool: &str) -> Result<Option<(String, String)>, Told> {
    let mut after = None;
    loop {
        let Found { agents, next } = agents(ways, after).await?;
        for agent in agents {
            let mut skills = agent.skills.iter();
            if let Some(skill) = skills.find(|skill| name(&agent.name, &skill.id) == tool) {
                return Ok(Some((agent.name.clone(), skill.id.clone())));
            }
        }
        if next.is_none() {
            return Ok(None);
        }
        after = next;
    }
}

async fn agents(ways: &dyn Ways, after: Option<String>) -> Result<Found, Told> {
    ways.agents(&Wanted { after, limit: PAGE, ..Wanted::default() }).await
}

/// Makes the name of a tool: letters that clients do not take are underscores, and what is too
/// long ends in a number made of the whole.
fn name(agent: &str, skill: &str) -> String {
    let fit = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let whole = format!("{agent}__{skill}");
    let name: String = whole.chars().map(|letter| if fit(letter) { letter } else { '_' }).collect();
    if name.len() <= LONGEST {
        return name;
    }
    // FNV-1a: the same in all versions, and nobody gains by two that are equal.
    let number = whole
        .bytes()
        .fold(0x811c_9dc5_u32, |number, byte| (number ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{}-{number:08x}", &name[..LONGEST - 9])
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn names_of_tools_are_those_that_all_clients_take() {
        assert_eq!(name("writer", "draft"), "writer__draft");
        assert_eq!(name("seo.agent", "rank/keywords"), "seo_agent__rank_keywords");
        let long = name("writer", &"a".repeat(100));
        let other = name("writer", &"a".repeat(101));
        assert_eq!((long.len(), other.len()), (64, 64));
        assert_ne!(long, other);
    }
}

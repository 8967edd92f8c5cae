//! Agents that stand for themselves.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use nuncio_protocol::{
    ids::ArtifactId,
    message::{Message, Part, Role},
    task::{Artifact, Task},
};
use nuncio_tasks::{
    agent::{Agent, Conduct, Failure, Interrupted, Turn},
    output::{Chunk, Output},
};
use tokio::time::sleep;

/// As much of a message as the agents repeat.
const LONGEST_TOPIC: usize = 200;

/// Writes for about twenty seconds.
///
/// What it writes follows from the topic alone, so it goes on where it was after a crash.
pub(super) struct Writer;

/// The pause between two words, usually and in a hurry.
const PACE: Duration = Duration::from_millis(180);
const HURRY: Duration = Duration::from_millis(18);

impl Agent for Writer {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let asked = turn.message.text();
        let topic = asked.replace("quickly", "");
        let pace = if topic == asked { PACE } else { HURRY };
        let text = essay(&topic);
        let begun = turn.task.artifacts.first();
        let id = begun.map_or_else(ArtifactId::generate, |begun| begun.artifact_id.clone());
        let written: usize = begun.into_iter().flat_map(|begun| &begun.parts).map(length).sum();
        if written == 0 {
            output.working("thinking about it").await?;
        }
        let mut rest = text.get(written..).unwrap_or_default();
        let mut append = written > 0;
        while !rest.is_empty() {
            sleep(pace).await;
            let end = rest.find(' ').map_or(rest.len(), |space| space + 1);
            let (word, later) = rest.split_at(end);
            let mut piece = Artifact::new(id.clone(), vec![Part::text(word)]);
            "essay".clone_into(&mut piece.name);
            output.put(piece, Chunk { append, last: later.is_empty() }).await?;
            append = true;
            rest = later;
        }
        Ok(())
    }

    fn conduct(&self) -> Conduct {
        Conduct { interrupted: Interrupted::Resume, ..Conduct::default() }
    }
}

fn length(part: &Part) -> usize {
    part.as_text().map_or(0, str::len)
}

/// Writes the whole of it.
fn essay(topic: &str) -> String {
    let topic = short(topic);
    let begun = ["write about ", "about ", "write "].iter().find_map(|begin| {
        let is_begun = topic.get(..begin.len())?.eq_ignore_ascii_case(begin);
        is_begun.then(|| &topic[begin.len()..])
    });
    let topic = begun
        .unwrap_or(&topic)
        .trim_matches(|one: char| one.is_whitespace() || ".,;!".contains(one));
    let topic = if topic.is_empty() { "nothing in particular" } else { topic };
    format!(
        "On {topic}. Whoever begins to write about {topic} soon finds that others were there \
         before, and that most of them disagree. Some say that there is nothing to be said about \
         {topic} that a quiet afternoon would not say better. Others have filled shelves with it, \
         and then a second row behind the first. The truth, as so often, lies on the table between \
         them and waits to be picked up. Look closely, then, and take your time: what is small \
         becomes large, what was simple has parts, and the parts have names. Somebody will ask \
         what all of this is good for. The honest answer is that nobody knows yet, and that this \
         is how every good thing has begun. So much for {topic}."
    )
}

/// Asks before it goes on.
pub(super) struct Approver;

impl Agent for Approver {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let asked = first(&turn.task).unwrap_or(&turn.message);
        let said = turn.task.history.iter().filter(|said| said.role == Role::User).count();
        if said < 2 {
            let question = format!("May this go on? Answer yes or no.\n\n{}", short(&asked.text()));
            output.ask(question).await?;
            return Ok(());
        }
        match decision(&turn.message) {
            Some(true) => {
                let mut approved = Artifact::new(ArtifactId::generate(), asked.parts.clone());
                "approved".clone_into(&mut approved.name);
                output.artifact(approved).await?;
                Ok(())
            }
            Some(false) => {
                Err(Failure::new(format!("not approved: {}", short(&turn.message.text()))))
            }
            None => {
                output.ask("I did not understand that. Yes or no?").await?;
                Ok(())
            }
        }
    }

    fn conduct(&self) -> Conduct {
        // It changes nothing outside.
        Conduct { interrupted: Interrupted::Retry, ..Conduct::default() }
    }
}

/// Finds a yes or a no: as programs say it, or else as people do.
fn decision(message: &Message) -> Option<bool> {
    let mut datas = message.parts.iter().filter_map(|part| part.as_data()?.as_object());
    let told = datas.find_map(|data| data.get("approved")?.parse::<bool>().ok());
    let text = message.text().to_lowercase();
    let word: String = text.trim_start().chars().take_while(|one| one.is_alphabetic()).collect();
    told.or(match word.as_str() {
        "yes" | "y" | "ok" | "okay" | "sure" | "approve" | "approved" | "go" => Some(true),
        "no" | "n" | "deny" | "denied" | "reject" | "rejected" | "stop" => Some(false),
        _ => None,
    })
}

fn first(task: &Task) -> Option<&Message> {
    task.history.iter().find(|said| said.role == Role::User)
}

/// Fails every third time.
#[derive(Default)]
pub(super) struct Flaky(AtomicU64);

impl Agent for Flaky {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let count = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_multiple_of(3) {
            return Err(Failure::new(format!("this was call {count}, and every third fails")));
        }
        output.text(format!("Done, as call {count}: {}", short(&turn.message.text()))).await?;
        Ok(())
    }
}

/// Returns the beginning of a text, in one line.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut shown: String = line.chars().take(LONGEST_TOPIC).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_and_programs_say_yes_in_their_own_ways() {
        let check = |text: &str, expected| {
            assert_eq!(decision(&Message::user(text)), expected, "{text}");
        };
        check("Yes, please", Some(true));
        check("approved: looks good", Some(true));
        check("no", Some(false));
        check("denied", Some(false));
        check("nothing of it", None);
        check("", None);
    }

    #[test]
    fn an_essay_is_about_its_topic() {
        for asked in ["otters", "Write about otters", "about otters.", "otters, "] {
            assert!(essay(asked).starts_with("On otters. Whoever"), "{asked}");
        }
        assert!(essay(" ").starts_with("On nothing in particular. "));
    }

    #[test]
    fn an_essay_is_long_enough_to_watch() {
        let words = essay("otters").split(' ').count();
        assert!((100..130).contains(&words), "{words}");
    }
}

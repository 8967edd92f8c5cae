//! What the agents do whatever SDK they are built on, and how they are processes; and in
//! `calling`, what the clients do.

pub mod calling;

use std::{io, time::Duration};

use tokio::io::AsyncReadExt as _;

/// Slow enough that a stream can be cut and taken up again while the task works.
pub const PAUSE: Duration = Duration::from_millis(10);

/// What the agents call their one artifact.
pub const ARTIFACT: &str = "out";

/// What an agent does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Adds to the artifact.
    Piece { text: String, append: bool, last: bool },
    /// Asks, and waits for the next message.
    Ask(&'static str),
    /// Works until it is cancelled.
    Hold,
}

/// Returns what a text tells the agent to do: `count:N`, `ask`, `hold`; everything else is said
/// back.
pub fn steps(text: &str) -> Vec<Step> {
    if text == "hold" {
        return vec![Step::Hold];
    }
    if text == "ask" {
        return vec![Step::Ask("which one?")];
    }
    let count = text.strip_prefix("count:").and_then(|count| count.parse::<usize>().ok());
    let Some(count) = count else {
        return vec![Step::Piece { text: text.to_owned(), append: false, last: true }];
    };
    let piece = |index| Step::Piece {
        text: format!("{index} "),
        append: index > 0,
        last: index + 1 == count,
    };
    (0..count).map(piece).collect()
}

/// Returns what `message:` is to be answered with, without any task.
pub fn message_in(text: &str) -> Option<&str> {
    text.strip_prefix("message:")
}

/// Says that all is ready, and returns when the input ends.
pub async fn until_input_ends(url: &str) -> io::Result<()> {
    println!("listening on {url}/");
    tokio::io::stdin().read_to_end(&mut Vec::new()).await.map(drop)
}

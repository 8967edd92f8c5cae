//! How work goes, for clients who want to know.

use std::time::Duration;

use rmcp::{
    Peer, RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
};
use tokio::time::Instant;

use crate::output::inert;

/// Pieces of results are not spoken of more often.
const PAUSE: Duration = Duration::from_millis(250);

/// The longest word about it.
const LONGEST: usize = 300;

/// Tells a client how its request goes, if it has asked for that.
pub(super) struct Progress {
    to: Option<(Peer<RoleServer>, ProgressToken)>,
    count: u32,
    letters: usize,
    last: Option<Instant>,
}

impl Progress {
    pub(super) fn new(peer: &Peer<RoleServer>, token: Option<ProgressToken>) -> Self {
        Self { to: token.map(|token| (peer.clone(), token)), count: 0, letters: 0, last: None }
    }

    /// Tells of a new state, and of the agent's word about it.
    pub(super) async fn state(&mut self, state: &str, word: Option<&str>) {
        match word.filter(|word| !word.trim().is_empty()) {
            Some(word) => self.tell(&format!("{state}: {}", short(word))).await,
            None => self.tell(state).await,
        }
    }

    /// Tells of a piece of the result.
    pub(super) async fn piece(&mut self, text: &str) {
        self.letters += text.chars().count();
        let now = Instant::now();
        if self.last.is_none_or(|last| now.duration_since(last) >= PAUSE) {
            self.tell(&format!("{} characters so far", self.letters)).await;
        }
    }

    /// Tells something of our own.
    pub(super) async fn tell(&mut self, text: &str) {
        let Some((peer, token)) = &self.to else { return };
        self.count += 1;
        self.last = Some(Instant::now());
        let progress = ProgressNotificationParam::new(token.clone(), self.count.into());
        // Whoever has gone need not be told.
        let _ = peer.notify_progress(progress.with_message(text)).await;
    }
}

/// Makes one short line of an agent's word.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut shown: String = inert(&line).chars().take(LONGEST).collect();
    if line.chars().count() > LONGEST {
        shown.push('…');
    }
    shown
}

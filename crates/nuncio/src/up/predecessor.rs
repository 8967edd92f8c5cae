//! What a hub that was killed still has for a moment: whoever has killed a process goes on before
//! the system has taken everything back from it.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How long somebody who lets go may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long to wait before the next attempt.
const BREATH: Duration = Duration::from_millis(20);

/// Tries to have something, and for a moment again if somebody else has it.
pub(super) async fn take_over<T, E>(
    mut attempt: impl AsyncFnMut() -> Result<T, E>,
    is_taken: impl Fn(&E) -> bool,
) -> Result<T, E> {
    let end = Instant::now() + PATIENCE;
    loop {
        match attempt().await {
            Err(error) if is_taken(&error) && Instant::now() < end => sleep(BREATH).await,
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Somebody has it for so long. Returns what came of it, and when.
    async fn had_for(time: Duration) -> (Result<(), &'static str>, Duration) {
        let start = Instant::now();
        let attempt = async || if start.elapsed() < time { Err("taken") } else { Ok(()) };
        (take_over(attempt, |error| *error == "taken").await, start.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_let_go_is_taken_and_what_is_kept_is_not() {
        assert_eq!(had_for(Duration::ZERO).await, (Ok(()), Duration::ZERO));
        assert_eq!(had_for(Duration::from_secs(1)).await, (Ok(()), Duration::from_secs(1)));
        assert_eq!(had_for(Duration::from_secs(60)).await, (Err("taken"), PATIENCE));
    }

    #[tokio::test(start_paused = true)]
    async fn any_other_error_is_told_at_once() {
        let attempt = async || Err::<(), _>("broken");
        assert_eq!(take_over(attempt, |error| *error == "taken").await, Err("broken"));
    }
}

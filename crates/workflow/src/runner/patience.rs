//! Patience with a store that is away for a while.
//!
//! A run does not fail because its store cannot be reached: it asks again (G11). What an agent
//! refuses is another matter, also if it does so because it is not available: that is for the
//! node's own `retry`.

use std::time::Duration;

use nuncio_protocol::error::{Error, ErrorKind};
use nuncio_tasks::engine::reasons;
use tokio::time::sleep;

/// How long to wait before a store that was not available is asked again.
pub(super) const PAUSE: Duration = Duration::from_millis(200);

/// Tells whether an error says that the store is not available.
pub(super) fn is_away(error: &Error) -> bool {
    error.kind() == ErrorKind::Unavailable && error.reason() == reasons::STORE_UNAVAILABLE
}

/// Asks until the store is there. Dropping the future ends that; whoever has a limit does so.
pub(super) async fn until_there<T, F>(mut ask: impl FnMut() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    loop {
        match ask().await {
            Err(error) if is_away(&error) => sleep(PAUSE).await,
            answer => return answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use nuncio_protocol::error::reason;
    use nuncio_tasks::store;

    use super::*;

    #[test]
    fn only_the_store_is_waited_for() {
        let lost = || Error::from(store::Error::Unavailable("no route".into()));
        assert!(is_away(&lost()));
        assert!(is_away(&store::Error::DiskFull("no space".into()).into()));
        assert!(!is_away(&store::Error::Spoilt("nonsense".to_owned()).into()));
        let agent = Error::new(ErrorKind::Unavailable, "nobody is there");
        assert!(!is_away(&agent));
        assert!(!is_away(&agent.with_reason(reason::AGENT_UNAVAILABLE)));
    }
}

//! Events that webhooks would not take: for administrators.

use nuncio_protocol::error::Error;

use crate::{
    engine::Tasks,
    scope::Scope,
    store::{DeadLetter, DeadLetterId},
};

impl Tasks {
    /// Returns dead letters, the newest first.
    pub async fn dead_letters(&self, scope: &Scope, most: usize) -> Result<Vec<DeadLetter>, Error> {
        Ok(self.engine().store.dead_letters(scope, most).await?)
    }

    /// Sends a dead letter again, once and at once, whatever else is to be sent. It goes if it
    /// is taken, and is there again if not. `false` if there is none of this identifier.
    pub async fn resend(&self, scope: &Scope, letter: DeadLetterId) -> Result<bool, Error> {
        let push = self.engine().push()?;
        let found = self.engine().store.resend(scope, letter).await?;
        push.wake();
        Ok(found)
    }
}

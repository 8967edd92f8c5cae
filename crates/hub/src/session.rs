//! Browsers that were let in.

use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use aws_lc_rs::{
    digest::{SHA256, digest},
    rand,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use nuncio_auth::pair::{NoRoom, Tickets};
use nuncio_net::Secret;
use nuncio_protocol::ids::Organisation;
use tokio::time::Instant;

/// How long a browser stays in.
pub(crate) const LIFETIME: Duration = Duration::from_secs(12 * 60 * 60);

/// So many browsers may be in; the oldest goes when one more comes.
const ROOM: usize = 1000;

/// Who a browser is let in as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// Their name.
    pub name: String,
    /// Their organisation.
    pub organisation: Organisation,
    /// Whether they may change things.
    pub is_administrator: bool,
}

/// A browser that was let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) login: Login,
    /// The id of the key by which its link was made, and with which it goes. The hub itself
    /// makes links by none.
    pub(crate) key: Option<Box<str>>,
}

/// What the hub knows a browser by that was let in. It is made of the secret in its cookie, which
/// cannot be guessed letter by letter then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SessionId([u8; 32]);

/// Browsers that were let in. They come in again after a restart.
#[derive(Default)]
pub struct Sessions {
    /// Links that callers have made.
    links: Tickets<Session>,
    open: Mutex<Open>,
}

type Open = HashMap<SessionId, (Session, Instant)>;

impl Sessions {
    /// Makes a ticket for a link that lets a browser in, once.
    pub(crate) fn invite(&self, session: Session) -> Result<Secret, NoRoom> {
        self.links.issue(session)
    }

    /// Takes the ticket of a link.
    pub(crate) fn redeem(&self, ticket: &str) -> Option<Session> {
        self.links.redeem(ticket)
    }

    /// Lets a browser in, and returns the secret of its cookie.
    pub(crate) fn begin(&self, session: Session) -> String {
        let mut secret = [0; 32];
        rand::fill(&mut secret)
            .expect("the library ends the program rather than run out of randomness");
        let text = URL_SAFE_NO_PAD.encode(secret);
        let mut sessions = self.lock();
        let now = Instant::now();
        sessions.retain(|_, (_, begun)| now.duration_since(*begun) < LIFETIME);
        if sessions.len() >= ROOM {
            let oldest = sessions.iter().min_by_key(|(_, (_, begun))| *begun);
            let oldest = oldest.map(|(id, _)| *id);
            oldest.map(|id| sessions.remove(&id));
        }
        sessions.insert(SessionId::of(&text), (session, now));
        text
    }

    /// Returns who a browser is.
    pub(crate) fn find(&self, secret: &str) -> Option<(SessionId, Session)> {
        let id = SessionId::of(secret);
        let sessions = self.lock();
        let (session, begun) = sessions.get(&id)?;
        (begun.elapsed() < LIFETIME).then(|| (id, session.clone()))
    }

    /// Tells whether a browser is in.
    pub(crate) fn is_open(&self, id: &SessionId) -> bool {
        self.lock().get(id).is_some_and(|(_, begun)| begun.elapsed() < LIFETIME)
    }

    /// Shows a browser out.
    pub(crate) fn end(&self, id: &SessionId) {
        self.lock().remove(id);
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionId {
    fn of(secret: &str) -> Self {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, secret.as_bytes()).as_ref());
        Self(hash)
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").finish_non_exhaustive()
    }
}

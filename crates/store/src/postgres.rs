//! Tasks, and what a hub knows, in Postgres: for several processes that share them.
//!
//! ```no_run
//! # async fn open() -> Result<(), nuncio_store::postgres::Error> {
//! use nuncio_store::postgres::{Options, PostgresStore};
//!
//! let store = PostgresStore::open(&Options::new("postgres://nuncio@db/nuncio")).await?;
//! # drop(store);
//! # Ok(())
//! # }
//! ```
//!
//! The database is the only truth and the only clock. Writes that wait at the same time share
//! a transaction (`batch`), and each is answered when it is committed: if the connection is
//! lost at that very moment, the writer asks on another what became of it.
//!
//! A database that cannot be reached answers every call with
//! [`Unavailable`](nuncio_tasks::store::Error::Unavailable) within 2.5 seconds, but for a write whose commit
//! is under way: that is answered when its outcome is known. Nothing needs to be started again
//! afterwards.

mod batch;
mod connection;
mod delivery;
mod error;
mod extras;
mod hub;
mod lease;
mod list;
mod migrations;
mod notify;
mod opener;
mod place;
mod pool;
mod read;
mod row;
mod safety;
mod shared;
mod sweep;
mod text;
mod webhook;
mod writer;

use std::{fmt, sync::Arc};

use bytes::Bytes;
use futures_util::FutureExt as _;
use nuncio_protocol::ids::{PushConfigId, TaskId};
use nuncio_tasks::{
    log::Seq,
    scope::{Place, Scope},
    store::{
        Answer, Append, Appended, Claim, Claimed, Create, Created, DeadLetter, DeadLetterId,
        Delivery, Filter, Head, Key, Lease, Limit, Listed, Loaded, Mark, NewWebhook, Page,
        Progress, Retention, Store, Swept, Tail, TaskRef, Tenure, Want, Webhook,
    },
};
use tokio::time::timeout;

pub use error::{Error, UnsafeSetting};
pub use notify::NotifyHints;

use connection::{Address, CALL};
use error::Failure;
use opener::Opener;
use place::Places;
use pool::Pool;
use row::ScopeNames;
use shared::Shared;
use sweep::SWEEP;
use writer::Writers;

/// How to reach a database.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// `postgres://user:password@host:port/database`, or the form of `key=value`. With
    /// `sslmode=require` the server must prove who it is; otherwise TLS is not used.
    pub url: String,
    /// The schema that the tables are in. It is made if it is not there.
    pub schema: String,
    /// The authorities that a server's certificate is checked with, in PEM; otherwise those of
    /// the system.
    pub root_certificates: Option<Vec<u8>>,
    /// How many connections write batches.
    pub writers: usize,
    /// How many connections do everything else, but for leases, which have one more.
    pub readers: usize,
}

impl Options {
    /// Takes an address, and what is usual for the rest.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            schema: "nuncio".to_owned(),
            root_certificates: None,
            writers: 2,
            readers: 4,
        }
    }

    /// Keeps the tables in another schema.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// Checks the server's certificate with these authorities, in PEM.
    #[must_use]
    pub fn root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.root_certificates = Some(pem.into());
        self
    }
}

impl fmt::Debug for Options {
    /// Says nothing of the address, which may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("schema", &self.schema)
            .field("writers", &self.writers)
            .field("readers", &self.readers)
            .finish_non_exhaustive()
    }
}

/// Keeps tasks, and what a hub knows, in Postgres.
pub struct PostgresStore {
    writers: Writers,
    /// For short questions.
    shared: Shared,
    /// For what may take long, or is a transaction.
    pool: Pool,
    /// Nobody waits here but for a lease: an owner that cannot renew its leases in time loses its
    /// tasks, however well it works on them.
    leases: Pool,
    places: Arc<Places>,
}

impl PostgresStore {
    /// Connects, checks that the database keeps what it promises, and brings the tables to the
    /// version of this program.
    pub async fn open(options: &Options) -> Result<Self, Error> {
        let address = Address::new(options)?;
        let connection = timeout(CALL, address.open()).await.unwrap_or(Err(Failure::TooSlow))?;
        safety::check(&connection).await?;
        migrations::run(&connection, &address).await?;
        let places = Arc::new(Places::default());
        let writers = Writers::start(&address, &places, options.writers);
        let opener = Arc::new(Opener::new(address.clone()));
        let shared = (options.readers / 2).max(1);
        Ok(Self {
            writers,
            shared: Shared::new(Arc::clone(&opener), shared),
            pool: Pool::new(opener, options.readers.saturating_sub(shared)),
            leases: Pool::new(Arc::new(Opener::new(address)), 1),
            places,
        })
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").finish_non_exhaustive()
    }
}

impl Store for PostgresStore {
    fn create(&self, create: Create) -> Answer<'_, Created> {
        create.batch.spell();
        Box::pin(self.writers.create(create))
    }

    fn append(&self, append: Append) -> Answer<'_, Appended> {
        append.batch.spell();
        Box::pin(self.writers.append(append))
    }

    fn is_used(&self, place: &Place, key: &Key) -> Answer<'_, bool> {
        let question = Arc::new((ScopeNames::from(&Scope::from(place)), key.clone()));
        Box::pin(self.shared.ask(move |connection| {
            let question = Arc::clone(&question);
            async move { extras::is_used(connection, &question.0, &question.1).await }.boxed()
        }))
    }

    fn find(&self, scope: &Scope, id: &TaskId) -> Answer<'_, Option<Head>> {
        let question = Arc::new((Arc::clone(&self.places), scope.clone(), id.clone()));
        Box::pin(self.shared.ask(move |connection| {
            let question = Arc::clone(&question);
            async move {
                let (places, scope, id) = &*question;
                read::find(connection, places, scope, id).await
            }
            .boxed()
        }))
    }

    fn load(&self, scope: &Scope, id: &TaskId, want: Want) -> Answer<'_, Option<Loaded>> {
        let question = Arc::new((Arc::clone(&self.places), scope.clone(), id.clone()));
        Box::pin(self.shared.ask(move |connection| {
            let question = Arc::clone(&question);
            async move {
                let (places, scope, id) = &*question;
                read::load(connection, places, scope, id, want).await
            }
            .boxed()
        }))
    }

    fn tail(&self, task: TaskRef, after: Seq, limit: Limit) -> Answer<'_, Tail> {
        Box::pin(self.shared.ask(move |connection| {
            async move { read::tail(connection, task, after, limit).await }.boxed()
        }))
    }

    fn marks(&self, tasks: Vec<TaskRef>) -> Answer<'_, Vec<Mark>> {
        let tasks = Arc::new(tasks);
        Box::pin(self.shared.ask(move |connection| {
            let tasks = Arc::clone(&tasks);
            async move { read::marks(connection, &tasks).await }.boxed()
        }))
    }

    fn list(&self, scope: &Scope, filter: Filter, page: Page) -> Answer<'_, Listed> {
        // Counting those since a moment, or looking through a conversation, may take long.
        let is_short = filter.context.is_none() && filter.updated_from.is_none();
        let list = list::of(Arc::clone(&self.places), scope.clone(), filter, page);
        Box::pin(async move {
            if is_short { self.shared.ask(list).await } else { self.pool.read(list).await }
        })
    }

    fn note(&self, task: TaskRef) -> Answer<'_, Option<Bytes>> {
        Box::pin(
            self.shared
                .ask(move |connection| async move { extras::note(connection, task).await }.boxed()),
        )
    }

    fn parent(&self, task: TaskRef) -> Answer<'_, Option<TaskId>> {
        Box::pin(
            self.shared.ask(move |connection| {
                async move { extras::parent(connection, task).await }.boxed()
            }),
        )
    }

    fn children(&self, scope: &Scope, parent: &TaskId, most: usize) -> Answer<'_, Vec<Head>> {
        let question = Arc::new((ScopeNames::from(scope), parent.clone()));
        Box::pin(self.pool.read(move |connection| {
            let question = Arc::clone(&question);
            async move { extras::children(connection, &question.0, &question.1, most).await }
                .boxed()
        }))
    }

    fn claim(&self, claim: Claim) -> Answer<'_, Vec<Claimed>> {
        let claim = Arc::new(claim);
        Box::pin(self.leases.write(CALL, move |connection| {
            let claim = Arc::clone(&claim);
            async move { lease::claim(connection, &claim).await }.boxed()
        }))
    }

    fn renew(&self, lease: Lease, held: Vec<Tenure>) -> Answer<'_, Vec<TaskRef>> {
        let wish = Arc::new((lease, held));
        Box::pin(self.leases.write(CALL, move |connection| {
            let wish = Arc::clone(&wish);
            async move { lease::renew(connection, &wish.0, &wish.1).await }.boxed()
        }))
    }

    fn release(&self, held: Vec<Tenure>) -> Answer<'_, ()> {
        let held = Arc::new(held);
        Box::pin(self.leases.write(CALL, move |connection| {
            let held = Arc::clone(&held);
            async move { lease::release(connection, &held).await }.boxed()
        }))
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn put_webhook(&self, task: TaskRef, webhook: NewWebhook, most: u32) -> Answer<'_, Webhook> {
        let webhook = Arc::new(webhook);
        Box::pin(self.pool.write(CALL, move |connection| {
            let webhook = Arc::clone(&webhook);
            async move { webhook::put(connection, task, &webhook, most).await }.boxed()
        }))
    }

    fn webhooks(&self, task: TaskRef) -> Answer<'_, Vec<Webhook>> {
        Box::pin(
            self.pool.read(move |connection| {
                async move { webhook::all(connection, task).await }.boxed()
            }),
        )
    }

    fn delete_webhook(&self, task: TaskRef, id: &PushConfigId) -> Answer<'_, ()> {
        let id = Arc::new(id.clone());
        Box::pin(self.pool.write(CALL, move |connection| {
            let id = Arc::clone(&id);
            async move { webhook::delete(connection, task, &id).await }.boxed()
        }))
    }

    fn claim_deliveries(&self, lease: Lease, most: usize) -> Answer<'_, Vec<Delivery>> {
        let lease = Arc::new(lease);
        Box::pin(self.pool.write(CALL, move |connection| {
            let lease = Arc::clone(&lease);
            async move { delivery::claim(connection, &lease, most).await }.boxed()
        }))
    }

    fn settle(&self, delivery: &Delivery, progress: Progress) -> Answer<'_, bool> {
        let news = Arc::new((delivery.clone(), progress));
        Box::pin(self.pool.write(CALL, move |connection| {
            let news = Arc::clone(&news);
            async move { delivery::settle(connection, &news.0, &news.1).await }.boxed()
        }))
    }

    fn dead_letters(&self, scope: &Scope, most: usize) -> Answer<'_, Vec<DeadLetter>> {
        let scope = Arc::new(ScopeNames::from(scope));
        Box::pin(self.pool.read(move |connection| {
            let scope = Arc::clone(&scope);
            async move { delivery::dead_letters(connection, &scope, most).await }.boxed()
        }))
    }

    fn resend(&self, scope: &Scope, letter: DeadLetterId) -> Answer<'_, bool> {
        let scope = Arc::new(ScopeNames::from(scope));
        Box::pin(self.pool.write(CALL, move |connection| {
            let scope = Arc::clone(&scope);
            async move { delivery::resend(connection, &scope, letter).await }.boxed()
        }))
    }

    fn sweep(&self, retention: &Retention, most: usize) -> Answer<'_, Swept> {
        let retention = Arc::new(retention.clone());
        Box::pin(self.pool.write(SWEEP, move |connection| {
            let retention = Arc::clone(&retention);
            async move { sweep::sweep(connection, &retention, most).await }.boxed()
        }))
    }
}

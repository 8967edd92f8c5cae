//! Connections to the database.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use futures_util::future::try_join_all;
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::time::{Instant, timeout};
use tokio_postgres::{Client, Config, NoTls, Row, Statement, config::SslMode, types::ToSql};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_util::task::AbortOnDropHandle;

use super::{
    Options,
    error::{Error, Failure},
};

/// How long a call may take, so that whoever asked is told in time that the database is away.
pub(super) const CALL: Duration = Duration::from_millis(2200);

/// How long it may take to open a connection: several round trips, and more than a call may take
/// if the database is far away. Callers do not wait for so long, but the next one finds it open.
pub(super) const OPENING: Duration = Duration::from_secs(10);

/// How long the network may take to connect. What is lost there is not waited for.
const CONNECT: Duration = Duration::from_millis(1500);

/// What every session begins with.
///
/// - A call that was given up here ends soon over there, too.
/// - A process that was stopped in the middle of a transaction must not hold its locks for
///   longer than others can wait.
/// - All plans go by an index, whatever the statistics of a young table say, and are made once
///   in a while (`PLANS_LAST`): there is one way to run each statement, and looking for it takes
///   longer than going it.
const SESSION: &str = "SET statement_timeout = '4s'; SET lock_timeout = '2s'; \
    SET idle_in_transaction_session_timeout = '1s'; SET client_min_messages = 'warning'; \
    SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; \
    SET enable_material = off; SET plan_cache_mode = force_generic_plan; SET jit = off; \
    SET default_transaction_isolation = 'read committed'";

/// How long plans are kept. Those that were made for empty tables, where every index is as good
/// as any other, must not be used for long when the tables have grown. What runs often leaves the
/// planner no choice anyway.
const PLANS_LAST: Duration = Duration::from_secs(10);

/// Knows how to connect.
#[derive(Clone)]
pub(super) struct Address {
    config: Config,
    tls: Option<MakeRustlsConnect>,
    schema: String,
}

/// A connection, with the statements it has prepared.
pub(super) struct Connection {
    client: Client,
    statements: Mutex<HashMap<Cow<'static, str>, Statement>>,
    /// Since when plans are kept.
    planned: Mutex<Instant>,
    /// Dropping it closes the socket, also if the server no longer listens.
    _driver: AbortOnDropHandle<()>,
}

impl Address {
    pub(super) fn new(options: &Options) -> Result<Self, Error> {
        let schema = options.schema.clone();
        if !is_plain(&schema) {
            return Err(Error::Schema(schema));
        }
        let mut config: Config = options.url.parse().map_err(Error::Address)?;
        // A silent cut is noticed after 9 s at most, on an idle connection as on a busy one.
        config
            .connect_timeout(CONNECT)
            .keepalives(true)
            .keepalives_idle(Duration::from_secs(5))
            .keepalives_interval(Duration::from_secs(2))
            .keepalives_retries(2)
            .tcp_user_timeout(Duration::from_secs(8));
        if config.get_application_name().is_none() {
            config.application_name("nuncio");
        }
        let tls = if config.get_ssl_mode() == SslMode::Require {
            Some(tls(options.root_certificates.as_deref())?)
        } else {
            // Encryption that anybody in between can switch off is none.
            config.ssl_mode(SslMode::Disable);
            None
        };
        Ok(Self { config, tls, schema })
    }

    /// Returns the name of the schema, which needs no quoting.
    pub(super) fn schema(&self) -> &str {
        &self.schema
    }

    /// Connects, for work on the tables.
    pub(super) async fn connect(&self) -> Result<Connection, Failure> {
        let connect = async {
            let connection = self.open().await?;
            self.begin(&connection).await?;
            Ok(connection)
        };
        timeout(OPENING, connect).await.unwrap_or(Err(Failure::TooSlow))
    }

    /// Prepares a connection with the server's own settings for work on the tables.
    pub(super) async fn begin(&self, connection: &Connection) -> Result<(), Failure> {
        let session = format!("{SESSION}; SET search_path TO {}", self.schema);
        Ok(connection.client.batch_execute(&session).await?)
    }

    /// Connects, with the server's own settings.
    pub(super) async fn open(&self) -> Result<Connection, Failure> {
        let (client, driver) = if let Some(tls) = &self.tls {
            let (client, connection) = self.config.connect(tls.clone()).await?;
            (client, tokio::spawn(drive(connection)))
        } else {
            let (client, connection) = self.config.connect(NoTls).await?;
            (client, tokio::spawn(drive(connection)))
        };
        let driver = AbortOnDropHandle::new(driver);
        let planned = Mutex::new(Instant::now());
        Ok(Connection { client, statements: Mutex::default(), planned, _driver: driver })
    }

    /// Connects, with the connection itself in the caller's hands, to hear notifications.
    pub(super) fn config(&self) -> (&Config, Option<&MakeRustlsConnect>) {
        (&self.config, self.tls.as_ref())
    }
}

impl Connection {
    /// Returns the client, for statements that are not worth preparing.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Tells whether it is known to be of no use any more.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Prepares a statement, once.
    pub(super) async fn prepare(
        &self,
        sql: impl Into<Cow<'static, str>>,
    ) -> Result<Statement, Failure> {
        let sql = sql.into();
        if let Some(statement) = self.prepared().get(&sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(&sql).await?;
        self.prepared().insert(sql, statement.clone());
        Ok(statement)
    }

    /// Prepares statements that are to be sent together, in one round trip at most. Then
    /// [`rows`](Self::rows), [`run`](Self::run) and [`command`](Self::command) wait for nothing
    /// before they send, and what is polled together is run in the order of that.
    pub(super) async fn prepare_all<const N: usize>(
        &self,
        all: [&'static str; N],
    ) -> Result<[Statement; N], Failure> {
        let prepared = try_join_all(all.map(|sql| self.prepare(sql)));
        let ((), prepared) = tokio::try_join!(self.refresh_plans(), prepared)?;
        prepared.try_into().map_err(|_| Failure::Lost("a statement was not prepared"))
    }

    /// Runs a statement that is prepared, and returns its rows.
    pub(super) async fn rows(
        &self,
        statement: &Statement,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        Ok(self.client.query(statement, parameters).await?)
    }

    /// Runs a statement that is prepared, and returns how many rows it touched.
    pub(super) async fn run(
        &self,
        statement: &Statement,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, Failure> {
        Ok(self.client.execute(statement, parameters).await?)
    }

    /// Runs a command such as `BEGIN`.
    pub(super) async fn command(&self, sql: &str) -> Result<(), Failure> {
        Ok(self.client.batch_execute(sql).await?)
    }

    /// Rolls a transaction back that has failed, and returns why it has. One that the database was
    /// told to commit has ended already, and that does no harm.
    pub(super) async fn or_roll_back<T>(&self, answer: Result<T, Failure>) -> Result<T, Failure> {
        if answer.as_ref().is_err_and(|failure| !failure.is_lost()) {
            self.command("ROLLBACK").await?;
        }
        answer
    }

    /// Forgets plans that are old. Statements stay prepared, and are planned when they run.
    pub(super) async fn refresh_plans(&self) -> Result<(), Failure> {
        let is_due = {
            let mut planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
            let is_due = planned.elapsed() >= PLANS_LAST;
            if is_due {
                *planned = Instant::now();
            }
            is_due
        };
        if is_due {
            self.client.batch_execute("DISCARD PLANS").await?;
        }
        Ok(())
    }

    /// Runs a prepared statement.
    pub(super) async fn query(
        &self,
        sql: impl Into<Cow<'static, str>>,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        self.refresh_plans().await?;
        let statement = self.prepare(sql).await?;
        Ok(self.client.query(&statement, parameters).await?)
    }

    /// Runs a prepared statement, and returns how many rows it touched.
    pub(super) async fn execute(
        &self,
        sql: impl Into<Cow<'static, str>>,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, Failure> {
        self.refresh_plans().await?;
        let statement = self.prepare(sql).await?;
        Ok(self.client.execute(&statement, parameters).await?)
    }

    fn prepared(&self) -> std::sync::MutexGuard<'_, HashMap<Cow<'static, str>, Statement>> {
        self.statements.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Moves messages until the connection ends. Why it ended is said to whoever waits for an
/// answer.
async fn drive<S, T>(connection: tokio_postgres::Connection<S, T>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection to the database has ended");
    }
}

/// Servers are always verified: by the given authorities, or else by those of the system.
fn tls(root_certificates: Option<&[u8]>) -> Result<MakeRustlsConnect, Error> {
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let builder = ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .map_err(Error::Tls)?;
    let builder = match root_certificates {
        None => builder.with_platform_verifier().map_err(Error::Tls)?,
        Some(pem) => {
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_slice_iter(pem) {
                let certificate = certificate.map_err(|error| {
                    Error::Tls(rustls::Error::General(format!("root certificates: {error}")))
                })?;
                roots.add(certificate).map_err(Error::Tls)?;
            }
            builder.with_root_certificates(roots)
        }
    };
    Ok(MakeRustlsConnect::new(builder.with_no_client_auth()))
}

/// Tells whether a name can stand in a statement as it is.
fn is_plain(name: &str) -> bool {
    (1..=40).contains(&name.len())
        && !name.as_bytes()[0].is_ascii_digit()
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

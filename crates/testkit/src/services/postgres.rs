//! Postgres with the settings that our store asks for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Pid, Signal};
use tokio::sync::OnceCell;

use super::server::{Server, Started, as_user, folder_in_path, password, unprivileged_user};
use super::{blocking, is_left_out, missing};
use crate::leftovers::Directory;

/// A Postgres server, reached by TCP on loopback. Dropping it stops it and removes its data.
#[derive(Debug)]
pub struct Postgres(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    server: Server,
    programs: PathBuf,
    port: u16,
    password: String,
    databases: AtomicU64,
}

/// A database on a [`Postgres`], empty at first.
#[derive(Debug)]
pub struct Database {
    name: String,
    server: Arc<Inner>,
}

impl Postgres {
    /// Returns the server that all tests of this process share; it is for databases of their
    /// own, not for stopping. `None`: left out by `NUNCIO_WITHOUT`.
    ///
    /// # Panics
    /// If Postgres is not installed or does not start.
    pub async fn shared() -> Option<&'static Self> {
        static SHARED: OnceCell<Postgres> = OnceCell::const_new();
        if is_left_out("postgres") {
            return None;
        }
        Some(SHARED.get_or_init(|| blocking(|| Self::launch(&[]))).await)
    }

    /// Starts a server for the caller alone, to be stopped, killed and paused. `None`: left
    /// out by `NUNCIO_WITHOUT`.
    ///
    /// # Panics
    /// If Postgres is not installed or does not start.
    pub async fn start() -> Option<Self> {
        Self::start_with(&[]).await
    }

    /// Starts a server for the caller alone with other settings, such as the unsafe
    /// `("fsync", "off")`.
    ///
    /// # Panics
    /// If Postgres is not installed or does not start with these settings.
    pub async fn start_with(settings: &[(&str, &str)]) -> Option<Self> {
        if is_left_out("postgres") {
            return None;
        }
        let settings = settings.iter().map(|(name, value)| format!("{name}={value}"));
        let settings: Vec<String> = settings.collect();
        Some(blocking(move || Self::launch(&settings)).await)
    }

    /// Makes an empty database.
    ///
    /// # Panics
    /// If the server does not answer.
    pub async fn database(&self) -> Database {
        let name = format!("test_{}", self.0.databases.fetch_add(1, Ordering::Relaxed));
        self.0.query("postgres", &format!("CREATE DATABASE {name}")).await;
        Database { name, server: Arc::clone(&self.0) }
    }

    /// Ends the server in good order. Its data stay.
    pub async fn stop(&self) {
        let inner = Arc::clone(&self.0);
        blocking(move || inner.server.end(Signal::INT)).await;
    }

    /// Kills all processes of the server at once, as a loss of power would. Its data stay.
    pub async fn kill9(&self) {
        let inner = Arc::clone(&self.0);
        blocking(move || inner.server.crash()).await;
    }

    /// Starts it again after [`stop`](Self::stop) or [`kill9`](Self::kill9), on the same data
    /// and the same port, and waits until it answers.
    ///
    /// # Panics
    /// If it runs, or does not start.
    pub async fn restart(&self) {
        let inner = Arc::clone(&self.0);
        blocking(move || {
            let started = inner.server.start(|pid| inner.is_ready(pid));
            assert_eq!(started, Started::Ready, "port {} was taken meanwhile", inner.port);
        })
        .await;
    }

    /// Stops all processes of the server where they stand: connections stay open, and nothing
    /// is answered.
    pub fn pause(&self) {
        self.0.server.pause();
    }

    /// Lets a paused server go on.
    pub fn resume(&self) {
        self.0.server.resume();
    }

    /// The id of its main process, while it runs.
    pub fn id(&self) -> Option<u32> {
        self.0.server.id()
    }

    /// Where it keeps its data, its log and its socket.
    pub fn directory(&self) -> &Path {
        self.0.server.directory()
    }

    fn launch(settings: &[String]) -> Self {
        let programs = programs();
        let template = Template::of_this_process(&programs);
        let user = unprivileged_user();
        let directory = Directory::new(user);
        run(Command::new("cp").arg("-a").arg(&template.data).arg(directory.path()));

        let mut server = Server::new(directory, user, programs.join("postgres"));
        let port = server.start_on_free_port(
            |directory, port| arguments(directory, port, settings),
            |directory, port, pid| is_ready(&programs, directory, port, pid),
        );
        Self(Arc::new(Inner {
            server,
            programs,
            port,
            password: template.password,
            databases: AtomicU64::new(1),
        }))
    }
}

impl Database {
    /// The address for clients: `postgres://user:password@127.0.0.1:port/name`.
    pub fn url(&self) -> String {
        let Inner { password, port, .. } = &*self.server;
        format!("postgres://postgres:{password}@127.0.0.1:{port}/{}", self.name)
    }

    /// Runs SQL and returns what it yields: a line for each row, `|` between columns.
    ///
    /// # Panics
    /// If the server does not answer or refuses.
    pub async fn query(&self, sql: &str) -> String {
        self.server.query(&self.name, sql).await
    }
}

impl Inner {
    fn is_ready(&self, pid: Pid) -> bool {
        is_ready(&self.programs, self.server.directory(), self.port, pid)
    }

    async fn query(self: &Arc<Self>, database: &str, sql: &str) -> String {
        let mut command = psql(&self.programs, self.server.directory(), self.port);
        command.args(["-d", database, "-c", sql]);
        let server = Arc::clone(self);
        blocking(move || {
            try_run(&mut command)
                .unwrap_or_else(|error| panic!("{error}\n{}", server.server.last_words()))
        })
        .await
    }
}

/// A directory of data as `initdb` makes it, which takes a second, to be copied.
#[derive(Debug)]
struct Template {
    data: PathBuf,
    password: String,
}

impl Template {
    fn of_this_process(programs: &Path) -> Self {
        static MADE: Mutex<Option<(Directory, String)>> = Mutex::new(None);
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let (directory, password) = made.get_or_insert_with(|| Self::make(programs));
        Self { data: directory.path().join("data"), password: password.clone() }
    }

    fn make(programs: &Path) -> (Directory, String) {
        let user = unprivileged_user();
        let directory = Directory::new(user);
        let password = password();
        let password_file = directory.path().join("password");
        fs::write(&password_file, &password).expect("our directory can be written to");
        if let Some((user, group)) = user {
            std::os::unix::fs::chown(&password_file, Some(user), Some(group))
                .expect("root may give a file away");
        }
        let mut initdb = clean(Command::new(programs.join("initdb")));
        initdb
            .arg("--pgdata")
            .arg(directory.path().join("data"))
            .arg("--pwfile")
            .arg(password_file)
            // The socket lies in a directory that only we may enter.
            .args(["--auth-local=trust", "--auth-host=scram-sha-256"])
            .args(["--username=postgres", "--encoding=UTF8", "--locale=C"])
            .args(["--wal-segsize=1", "--no-sync"])
            .current_dir(directory.path());
        as_user(&mut initdb, user);
        run(&mut initdb);
        (directory, password)
    }
}

/// The folder of the programs: the one in `PATH`, else Debian's newest.
fn programs() -> PathBuf {
    let mut debian: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin")))
        })
        .collect();
    debian.sort_unstable_by(|a, b| b.cmp(a));
    folder_in_path("postgres")
        .into_iter()
        .chain(debian.into_iter().map(|(_, folder)| folder))
        .find(|folder| ["initdb", "postgres", "psql"].iter().all(|p| folder.join(p).is_file()))
        .unwrap_or_else(|| missing("postgres", "PATH or /usr/lib/postgresql/*/bin"))
}

fn arguments(directory: &Path, port: u16, settings: &[String]) -> Vec<String> {
    let data = directory.join("data");
    let mut ours = vec![
        "listen_addresses=127.0.0.1".to_owned(),
        format!("unix_socket_directories={}", directory.display()),
        "max_connections=200".to_owned(),
        // In files among the data, so that a killed server leaves none elsewhere.
        "dynamic_shared_memory_type=mmap".to_owned(),
        // What our store demands, also where a packager thinks otherwise.
        "fsync=on".to_owned(),
        // As it is by itself. With segments of 1 MB it would be 64, and every load a load of
        // checkpoints.
        "max_wal_size=1GB".to_owned(),
        "full_page_writes=on".to_owned(),
        "synchronous_commit=on".to_owned(),
    ];
    if version(&data) >= 14 {
        // After a crash, Postgres syncs all its files one by one, which takes seconds.
        ours.push("recovery_init_sync_method=syncfs".to_owned());
    }
    let mut arguments =
        vec!["-D".to_owned(), data.display().to_string(), "-p".to_owned(), port.to_string()];
    for setting in ours.iter().chain(settings) {
        arguments.extend(["-c".to_owned(), setting.clone()]);
    }
    arguments
}

fn version(data: &Path) -> u32 {
    let version = fs::read_to_string(data.join("PG_VERSION")).expect("initdb notes its version");
    // Before 10 it was two numbers.
    version.trim().parse().unwrap_or(9)
}

/// Whether the server with this process id, and no other, answers.
fn is_ready(programs: &Path, directory: &Path, port: u16, pid: Pid) -> bool {
    let status = fs::read_to_string(directory.join("data/postmaster.pid")).unwrap_or_default();
    let mut lines = status.lines();
    lines.next().and_then(|line| line.parse().ok()) == Some(pid.as_raw_nonzero().get())
        && lines.nth(6).is_some_and(|line| line.trim() == "ready")
        && psql(programs, directory, port)
            .args(["-d", "postgres", "-c", "SELECT 1"])
            .output()
            .is_ok_and(|output| output.status.success())
}

fn psql(programs: &Path, directory: &Path, port: u16) -> Command {
    let mut command = clean(Command::new(programs.join("psql")));
    command
        .args(["--no-psqlrc", "--quiet", "--no-align", "--tuples-only"])
        .args(["--set", "ON_ERROR_STOP=1", "--username", "postgres", "--port", &port.to_string()])
        .arg("--host")
        .arg(directory);
    command
}

/// Keeps the developer's own Postgres out of it.
fn clean(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"PG") {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command that must succeed and returns its output.
fn run(command: &mut Command) -> String {
    try_run(command).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a command and returns its output, or what it said of its failure.
fn try_run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("start {command:?}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(format!("{command:?} failed: {}", text(&output.stderr)))
    }
}

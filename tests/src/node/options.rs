//! What a node is told when it starts.

use std::{fmt, path::PathBuf, time::Duration};

use anyhow::{Context as _, bail};

/// What a node is told when it starts.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it keeps tasks.
    pub kept: Kept,
    /// The Redis that carries hints; else Postgres carries them itself.
    pub redis: Option<String>,
    /// How wrong its clock is, in seconds.
    pub clock_offset: i64,
    /// How long its leases last.
    pub lease: Option<Duration>,
    /// How many events a task may have.
    pub task_events: Option<u64>,
    /// Whether it sends webhooks, also to loopback.
    pub webhooks: bool,
    /// Where the agent `effect` writes a line at each run.
    pub effects: Option<PathBuf>,
}

/// Where tasks are kept.
#[derive(Clone, Debug)]
pub enum Kept {
    /// In memory, until the process ends.
    Memory,
    /// In SQLite, in this directory.
    Sqlite(PathBuf),
    /// In Postgres, at this address.
    Postgres(String),
}

impl Options {
    /// Keeps tasks somewhere, and does the rest as everybody does.
    pub fn new(kept: Kept) -> Self {
        Self {
            kept,
            redis: None,
            clock_offset: 0,
            lease: None,
            task_events: None,
            webhooks: false,
            effects: None,
        }
    }

    /// Writes them as arguments.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec!["--store".to_owned(), self.kept.to_string()];
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                arguments.extend([name.to_owned(), value]);
            }
        };
        add("--redis", self.redis.clone());
        add("--clock-offset", Some(self.clock_offset.to_string()));
        add("--lease", self.lease.map(|lease| lease.as_millis().to_string()));
        add("--task-events", self.task_events.map(|events| events.to_string()));
        add("--effects", self.effects.as_ref().map(|path| path.display().to_string()));
        if self.webhooks {
            arguments.push("--webhooks".to_owned());
        }
        arguments
    }

    pub(super) fn parse(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<Self> {
        let mut options = Self::new(Kept::Memory);
        while let Some(name) = arguments.next() {
            if name == "--webhooks" {
                options.webhooks = true;
                continue;
            }
            let value = arguments.next().with_context(|| format!("{name} needs a value"))?;
            match name.as_str() {
                "--store" => options.kept = Kept::parse(&value)?,
                "--redis" => options.redis = Some(value),
                "--clock-offset" => options.clock_offset = value.parse()?,
                "--lease" => options.lease = Some(Duration::from_millis(value.parse()?)),
                "--task-events" => options.task_events = Some(value.parse()?),
                "--effects" => options.effects = Some(value.into()),
                _ => bail!("there is no option {name}"),
            }
        }
        Ok(options)
    }
}

impl Kept {
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        match text.split_once(':') {
            None if text == "memory" => Ok(Self::Memory),
            Some(("sqlite", directory)) => Ok(Self::Sqlite(directory.into())),
            Some(("postgres", url)) => Ok(Self::Postgres(url.to_owned())),
            _ => bail!("there is no store {text}"),
        }
    }
}

impl fmt::Display for Kept {
    /// Writes it as an argument.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory"),
            Self::Sqlite(directory) => write!(f, "sqlite:{}", directory.display()),
            Self::Postgres(url) => write!(f, "postgres:{url}"),
        }
    }
}

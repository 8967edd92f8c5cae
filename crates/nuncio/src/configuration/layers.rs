//! Defaults, the file, the environment, flags: a later one wins.

use std::{
    env, fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use nuncio_net::Secret;

use super::{
    Configuration, Database, Environment, Error, Hierarchy, InvalidValue, Level, ListenAddress,
    LogFormat, Otlp, Place, Problem, SecretText, WebUrl, check,
    nearest::nearest,
    read::{Parsed, parse},
    variables,
};

/// The name of the file that is taken if none is named.
pub const FILE_NAME: &str = "nuncio.yaml";
/// No file of people is larger.
pub(super) const LARGEST_FILE: u64 = 1024 * 1024;

/// Where a configuration comes from. Reading it again gives what it is by then.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// The file, if there is one.
    pub file: Option<PathBuf>,
    /// The environment: what `${NAME}` stands for, and `NUNCIO_*`.
    pub environment: Environment,
    /// What the command line says.
    pub flags: Flags,
}

/// What the command line says.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// The host to listen at.
    pub host: Option<String>,
    /// The port to listen at.
    pub port: Option<u16>,
    /// The URL that others reach the hub at.
    pub public_url: Option<WebUrl>,
    /// The folder for everything that must last.
    pub data_dir: Option<PathBuf>,
    /// Whether everything is kept in memory.
    pub in_memory: bool,
    /// Whether callers on this machine need no proof.
    pub open: bool,
}

/// A configuration that was read, checked and found good.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// What is to be done.
    pub configuration: Configuration,
    /// What may be a mistake.
    pub warnings: Vec<Problem>,
    /// What stood in the file.
    pub(super) text: String,
}

impl Layers {
    /// Takes the environment of this process, and a file: the named one, the one of
    /// `NUNCIO_CONFIG`, or `nuncio.yaml` in the working folder if it is there.
    pub fn of_process(file: Option<PathBuf>, flags: Flags) -> Self {
        // A variable that is no text cannot be meant for a file of text.
        let environment: Environment = env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let named = || environment.get("NUNCIO_CONFIG").filter(|path| !path.is_empty());
        let here = || Some(PathBuf::from(FILE_NAME)).filter(|path| path.exists());
        let file = file.or_else(|| named().map(PathBuf::from)).or_else(here);
        Self { file, environment, flags }
    }

    /// Reads and checks everything.
    pub fn load(&self) -> Result<Loaded, Error> {
        let text = self.file.as_deref().map(|path| read_file(path, LARGEST_FILE)).transpose()?;
        self.load_text(text.unwrap_or_default())
    }

    /// Checks everything, with this text for the file's.
    pub(super) fn load_text(&self, text: String) -> Result<Loaded, Error> {
        let file = self.file.as_deref();
        let in_file = |error: Error| error.mask(&text, &self.environment).in_file(file);
        let mut parsed = parse(&text, &self.environment);
        if let Some(folder) = file.and_then(Path::parent) {
            parsed.configuration.resolve(folder);
        }
        parsed.take_environment(&self.environment);
        parsed.configuration.take_flags(&self.flags);
        let configuration = parsed.checked().map_err(in_file)?;
        let doubts = check::warnings(&configuration).into_iter();
        let values = variables::substituted(&text, &self.environment);
        let mut warnings: Vec<_> = doubts.map(|doubt| doubt.mask(&values).in_file(file)).collect();
        warnings.extend(misspelt_variables(&self.environment));
        Ok(Loaded { configuration, warnings, text })
    }
}

/// Reads a file that is small enough.
pub(super) fn read_file(path: &Path, limit: u64) -> Result<String, Error> {
    let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
    let file = fs::File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    // One byte more tells a file that is too large.
    file.take(limit + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > limit {
        return Err(Error::TooLarge { path: path.to_owned(), limit });
    }
    Ok(text)
}

impl Configuration {
    /// Makes relative paths start at the folder of the file that names them.
    fn resolve(&mut self, folder: &Path) {
        let Self { tls, data_dir, mcp_servers, cards, .. } = self;
        let mut paths: Vec<&mut PathBuf> = Vec::new();
        if let Some(tls) = tls {
            paths.extend([&mut tls.certificate, &mut tls.key]);
            paths.extend(&mut tls.client_ca);
        }
        paths.extend(data_dir);
        paths.extend(
            mcp_servers.values_mut().filter_map(|server| server.value_mut().directory.as_mut()),
        );
        paths.extend(cards.trusted_keys.iter_mut().map(|trusted| &mut trusted.value_mut().keys));
        for path in paths {
            // An absolute path stays as it is.
            *path = folder.join(&path);
        }
    }

    fn take_flags(&mut self, flags: &Flags) {
        let Flags { host, port, public_url, data_dir, in_memory, open } = flags;
        if let Some(host) = host {
            self.listen = ListenAddress::new(host, self.listen.port());
        }
        if let Some(port) = port {
            self.listen = self.listen.with_port(*port);
        }
        if let Some(url) = public_url {
            self.public_url = Some(url.clone());
        }
        if let Some(folder) = data_dir {
            self.data_dir = Some(folder.clone());
        }
        if *in_memory {
            self.database = Database::Memory;
        }
        self.authentication.open |= *open;
    }
}

impl Parsed {
    fn take_environment(&mut self, environment: &Environment) {
        for Variable { name, key, take } in VARIABLES {
            // An empty variable counts as none, as it does in `${NAME:-default}`.
            let Some(value) = environment.get(*name).filter(|value| !value.is_empty()) else {
                continue;
            };
            self.overruled.push(key);
            if let Err(invalid) = take(&mut self.configuration, value) {
                let place = Place::Variable((*name).to_owned());
                self.problems.push(Problem::new(place, "", invalid));
            }
        }
    }
}

/// A variable that overrules the file.
pub(super) struct Variable {
    pub(super) name: &'static str,
    /// The key that it sets.
    pub(super) key: &'static str,
    take: fn(&mut Configuration, &str) -> Result<(), InvalidValue>,
}

/// Every variable that overrules the file.
pub(super) const VARIABLES: &[Variable] = &[
    variable(("NUNCIO_LISTEN", "listen"), |configuration, value| {
        configuration.listen = value.parse()?;
        Ok(())
    }),
    variable(("NUNCIO_PUBLIC_URL", "public_url"), |configuration, value| {
        configuration.public_url = Some(value.parse()?);
        Ok(())
    }),
    variable(("NUNCIO_DATA_DIR", "data_dir"), |configuration, value| {
        configuration.data_dir = Some(value.into());
        Ok(())
    }),
    variable(("NUNCIO_DATABASE", "database"), |configuration, value| {
        configuration.database = value.parse()?;
        Ok(())
    }),
    variable(("NUNCIO_ORGANISATION", "organisation"), |configuration, value| {
        value.clone_into(&mut configuration.organisation);
        Ok(())
    }),
    variable(("NUNCIO_HIERARCHY", "hierarchy"), |configuration, value| {
        configuration.hierarchy = match value {
            "strict" => Hierarchy::Strict,
            "lineage" => Hierarchy::Lineage,
            _ => return Err(InvalidValue("strict or lineage")),
        };
        Ok(())
    }),
    variable(("NUNCIO_ADMIN_KEY", "authentication.admin_key"), |configuration, value| {
        configuration.authentication.admin_key = Some(SecretText(Secret::new(value)));
        Ok(())
    }),
    variable(("NUNCIO_OPEN", "authentication.open"), |configuration, value| {
        configuration.authentication.open = switch(value)?;
        Ok(())
    }),
    variable(("NUNCIO_LOG_LEVEL", "telemetry.level"), |configuration, value| {
        let known = Level::ALL.into_iter().find(|level| level.as_str() == value);
        configuration.telemetry.level =
            known.ok_or(InvalidValue("off, error, warn, info, debug or trace"))?;
        Ok(())
    }),
    variable(("NUNCIO_LOG_FORMAT", "telemetry.format"), |configuration, value| {
        configuration.telemetry.format = match value {
            "auto" => LogFormat::Auto,
            "text" => LogFormat::Text,
            "json" => LogFormat::Json,
            _ => return Err(InvalidValue("auto, text or json")),
        };
        Ok(())
    }),
    variable(("NUNCIO_OTLP_ENDPOINT", "telemetry.otlp.endpoint"), |configuration, value| {
        let endpoint: WebUrl = value.parse()?;
        match &mut configuration.telemetry.otlp {
            Some(otlp) => otlp.endpoint = endpoint,
            none => *none = Some(Otlp::new(endpoint)),
        }
        Ok(())
    }),
];

const fn variable(
    (name, key): (&'static str, &'static str),
    take: fn(&mut Configuration, &str) -> Result<(), InvalidValue>,
) -> Variable {
    Variable { name, key, take }
}

fn switch(value: &str) -> Result<bool, InvalidValue> {
    match value {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(InvalidValue("true or false")),
    }
}

/// What every variable of this program begins with.
const PREFIX: &str = "NUNCIO_";

/// Variables that mean something to other commands, or that programs of agents are given.
const FOR_OTHERS: &[&str] = &[
    "NUNCIO_CONFIG",
    "NUNCIO_URL",
    "NUNCIO_KEY",
    "NUNCIO_ENROL",
    "NUNCIO_BEARER",
    "NUNCIO_API_KEY",
    "NUNCIO_HUB",
    "NUNCIO_TASK_ID",
    "NUNCIO_CONTEXT_ID",
    "NUNCIO_SKILL_ID",
    "NUNCIO_CALLER",
];

/// Returns variables that look as if they were meant for us. Others may use our prefix, so
/// that is no error.
fn misspelt_variables(environment: &Environment) -> impl Iterator<Item = Problem> {
    let known = || VARIABLES.iter().map(|variable| variable.name);
    // Nobody is talked into letting everybody in.
    let proposed = move || {
        let harmless = known().filter(|name| *name != "NUNCIO_OPEN");
        harmless.filter_map(|name| name.strip_prefix(PREFIX))
    };
    environment.keys().filter_map(move |name| {
        let is_known = known().chain(FOR_OTHERS.iter().copied()).any(|known| known == name);
        // The prefix is the same in all, and makes none like another.
        let word = name.strip_prefix(PREFIX).filter(|_| !is_known)?;
        let near = nearest(word, proposed())?;
        let problem = Problem::new(Place::Variable(name.clone()), "", "it means nothing");
        Some(problem.fix(format_args!("did you mean `{PREFIX}{near}`?")))
    })
}

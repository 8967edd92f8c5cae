//! Where a setting comes from: a flag, the environment, a file, or nowhere.
//!
//! A setting has the name of its flag; in the environment and in files that is
//! `A2ACLI_<FLAG>`. Files are `.env` in the working folder or above it (or the one that
//! `--config` names), and `a2a-cli/.env` in the user's configuration folder.

use std::{
    collections::BTreeMap,
    env, fmt, fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;

use crate::{
    failure::Failure,
    output::{Format, Output, note},
};

/// Flags that every client command has.
#[derive(Clone, Debug, Default, Args)]
#[group(skip)]
#[command(next_help_heading = "Output")]
pub(crate) struct Flags {
    /// The form of the result: `text` is for people, `json` is what the protocol says.
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<Format>,

    /// Show every part, message and identifier.
    #[arg(long)]
    pub(crate) verbose: bool,

    /// Show on standard error what is asked and answered, without secrets.
    #[arg(long)]
    pub(crate) debug: bool,

    /// Read settings from this file in place of `.env`.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// A setting that people can make.
#[derive(Debug)]
pub(crate) struct Known {
    /// The name of its flag.
    pub(crate) name: &'static str,
    /// What it is if nobody says.
    pub(crate) default: &'static str,
    pub(crate) is_secret: bool,
}

const fn known(name: &'static str, default: &'static str) -> Known {
    Known { name, default, is_secret: false }
}

const fn secret(name: &'static str) -> Known {
    Known { name, default: "", is_secret: true }
}

/// Every setting. `--stream` is none: what a script gets must not depend on where it runs.
pub(crate) const KNOWN: &[Known] = &[
    known("agent-card", ""),
    known("output", "text"),
    known("verbose", "false"),
    known("debug", "false"),
    secret("bearer"),
    secret("api-key"),
    secret("basic"),
    secret("svc-param"),
    known("transport", ""),
    known("a2a-version", ""),
    known("timeout", ""),
    known("poll-interval", "2s"),
    known("insecure", "false"),
    known("ca-cert", ""),
    known("cert", ""),
    known("key", ""),
    known("signatures", "off"),
    known("keys", ""),
    known("async", "false"),
    known("context-id", ""),
    known("task-id", ""),
];

/// Everything that was set, by whomever.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    flags: BTreeMap<&'static str, String>,
    /// The first one wins.
    files: Vec<File>,
    is_verbose: bool,
}

#[derive(Clone, Debug)]
struct File {
    path: PathBuf,
    entries: Vec<(String, String)>,
}

/// Who has set a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Flag,
    Environment(String),
    File(PathBuf),
    Default,
}

impl Settings {
    /// Reads the files, and takes the flags that every command has.
    pub(crate) fn load(flags: &Flags) -> Result<Self, Failure> {
        let unreadable = |path: &Path, error: io::Error| {
            Failure::usage(format!("--config: read {}: {error}", path.display()))
        };
        let local = match &flags.config {
            Some(path) => Some(File::read(path).map_err(|error| unreadable(path, error))?),
            None => find_above(),
        };
        let global = config_folder().and_then(|folder| File::find(&folder.join("a2a-cli/.env")));
        let files = local.into_iter().chain(global).collect();
        let mut settings = Self { flags: BTreeMap::new(), files, is_verbose: false };
        let format = flags.output.map(|format| match format {
            Format::Text => "text",
            Format::Json => "json",
        });
        settings.flag("output", format);
        settings.flag("config", flags.config.as_ref().map(|path| path.display().to_string()));
        settings.switch("verbose", flags.verbose);
        settings.switch("debug", flags.debug);
        settings.is_verbose = settings.is_on("verbose")?;
        Ok(settings)
    }

    /// Takes a flag, if it was given.
    pub(crate) fn flag(&mut self, name: &'static str, value: Option<impl Into<String>>) {
        if let Some(value) = value {
            self.flags.insert(name, value.into());
        }
    }

    /// Takes a flag without value, if it was given.
    pub(crate) fn switch(&mut self, name: &'static str, is_given: bool) {
        self.flag(name, is_given.then_some("true"));
    }

    /// Returns the value of a flag that was given on the command line.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        self.flags.get(name).map(String::as_str)
    }

    /// Returns a setting and who has set it. An empty value counts as none.
    pub(crate) fn find(&self, name: &str) -> Option<(String, Source)> {
        if let Some(value) = self.flags.get(name) {
            return Some((value.clone(), Source::Flag));
        }
        let variable = variable(name);
        if let Some(value) = env::var(&variable).ok().filter(|value| !value.is_empty()) {
            return Some((value, Source::Environment(variable)));
        }
        for file in &self.files {
            let found = file.entries.iter().rev().find(|(key, _)| *key == variable);
            if let Some((_, value)) = found.filter(|(_, value)| !value.is_empty()) {
                return Some((value.clone(), Source::File(file.path.clone())));
            }
        }
        None
    }

    /// Returns the value of a setting.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        self.find(name).map(|(value, _)| value)
    }

    /// Returns the value of a setting, read by a function that knows what it must be.
    pub(crate) fn read<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        let Some((value, source)) = self.find(name) else { return Ok(None) };
        let wrong = || {
            let place = source.place(name);
            Failure::usage(format!("{place}: expected {expected}, found `{value}`"))
        };
        read(value.trim()).map(Some).ok_or_else(wrong)
    }

    /// Tells whether a switch is on.
    pub(crate) fn is_on(&self, name: &str) -> Result<bool, Failure> {
        let read = |text: &str| match text {
            "true" | "1" | "yes" | "on" => Some(true),
            "false" | "0" | "no" | "off" => Some(false),
            _ => None,
        };
        Ok(self.read(name, "true or false", read)?.unwrap_or(false))
    }

    /// Returns a length of time.
    pub(crate) fn duration(&self, name: &str) -> Result<Option<Duration>, Failure> {
        self.read(name, "a length of time such as 500ms, 30s or 5m", parse_duration)
    }

    /// Returns what results are written with.
    pub(crate) fn output(&self) -> Result<Output, Failure> {
        let read = |text: &str| match text {
            "text" => Some(Format::Text),
            "json" => Some(Format::Json),
            _ => None,
        };
        let format = self.read("output", "text or json", read)?.unwrap_or_default();
        Ok(Output::new(format, self.is_verbose))
    }

    /// Returns what the files hold that means nothing.
    pub(crate) fn unknown(&self) -> Vec<(PathBuf, String)> {
        let is_known = |key: &str| KNOWN.iter().any(|known| variable(known.name) == key);
        let mut found = Vec::new();
        for file in &self.files {
            for (key, _) in &file.entries {
                if key.starts_with(PREFIX) && !is_known(key) {
                    found.push((file.path.clone(), key.clone()));
                }
            }
        }
        found
    }
}

impl Source {
    /// Names the place of a setting, to be mended there.
    pub(crate) fn place(&self, name: &str) -> String {
        match self {
            Self::Flag => format!("--{name}"),
            Self::Environment(variable) => variable.clone(),
            Self::File(path) => format!("{} in {}", variable(name), path.display()),
            Self::Default => name.to_owned(),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("flag"),
            Self::Environment(variable) => write!(f, "env {variable}"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

const PREFIX: &str = "A2ACLI_";

/// Returns the name of a setting in the environment and in files.
pub(crate) fn variable(name: &str) -> String {
    format!("{PREFIX}{}", name.to_ascii_uppercase().replace('-', "_"))
}

/// Returns the folder in which programs of this user keep their configuration.
pub(crate) fn config_folder() -> Option<PathBuf> {
    let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    folder("XDG_CONFIG_HOME")
        .or_else(|| folder("APPDATA"))
        .map(PathBuf::from)
        .or_else(|| folder("HOME").map(|home| PathBuf::from(home).join(".config")))
}

/// Looks for `.env` in the working folder and above it, as git looks for its own.
fn find_above() -> Option<File> {
    let folder = env::current_dir().ok()?;
    folder.ancestors().find_map(|folder| File::find(&folder.join(".env")))
}

impl File {
    /// Reads a file that need not be there.
    fn find(path: &Path) -> Option<Self> {
        match Self::read(path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // A folder above may not be ours to read, or `.env` be a folder.
            Err(error) => {
                note(&format!("note: {} is left out: {error}", path.display()));
                None
            }
        }
    }

    fn read(path: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(path)?;
        let entries = text.lines().filter_map(entry).collect();
        Ok(Self { path: path.to_owned(), entries })
    }
}

/// Reads a line of a `.env` file; `None` for what is no entry: such files belong to many.
fn entry(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
    if line.starts_with('#') {
        return None;
    }
    let (key, value) = line.split_once('=')?;
    let value = value.trim();
    let quoted = |quote| value.strip_prefix(quote)?.rsplit_once(quote).map(|(inside, _)| inside);
    let value = match (quoted('\''), quoted('"')) {
        (Some(literal), _) => literal.to_owned(),
        (None, Some(text)) => text.replace("\\n", "\n").replace("\\\"", "\"").replace("\\\\", "\\"),
        (None, None) => value.split(" #").next().unwrap_or_default().trim_end().to_owned(),
    };
    Some((key.trim().to_owned(), value))
}

/// Reads `500ms`, `30s`, `5m` or `1h`; a number alone is seconds.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let unit = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    let number: u64 = number.parse().ok()?;
    Some(match unit {
        "ms" => Duration::from_millis(number),
        "" | "s" => Duration::from_secs(number),
        "m" => Duration::from_secs(number.checked_mul(60)?),
        "h" => Duration::from_secs(number.checked_mul(3600)?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read_as_people_write_them() {
        let check = |text, expected: Option<u64>| {
            assert_eq!(parse_duration(text), expected.map(Duration::from_millis), "{text}");
        };
        check("500ms", Some(500));
        check("30s", Some(30_000));
        check("30", Some(30_000));
        check("5m", Some(300_000));
        check("1h", Some(3_600_000));
        for text in ["", "s", "-1s", "1.5s", "1d", "99999999999999999999s", "9999999999999999999h"]
        {
            check(text, None);
        }
    }

    #[test]
    fn entries_of_a_file_are_read_with_quotes_and_comments() {
        let check = |line, expected: Option<(&str, &str)>| {
            let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
            assert_eq!(entry(line), expected, "{line}");
        };
        check("A2ACLI_OUTPUT=json", Some(("A2ACLI_OUTPUT", "json")));
        check(" export A = b # c", Some(("A", "b")));
        check("A='b # c'", Some(("A", "b # c")));
        check(r#"A="b\"c\n""#, Some(("A", "b\"c\n")));
        check("A=b#c", Some(("A", "b#c")));
        check("# A=b", None);
        check("nonsense", None);
        check("", None);
    }

    #[test]
    fn the_name_of_a_variable_is_that_of_its_flag() {
        assert_eq!(variable("agent-card"), "A2ACLI_AGENT_CARD");
        assert_eq!(variable("a2a-version"), "A2ACLI_A2A_VERSION");
    }
}

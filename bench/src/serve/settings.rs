//! What the command line asks for.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};

/// Everything that can be measured, in the order of the report.
pub const SUITES: [&str; 10] =
    ["cold", "unary", "durable", "postgres", "stream", "grpc", "read", "hold", "gateway", "client"];

/// What `--help` says.
pub const HELP: &str = "\
Measures A2A servers from outside, side by side with references, and prints ratios.

  --ours COMMAND      the server to measure; it reads PORT, GRPC_PORT and STORE from the
                      environment. `none`: references only. Default: the example `bench_echo`
                      beside this one
  --peer NAME=COMMAND another server to put beside ours, of others; may be given again. It is
                      left out of what it cannot do, and the report says why
  --client COMMAND    the client to measure; it reads URL, IN_FLIGHT and SECONDS from the
                      environment and prints how many calls were answered, in how many seconds.
                      Default: the program `call` beside this one
  --only SUITE,...    cold, unary, durable, postgres, stream, grpc, read, hold, gateway, client
  --rounds N          how often every point is measured (3)
  --seconds S         how long each time (1.5)
  --tasks N,...       how large the servers grow whose tasks are read (10000)
  --streams N         how many idle streams are held (1000)
  --directory PATH    where databases are put (beside this program)
  --write FILE        write the report there, too, as Markdown
  --quick             one short round of everything, to see that it runs

NUNCIO_WITHOUT=postgres leaves Postgres out; else it must be installed.
";

/// How a run goes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// The server to measure.
    pub ours: Ours,
    /// Servers that others have made: what the report calls them, and their commands.
    pub peers: Vec<(String, Vec<String>)>,
    /// The client to measure.
    pub client: Option<Vec<String>>,
    /// The names of the suites to run.
    pub only: Vec<String>,
    /// How often every point is measured.
    pub rounds: usize,
    /// How long each time.
    pub point: Duration,
    /// How large the servers grow whose tasks are read, smallest first.
    pub tasks: Vec<u64>,
    /// How many idle streams are held.
    pub streams: usize,
    /// Where databases are put, if not beside the program: a directory for temporary files is
    /// often in memory, where durability is free.
    pub directory: Option<PathBuf>,
    /// Where the report is written to, too.
    pub write: Option<PathBuf>,
}

/// Which server is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ours {
    /// The echo agent beside this program.
    Echo,
    /// A program and its arguments.
    Command(Vec<String>),
    /// None: the references show what the machine can do.
    None,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            ours: Ours::Echo,
            peers: Vec::new(),
            client: None,
            only: SUITES.map(str::to_owned).into(),
            rounds: 3,
            point: Duration::from_millis(1500),
            tasks: vec![10_000],
            streams: 1000,
            directory: None,
            write: None,
        }
    }
}

impl Settings {
    /// Settings of a run that shows that everything works, not how fast it is.
    pub fn quick() -> Self {
        Self {
            rounds: 1,
            point: Duration::from_millis(200),
            tasks: vec![500],
            streams: 50,
            ..Self::default()
        }
    }

    /// Reads the arguments behind the name of the program.
    pub fn parse(arguments: &[String]) -> Result<Self> {
        let mut settings = if arguments.iter().any(|argument| argument == "--quick") {
            Self::quick()
        } else {
            Self::default()
        };
        let mut arguments = arguments.iter();
        while let Some(option) = arguments.next() {
            if option == "--quick" {
                continue;
            }
            let value = arguments.next().with_context(|| format!("{option} needs a value"))?;
            settings
                .set(option, value)
                .with_context(|| format!("cannot use {option} {value}; --help says more"))?;
        }
        Ok(settings)
    }

    fn set(&mut self, option: &str, value: &str) -> Result<()> {
        match option {
            "--ours" if value == "none" => self.ours = Ours::None,
            "--ours" => self.ours = Ours::Command(words(value)?),
            "--peer" => {
                let (name, command) = value.split_once('=').context("NAME=COMMAND")?;
                ensure!(!name.is_empty(), "the peer has no name");
                self.peers.push((name.to_owned(), words(command)?));
            }
            "--client" => self.client = Some(words(value)?),
            "--only" => self.only = suites(value)?,
            "--rounds" => self.rounds = value.parse()?,
            "--seconds" => self.point = Duration::try_from_secs_f64(value.parse()?)?,
            "--tasks" => self.tasks = sizes(value)?,
            "--streams" => self.streams = value.parse()?,
            "--write" => self.write = Some(value.into()),
            "--directory" => self.directory = Some(value.into()),
            _ => bail!("no such option"),
        }
        ensure!(self.rounds > 0 && self.streams > 0 && !self.point.is_zero(), "nothing to do");
        Ok(())
    }
}

fn words(value: &str) -> Result<Vec<String>> {
    let words: Vec<String> = value.split_whitespace().map(str::to_owned).collect();
    ensure!(!words.is_empty(), "no program");
    Ok(words)
}

fn suites(value: &str) -> Result<Vec<String>> {
    let wanted: Vec<&str> = value.split(',').collect();
    if let Some(unknown) = wanted.iter().find(|name| !SUITES.contains(name)) {
        bail!("no suite {unknown}");
    }
    Ok(wanted.into_iter().map(str::to_owned).collect())
}

/// Sizes of which each needs more tasks than the one before; the first fills a page.
fn sizes(value: &str) -> Result<Vec<u64>> {
    let sizes = value.split(',').map(str::parse).collect::<Result<Vec<u64>, _>>()?;
    let grow = sizes.windows(2).all(|pair| pair[0] < pair[1]);
    ensure!(grow && sizes[0] >= 100, "sizes grow, from 100 tasks on");
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Settings> {
        Settings::parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read_in_any_order() {
        let settings = parse("--rounds 5 --quick --only unary,read --tasks 100,1000").unwrap();
        assert_eq!(settings.rounds, 5);
        assert_eq!(settings.point, Settings::quick().point);
        assert_eq!(settings.only, ["unary", "read"]);
        assert_eq!(settings.tasks, [100, 1000]);
        assert_eq!(parse("--ours none").unwrap().ours, Ours::None);
        let peers =
            Settings::parse(&["--peer", "one=node one.js"].map(str::to_owned)).unwrap().peers;
        assert_eq!(peers, [("one".to_owned(), vec!["node".to_owned(), "one.js".to_owned()])]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for line in [
            "--ours",
            "--only all",
            "--rounds 0",
            "--seconds -1",
            "--tasks 1000,100",
            "--tasks 10",
            "--fast 1",
            "--peer node",
            "--peer =node",
        ] {
            parse(line).unwrap_err();
        }
    }
}

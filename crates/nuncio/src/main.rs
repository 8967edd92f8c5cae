//! The `nuncio` program. It only reads the command line and puts the crates together.

mod data;
mod demo;
mod doctor;
mod hub;
mod join;
mod key;
mod mock;
mod serve;
mod up;

mod auth;
mod backup;
mod card;
mod chat;
mod completion;
mod config;
mod connect;
mod mcp;
mod push_config;
mod send;
mod task;

mod again;
mod agent;
mod failure;
mod follow;
mod logins;
mod open_files;
mod output;
mod parts;
mod settings;
mod show;
mod terminal;
mod webhooks;

use std::{io, process::ExitCode};

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::failure::Failure;

/// Tasks are many small pieces that end on other threads than they began on.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What `--version` says: which program, made of what, and what is in it.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("NUNCIO_MADE_OF"),
    ")\nfeatures: ",
    env!("NUNCIO_FEATURES")
);

const EXAMPLES: &str = "\
Examples:
  nuncio up                                         the hub, at port 7420
  nuncio agents add https://agent.example           bring an agent in
  nuncio serve --port 7421                          an agent that echoes
  nuncio send -a localhost:7421 hello               talk to it
  nuncio card get agent.example                     see what an agent can do
  nuncio chat -a agent.example                      talk with it, a line at a time
  nuncio workflow run report.yaml --input topic=otters
  nuncio doctor agent.example                       find out why it does not work

Exit codes: 0 done, 1 failure, 2 usage, 3 unreachable, 4 not let in, 5 too late.";

/// Connects AI agents over A2A.
#[derive(Debug, Parser)]
#[command(version = VERSION, disable_version_flag = true, arg_required_else_help = true)]
#[command(after_help = EXAMPLES)]
struct Arguments {
    /// Print the version, the commit it was made of, and its features.
    #[arg(short = 'v', long, action = clap::ArgAction::Version)]
    version: (),

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Up(up::Arguments),
    Agents(Box<hub::agents::Arguments>),
    Discover(hub::discover::Arguments),
    Policy(hub::policy::Arguments),
    Rules(hub::rules::Arguments),
    Token(hub::tokens::Arguments),
    Events(hub::events::Arguments),
    Audit(hub::audit::Arguments),
    Tasks(Box<hub::tasks::Arguments>),
    Inbox(hub::inbox::Arguments),
    Workflow(Box<hub::workflow::Arguments>),
    Run(Box<hub::run::Arguments>),
    Login(hub::login::Arguments),
    Connect(Box<connect::Arguments>),
    Mcp(mcp::Arguments),
    /// Serve an agent: a ready-made one, or any program.
    Serve(Box<serve::Arguments>),
    /// Find out why an agent does not work.
    Doctor(doctor::Arguments),
    /// Make and revoke the API keys of callers.
    #[command(subcommand)]
    Key(key::Command),
    /// Serve an agent that follows a script, for tests.
    Mock(mock::Arguments),
    Send(Box<send::Arguments>),
    /// Show, sign and verify agent cards.
    #[command(subcommand)]
    Card(Box<card::Command>),
    /// Look at tasks, follow and cancel them.
    #[command(subcommand)]
    Task(Box<task::Command>),
    Chat(Box<chat::Arguments>),
    /// Keep credentials for agents.
    #[command(subcommand)]
    Auth(auth::Command),
    /// Show and check settings.
    #[command(subcommand)]
    Config(Box<config::Command>),
    Backup(backup::Arguments),
    Restore(backup::RestoreArguments),
    Completion(completion::Arguments),
    Man(completion::ManArguments),
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return misread(&error),
    };
    match run(arguments.command).await {
        Ok(code) => code,
        Err(failure) => {
            tell(&failure, wants_json());
            failure.exit_code()
        }
    }
}

async fn run(command: Command) -> Result<ExitCode, Failure> {
    let serving = |error: anyhow::Error| Failure::serving(&error);
    if matches!(command, Command::Up(_) | Command::Serve(_) | Command::Mock(_)) {
        open_files::allow_most();
    }
    let done = match command {
        // What it finds is no failure of its own, and has a code.
        Command::Doctor(arguments) => return Box::pin(doctor::run(arguments)).await,
        Command::Mock(arguments) => mock::run(arguments).await,
        Command::Up(arguments) => up::run(arguments).await.map_err(serving),
        Command::Connect(arguments) => connect::run(*arguments).await,
        Command::Mcp(arguments) => mcp::run(arguments).await,
        Command::Agents(arguments) => hub::agents::run(*arguments).await,
        Command::Discover(arguments) => hub::discover::run(arguments).await,
        Command::Policy(arguments) => hub::policy::run(arguments).await,
        Command::Rules(arguments) => hub::rules::run(arguments).await,
        Command::Token(arguments) => hub::tokens::run(arguments).await,
        Command::Events(arguments) => hub::events::run(arguments).await,
        Command::Audit(arguments) => hub::audit::run(arguments).await,
        Command::Tasks(arguments) => hub::tasks::run(*arguments).await,
        Command::Inbox(arguments) => hub::inbox::run(arguments).await,
        Command::Workflow(arguments) => Box::pin(hub::workflow::run(*arguments)).await,
        Command::Run(arguments) => Box::pin(hub::run::run(*arguments)).await,
        Command::Login(arguments) => hub::login::run(arguments).await,
        Command::Serve(arguments) => serve::run(*arguments).await,
        Command::Key(command) => key::run(command).map_err(serving),
        Command::Send(arguments) => send::run(*arguments).await,
        Command::Card(command) => card::run(*command).await,
        Command::Task(command) => task::run(*command).await,
        Command::Chat(arguments) => chat::run(*arguments).await,
        Command::Auth(command) => auth::run(command).await,
        Command::Config(command) => config::run(*command).await,
        Command::Backup(arguments) => backup::run(&arguments).map_err(serving),
        Command::Restore(arguments) => backup::restore(&arguments).map_err(serving),
        Command::Completion(arguments) => completion::run(arguments, Arguments::command()),
        Command::Man(arguments) => completion::man(&arguments, Arguments::command()),
    };
    done.map(|()| ExitCode::SUCCESS)
}

/// Says what is wrong with the command line, or what was asked about it.
fn misread(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() || !wants_json() {
        // Nobody reads it if it cannot be written.
        let _ = error.print();
        return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
    }
    let text = error.render().to_string();
    let mut lines = text.lines().map(str::trim);
    let first = lines.next().unwrap_or_default();
    let tip = lines.find_map(|line| line.strip_prefix("tip: "));
    let failure = Failure::usage(first.strip_prefix("error: ").unwrap_or(first))
        .hint(tip.unwrap_or("--help shows what there is"));
    tell(&failure, true);
    failure.exit_code()
}

#[expect(clippy::print_stderr, reason = "for people")]
fn tell(failure: &Failure, is_json: bool) {
    let has_colour = !is_json && terminal::has_colour(&io::stderr());
    if let Some(text) = failure.shown(is_json) {
        eprintln!("{}", if has_colour { failure::painted(&text) } else { text });
    }
}

/// Tells whether errors are to be JSON, also if the command line cannot be read.
fn wants_json() -> bool {
    // A word may be no text at all.
    let mut words = std::env::args_os().skip(1).take_while(|word| word != "--").peekable();
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("-ojson" | "-o=json" | "--output=json") => return true,
            Some("-o" | "--output") => return words.peek().is_some_and(|value| value == "json"),
            _ => {}
        }
    }
    let settings = settings::Settings::load(&settings::Flags::default());
    settings.is_ok_and(|settings| settings.get("output").as_deref() == Some("json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_without_contradictions() {
        Arguments::command().debug_assert();
    }
}

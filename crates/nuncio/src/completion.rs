//! `nuncio completion` and `nuncio man`: the command line, for shells and for readers.

mod markdown;

use std::{fs, io::Write as _, path::PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  nuncio completion bash > ~/.local/share/bash-completion/completions/nuncio
  nuncio completion zsh > ~/.zfunc/_nuncio
  nuncio completion fish > ~/.config/fish/completions/nuncio.fish";

/// Write the script with which a shell completes commands.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The shell.
    shell: Shell,
}

/// Write a manual page for every command.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  nuncio man ~/.local/share/man/man1")]
pub(crate) struct ManArguments {
    /// The folder to write them to; made if it is not there.
    #[arg(required_unless_present = "markdown")]
    folder: Option<PathBuf>,

    /// Print the reference page of all commands instead.
    #[arg(long, conflicts_with = "folder")]
    markdown: bool,
}

pub(crate) fn run(Arguments { shell }: Arguments, mut command: Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "nuncio", &mut script);
    let mut output = std::io::stdout();
    output.write_all(&script)?;
    output.flush()?;
    Ok(())
}

pub(crate) fn man(
    ManArguments { folder, .. }: &ManArguments,
    command: Command,
) -> Result<(), Failure> {
    // Pages have one line for it.
    let mut command = command.version(env!("CARGO_PKG_VERSION"));
    let Some(folder) = folder else {
        let mut output = std::io::stdout();
        output.write_all(markdown::page(command).as_bytes())?;
        return Ok(output.flush()?);
    };
    fs::create_dir_all(folder).map_err(|error| Failure::file("make", folder, &error))?;
    command.build();
    pages(folder, &command, "nuncio")
}

fn pages(folder: &std::path::Path, command: &Command, name: &str) -> Result<(), Failure> {
    let path = folder.join(format!("{name}.1"));
    let mut page = Vec::new();
    let named = command.clone().display_name(name);
    Man::new(named).title(name).render(&mut page)?;
    fs::write(&path, page).map_err(|error| Failure::file("write", &path, &error))?;
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        pages(folder, sub, &format!("{name}-{}", sub.get_name()))?;
    }
    Ok(())
}

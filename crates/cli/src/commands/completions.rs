//! `loadline completions SHELL`: made from the same types as the flags.

use clap::CommandFactory as _;

use crate::{Cli, Exit, output};

/// Arguments.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// bash, elvish, fish, powershell or zsh
    shell: clap_complete::Shell,
}

/// Prints the completions.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "loadline", &mut text);
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}

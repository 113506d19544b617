//! The `loadline` command: finds how much load a network server takes, what stops it, and why.

mod commands;
mod output;

use std::process::ExitCode;

use clap::Parser;
use commands::Command;

/// Finds how much load a network server takes, what stops it, and why.
#[derive(Parser)]
#[command(name = "loadline", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Start with `loadline find`, or `loadline find http://127.0.0.1:8080/`.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// How a command ended; the numbers are part of the contract with other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Done => Self::SUCCESS,
        }
    }
}

fn main() -> ExitCode {
    output::quiet_on_closed_pipe();
    let cli = Cli::parse();
    output::start_log();
    match cli.command.run() {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("loadline: {error:#}");
            ExitCode::from(2)
        }
    }
}

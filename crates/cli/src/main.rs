//! The `loadline` command: finds how much load a network server takes, what stops it, and why.

mod args;
mod commands;
mod docs;
mod finish;
mod output;
mod screen;
mod tables;

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
    /// An objective or a comparison failed, or nothing came back.
    Failed,
    /// Ended early by the user, with what was measured saved.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Done => Self::SUCCESS,
            Exit::Failed => Self::from(1),
            Exit::Interrupted => Self::from(130),
        }
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    if cli.command.only_prints() {
        output::quiet_on_closed_pipe();
    }
    output::start_log();
    match cli.command.run() {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("loadline: {}", output::sentence(&error));
            ExitCode::from(2)
        }
    }
}

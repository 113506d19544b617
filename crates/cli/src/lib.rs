//! The `loadline` command: finds how much load a network server can take, what limits it, and why.
//!
//! The program itself (`src/bin/loadline.rs`) only calls [`main`]. The program is small, so it can be linked twice, as
//! a static program and as a dynamic one (`make dist`). This crate is compiled only once for both programs.

// Forbids the printing macros of the standard library, because they panic if the program that reads the output has
// closed the pipe.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

mod arena_dir;
mod args;
mod commands;
mod comparison_page;
mod docs;
mod exit;
mod feeds;
mod finish;
mod kept;
mod kept_pair;
mod live;
mod locked_dir;
mod metrics;
mod output;
mod progress_lines;
mod run_folder;
mod same_target;
mod screen;
mod tables;
mod terms;
#[cfg(test)]
mod words;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use commands::Command;
pub(crate) use exit::Exit;

/// Find how much load a network server can take, what limits it, and why.
#[derive(Parser)]
#[command(name = "loadline", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Start with `loadline find`, or `loadline find http://127.0.0.1:8080/`.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Returns the command line parser. The parser's help shows the default of every flag that has a default.
pub(crate) fn command() -> clap::Command {
    args::defaults::shown(Cli::command())
}

/// Prints an error of the command line, and exits. The error quotes parts of the command line, so this function hides
/// secrets in the error first.
fn usage(error: &clap::Error) -> ! {
    let shown = error.render().to_string();
    // The standard library's error does not say which numbers are accepted.
    let mut text = shown
        .replace("invalid digit found in string", "write a whole number in digits, such as 10000")
        .replace("is not in 0..=4294967295", "is not a whole number from 0 to 4294967295")
        .replace("invalid float literal", "write a number, such as 10 or 0.5");
    let mut secrets = run::Secrets::default();
    for word in std::env::args_os().skip(1) {
        let word = word.to_string_lossy();
        let kept = secrets.redact_word(&word);
        text = text.replace(&*word, &kept);
    }
    if text == shown {
        error.exit();
    }
    output::tell(text.trim_end());
    std::process::exit(error.exit_code());
}

/// Parses a command line.
fn parse(words: impl IntoIterator<Item = std::ffi::OsString>) -> Result<Cli, clap::Error> {
    let words: Vec<_> = words.into_iter().collect();
    let tried = |words: &[std::ffi::OsString]| {
        command().try_get_matches_from(words).and_then(|matches| Cli::from_arg_matches(&matches))
    };
    let parsed = tried(&words).or_else(|error| match args::usage_errors::with_negative_values(&error, &words) {
        Some(joined) => tried(&joined),
        None => Err(error),
    });
    parsed.map_err(|mut error| {
        use clap::error::ErrorKind::{ArgumentConflict, InvalidSubcommand, UnknownArgument};
        if matches!(error.kind(), UnknownArgument | ArgumentConflict | InvalidSubcommand) {
            args::usage_errors::answer(&mut error, &words);
        }
        args::usage_errors::with_whole_usage(&mut error, command(), &words);
        error
    })
}

/// Returns the command of a command line for tests. `words` are the words of the command line after the name of the
/// program.
#[cfg(test)]
pub(crate) fn parsed(words: &[&str]) -> Command {
    let words = ["loadline"].iter().chain(words).map(Into::into);
    parse(words).unwrap_or_else(|error| panic!("{error}")).command
}

/// Runs the command with the arguments of the process, and returns its exit status.
pub fn main() -> ExitCode {
    let cli = parse(std::env::args_os()).unwrap_or_else(|error| usage(&error));
    if cli.command.only_prints() {
        output::quiet_on_closed_pipe();
    }
    // If this call fails, a write beyond the limit on file sizes kills the program (SIGXFSZ) instead of returning an
    // error.
    let _ = sys::limits::large_files_are_errors();
    if !cli.command.undoes_by_itself() {
        lab::agents::put_back().iter().for_each(|note| output::tell(&format!("loadline: {}", output::safe(note))));
    }
    match cli.command.run(command) {
        Ok(exit) => exit.into(),
        Err(error) => {
            output::tell(&format!("loadline: {}", output::safe(&output::sentence(&error))));
            match error.downcast_ref() {
                Some(lab::LabError::Interrupted) => Exit::Interrupted.into(),
                _ => ExitCode::from(Exit::ERROR),
            }
        }
    }
}

//! `make bench`: measures the speed of loadline and of other programs (peers), and shows ratios of the measurements.
//!
//! `make bench` is not a test, because its results depend on the machine and on other programs. Each row of the result
//! table measures loadline and its peer alternately for several rounds and compares the medians. The table shows the
//! spread over the rounds beside the ratio.
//!
//! - Without arguments: measures the default set, which takes 20 minutes at most.
//! - `--all` (`make bench-all`): measures all rows, which takes hours.
//! - Words: measures only rows whose ID contains at least one of the words, such as
//!   `make bench BENCH="generator server"`.
//! - `--rounds N`: sets the number of rounds of every row.
//! - `--save FILE`: stores the result as JSON, with a description of the machine.
//! - `--write-page FILE PAGE` (`make speed-page`): writes the tables of a stored result into a page.
//! - `--list`: lists the rows.

mod compare;
mod cpu;
mod curve;
mod delayed;
mod groups;
mod measure;
mod options;
mod page;
mod programs;
mod row;
mod rows;
mod show;
mod sshd;
mod stored;

use std::process::ExitCode;

use anyhow::Result;

use options::{Job, Options};
use row::RowSet;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1).peekable();
    if args.next_if(|first| first == "delayed").is_some() {
        return delayed::run(args);
    }
    match Options::parse(args).and_then(|options| run(&options)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("{e:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs the task that the options choose. Returns false if a measured row misses its goal.
fn run(options: &Options) -> Result<bool> {
    match &options.job {
        Job::Measure => measure::measure(options),
        Job::List => list(),
        Job::WritePage { stored, page } => page::write(stored, page).map(|()| true),
    }
}

fn list() -> Result<bool> {
    for (_, row) in groups::rows() {
        let set = if row.effort(RowSet::Default).is_some() { "default" } else { "all" };
        println!("{:<26} {set:<8} {}", row.id, row.what);
    }
    Ok(true)
}

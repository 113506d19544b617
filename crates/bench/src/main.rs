//! `make bench`: measures the speed of loadline and of other programs (peers), and shows ratios of the measurements.
//!
//! `make bench` is not a test, because its results depend on the machine and on other programs. Each row of the result
//! table measures loadline and its peer alternately for several rounds and compares the medians. The table shows the
//! spread over the rounds beside the ratio. `make bench BENCH="generator server"` runs only rows whose ID contains the
//! word "generator" or the word "server". `--rounds N` sets the number of rounds (at least 5).

mod compare;
mod cpu;
mod curve;
mod delayed;
mod programs;
mod rows;
mod show;
mod sshd;

use std::process::ExitCode;

use rows::ROWS;

fn main() -> ExitCode {
    let mut rounds = 5;
    let mut words = Vec::new();
    let mut args = std::env::args().skip(1).peekable();
    if args.next_if(|first| first == "delayed").is_some() {
        return delayed::run(args);
    }
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--rounds" => rounds = args.next().and_then(|n| n.parse().ok()).unwrap_or(rounds).max(5),
            "--list" => {
                ROWS.iter().for_each(|row| println!("{:<24} {}", row.id, row.what));
                return ExitCode::SUCCESS;
            }
            _ => words.push(arg),
        }
    }
    let chosen = ROWS.iter().filter(|row| words.is_empty() || words.iter().any(|w| row.id.contains(w.as_str())));
    let mut results = Vec::new();
    for row in chosen {
        eprintln!("{}: {} …", row.id, row.what);
        let outcome = (row.measure)(rounds);
        show::line(row, &outcome);
        results.push((row, outcome));
    }
    println!("{}", show::table(&results));
    if results.iter().any(|(row, outcome)| show::missed(row, outcome)) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

//! Runs the tests that cargo built, each in its own process. After all tests, prints which tests were slow, skipped or
//! failed.
//!
//! Usage: run-tests --since EPOCH_S --skip TARGETS LIST [TARGET...]
//!
//! LIST is the output of `cargo test --no-run --message-format=json`. On each CPU, two tests run at the same time,
//! because most tests wait for timers. The tests of each TARGET make measurements, so they run one at a time, after all
//! other tests. EPOCH_S is the start of the whole command, in seconds since 1970. The summary states the time since
//! EPOCH_S, which includes the build. The time of each test is written to LIST.times, and the next run begins with the
//! tests that took longest. TARGETS are the names of the targets that are not run, separated by commas.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

mod job;
mod list;
mod order;
mod summary;

use std::collections::VecDeque;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use job::{Job, Outcome};

/// Number of tests that run at the same time, per CPU.
const TESTS_PER_CPU: usize = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [since, epoch_s, skip, skipped, path, alone @ ..] = &arguments[..] else { return usage() };
    let ("--since", Ok(epoch_s), "--skip") = (since.as_str(), epoch_s.parse(), skip.as_str()) else { return usage() };
    let skipped: Vec<&str> = skipped.split(',').collect();
    let mut jobs = match list::jobs(path, &skipped) {
        Ok(jobs) => jobs,
        Err(error) => {
            eprintln!("run-tests: {error}");
            return ExitCode::from(2);
        }
    };
    let times = format!("{path}.times");
    order::longest_first(&mut jobs, &times);
    let started = Instant::now();
    let (alone, together): (Vec<Job>, Vec<Job>) = jobs.into_iter().partition(|job| alone.contains(&job.target));
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let mut outcomes = run(together, TESTS_PER_CPU * cpus);
    outcomes.extend(run(alone, 1));
    if let Err(error) = summary::write_times(&outcomes, &times) {
        eprintln!("run-tests: cannot write {times}: {error}");
    }
    summary::print(&outcomes, started.elapsed(), Duration::from_secs(epoch_s));
    if outcomes.iter().all(|outcome| outcome.failure.is_none()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn usage() -> ExitCode {
    eprintln!("usage: run-tests --since EPOCH_S --skip TARGETS LIST [TARGET...]");
    ExitCode::from(2)
}

/// Runs jobs, `workers` at a time. Prints each failure as soon as the test has failed.
fn run(jobs: Vec<Job>, workers: usize) -> Vec<Outcome> {
    let queue = Mutex::new(VecDeque::from(jobs));
    let outcomes = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(job) = next(&queue) {
                    let outcome = job.run();
                    summary::print_failure(&outcome);
                    outcomes.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
                }
            });
        }
    });
    outcomes.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn next(queue: &Mutex<VecDeque<Job>>) -> Option<Job> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
}

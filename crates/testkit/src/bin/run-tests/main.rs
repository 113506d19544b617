//! Runs the tests that cargo built, each in its own process. After all tests, prints which tests were slow, skipped or
//! failed.
//!
//! Usage: run-tests --since EPOCH_S --skip TARGETS LIST [--light TARGETS] [TARGET...]
//!
//! LIST is the output of `cargo test --no-run --message-format=json`. TARGETS are names of cargo targets, separated by
//! commas. The tests of the targets after `--skip` are not run. All other tests run in four groups, one group after the
//! other:
//!
//! 1. Tests that measure nothing run side by side.
//! 2. Tests that measure, but leave the CPUs idle, run side by side, one per CPU. Such tests are in modules called
//!    `idle`.
//! 3. Tests that measure, but whose checks hold while a few similar tests run, also run side by side, one per two CPUs.
//!    Such tests are in the targets after `--light`, and in modules called `light`.
//! 4. All other tests of each TARGET measure, and run one at a time.
//!
//! In group 1, several tests run on each CPU, because most tests wait for timers. While the CPUs are partly idle, more
//! tests of group 1 run at the same time.
//!
//! EPOCH_S is the start of the whole command, in seconds since 1970. The summary states the time since EPOCH_S, which
//! includes the build. The time of each test is written to LIST.times, and each group of the next run begins with the
//! tests that took longest. Without LIST.times, the tests in `long.txt` come first.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

mod idle;
mod job;
mod list;
mod order;
mod pool;
mod summary;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use job::{IDLE_MODULE, Job, LIGHT_MODULE};
use pool::Workers;

/// Number of tests of group 1 that run at the same time, per CPU.
const TESTS_PER_CPU: usize = 2;
/// Maximum number of tests of group 1 that run at the same time, per CPU, while the CPUs are partly idle.
const MAX_TESTS_PER_CPU: usize = 4;
/// Number of CPUs that each running test of group 3 needs: one for the load and one for the server. With one test per
/// CPU, the tests disturbed each other: `find` repeated its steps until its budget was spent, and six tests failed.
const CPUS_PER_LIGHT_TEST: usize = 2;
/// Number of CPUs that each running test of group 2 needs. A test of group 2 uses less than a fifth of a CPU, so two
/// tests on two CPUs hardly disturb each other.
const CPUS_PER_IDLE_TEST: usize = 1;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [since, epoch_s, skip, skipped, path, measuring @ ..] = &arguments[..] else { return usage() };
    let ("--since", Ok(epoch_s), "--skip") = (since.as_str(), epoch_s.parse(), skip.as_str()) else { return usage() };
    let skipped: Vec<&str> = skipped.split(',').collect();
    let (light, measuring) = match measuring {
        [option, targets, rest @ ..] if option == "--light" => (targets.split(',').collect(), rest),
        all => (Vec::new(), all),
    };
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
    let is_measuring = |job: &Job| measuring.contains(&job.target);
    let is_light = |job: &Job| light.contains(&job.target.as_str()) || job.is_in_module(LIGHT_MODULE);
    let (idle, others): (Vec<Job>, Vec<Job>) = jobs.into_iter().partition(|job| job.is_in_module(IDLE_MODULE));
    let (light, others): (Vec<Job>, Vec<Job>) = others.into_iter().partition(is_light);
    let (alone, together): (Vec<Job>, Vec<Job>) = others.into_iter().partition(is_measuring);
    let [idle, light] = [idle, light].map(|jobs| jobs.into_iter().map(Job::beside_others).collect());
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let per_cpu = |fewest: usize, most: usize| Workers { fewest: fewest * cpus, most: most * cpus };
    let groups = [
        ("side by side", together, per_cpu(TESTS_PER_CPU, MAX_TESTS_PER_CPU)),
        ("idle, side by side", idle, Workers::fixed(cpus / CPUS_PER_IDLE_TEST)),
        ("light, side by side", light, Workers::fixed(cpus / CPUS_PER_LIGHT_TEST)),
        ("alone", alone, Workers::fixed(1)),
    ];
    let mut outcomes = Vec::new();
    for (group, jobs, workers) in groups {
        let (begun, count) = (Instant::now(), jobs.len());
        outcomes.extend(pool::run(jobs, workers));
        summary::print_group(group, count, begun.elapsed());
    }
    if let Err(error) = summary::write_times(&outcomes, &times) {
        eprintln!("run-tests: cannot write {times}: {error}");
    }
    summary::print(&outcomes, started.elapsed(), Duration::from_secs(epoch_s));
    if outcomes.iter().all(|outcome| outcome.failure.is_none()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn usage() -> ExitCode {
    eprintln!("usage: run-tests --since EPOCH_S --skip TARGETS LIST [--light TARGETS] [TARGET...]");
    ExitCode::from(2)
}

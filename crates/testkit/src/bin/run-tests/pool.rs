//! Runs several tests at the same time. While a part of the CPU time is idle, more tests run at the same time than
//! while the CPUs are busy.

use std::collections::VecDeque;
use std::sync::mpsc;
use std::time::Duration;

use crate::idle::IdleMeter;
use crate::job::{Job, Outcome};
use crate::summary;

/// Minimum share of the CPU time that must be idle before one more test starts, if [`Workers::fewest`] or more tests
/// are already running.
const MIN_IDLE_SHARE: f64 = 0.3;
/// Time over which the idle share of the CPUs is measured. While more than [`Workers::fewest`] tests run, at least one
/// second passes between the starts of two tests. The first test's CPU time is then known.
const MEASURE: Duration = Duration::from_secs(1);

/// Numbers of tests that run at the same time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workers {
    /// Number of tests that always run at the same time, as long as enough tests are left.
    pub(crate) fewest: usize,
    /// Maximum number of tests that run at the same time, while the CPUs are partly idle.
    pub(crate) most: usize,
}

impl Workers {
    /// Returns a number of tests that does not depend on idle CPUs. At least one test runs.
    pub(crate) fn fixed(tests: usize) -> Self {
        Self { fewest: tests.max(1), most: tests.max(1) }
    }
}

/// Runs jobs in the given order, several at a time. Prints each failure as soon as the test has failed.
pub(crate) fn run(jobs: Vec<Job>, workers: Workers) -> Vec<Outcome> {
    let mut queue = VecDeque::from(jobs);
    let (mut running, mut outcomes, mut meter) = (0, Vec::new(), IdleMeter::start());
    let (sender, ended) = mpsc::channel();
    std::thread::scope(|scope| {
        while running > 0 || !queue.is_empty() {
            let mut is_idle = || meter.share_after(MEASURE).is_some_and(|share| share >= MIN_IDLE_SHARE);
            if !queue.is_empty() && (running < workers.fewest || running < workers.most && is_idle()) {
                let (job, sender) = (queue.pop_front(), sender.clone());
                running += 1;
                meter = IdleMeter::start();
                scope.spawn(move || job.map(|job| sender.send(job.run())));
            } else if let Ok(outcome) = ended.recv_timeout(MEASURE / 4) {
                running -= 1;
                summary::print_failure(&outcome);
                outcomes.push(outcome);
            }
        }
    });
    outcomes
}

//! Threads that wait for a full pipe, such as the pipe of a log. A program at the other end reads more slowly than the
//! server writes. An empty pipe takes 64 KiB at once (pipe(7)), so the server is quick until the pipe is full.

use run::{Run, ThreadState, WaitCause, WaitFinding, WaitProfile};
use stats::shares::chance_above_half;

use super::blocking::pipe;
use super::requests::Requests;
use crate::thresholds::{HOLDER_SURE, WAIT_MOSTLY};

/// Full pipe for which a process nearly always waits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FullPipe {
    /// Name and ID of the process that writes to the pipe.
    process: String,
    /// The pipe and its reader, in words: `the full pipe to logger:9`.
    pipe: String,
    /// Mean number of threads of the process that wait.
    threads: f64,
}

impl FullPipe {
    /// Returns the pipe for which most threads wait, in any trial of a run. A thread that waits for a full pipe is in
    /// the middle of its work. Unlike a wait for a lock, this wait therefore counts under a light load, too.
    pub(crate) fn of(run: &Run) -> Option<Self> {
        let profiles = run.trials.iter().filter_map(|trial| trial.server.as_ref()?.waits.as_deref());
        profiles.flat_map(full_pipes).max_by(|a, b| a.threads.total_cmp(&b.threads))
    }

    /// Describes the wait in words.
    pub(crate) fn words(&self) -> String {
        format!("{} waits for {} most of the time", self.process, self.pipe)
    }
}

/// Returns the full pipes for which processes wait in most samples of a profile. A few samples may agree by chance, so
/// they show no wait.
fn full_pipes(profile: &WaitProfile) -> Vec<FullPipe> {
    let of_process = |process: &run::WaitProcess| {
        let groups = profile.groups.iter().filter(|group| group.process == process.process);
        let waiting: Vec<_> = groups.filter(|group| group.state == ThreadState::FullPipe).collect();
        let threads: f64 = waiting.iter().map(|group| group.threads).sum();
        let draws = u32::try_from(profile.rounds).unwrap_or(u32::MAX);
        let hits = (threads.clamp(0.0, 1.0) * f64::from(draws)).round() as u32;
        let most = waiting.into_iter().max_by(|a, b| a.threads.total_cmp(&b.threads))?;
        let key = if most.threads >= WAIT_MOSTLY * threads { most.key.as_str() } else { "" };
        let is_sure = chance_above_half(hits, draws) >= HOLDER_SURE;
        is_sure.then(|| FullPipe { process: process.process.clone(), pipe: pipe("full ", key), threads })
    };
    profile.processes.iter().filter_map(of_process).collect()
}

/// Returns the waits for full pipes in processes without another cause among `found`. Often a single thread waits for
/// the pipe and holds a lock of the program, for which no sample shows the other threads.
pub(super) fn causes(profile: &WaitProfile, requests: &Requests, found: &[WaitFinding]) -> Vec<WaitFinding> {
    let is_unexplained = |full: &FullPipe| !found.iter().any(|finding| finding.process == full.process);
    let has_requests = requests.demand() >= WAIT_MOSTLY;
    let full = full_pipes(profile).into_iter().filter(|full| has_requests && is_unexplained(full));
    full.map(|full| finding(profile, full)).collect()
}

fn finding(profile: &WaitProfile, full: FullPipe) -> WaitFinding {
    let FullPipe { process, pipe, threads } = full;
    let (of, share) = super::activity::part_of(profile, &process, threads);
    WaitFinding { cause: WaitCause::Peer, name: pipe, process, threads, of, share, ..WaitFinding::default() }
}

#[cfg(test)]
mod tests {
    use run::{Side, Trial};

    use super::super::tests::{clients, process};
    use super::super::waits;
    use super::*;

    /// Makes the profile of a server with eight requests. One thread waits for a full pipe, and the others wait for
    /// objects that the samples do not show.
    fn logger(waiting: f64, rounds: u64) -> WaitProfile {
        let states = [
            (ThreadState::FullPipe, "pipe to pv:9", waiting),
            (ThreadState::Futex, "", 2.0),
            (ThreadState::Events, "", 1.0),
        ];
        WaitProfile { rounds, clients: Some(clients(8.0, 0.0)), ..process(4.0, &states) }
    }

    #[test]
    fn a_single_thread_before_a_full_pipe_is_told() {
        let found = waits(&logger(0.84, 79), &[]);
        let said = found.iter().map(|found| found.sentence.as_str()).collect::<Vec<_>>();
        assert_eq!(said, ["0.84 of 4 threads of app:7 wait for the full pipe to pv:9"]);
        assert_eq!(found[0].cause, WaitCause::Peer);
        let idle = WaitProfile { clients: Some(clients(0.0, 0.0)), ..logger(0.84, 79) };
        assert!(waits(&idle, &[]).is_empty(), "no request is at the server");
    }

    #[test]
    fn a_pipe_counts_only_if_most_samples_show_it_full() {
        let of = |waiting, rounds| {
            let server = Some(Side { waits: Some(Box::new(logger(waiting, rounds))), ..Side::default() });
            FullPipe::of(&Run { trials: vec![Trial { server, ..Trial::default() }], ..Run::default() })
        };
        assert_eq!(of(0.84, 79).unwrap().words(), "app:7 waits for the full pipe to pv:9 most of the time");
        assert_eq!((of(0.4, 79), of(0.84, 3)), (None, None), "a pipe that is full at times, and few samples");
        assert_eq!(FullPipe::of(&Run::default()), None);
    }
}

//! The sampling thread: decides when it samples, and makes the profile.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

use run::{MonitorGroup, WaitProfile};
use stacks::Images;
use sys::clock::{monotonic_ns, thread_cpu_ns};

use super::super::lock_holders::LockHolders;
use super::super::names::Names;
use super::super::paced::{self, Paced};
use super::super::profile::ProfileSums;
use super::super::reader::Reader;
use super::super::stacks::StackSampler;
use super::shared::{Shared, lock};

/// State of the sampling thread.
pub(super) struct Work {
    pub(super) reader: Reader,
    pub(super) sums: ProfileSums,
    pub(super) names: Names,
    pub(super) naming: Paced,
    pub(super) search: Paced,
    pub(super) children: Paced,
    pub(super) connections: Paced,
    pub(super) clients: Paced,
    pub(super) stacks: Option<StackSampler>,
    pub(super) stack_round: Paced,
    pub(super) poll_due_ns: u64,
    /// CPU time for reading program files before this sampling, nanoseconds.
    pub(super) read_before_ns: u64,
    /// Time and CPU time of this thread at the beginning of the profile, nanoseconds, as from [`Self::now_and_cpu_ns`].
    pub(super) begin: (u64, u64),
    /// Time and CPU time of this thread at the end of the profile, nanoseconds; `None` before the end.
    pub(super) end: Option<(u64, u64)>,
    pub(super) edges: u32,
    /// Number of rounds of the measurement so far.
    rounds: u64,
    pub(super) random: u64,
}

impl Work {
    pub(super) fn new(reader: Reader, images: Option<Images>) -> Self {
        let now = monotonic_ns();
        let mut work = Self {
            reader,
            sums: ProfileSums::default(),
            stacks: images.is_some().then(StackSampler::new),
            read_before_ns: images.as_ref().map_or(0, Images::reading_cpu_ns),
            names: Names::new(images.unwrap_or_default()),
            naming: Paced::default(),
            search: Paced::default(),
            children: Paced::default(),
            connections: Paced::default(),
            clients: Paced::default(),
            stack_round: Paced::default(),
            poll_due_ns: now,
            begin: (0, 0),
            end: None,
            edges: 0,
            rounds: 0,
            random: now | 1,
        };
        work.begin = work.now_and_cpu_ns();
        work
    }

    /// Returns the CPU time that this sampling has used to read program files, nanoseconds. Each program file is read
    /// only once, so further samples do not take this time.
    fn reading_ns(&self) -> u64 {
        self.names.processes.reading_cpu_ns().saturating_sub(self.read_before_ns)
    }

    /// Returns the CPU time of this thread without the time for reading program files, nanoseconds.
    pub(super) fn cpu_ns(&self) -> u64 {
        thread_cpu_ns().saturating_sub(self.reading_ns())
    }

    /// Returns the time, and the CPU time of this thread without the time for reading program files, nanoseconds.
    fn now_and_cpu_ns(&self) -> (u64, u64) {
        (monotonic_ns(), self.cpu_ns())
    }

    pub(super) fn run(mut self, shared: &(Mutex<Shared>, Condvar)) {
        let mut round = Paced::default();
        loop {
            let mut state = lock(&shared.0);
            while self.edges < state.edges {
                self.edge();
                round = Paced::default();
            }
            if state.stop || state.wanted {
                state.profile = self.profile(state.stop);
                state.wanted = false;
                shared.1.notify_all();
                if state.stop {
                    return;
                }
            }
            if self.end.is_some() {
                drop(shared.1.wait(state));
                continue;
            }
            let now = monotonic_ns();
            self.poll(now);
            if !round.is_due(now) {
                let until = if self.stacks.is_some() { round.due_ns.min(self.poll_due_ns) } else { round.due_ns };
                let wait = Duration::from_nanos(until.saturating_sub(now));
                drop(shared.1.wait_timeout(state, wait));
                continue;
            }
            drop(state);
            let cost_ns = self.round();
            let jitter = 0.5 + self.random();
            self.rounds += 1;
            round.done(monotonic_ns(), cost_ns, paced::of_rounds(self.rounds), jitter);
        }
    }

    /// Begins the profile anew at the start of the measurement (the first call), and ends it at the end (the second
    /// call).
    fn edge(&mut self) {
        self.edges += 1;
        let processes = &mut self.names.processes;
        if self.edges == 1 {
            (self.sums, self.rounds) = (ProfileSums::default(), 0);
            // A pause that follows a reading in the warm-up may be longer than a short measurement, so all pauses end
            // here.
            (self.children, self.connections, self.stack_round) = Default::default();
            self.names.holders = LockHolders::default();
            if let Some(stacks) = &mut self.stacks {
                let _ = stacks.poll(processes);
                stacks.forget();
                self.poll_due_ns = 0;
            }
            self.begin = self.now_and_cpu_ns();
        } else {
            self.stacks.iter_mut().for_each(|stacks| stacks.stop(processes));
            self.end = self.end.or(Some(self.now_and_cpu_ns()));
        }
    }

    /// Fetches the stack samples of running threads that the kernel has recorded, if a fetch is due.
    fn poll(&mut self, now_ns: u64) {
        if let Some(stacks) = &mut self.stacks
            && now_ns >= self.poll_due_ns
        {
            self.poll_due_ns = stacks.poll(&mut self.names.processes);
        }
    }

    /// Returns the profile of the waits. Only the profile at the end contains the stacks, because naming them takes too
    /// long for a live view.
    fn profile(&mut self, is_end: bool) -> WaitProfile {
        let (end_ns, end_cpu_ns) = self.end.unwrap_or_else(|| self.now_and_cpu_ns());
        let seconds = (end_ns - self.begin.0) as f64 / 1e9;
        let cpu_s = end_cpu_ns.saturating_sub(self.begin.1) as f64 / 1e9;
        let cpu = if seconds > 0.0 { cpu_s / seconds } else { 0.0 };
        let missing = self.reader.missing().to_vec();
        if is_end && self.stacks.is_some() {
            self.names.name_globals(self.sums.shared_futexes());
        }
        let mut profile = WaitProfile { seconds, cpu, missing, ..self.sums.profile(&self.names) };
        if let Some(stacks) = &mut self.stacks {
            profile.tasks = stacks.tasks.rows(|process| self.sums.instance(process));
            profile.runtimes = stacks.tasks.runtimes(|process| self.sums.instance(process));
            profile.missing.extend(stacks.refusal().map(str::to_owned));
            if is_end {
                let apart = |process: &str| self.sums.instance_apart(process);
                let (stacks, monitors) = stacks.profile(&mut self.names.processes, apart);
                profile.stacks = Some(stacks);
                let instance = |process: String| self.sums.instance(&process.into());
                profile.monitors =
                    monitors.into_iter().map(|m| MonitorGroup { process: instance(m.process), ..m }).collect();
            }
        }
        profile.setup_cpu_s = self.reading_ns() as f64 / 1e9;
        profile
    }
}

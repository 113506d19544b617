//! Thread that samples the server's threads. The number of rounds per second (readings of all threads) follows from the
//! measured cost of a round.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use run::{MonitorGroup, WaitProfile};
use stacks::Images;
use sys::clock::{monotonic_ns, thread_cpu_ns};

use super::holder_functions::HolderFunctions;
use super::names::Names;
use super::paced::{self, Paced};
use super::profile::ProfileSums;
use super::reader::Reader;
use super::round::{ConnectionSample, Round};
use super::stacks::StackSampler;

/// State that the sampler and its thread share.
#[derive(Debug, Default)]
struct Shared {
    stop: bool,
    profile: WaitProfile,
    /// True while a caller waits for the profile.
    wanted: bool,
    /// Number of calls of [`WaitSampler::edge`] so far.
    edges: u32,
}

/// Samples the threads of a server, on a thread of its own.
#[derive(Debug)]
pub struct WaitSampler {
    shared: Arc<(Mutex<Shared>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl WaitSampler {
    /// Starts to sample the processes `pids`, their children and their upstream services. `netns_pid` is a process in
    /// the network namespace of `pids`, if that differs from the caller's. If the caller gives `images` (program files
    /// already read), the sampler also samples stacks and names locks.
    pub fn start(pids: Vec<u32>, netns_pid: Option<u32>, images: Option<Images>) -> std::io::Result<Self> {
        let shared = Arc::new((Mutex::new(Shared::default()), Condvar::new()));
        let theirs = Arc::clone(&shared);
        let work = move || Work::new(Reader::new(pids, netns_pid), images).run(&theirs);
        let thread = std::thread::Builder::new().name("loadline-waits".into()).spawn(work)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Returns the profile so far, while sampling continues.
    pub fn so_far(&self) -> WaitProfile {
        let (shared, changed) = &*self.shared;
        let mut state = lock(shared);
        state.wanted = true;
        changed.notify_all();
        while state.wanted && self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            let waited = changed.wait_timeout(state, Duration::from_millis(50));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.profile.clone()
    }

    /// Marks the start of the measurement at the first call, and its end at the second call. Rounds outside of the
    /// measurement show a load that builds up or drains, so they do not count. If this function is never called, all
    /// rounds count.
    pub fn edge(&self) {
        lock(&self.shared.0).edges += 1;
        self.shared.1.notify_all();
    }

    /// Stops sampling and returns the profile.
    pub fn finish(mut self) -> WaitProfile {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // Only a bug ends the sampler's thread early. If the thread ended early, the profile is empty.
            let _ = thread.join();
        }
        lock(&self.shared.0).profile.clone()
    }

    fn stop(&self) {
        lock(&self.shared.0).stop = true;
        self.shared.1.notify_all();
    }
}

impl Drop for WaitSampler {
    fn drop(&mut self) {
        self.stop();
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// State of the sampling thread.
struct Work {
    reader: Reader,
    sums: ProfileSums,
    names: Names,
    naming: Paced,
    search: Paced,
    children: Paced,
    connections: Paced,
    clients: Paced,
    stacks: Option<StackSampler>,
    stack_round: Paced,
    holders: Paced,
    poll_due_ns: u64,
    /// CPU time for reading program files before this sampling, nanoseconds.
    read_before_ns: u64,
    /// Time and CPU time of this thread at the beginning of the profile, nanoseconds, as from [`Self::now_and_cpu_ns`].
    begin: (u64, u64),
    /// Time and CPU time of this thread at the end of the profile, nanoseconds; `None` before the end.
    end: Option<(u64, u64)>,
    edges: u32,
    random: u64,
}

impl Work {
    fn new(reader: Reader, images: Option<Images>) -> Self {
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
            holders: Paced::default(),
            poll_due_ns: now,
            begin: (0, 0),
            end: None,
            edges: 0,
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
    fn cpu_ns(&self) -> u64 {
        thread_cpu_ns().saturating_sub(self.reading_ns())
    }

    /// Returns the time, and the CPU time of this thread without the time for reading program files, nanoseconds.
    fn now_and_cpu_ns(&self) -> (u64, u64) {
        (monotonic_ns(), self.cpu_ns())
    }

    fn run(mut self, shared: &(Mutex<Shared>, Condvar)) {
        let mut round = Paced::default();
        loop {
            let mut state = lock(&shared.0);
            while self.edges < state.edges {
                self.edge();
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
            round.done(monotonic_ns(), cost_ns, paced::ROUNDS, jitter);
        }
    }

    /// Begins the profile anew at the start of the measurement (the first call), and ends it at the end (the second
    /// call).
    fn edge(&mut self) {
        self.edges += 1;
        let processes = &mut self.names.processes;
        if self.edges == 1 {
            self.sums = ProfileSums::default();
            // A pause that follows a reading in the warm-up may be longer than a short measurement, so all pauses end
            // here.
            (self.children, self.connections, self.stack_round, self.holders) = Default::default();
            self.names.holders = HolderFunctions::default();
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

    /// Reads the stacks of threads that hold a lock, the names of one futex, and the stacks of the round's waiting
    /// threads, if these tasks are due. Threads that hold a lock are read first, because the lock may soon have another
    /// holder.
    fn add_stacks(&mut self, round: &Round) {
        if self.stacks.is_none() {
            return;
        }
        let before = self.cpu_ns();
        if self.holders.is_due(monotonic_ns()) {
            self.names.read_holders(&self.sums.holders(round));
            self.holders.done(monotonic_ns(), self.cpu_ns().saturating_sub(before), paced::HOLDERS, 1.0);
        }
        let before = self.cpu_ns();
        if self.naming.is_due(monotonic_ns()) {
            self.names.look(round);
            self.naming.done(monotonic_ns(), self.cpu_ns().saturating_sub(before), paced::NAMING, 1.0);
        }
        let before = self.cpu_ns();
        if self.stack_round.is_due(monotonic_ns())
            && let Some(stacks) = &mut self.stacks
        {
            stacks.follow(&round.processes, &mut self.names.processes);
            stacks.add(round, &mut self.names.processes);
            self.stack_round.done(monotonic_ns(), self.cpu_ns().saturating_sub(before), paced::STACKS, 1.0);
        }
    }

    fn find_processes(&mut self) {
        let before = thread_cpu_ns();
        self.reader.find_processes();
        self.search.done(monotonic_ns(), thread_cpu_ns() - before, paced::SEARCH, 1.0);
    }

    /// Finds the processes that were started since the last search.
    fn find_children(&mut self) {
        let before = thread_cpu_ns();
        self.reader.find_children();
        self.children.done(monotonic_ns(), thread_cpu_ns() - before, paced::CHILDREN, 1.0);
    }

    /// Reads all connections, if this is due.
    fn read_connections(&mut self) -> Option<ConnectionSample> {
        if !self.connections.is_due(monotonic_ns()) {
            return None;
        }
        let before = thread_cpu_ns();
        let connections = self.reader.read_connections();
        self.connections.done(monotonic_ns(), thread_cpu_ns() - before, paced::CONNECTIONS, 1.0);
        self.clients.done(monotonic_ns(), 0, paced::CLIENTS, 1.0);
        connections
    }

    /// Counts the clients' connections, if this is due. The connections are counted often, because a load may grow even
    /// during a short measurement.
    fn read_clients(&mut self) -> Option<[f64; 5]> {
        if !self.clients.is_due(monotonic_ns()) {
            return None;
        }
        let before = thread_cpu_ns();
        let clients = self.reader.read_clients();
        self.clients.done(monotonic_ns(), thread_cpu_ns() - before, paced::CLIENTS, 1.0);
        clients
    }

    /// Samples the threads once. Returns the CPU time of this round, without tasks that have their own CPU share (such
    /// as reading connections).
    fn round(&mut self) -> u64 {
        if self.search.is_due(monotonic_ns()) {
            self.find_processes();
        } else if self.children.is_due(monotonic_ns()) {
            self.find_children();
        }
        let connections = self.read_connections();
        let clients = if connections.is_none() { self.read_clients() } else { None };
        // A round that counts the requests to new upstreams must also read the upstreams' threads.
        if self.reader.has_new_upstreams() {
            self.find_processes();
        }
        let before = thread_cpu_ns();
        let mut round = self.reader.round();
        round.connections = connections.or_else(|| self.reader.read_peers(clients));
        if !self.reader.is_empty() {
            self.sums.add(&round);
            self.names.count(&round);
        }
        let cost_ns = thread_cpu_ns() - before;
        self.add_stacks(&round);
        cost_ns
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

    /// Returns a random number from 0 to 1 (xorshift64). With random pauses, the rounds do not fall into step with a
    /// server that works periodically.
    fn random(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// A child process starts after the sampler's search. From the start of the measurement on, each round reads the
    /// child.
    #[test]
    fn a_child_that_starts_before_the_measurement_is_in_every_round_of_it() {
        let mut parent = crate::testing::forks_later();
        let sampler = WaitSampler::start(vec![parent.pid()], None, None).unwrap();
        testkit::eventually(|| (sampler.so_far().rounds > 0).then_some(()));
        std::io::Write::write_all(parent.0.stdin.as_mut().unwrap(), b"go\n").unwrap();
        testkit::eventually(|| testkit::children(parent.pid()).pop());
        sampler.edge();
        testkit::eventually(|| (sampler.so_far().rounds > 2).then_some(()));
        sampler.edge();
        let found = sampler.finish().processes;
        assert_eq!(found.iter().map(|process| process.processes).collect::<Vec<_>>(), [2.0], "{found:#?}");
    }

    #[test]
    fn a_profile_covers_the_window_alone() {
        let sampler = WaitSampler::start(vec![std::process::id()], None, None).unwrap();
        let (start, before) = (Instant::now(), Duration::from_millis(100));
        std::thread::sleep(before);
        sampler.edge();
        while sampler.so_far().rounds < 3 {
            std::thread::sleep(Duration::from_millis(5));
        }
        let window = sampler.so_far().seconds;
        assert!(window <= (start.elapsed() - before).as_secs_f64(), "{window} s include the time before the window");
        sampler.edge();
        let frozen = sampler.so_far();
        assert!(frozen.rounds >= 3);
        std::thread::sleep(before);
        assert_eq!(sampler.finish(), frozen, "rounds after the window do not count");
    }
}

//! Sums over readings of goroutines: number of goroutines by state and function. A round reads each process once. The
//! processes of one name are counted together, so the sums are divided by rounds, not by readings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use run::{TaskGroup, TaskRuntime, TaskState};
use stacks::{Frame, Goroutine, Goroutines, StackCounts};

use super::rows::largest;

/// Maximum number of distinct functions per process.
const MAX_FUNCTIONS: usize = 4096;

/// Functions of Go's runtime in which a goroutine waits, without the prefix "internal/".
const WAITS: &[(&str, TaskState)] = &[
    ("sync.runtime_SemacquireMutex", TaskState::Lock),
    ("sync.runtime_SemacquireRWMutex", TaskState::Lock),
    ("sync.runtime_SemacquireRWMutexR", TaskState::Lock),
    ("runtime.chansend", TaskState::Send),
    ("runtime.chanrecv", TaskState::Receive),
    ("runtime.selectgo", TaskState::Select),
    ("time.Sleep", TaskState::Sleep),
    ("poll.runtime_pollWait", TaskState::Network),
];

/// Beginnings of the names of functions that wait on behalf of their callers.
const LIBRARIES: [&str; 4] = ["runtime.", "sync.", "time.", "internal/"];

#[derive(Debug, Default)]
struct ProcessTasks {
    /// Number of readings of a process with this name.
    readings: u64,
    /// Number of rounds in which at least one process with this name was read.
    rounds: u64,
    /// Sequence number of the last round in which a process with this name was read.
    last_round: u64,
    /// Number of goroutines by state and by waiting function.
    groups: BTreeMap<(TaskState, Waits), f64>,
    /// For each function, the number of goroutines with this function in their stacks, by state.
    inside: BTreeMap<Arc<str>, BTreeMap<TaskState, f64>>,
    /// Limits of the runtime. `None` if unknown, or if several processes have the same name but different limits.
    limits: Option<Limits>,
}

/// Numbers that limit how many goroutines of a process run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limits {
    /// Maximum number of running goroutines (GOMAXPROCS).
    max_running: u32,
    /// Number of CPUs that the process may use.
    cpus: u32,
}

/// Waiting function: its name, and a text with the name, the file and the line.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Waits {
    function: Arc<str>,
    text: String,
}

/// Sums over the sampled tasks (goroutines), by process name.
#[derive(Debug, Default)]
pub(super) struct TaskSums {
    processes: BTreeMap<Arc<str>, ProcessTasks>,
    /// Number of rounds so far.
    rounds: u64,
}

impl TaskSums {
    /// Begins a round. The readings of a round belong together.
    pub(super) fn begin_round(&mut self) {
        self.rounds += 1;
    }

    /// Adds a reading of a process's goroutines. `stacks` gets the stacks of waiting goroutines. Leaves out goroutines
    /// that wait for the network, because they are mostly idle.
    pub(super) fn add(&mut self, process: &Arc<str>, read: &Goroutines, stacks: &mut StackCounts) {
        let sums = self.processes.entry(process.clone()).or_default();
        let weight = read.listed_per_read as f64;
        sums.readings += 1;
        sums.rounds += u64::from(std::mem::replace(&mut sums.last_round, self.rounds) != self.rounds);
        for goroutine in &read.goroutines {
            let state = state(goroutine);
            let frames: &[Frame] = if let Goroutine::Waiting(frames) = goroutine { frames } else { &[] };
            sums.add(state, frames, weight);
            if !matches!(state, TaskState::Running | TaskState::Runnable | TaskState::Network) {
                stacks.add(process, frames, weight);
            }
        }
    }

    /// Records how many goroutines of a process may run at the same time (GOMAXPROCS), and how many CPUs the process
    /// may use.
    pub(super) fn count_cpus(&mut self, pid: u32, process: &Arc<str>, max_running: Option<u32>) {
        let cpus = sys::limits::cpus_of_thread(pid).ok().map(|cpus| cpus.len() as u32);
        let limits = max_running.zip(cpus).map(|(max_running, cpus)| Limits { max_running, cpus });
        let sums = self.processes.entry(process.clone()).or_default();
        sums.limits = if sums.readings <= 1 { limits } else { sums.limits.filter(|before| Some(*before) == limits) };
    }

    /// Returns the known limits of each process's runtime.
    pub(super) fn runtimes(&self, instance: impl Fn(&Arc<str>) -> String) -> Vec<TaskRuntime> {
        let limits = self.processes.iter().filter_map(|(process, sums)| Some((process, sums.limits?)));
        let runtime =
            |(process, Limits { max_running, cpus })| TaskRuntime { process: instance(process), max_running, cpus };
        limits.map(runtime).collect()
    }

    /// Returns the groups of goroutines with equal process, state and function, the largest first.
    pub(super) fn rows(&self, instance: impl Fn(&Arc<str>) -> String) -> Vec<TaskGroup> {
        let rows = self.processes.iter().flat_map(|(process, sums)| {
            let process = instance(process);
            sums.rows().map(move |row| TaskGroup { process: process.clone(), ..row }).collect::<Vec<_>>()
        });
        largest(rows.collect(), |row: &TaskGroup| row.tasks)
    }
}

impl ProcessTasks {
    fn add(&mut self, state: TaskState, frames: &[Frame], weight: f64) {
        let room = |known: usize, has: bool| known < MAX_FUNCTIONS || has;
        let id = (state, waiting_function(frames));
        if room(self.groups.len(), self.groups.contains_key(&id)) {
            *self.groups.entry(id).or_default() += weight;
        }
        let functions: BTreeSet<&Arc<str>> = frames.iter().filter_map(|frame| frame.function.as_ref()).collect();
        for function in functions {
            if room(self.inside.len(), self.inside.contains_key(function)) {
                *self.inside.entry(function.clone()).or_default().entry(state).or_default() += weight;
            }
        }
    }

    fn rows(&self) -> impl Iterator<Item = TaskGroup> {
        self.groups.iter().map(|((state, waits), sum)| {
            let all = self.inside.get(&waits.function);
            let others = all.into_iter().flatten().filter(|(other, _)| *other != state);
            let largest = others.clone().max_by(|(_, a), (_, b)| a.total_cmp(b));
            let mean = |sum: f64| sum / self.rounds.max(1) as f64;
            let inside: f64 = others.map(|(_, sum)| sum).fold(0.0, |a, b| a + b);
            TaskGroup {
                process: String::new(),
                state: *state,
                function: waits.text.clone(),
                tasks: mean(*sum),
                inside: mean(inside),
                inside_state: largest.map(|(state, _)| *state),
            }
        })
    }
}

/// Returns the state of a goroutine. The innermost known function in a goroutine's stack shows why the goroutine waits.
fn state(goroutine: &Goroutine) -> TaskState {
    let frames = match goroutine {
        Goroutine::Running | Goroutine::InCall => return TaskState::Running,
        Goroutine::Runnable => return TaskState::Runnable,
        Goroutine::Waiting(frames) => frames,
    };
    let waits = |frame: &Frame| {
        let function = frame.function.as_deref()?.trim_start_matches("internal/");
        WAITS.iter().find(|(name, _)| *name == function).map(|(_, state)| *state)
    };
    frames.iter().find_map(waits).unwrap_or_default()
}

/// Returns the innermost function that does not merely wait for its caller (see [`LIBRARIES`]).
fn waiting_function(frames: &[Frame]) -> Waits {
    let is_own = |frame: &&Frame| {
        frame.function.as_deref().is_some_and(|f| !LIBRARIES.iter().any(|library| f.starts_with(library)))
    };
    let Some(frame) = frames.iter().find(is_own) else { return Waits::default() };
    Waits { text: frame.label_and_place(), function: frame.function.clone().unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(functions: &[&str]) -> Goroutine {
        let frame = |function: &&str| Frame {
            function: Some((*function).into()),
            module: "app".into(),
            file: Some("/src/app.go".into()),
            line: Some(7),
        };
        Goroutine::Waiting(functions.iter().map(frame).collect())
    }

    #[test]
    fn goroutines_are_counted_by_what_they_wait_for_and_in_which_function() {
        let lock =
            ["runtime.gopark", "internal/sync.runtime_SemacquireMutex", "sync.(*Mutex).Lock", "main.work", "main.main"];
        let mut goroutines = vec![waiting(&lock); 7];
        goroutines.push(waiting(&["runtime.gopark", "time.Sleep", "main.rest", "main.work"]));
        goroutines.push(waiting(&[
            "runtime.gopark",
            "runtime.netpollblock",
            "internal/poll.runtime_pollWait",
            "net.read",
        ]));
        goroutines.push(Goroutine::Running);
        let (mut sums, mut stacks) = (TaskSums::default(), StackCounts::default());
        sums.begin_round();
        sums.add(&"app".into(), &Goroutines { goroutines, listed_per_read: 2, max_running: None }, &mut stacks);
        let rows = sums.rows(|process| format!("{process}:7"));
        let row = |state| rows.iter().find(|row| row.state == state).unwrap();
        let locked = row(TaskState::Lock);
        assert_eq!(
            (locked.process.as_str(), locked.function.as_str(), locked.tasks),
            ("app:7", "main.work (app.go:7)", 14.0)
        );
        assert_eq!((locked.inside, locked.inside_state), (2.0, Some(TaskState::Sleep)));
        assert_eq!((row(TaskState::Network).tasks, row(TaskState::Running).function.as_str()), (2.0, ""));
        assert_eq!(stacks.total(), 16.0, "without the network");
    }

    #[test]
    fn goroutines_of_workers_with_one_name_are_counted_together() {
        let (mut sums, mut stacks) = (TaskSums::default(), StackCounts::default());
        let read = Goroutines { goroutines: vec![Goroutine::Running; 3], listed_per_read: 1, max_running: None };
        for workers in [2, 4] {
            sums.begin_round();
            (0..workers).for_each(|_| sums.add(&"app".into(), &read, &mut stacks));
        }
        sums.begin_round();
        sums.add(&"other".into(), &read, &mut stacks);
        let tasks: Vec<f64> = sums.rows(|process| process.to_string()).iter().map(|row| row.tasks).collect();
        assert_eq!(tasks, [9.0, 3.0], "2 and 4 workers in two rounds, and another process in one");
    }
}

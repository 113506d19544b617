//! Starts the test programs and finds where their threads wait.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use loadline_stacks::{Frame, Process, Processes};

/// Maximum time that a program needs to get ready on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running program, which is killed when this value is dropped.
pub(crate) struct Running {
    child: Child,
    pid: u32,
    _stdin: Option<ChildStdin>,
}

impl Running {
    /// Starts a program and waits for its first line.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        let stdin = child.stdin.take();
        Self { pid: child.id(), child, _stdin: stdin }
    }

    /// Returns the program that a wrapper program started. The wrapper program waits for the end of the program that it
    /// started.
    pub(crate) fn of_child(mut self) -> Self {
        self.pid = testkit::children(self.pid)[0];
        self
    }

    /// Waits until each thread is in a system call or computes. On a busy machine, a thread that has not yet reached
    /// its wait can be ready to run for some time. The main thread enters its last system call shortly after it has
    /// printed the first line.
    fn await_places(&self) {
        let begin = Instant::now();
        while !tasks(self.pid()).iter().all(|task| is_in_place(task)) && begin.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns the stacks of all waiting threads, each with the innermost frame first.
    pub(crate) fn waiting_stacks(&self, processes: &mut Processes) -> Vec<Vec<Frame>> {
        let process = processes.get(self.pid()).unwrap();
        self.waits().into_iter().map(|wait| process.waiting_frames(wait.tid, wait.pc, wait.sp, &[])).collect()
    }

    /// Waits until the threads have reached their places. After the threads have reached their places, returns where
    /// each waiting thread waits.
    pub(crate) fn waits(&self) -> Vec<Wait> {
        self.await_places();
        tasks(self.pid()).iter().filter_map(|task| Wait::read(task)).collect()
    }
}

/// Returns the folder of each thread in `/proc`.
fn tasks(pid: u32) -> Vec<PathBuf> {
    fs::read_dir(format!("/proc/{pid}/task")).unwrap().map(|task| task.unwrap().path()).collect()
}

/// Returns true if the thread stays in one system call, or has computed for longer than any thread needs to reach a
/// wait.
fn is_in_place(task: &Path) -> bool {
    let read = |file: &str| fs::read_to_string(task.join(file)).unwrap_or_default();
    let before = read("syscall");
    std::thread::sleep(Duration::from_millis(2));
    let computed_ns = || read("schedstat").split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0);
    if before.starts_with("running") { computed_ns() > 20_000_000 } else { before == read("syscall") }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Place where a thread waits in the kernel.
pub(crate) struct Wait {
    pub(crate) tid: u32,
    pub(crate) first_argument: u64,
    pub(crate) pc: u64,
    pub(crate) sp: u64,
}

impl Wait {
    fn read(task: &Path) -> Option<Self> {
        let text = fs::read_to_string(task.join("syscall")).ok()?;
        let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
        let words: Vec<&str> = text.split_whitespace().collect();
        let [_number, first, .., sp, pc] = words[..] else { return None };
        let tid = task.file_name()?.to_str()?.parse().ok()?;
        Some(Self { tid, first_argument: hex(first)?, pc: hex(pc)?, sp: hex(sp)? })
    }
}

/// Returns the path of a test program's source.
pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

/// Runs a compiler or another tool. Returns false if this machine does not have the tool.
pub(crate) fn run(command: &mut Command) -> bool {
    match command.status() {
        Ok(status) => {
            assert!(status.success(), "{command:?}");
            true
        }
        Err(_) => {
            testkit::skip("stacks", format!("{:?} is not installed", command.get_program()));
            false
        }
    }
}

/// Returns true if a stack contains the given functions directly next to each other, innermost first.
pub(crate) fn has_chain(stacks: &[Vec<Frame>], functions: &[&str]) -> bool {
    stacks.iter().any(|stack| {
        let labels: Vec<String> = stack.iter().map(Frame::label).collect();
        labels.windows(functions.len()).any(|part| part == functions)
    })
}

/// Returns all functions that are named in the stacks.
pub(crate) fn named(stacks: &[Vec<Frame>]) -> Vec<String> {
    stacks.iter().flatten().filter_map(|frame| frame.function.as_deref().map(str::to_owned)).collect()
}

/// Returns the name of the global variable at each futex that a thread waits for. Leaves out futexes without a global
/// variable.
pub(crate) fn lock_name(running: &Running, process: &mut Process) -> Vec<String> {
    running.waits().iter().filter_map(|w| process.global(w.first_argument)).map(|g| g.name.to_string()).collect()
}

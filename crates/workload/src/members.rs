//! Starts and stops the processes of a workload.
//!
//! Each process runs this program again, under the process's name in the workload. The process reads its part of the
//! workload as one JSON line, reports `ready`, and waits for `go`. The process reports `done` when its first thread has
//! ended. When one process is done, the parent closes the standard input of all processes. Each process then stops its
//! threads and reports one row of results per thread.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};

use serde::{Deserialize, Serialize};

use super::access::Target;
use super::burn::{self, Burner, Calibration};
use super::cycle::{self, Worker};
use super::rows::{Outcome, Row};
use super::spec::nice;
use super::{ProcessSpec, Result, ThreadSpec, Workload, WorkloadError};

/// Input of a process: its own part of the workload.
#[derive(Debug, Serialize, Deserialize)]
struct Part {
    process: ProcessSpec,
    seconds: f64,
    seed: u64,
    speed: Calibration,
}

/// Report of a process, one per line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Report {
    Ready,
    Done,
    Rows(Vec<Row>, Vec<String>),
    Failed(String),
    /// Report that the process has ended. The parent itself creates the report when the process's standard output is
    /// closed.
    Ended,
}

struct Member {
    name: String,
    child: Child,
    input: Option<ChildStdin>,
}

/// Runs all processes of a workload. Each process of the workload is started with the command `program arguments…`,
/// which must call [`child`].
pub fn run(workload: &Workload, script: &str, program: &Path, arguments: &[&str]) -> Result<Outcome> {
    // loadline measures its own overhead before any process of the workload runs, as Response Probe does.
    let speed = cycle::measure_overhead(burn::loops_per_ms()?)?;
    let (say, hear) = channel();
    let mut members = Vec::new();
    let specs = workload.process.iter().flat_map(|p| std::iter::repeat_n(p, p.repeat as usize));
    for (index, process) in specs.enumerate() {
        let seed = workload.seed.wrapping_mul(0x9e37_79b9).wrapping_add(index as u64 * 1000);
        let part = Part { process: process.clone(), seconds: workload.seconds, seed, speed };
        members.push(start(index, &part, program, arguments, &say)?);
    }
    drop(say);
    let outcome = collect_rows(&mut members, &hear);
    for member in &mut members {
        drop(member.input.take());
        // All rows have arrived, or the workload has failed, so the parent ends every process that still runs.
        let _ = member.child.kill();
        let _ = member.child.wait();
    }
    let (rows, notes) = outcome?;
    let version = env!("CARGO_PKG_VERSION").to_string();
    let date = jiff::Timestamp::now().to_string();
    Ok(Outcome { version, date, script: script.into(), seconds: workload.seconds, calibration: speed, rows, notes })
}

fn start(
    index: usize,
    part: &Part,
    program: &Path,
    arguments: &[&str],
    say: &Sender<(usize, Report)>,
) -> Result<Member> {
    let name = part.process.name.clone();
    let failed = |message: String| WorkloadError::Member { name: name.clone(), message };
    let mut command = Command::new(program);
    command.arg0(&name).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|e| failed(format!("cannot start: {e}")))?;
    let mut input = child.stdin.take();
    let text = serde_json::to_string(part).map_err(|e| failed(e.to_string()))?;
    let told = input.as_mut().map(|i| writeln!(i, "{text}"));
    if let (Some(Ok(())), Some(output)) = (told, child.stdout.take()) {
        let say = say.clone();
        let read = move || {
            for line in BufReader::new(output).lines().map_while(std::result::Result::ok) {
                let report = serde_json::from_str(&line).unwrap_or(Report::Failed(line));
                if say.send((index, report)).is_err() {
                    return;
                }
            }
            // Sending fails only if `run` has returned and dropped the receiver. If `run` has returned, nobody needs
            // the report that the process ended.
            let _ = say.send((index, Report::Ended));
        };
        let started = std::thread::Builder::new().spawn(read);
        started.map_err(|e| failed(format!("no thread could be started to read it: {e}; see `ulimit -u`")))?;
        return Ok(Member { name, child, input });
    }
    Err(failed("it ended at once".into()))
}

fn collect_rows(members: &mut [Member], hear: &Receiver<(usize, Report)>) -> Result<(Vec<Row>, Vec<String>)> {
    let mut rows: Vec<Option<Vec<Row>>> = members.iter().map(|_| None).collect();
    let (mut ready, mut notes) = (0, Vec::new());
    while rows.iter().any(Option::is_none) {
        let silent = || WorkloadError::Member { name: "one".into(), message: "it ended without its rows".into() };
        let (index, report) = hear.recv().map_err(|_| silent())?;
        match report {
            Report::Ready => {
                ready += 1;
                if ready == members.len() {
                    members.iter_mut().filter_map(|m| m.input.as_mut()).for_each(|i| drop(writeln!(i, "go")));
                }
            }
            // When the first process is done, the parent closes the input of all processes, which stops them.
            Report::Done => members.iter_mut().for_each(|m| drop(m.input.take())),
            Report::Rows(got, report) => {
                rows[index] = Some(got);
                notes.extend(report.into_iter().filter(|n| !notes.contains(n)).collect::<Vec<_>>());
            }
            Report::Ended if rows[index].is_some() => {}
            Report::Ended => {
                let member = &mut members[index];
                return Err(WorkloadError::Member { name: member.name.clone(), message: ended(&mut member.child) });
            }
            Report::Failed(message) => {
                return Err(WorkloadError::Member { name: members[index].name.clone(), message });
            }
        }
    }
    Ok((rows.into_iter().flatten().flatten().collect(), notes))
}

/// Describes the end of a process that reported no rows.
fn ended(child: &mut Child) -> String {
    const SIGBUS: i32 = 7;
    match child.wait() {
        Ok(status) if status.signal() == Some(SIGBUS) => {
            "it was ended by SIGBUS: a file that it has mapped became shorter; keep files as long as they are during a trial"
                .into()
        }
        Ok(status) => format!("it ended without its rows ({status})"),
        Err(e) => format!("it ended without its rows ({e})"),
    }
}

/// Runs one process of a workload. The process first reads its part of the workload. At the end, the process reports
/// one row per thread.
pub fn child() {
    let mut lines = BufReader::new(std::io::stdin()).lines();
    let report = match lines.next().and_then(std::result::Result::ok).map(|line| serde_json::from_str::<Part>(&line)) {
        Some(Ok(part)) => match work(&part, lines) {
            Ok((rows, notes)) => Report::Rows(rows, notes),
            Err(e) => Report::Failed(e.to_string()),
        },
        _ => Report::Failed("this command is started by `loadline probe` and not by hand".into()),
    };
    send_report(&report);
}

fn send_report(report: &Report) {
    let text = serde_json::to_string(report).unwrap_or_default();
    // If the parent has ended, the write fails. The error is ignored, because the end of the parent also closes the
    // process's input, which stops the process.
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

fn work(
    part: &Part,
    mut lines: impl Iterator<Item = std::io::Result<String>> + Send + 'static,
) -> Result<(Vec<Row>, Vec<String>)> {
    let specs: Vec<&ThreadSpec> =
        part.process.thread.iter().flat_map(|t| std::iter::repeat_n(t, t.repeat as usize)).collect();
    let mut workers = Vec::new();
    for (n, spec) in specs.iter().enumerate() {
        let (target, burner) = (Target::open(spec)?, Burner::new(&part.process)?);
        workers.push(Worker::new(spec, target, burner, part.seed + n as u64, part.speed));
    }
    send_report(&Report::Ready);
    let stop: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    if !matches!(lines.next(), Some(Ok(line)) if line == "go") {
        return Ok(Default::default());
    }
    let wait = move || {
        lines.for_each(drop);
        stop.store(true, Relaxed);
    };
    std::thread::Builder::new().spawn(wait).map_err(|e| no_thread(part, &e))?;
    run_threads(part, workers, stop)
}

fn no_thread(part: &Part, error: &std::io::Error) -> WorkloadError {
    WorkloadError::Member {
        name: part.process.name.clone(),
        message: format!("no thread could be started: {error}; see `ulimit -u`"),
    }
}

/// Runs each worker in a thread of its own. The first worker that ends stops all others. Returns the rows of the
/// threads, and notes for the user.
fn run_threads(part: &Part, workers: Vec<Worker<'_>>, stop: &AtomicBool) -> Result<(Vec<Row>, Vec<String>)> {
    let (rows, notes) = (std::sync::Mutex::new(Vec::new()), std::sync::Mutex::new(Vec::new()));
    let done = AtomicBool::new(false);
    let failed = std::thread::scope(|scope| {
        let mut failed = None;
        let threads: Vec<_> = workers
            .into_iter()
            .map_while(|mut worker| {
                let (rows, notes, done) = (&rows, &notes, &done);
                let body = move || {
                    prioritized(part, worker.spec).into_iter().for_each(|note| push(notes, note));
                    let recorded = worker.run(part.seconds, stop);
                    stop.store(true, Relaxed);
                    if !done.swap(true, Relaxed) {
                        send_report(&Report::Done);
                    }
                    let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
                    recorded.map(|r| push(rows, Row::new(&part.process.name, worker.spec, tid, &r)))
                };
                let started = std::thread::Builder::new().spawn_scoped(scope, body).map_err(|e| no_thread(part, &e));
                started.map_err(|error| failed = Some(error)).ok()
            })
            .collect();
        stop.fetch_or(failed.is_some(), Relaxed);
        threads.into_iter().filter_map(|t| t.join().ok()).find_map(std::result::Result::err).or(failed)
    });
    match failed {
        Some(error) => Err(error),
        None => Ok((taken(rows), taken(notes))),
    }
}

/// Sets the priority of this thread. Returns a note for the user if the kernel refuses the priority.
fn prioritized(part: &Part, spec: &ThreadSpec) -> Option<String> {
    let wanted = nice(&part.process, spec);
    let refused = (wanted != 0).then(|| sys::limits::set_nice(wanted.clamp(-20, 19)))?.err()?;
    Some(format!("priority {} was not granted ({refused}); run as root", part.process.priority))
}

fn push<T>(list: &std::sync::Mutex<Vec<T>>, value: T) {
    list.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(value);
}

fn taken<T>(list: std::sync::Mutex<Vec<T>>) -> Vec<T> {
    list.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

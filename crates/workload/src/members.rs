//! The processes of a workload and who starts and stops them.
//!
//! Each process is this program again, under the name that the workload gives it. It reads its part as one JSON line,
//! says `ready`, waits for `go`, says `done` when its first thread has ended, and gives its rows when its standard input
//! ends: which the parent brings about as soon as the first process is done.

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

/// What a process is told.
#[derive(Debug, Serialize, Deserialize)]
struct Part {
    process: ProcessSpec,
    seconds: f64,
    seed: u64,
    speed: Calibration,
}

/// What a process says, one line each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Said {
    Ready,
    Done,
    Rows(Vec<Row>, Vec<String>),
    Failed(String),
    /// Nothing more will be heard of it.
    Ended,
}

struct Member {
    name: String,
    child: Child,
    input: Option<ChildStdin>,
}

/// Runs a workload; `program` with `arguments` is to call [`child`].
pub fn run(workload: &Workload, script: &str, program: &Path, arguments: &[&str]) -> Result<Outcome> {
    // The first process is alone while this is measured, as the method wants it.
    let speed = cycle::own_cost(burn::loops_per_ms()?)?;
    let (say, hear) = channel();
    let mut members = Vec::new();
    let specs = workload.process.iter().flat_map(|p| std::iter::repeat_n(p, p.repeat as usize));
    for (index, process) in specs.enumerate() {
        let seed = workload.seed.wrapping_mul(0x9e37_79b9).wrapping_add(index as u64 * 1000);
        let part = Part { process: process.clone(), seconds: workload.seconds, seed, speed };
        members.push(start(index, &part, program, arguments, &say)?);
    }
    drop(say);
    let outcome = conduct(&mut members, &hear);
    for member in &mut members {
        drop(member.input.take());
        // Whoever did not end by itself has failed already or is stuck in a read.
        let _ = member.child.kill();
        let _ = member.child.wait();
    }
    let (rows, notes) = outcome?;
    let version = env!("CARGO_PKG_VERSION").to_string();
    let date = jiff::Timestamp::now().to_string();
    Ok(Outcome { version, date, script: script.into(), seconds: workload.seconds, calibration: speed, rows, notes })
}

fn start(index: usize, part: &Part, program: &Path, arguments: &[&str], say: &Sender<(usize, Said)>) -> Result<Member> {
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
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(std::result::Result::ok) {
                let said = serde_json::from_str(&line).unwrap_or(Said::Failed(line));
                if say.send((index, said)).is_err() {
                    return;
                }
            }
            // Whoever has heard all does not mind.
            let _ = say.send((index, Said::Ended));
        });
        return Ok(Member { name, child, input });
    }
    Err(failed("it ended at once".into()))
}

fn conduct(members: &mut [Member], hear: &Receiver<(usize, Said)>) -> Result<(Vec<Row>, Vec<String>)> {
    let mut rows: Vec<Option<Vec<Row>>> = members.iter().map(|_| None).collect();
    let (mut ready, mut notes) = (0, Vec::new());
    while rows.iter().any(Option::is_none) {
        let silent = || WorkloadError::Member { name: "one".into(), message: "it ended without its rows".into() };
        let (index, said) = hear.recv().map_err(|_| silent())?;
        match said {
            Said::Ready => {
                ready += 1;
                if ready == members.len() {
                    members.iter_mut().filter_map(|m| m.input.as_mut()).for_each(|i| drop(writeln!(i, "go")));
                }
            }
            // The first one ends all.
            Said::Done => members.iter_mut().for_each(|m| drop(m.input.take())),
            Said::Rows(got, said) => {
                rows[index] = Some(got);
                notes.extend(said.into_iter().filter(|n| !notes.contains(n)).collect::<Vec<_>>());
            }
            Said::Ended if rows[index].is_some() => {}
            Said::Ended => {
                let member = &mut members[index];
                return Err(WorkloadError::Member { name: member.name.clone(), message: ended(&mut member.child) });
            }
            Said::Failed(message) => {
                return Err(WorkloadError::Member { name: members[index].name.clone(), message });
            }
        }
    }
    Ok((rows.into_iter().flatten().flatten().collect(), notes))
}

/// How a process ended that gave no rows.
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

/// What a process of a workload does, from its first line to its rows.
pub fn child() {
    let mut lines = BufReader::new(std::io::stdin()).lines();
    let said = match lines.next().and_then(std::result::Result::ok).map(|line| serde_json::from_str::<Part>(&line)) {
        Some(Ok(part)) => match work(&part, lines) {
            Ok((rows, notes)) => Said::Rows(rows, notes),
            Err(e) => Said::Failed(e.to_string()),
        },
        _ => Said::Failed("this command is started by `loadline probe` and not by hand".into()),
    };
    tell(&said);
}

fn tell(said: &Said) {
    let text = serde_json::to_string(said).unwrap_or_default();
    // A parent that is gone needs no answer: our input ends then, too.
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
    tell(&Said::Ready);
    let stop: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    if !matches!(lines.next(), Some(Ok(line)) if line == "go") {
        return Ok(Default::default());
    }
    std::thread::spawn(move || {
        lines.for_each(drop);
        stop.store(true, Relaxed);
    });
    let (rows, notes) = (std::sync::Mutex::new(Vec::new()), std::sync::Mutex::new(Vec::new()));
    let done = AtomicBool::new(false);
    let failed = std::thread::scope(|scope| {
        let threads: Vec<_> = workers
            .into_iter()
            .map(|mut worker| {
                let (rows, notes, done) = (&rows, &notes, &done);
                scope.spawn(move || {
                    prioritized(part, worker.spec).into_iter().for_each(|note| push(notes, note));
                    let recorded = worker.run(part.seconds, stop);
                    stop.store(true, Relaxed);
                    if !done.swap(true, Relaxed) {
                        tell(&Said::Done);
                    }
                    let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
                    recorded.map(|r| push(rows, Row::new(&part.process.name, worker.spec, tid, &r)))
                })
            })
            .collect();
        threads.into_iter().filter_map(|t| t.join().ok()).find_map(std::result::Result::err)
    });
    match failed {
        Some(error) => Err(error),
        None => Ok((taken(rows), taken(notes))),
    }
}

/// Gives this thread the priority that its row wants; a note where that is not granted.
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

//! Work of `loadline agent`: the agent sends a hello (its first message, with its version), takes tasks from standard
//! input and reports on standard output. A load agent that has sent its results waits for another task. An agent
//! without a load ends with its task.
//!
//! The end of standard input means that the conductor has ended. Every agent stops when its standard input ends. If the
//! conductor is silent for too long, all agents stop, except a server on the conductor's own machine.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use load::Start;
use run::{
    Address, AgentCommand, AgentReport, AgentSpec, ColdPlan, Hello, LoadPlan, ServePlan, ServerAnswer, Tick,
    WIRE_VERSION,
};

use super::heartbeat::{self, Heartbeat, start_thread};
use super::report_line::send_report;
use super::{inside_command, inside_watch};
use crate::LabError;
use crate::{levers, preflight};

/// A task, with the channel for its commands.
type Task = (AgentSpec, Receiver<AgentCommand>);

/// Runs the tasks from standard input, until standard input ends. The function also returns after a failed task, and
/// after any task that generates no load.
pub fn run() -> Result<(), LabError> {
    let first_word = heartbeat::guard_hello().map_err(reported)?;
    send_report(&AgentReport::Hello(hello()));
    drop(first_word);
    // Heartbeats start right after the hello (first message), not after the task. A conductor that starts a thousand
    // agents needs a while to send all tasks, and must not take a waiting agent for lost.
    start_thread(heartbeat::send_all).map_err(reported)?;
    let mut line = String::new();
    let fail = |why: String| LabError::Agent { name: "started".into(), why };
    std::io::stdin().lock().read_line(&mut line).map_err(|e| fail(format!("reading its task failed: {e}")))?;
    let spec: AgentSpec =
        serde_json::from_str(&line).map_err(|e| fail(format!("it does not understand its task: {e}")))?;
    let heartbeat = Arc::new(Heartbeat::new());
    let mut task = (spec, heartbeat.begin_task());
    let tasks = listen(&heartbeat, !is_server_here(&task.0)).map_err(reported)?;
    loop {
        let makes_load = matches!(task.0, AgentSpec::Load { .. });
        if let Err(error) = work(task, &heartbeat) {
            send_report(&AgentReport::Failed { error });
            return Ok(());
        }
        if !makes_load {
            return Ok(());
        }
        sys::alloc::give_back();
        let Ok(next) = tasks.recv() else { return Ok(()) };
        task = next;
    }
}

/// Reports a failure to the conductor, and returns the failure as an error.
fn reported(error: String) -> LabError {
    send_report(&AgentReport::Failed { error: error.clone() });
    LabError::Agent { name: "started".into(), why: error }
}

/// Returns true if the agent is a server on the conductor's machine. A server on the conductor's machine keeps running
/// even if the conductor is suspended.
fn is_server_here(spec: &AgentSpec) -> bool {
    matches!(spec, AgentSpec::Serve { far: false, .. } | AgentSpec::Command { .. })
}

/// Runs one task from start to end.
fn work((spec, commands): Task, heartbeat: &Arc<Heartbeat>) -> Result<(), String> {
    match spec {
        AgentSpec::Load { plan, addr, at_once, files, detailed, fine } => {
            take_files(files);
            let start = if at_once { Start::AtOnce } else { Start::OnCommand };
            load(&plan, addr, start, commands, TickFilter { detailed, fine }, heartbeat)
        }
        AgentSpec::Ask { question, plan, addr, files } => {
            take_files(files);
            send_report(&AgentReport::Server(Box::new(preflight::answer(question, &addr, &plan))));
            wait_for_stop(&commands);
            Ok(())
        }
        AgentSpec::LookUp { host, port } => {
            let answer =
                preflight::look_up(&host, port).map(|addresses| ServerAnswer { addresses, ..ServerAnswer::default() });
            let answer = answer.unwrap_or_else(|why| ServerAnswer { error: Some(why), ..ServerAnswer::default() });
            send_report(&AgentReport::Server(Box::new(answer)));
            wait_for_stop(&commands);
            Ok(())
        }
        AgentSpec::Serve { plan, .. } => serve(&plan, &commands),
        AgentSpec::Watch(spec) => {
            inside_watch::watch(spec, &commands);
            Ok(())
        }
        AgentSpec::Command { shell, guarded, cpus } => {
            stop_on_signals(heartbeat)?;
            confine(&cpus)?;
            let run = if guarded { inside_command::run } else { inside_command::guard };
            run(&shell, &commands, &|| ready(Vec::new()))
        }
        AgentSpec::Cold { plan, addr } => cold(&plan, addr, commands),
        AgentSpec::Lever(plan) => {
            stop_on_signals(heartbeat)?;
            let part = levers::pull(&plan, commands, || ready(Vec::new()));
            let part =
                part.map_err(|why| if sys::interrupt::seen() > 0 { format!("a signal ended it: {why}") } else { why });
            part.map(|part| send_report(&AgentReport::Lever(part)))
        }
        AgentSpec::CheckLever(plan) => levers::check(&plan).map(|found| {
            send_report(&AgentReport::LeverWorks(found));
            wait_for_stop(&commands);
        }),
        AgentSpec::RestoreLevers => {
            ready(super::put_back());
            wait_for_stop(&commands);
            Ok(())
        }
    }
}

/// Interval between checks for a signal.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(20);

/// Lets SIGTERM, SIGHUP and SIGINT stop the task, so that the agent first undoes the change of an experiment.
fn stop_on_signals(heartbeat: &Arc<Heartbeat>) -> Result<(), String> {
    if sys::interrupt::catch_every().is_err() {
        // If the agent cannot catch signals, a signal ends the agent at once, and the next loadline command undoes the
        // experiment's change.
        return Ok(());
    }
    let heartbeat = Arc::clone(heartbeat);
    start_thread(move || {
        while sys::interrupt::seen() == 0 {
            std::thread::sleep(SIGNAL_INTERVAL);
        }
        heartbeat.end_task();
    })
}

/// Stores the contents of files that the conductor sent, so that the load uses them instead of files on this host.
fn take_files(files: BTreeMap<String, String>) {
    for (path, bytes) in files {
        proto::add_received_file(path, run::from_base64(&bytes).unwrap_or_default());
    }
}

/// Reports that this agent is ready: its command has started, or it has made or undone an experiment's change. `notes`
/// are messages for the user.
fn ready(notes: Vec<String>) {
    send_report(&AgentReport::Ready { pid: std::process::id(), listening: None, io: String::new(), notes });
}

/// Waits for the stop command. Until the stop command, an agent whose task is done still answers clock questions.
fn wait_for_stop(commands: &Receiver<AgentCommand>) {
    while !matches!(commands.recv(), Ok(AgentCommand::Stop) | Err(_)) {}
}

fn hello() -> Hello {
    Hello {
        wire: WIRE_VERSION,
        version: env!("CARGO_PKG_VERSION").into(),
        mono_ns: sys::clock::monotonic_ns(),
        machine: probe::boot_id(),
        cpus: sys::limits::allowed_cpus().map_or(0, |cpus| cpus.len() as u32),
        descriptors: sys::limits::descriptors().1,
        pid: std::process::id(),
    }
}

/// Reads the conductor's lines on a new thread, and returns a channel with the tasks. The agent ends when the conductor
/// has ended. If `ends` is set, the agent also ends when the conductor is silent for too long.
fn listen(heartbeat: &Arc<Heartbeat>, ends: bool) -> Result<Receiver<Task>, String> {
    let (sender, tasks) = channel();
    let hears = Arc::clone(heartbeat);
    start_thread(move || hear(&hears, sender))?;
    if ends {
        let watches = Arc::clone(heartbeat);
        start_thread(move || watches.watch())?;
    }
    Ok(tasks)
}

/// Passes on the conductor's commands and tasks, and answers clock questions at once. The end of standard input counts
/// as a stop command. If the task does not stop, the process is ended.
fn hear(heartbeat: &Heartbeat, tasks: Sender<Task>) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        heartbeat.heard();
        match serde_json::from_str(&line) {
            Ok(AgentCommand::Ping { n }) => send_report(&AgentReport::Pong { n, mono_ns: sys::clock::monotonic_ns() }),
            Ok(AgentCommand::Heartbeat) => {}
            Ok(command) => heartbeat.pass_on(command),
            Err(_) => {
                if let Ok(spec) = serde_json::from_str(&line) {
                    let _ = tasks.send((spec, heartbeat.begin_task()));
                }
            }
        }
    }
    drop(tasks);
    heartbeat.end_task()
}

/// Seconds between two coarse ticks (progress reports): slightly less than 0.1 s, so that each tenth of a second
/// contains a tick.
const TICK_S: f64 = 0.095;

/// Selection of the ticks (progress reports) that the agent sends to the conductor.
#[derive(Clone, Copy, Debug)]
struct TickFilter {
    detailed: bool,
    fine: bool,
}

fn load(
    plan: &LoadPlan,
    addr: Address,
    start: Start,
    commands: Receiver<AgentCommand>,
    filter: TickFilter,
    heartbeat: &Heartbeat,
) -> Result<(), String> {
    confine(&plan.cpus)?;
    let mut next_s = 0.0;
    let mut tell = |report| match report {
        // A thousand agents would send ten thousand ticks (progress reports) per second, so ticks that nobody reads are
        // not sent. The last progress report contains details, and may be sent right after the previous report.
        AgentReport::Tick(tick) if !filter.fine && tick.t_s < next_s && !(filter.detailed && tick.detail.is_some()) => {
            drop(tick)
        }
        AgentReport::Tick(tick) => {
            next_s = tick.t_s + TICK_S;
            send_report(&AgentReport::Tick(Tick { detail: tick.detail.filter(|_| filter.detailed), ..tick }));
        }
        report => send_report(&report),
    };
    let mut part = load::run(plan, addr, start, commands, &mut tell).map_err(|e| e.to_string())?;
    part.notes.extend(heartbeat.explain_end());
    send_report(&AgentReport::Part(Box::new(part)));
    Ok(())
}

fn cold(plan: &ColdPlan, addr: Address, commands: Receiver<AgentCommand>) -> Result<(), String> {
    confine(&plan.cpus)?;
    let part = load::hold(plan, &addr, commands, &mut |report| send_report(&report)).map_err(|e| e.to_string())?;
    send_report(&AgentReport::Held(part));
    Ok(())
}

fn serve(plan: &ServePlan, commands: &Receiver<AgentCommand>) -> Result<(), String> {
    confine(&plan.cpus)?;
    let server = serve::start(plan).map_err(|e| e.to_string())?;
    let (listening, notes) = (Some(server.local_addr()), server.notes().to_vec());
    send_report(&AgentReport::Ready { pid: std::process::id(), listening, io: server.model().into(), notes });
    loop {
        match commands.recv() {
            Ok(AgentCommand::Stop) | Err(_) => break,
            Ok(AgentCommand::Count) => send_report(&counts(&server)),
            Ok(_) => {}
        }
    }
    server.stop();
    Ok(())
}

fn counts(server: &serve::Server) -> AgentReport {
    let all = serde_json::to_value(server.stats()).unwrap_or_default();
    let counts = all.as_object().into_iter().flatten().filter_map(|(name, v)| Some((name.clone(), v.as_u64()?)));
    AgentReport::Counts { counts: counts.collect(), failures: server.failures().into_iter().take(3).collect() }
}

fn confine(cpus: &[u32]) -> Result<(), String> {
    if cpus.is_empty() {
        return Ok(());
    }
    sys::limits::confine_to_exact_cpus(cpus)
}

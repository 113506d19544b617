//! Tests the state when a load reports ready: its threads and drivers have all their memory, and nothing has been sent.

#![allow(clippy::unwrap_used, reason = "test code")]

mod common;

use std::sync::mpsc::channel;

use common::{Behaviour, Server, closed, plan};
use loadline_load as load;
use run::{AgentCommand, AgentReport, Io, LoadPlan, Phase};

/// Calls `read` for each entry of a folder in /proc. Returns the results that are not `None`.
fn all(dir: &str, read: impl Fn(std::path::PathBuf) -> Option<String>) -> Vec<String> {
    std::fs::read_dir(dir).unwrap().flatten().filter_map(|entry| read(entry.path())).collect()
}

/// Returns the numbers of the load's threads and of epoll instances in this process. No other test runs in this
/// process.
fn threads_and_drivers() -> (usize, usize) {
    let names = all("/proc/self/task", |path| std::fs::read_to_string(path.join("comm")).ok());
    let files = all("/proc/self/fd", |path| Some(std::fs::read_link(path).ok()?.display().to_string()));
    let threads = names.iter().filter(|name| name.starts_with("load-")).count();
    (threads, files.iter().filter(|file| file.contains("eventpoll")).count())
}

#[test]
fn a_ready_load_is_warm_and_waits_for_the_start() {
    let server = Server::start(Behaviour::Proper);
    let load_plan = LoadPlan { threads: 3, ..plan(Io::Epoll, closed(6, 1)) };
    let before = threads_and_drivers().1;

    // A load that is stopped before its start must have sent nothing, and all of its threads must end.
    let (control, commands) = channel();
    let mut seen = None;
    let part = load::run(&load_plan, server.addr, load::Start::OnCommand, commands, &mut |report| {
        if matches!(report, AgentReport::Ready { .. }) {
            seen = Some(threads_and_drivers());
            control.send(AgentCommand::Stop).unwrap();
        }
    });
    assert_eq!(seen, Some((3, before + 3)));
    assert_eq!(part.unwrap().total.sent, 0);

    // The load must start at the time that the start command gives.
    let (control, commands) = channel();
    let mut told_ns = 0;
    let part = load::run(&load_plan, server.addr, load::Start::OnCommand, commands, &mut |report| match report {
        AgentReport::Ready { .. } => {
            told_ns = sys::clock::monotonic_ns() + 300_000_000;
            control.send(AgentCommand::Start { at_ns: told_ns }).unwrap();
        }
        AgentReport::Tick(tick) if tick.t_s < 0.0 => assert_eq!(tick.sent, 0, "{tick:?}"),
        AgentReport::Tick(tick) if tick.completed > 0 => {
            control.send(AgentCommand::Enter { phase: Phase::Drain, at_ns: None }).unwrap();
        }
        _ => {}
    });
    let part = part.unwrap();
    assert!(sys::clock::monotonic_ns() > told_ns && part.total.completed > 0);
}

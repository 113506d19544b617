//! Task of an agent that observes its host. The agent uses the same observer code as the conductor. Commands on
//! standard input, one per line, control the agent.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use probe::{Observer, Watching};
use run::{AgentCommand, AgentReport, Incident, Observed, Role, WatchSpec, WatchedHost, Window};
use sys::clock::{self, Origin};
use sys::hiccups::HiccupMeter;

use super::report_line::send_report;

/// Interval between checks of the observed processes.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum number of recorded values in one line. A line with the maximum number of values, each with 20 bytes, has
/// half of the maximum allowed length.
const VALUES_PER_LINE: usize = run::MAX_LONG_LINE_BYTES / 40;
/// Maximum time to wait until the moment for which a sample was requested, nanoseconds.
const MAX_LEAD_NS: u64 = 30_000_000_000;

/// Observes one load test after another, until the agent is told to stop.
pub(super) fn watch(spec: WatchSpec, commands: &Receiver<AgentCommand>) {
    let is_server = spec.observer.role == Role::Server;
    let (observer, found) = begin(spec);
    send_report(&AgentReport::Watching(Box::new(found)));
    let (mut trial, mut reported) = (None::<Watching>, Vec::<Incident>::new());
    let mut hiccups = None::<(HiccupMeter, u64)>;
    loop {
        match commands.recv_timeout(CHECK_INTERVAL) {
            Ok(AgentCommand::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            Ok(AgentCommand::Follow { pids, origin_ns, interval_s }) => {
                reported.clear();
                // On a generator's host, the generator measures the pauses of its host, so the observer does not
                // measure them.
                hiccups = is_server.then(HiccupMeter::start).flatten().map(|meter| (meter, origin_ns));
                trial = observer.watch(&pids, interval_s, Origin::at_ns(origin_ns)).ok();
            }
            Ok(AgentCommand::Edge { at_ns }) => edge(trial.as_ref(), at_ns),
            Ok(AgentCommand::Latest) => {
                // Before the first samples, the observer has no values, so the report is empty.
                let newest = trial.as_ref().and_then(Watching::glance).unwrap_or_default();
                send_report(&AgentReport::Latest(Box::new(newest)));
            }
            Ok(AgentCommand::SoFar) => send_observed(trial.as_ref().and_then(Watching::so_far).unwrap_or_default()),
            Ok(AgentCommand::Collect) => {
                let mut seen = trial.take().map_or_else(Observed::default, Watching::finish);
                seen.pauses = hiccups.take().map(pauses).unwrap_or_default();
                send_observed(seen);
            }
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
        }
        let incidents = trial.as_ref().map(Watching::incidents).unwrap_or_default();
        if !incidents.is_empty() && incidents != reported {
            send_report(&AgentReport::Incidents { incidents: incidents.clone() });
            reported = incidents;
        }
    }
}

/// Sends the observations, in several lines if necessary, because an hour of samples does not fit into one line.
fn send_observed(mut seen: Observed) {
    while let Some(first) = seen.recording.split_first(VALUES_PER_LINE) {
        send_report(&AgentReport::Rows(Box::new(first)));
    }
    send_report(&AgentReport::Observed(Box::new(seen)));
}

/// Returns the time intervals in which this whole host was paused, relative to the start of the load test.
fn pauses((meter, origin_ns): (HiccupMeter, u64)) -> Vec<Window> {
    Window::of_ns(meter.end().iter().map(|p| (p.begin_ns, p.end_ns)), origin_ns)
}

fn edge(trial: Option<&Watching>, at_ns: u64) {
    clock::sleep_until_ns(at_ns.min(clock::monotonic_ns().saturating_add(MAX_LEAD_NS)));
    if let Some(watching) = trial {
        send_report(&AgentReport::Edge { t_s: watching.edge() });
    }
}

/// Starts the observer that the task describes. Also returns facts about the host, with the server's processes if they
/// can be found.
fn begin(spec: WatchSpec) -> (Observer, WatchedHost) {
    let mut observer = spec.observer;
    let named = observer.processes.first().map(|pid| probe::named_server(*pid, observer.listen.clone()));
    let role = if observer.role == Role::Server { "server" } else { "client" };
    let mut found = WatchedHost { host: probe::host_info(&observer.host, role), ..WatchedHost::default() };
    match spec.find.map(probe::find_server).or(named) {
        Some(Ok(server)) => {
            observer.processes = server.pids;
            observer.netns_pid = observer.netns_pid.or(server.netns_pid);
            observer.listen = server.listen;
        }
        Some(Err(why)) => found.missing = Some(why.to_string()),
        None => {}
    }
    found.cpus = probe::cpus_of(Path::new("/"), &observer.processes);
    found.processes.clone_from(&observer.processes);
    found.listen.clone_from(&observer.listen);
    (Observer::new(observer), found)
}

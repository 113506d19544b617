//! How memory grew since before the load, part by part, and what that is for a connection.

use probe::{Probe, Scope};
use run::{Recording, Trial, Window};

/// Bytes of a page of socket memory.
const PAGE_BYTES: f64 = 4096.0;
/// What is read before the load.
const SOURCES: [&str; 4] = ["process", "sockstat", "slab", "memory"];

/// The machine and the servers now.
pub(super) fn look(pids: &[u32]) -> Recording {
    let sources = Some(SOURCES.to_vec());
    let mut probe = Probe::new(Scope { processes: pids.to_vec(), sources, ..Scope::default() });
    probe.sample(0.0);
    probe.take()
}

/// Puts growth and switches on the axes of a trial; what is not known is left out.
pub(super) fn put(trial: &mut Trial, before: &Recording) {
    let window = trial.measured.window;
    let Some(server) = &trial.server else { return };
    let now = &server.recording;
    let mine = |instance: &str| server.processes.iter().any(|p| p == instance);
    let was = |id: &str| before.sum(id, Window::ALL, |_| true).value();
    let grown = |id: &str| Some(now.sum(id, window, |_| true).value()? - was(id)?);
    let grown_mine = |id: &str| Some(now.sum(id, window, mine).value()? - was(id)?);
    let kernel = [
        ("kernel_tcp_pages_bytes", grown("socket.tcp_memory").map(|pages| pages * PAGE_BYTES)),
        ("kernel_slab_bytes", grown("slab.bytes")),
        ("kernel_stacks_bytes", grown("memory.kernel_stacks")),
        ("kernel_page_tables_bytes", grown_mine("process.page_tables")),
    ];
    let switched = ["process.voluntary_switches", "process.involuntary_switches"];
    let switches: Option<f64> = switched.iter().map(|id| now.sum(id, window, mine).value()).sum();
    let held = trial.axes.get("held").copied().filter(|n| *n > 0.0);
    let together: Option<f64> = kernel.iter().map(|(_, bytes)| bytes.map(|b| b.max(0.0))).sum();
    let mut all: Vec<(&str, Option<f64>)> = kernel.to_vec();
    all.push(("kernel_memory_per_connection_bytes", together.zip(held).map(|(bytes, n)| bytes / n)));
    all.push(("switches_per_s", switches.map(|n| n / trial.measured.length_s.max(1e-9))));
    let known = all.into_iter().filter_map(|(name, value)| Some((name.to_string(), value.filter(|v| v.is_finite())?)));
    let known: Vec<(String, f64)> = known.collect();
    trial.axes.extend(known);
}

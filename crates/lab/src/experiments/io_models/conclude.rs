//! What is checked of the table of models: thread counts, the collapse of select on arrays, the processor time of the
//! completion port, the memory of idle connections.

use run::{Check, Run, Trial};

use super::super::check;
use super::{Parameters, turns, words};

/// The source's six models by our names.
pub(super) const SIX: [&str; 6] = ["blocking", "select-array", "sigio", "event-groups", "uring-groups", "uring"];
/// What the source's non-blocking server had accepted when it no longer moved a byte, of how many, entries 1 and 2.
const COLLAPSED: [(f64, f64, f64); 2] = [(1.0, 4011.0, 7000.0), (2.0, 5779.0, 12_000.0)];
/// Most of select's throughput that is a collapse.
const LEFT: f64 = 0.34;
/// Most user memory of a mostly idle connection of `uring` with high-connections, bytes.
const IDLE_BYTES: f64 = 512.0;

pub(super) fn conclude(run: &mut Run, parameters: &Parameters) {
    let rows: Vec<&Trial> = run.trials.iter().collect();
    let mut checks = vec![all_ran(&rows, parameters)];
    checks.extend(threads(&rows));
    checks.extend(collapse(&rows));
    checks.extend(least_processor(&rows));
    checks.extend(idle_memory(&rows));
    run.findings.checks = checks;
    run.findings.conclusions = words::conclusions(&rows);
}

pub(super) fn axis(trial: &Trial, name: &str) -> Option<f64> {
    trial.axes.get(name).copied()
}

pub(super) fn row<'a>(rows: &[&'a Trial], model: &str, entry: f64) -> Option<&'a Trial> {
    rows.iter().copied().find(|t| t.label == model && axis(t, "entry") == Some(entry))
}

fn all_ran(rows: &[&Trial], parameters: &Parameters) -> Check {
    let ran = rows.iter().filter(|t| t.tally.completed > 0).count();
    let models = parameters.texts("models", &[]).len().max(1) * parameters.numbers("entries", &[1.0, 2.0, 3.0]).len();
    check("rows that ran", ran as f64, "at least", models as f64)
}

/// Threads beyond those at rest follow the connections that are held, in a quiet moment.
fn threads(rows: &[&Trial]) -> Vec<Check> {
    let one = |t: &&Trial| {
        let wanted = axis(t, "threads_by_rule")?;
        let made = axis(t, "threads_then")? - axis(t, "threads_at_rest")?;
        let name =
            format!("{}, entry {}: threads for {} connections", t.label, axis(t, "entry")?, axis(t, "held_then")?);
        Some(check(name, made, "equals", wanted))
    };
    rows.iter().filter_map(one).collect()
}

/// What collapsed of the source's select on arrays in entries 1 and 2: it came to accept a part of its connections and
/// moved no byte. Ours as the source's, one accepted a wait, is held to its share of accepted connections in both, and to
/// its throughput in entry 2, where few are ready at once. In entry 1 it has not accepted as many as the source's when the
/// trial ends, so its throughput says nothing; the variant that accepts all is compared with select there, both with at
/// least as many connections as the source's had.
fn collapse(rows: &[&Trial]) -> Vec<Check> {
    let as_many = |t: &&Trial| axis(t, "held").is_some_and(|held| held >= COLLAPSED[0].1);
    let asked = |t: &&Trial| axis(t, "connections").is_some_and(|n| n >= COLLAPSED[0].1);
    let against = |array: &Trial, entry: f64, name: &str| {
        let bits = row(rows, "select", entry).filter(as_many)?;
        let ratio = axis(array, "bytes_per_s")? / axis(bits, "bytes_per_s")?.max(1.0);
        Some(check(format!("select-array collapses: {name}, entry {entry}"), ratio, "at most", LEFT))
    };
    let searches = row(rows, "select-array:accept_all", 1.0).filter(as_many);
    let searches = searches.and_then(|t| against(t, 1.0, "throughput over select's with as many connections"));
    let rare = row(rows, "select-array", 2.0).filter(asked).and_then(|t| against(t, 2.0, "throughput over select's"));
    let accepted = COLLAPSED.iter().filter_map(|(entry, source, of)| {
        let array = row(rows, "select-array", *entry).filter(asked)?;
        let name = format!("select-array collapses: share of its connections that it accepted, entry {entry}");
        Some(check(name, axis(array, "held")? / axis(array, "connections")?, "at most", source / of))
    });
    searches.into_iter().chain(rare).chain(accepted).collect()
}

/// User memory of a connection that says something every 20 s, entry 3.
fn idle_memory(rows: &[&Trial]) -> Option<Check> {
    let bytes = axis(row(rows, "uring+high-connections", 3.0)?, "memory_per_connection_bytes")?;
    let name = "uring with high-connections: user memory a mostly idle connection, entry 3, bytes";
    Some(check(name, bytes, "at most", IDLE_BYTES))
}

pub(super) fn cost(trial: &Trial) -> Option<f64> {
    let us = trial.server.as_ref()?.costs.get("process_cpu_us")?.per_request.value()?;
    // A server that got no processor in the window says nothing of what a message costs.
    (us > 0.0).then_some(us)
}

/// Processor time a message of `uring` over the least of the source's other five, entry 1, as it came out in turns.
fn least_processor(rows: &[&Trial]) -> Option<Check> {
    let us = |model: &str| axis(row(rows, model, 1.0)?, turns::IN_TURNS);
    let others = SIX.iter().filter(|m| **m != turns::PORT).filter_map(|m| us(m));
    let (port, least) = (us(turns::PORT)?, others.fold(f64::INFINITY, f64::min));
    let name = "completion port: processor time a message over the least of the source's other five, entry 1, in turns";
    least.is_finite().then(|| check(name, port / least, "at most", 1.0))
}

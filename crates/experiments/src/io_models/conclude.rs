//! Checks of the measured table of I/O models. The checks are about the number of threads, the collapse of select with
//! arrays, the CPU time of the completion port, and the memory of idle connections.

use run::Relation::{AtLeast, AtMost, Equals};
use run::{Check, Run, Trial};

use super::rows::{PORT, SIX, row};
use super::values::{CPU_US_IN_TURNS, HELD_THEN, THREADS_AT_REST, THREADS_BY_RULE, THREADS_THEN};
use super::words;
use crate::Parameters;
use crate::values::{BYTES_PER_S, CONNECTIONS, ENTRY, HELD, MEMORY_PER_CONNECTION_BYTES};

/// Entries of the paper's table in which the paper's non-blocking server stopped transferring bytes. Each row contains
/// the entry's number, the number of accepted connections and the number of attempted connections.
const COLLAPSED: [(u32, f64, f64); 2] = [(1, 4011.0, 7000.0), (2, 5779.0, 12_000.0)];
/// Maximum throughput that counts as a collapse, as a share of the throughput of the model `select`.
const LEFT: f64 = 0.34;
/// Maximum resident memory of a mostly idle connection, for `uring` with the strategy `high-connections`, bytes.
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

fn all_ran(rows: &[&Trial], parameters: &Parameters) -> Check {
    let ran = rows.iter().filter(|t| t.tally.completed > 0).count();
    let models = parameters.texts("models", &[]).len().max(1) * parameters.numbers("entries", &[1.0, 2.0, 3.0]).len();
    Check::new("rows that ran", ran as f64, AtLeast, models as f64)
}

/// Checks that the server created as many threads as the model's rule requires for the number of connections. The
/// numbers of threads and connections come from a moment at which connections neither arrive nor end.
fn threads(rows: &[&Trial]) -> Vec<Check> {
    let one = |t: &&Trial| {
        let r = &t.results;
        let (wanted, made) = (r.get(THREADS_BY_RULE)?, r.get(THREADS_THEN)? - r.get(THREADS_AT_REST)?);
        let name = format!("{}, entry {}: threads for {} connections", t.label, t.key.get(ENTRY)?, r.get(HELD_THEN)?);
        Some(Check::new(name, made, Equals, wanted))
    };
    rows.iter().filter_map(one).collect()
}

/// Checks the collapse of select with arrays in entries 1 and 2. The paper's server accepted only a part of the
/// connections, and transferred no bytes. The check covers the share of accepted connections in entries 1 and 2,
/// because `select-array` accepts only one connection per wait, like the paper's server. In entry 2, few connections
/// are ready at a time, so the throughput of `select-array` is checked, too. In entry 1, the trial ends before
/// `select-array` has accepted as many connections as in the paper, so its throughput would mean nothing. In entry 1 of
/// the table, `select` is compared with the variant of `select-array` that accepts all connections. `select-array` with
/// all connections is compared with `select` only if both hold at least as many connections as the paper's server.
fn collapse(rows: &[&Trial]) -> Vec<Check> {
    let as_many = |t: &&Trial| t.results.get(HELD).is_some_and(|held| held >= COLLAPSED[0].1);
    let asked = |t: &&Trial| t.key.get(CONNECTIONS).is_some_and(|n| f64::from(n) >= COLLAPSED[0].1);
    let against = |array: &Trial, entry: u32, name: &str| {
        let bits = row(rows, "select", entry).filter(as_many)?;
        let ratio = array.results.get(BYTES_PER_S)? / bits.results.get(BYTES_PER_S)?.max(1.0);
        Some(Check::new(format!("select-array collapses: {name}, entry {entry}"), ratio, AtMost, LEFT))
    };
    let searches = row(rows, "select-array:accept_all", 1).filter(as_many);
    let searches = searches.and_then(|t| against(t, 1, "throughput over select's with as many connections"));
    let rare = row(rows, "select-array", 2).filter(asked).and_then(|t| against(t, 2, "throughput over select's"));
    let accepted = COLLAPSED.iter().filter_map(|(entry, source, of)| {
        let array = row(rows, "select-array", *entry).filter(asked)?;
        let name = format!("select-array collapses: share of its connections that it accepted, entry {entry}");
        Some(Check::new(name, array.results.get(HELD)? / f64::from(array.key.get(CONNECTIONS)?), AtMost, source / of))
    });
    searches.into_iter().chain(rare).chain(accepted).collect()
}

/// Checks the resident memory per connection in entry 3, in which each connection sends only every 20 s.
fn idle_memory(rows: &[&Trial]) -> Option<Check> {
    let bytes = row(rows, "uring+high-connections", 3)?.results.get(MEMORY_PER_CONNECTION_BYTES)?;
    let name = "uring with high-connections: user memory a mostly idle connection, entry 3, bytes";
    Some(Check::new(name, bytes, AtMost, IDLE_BYTES))
}

/// Checks the CPU time per message of `uring` against the lowest CPU time of the paper's other models. The check
/// compares only I/O models that took part in the alternating trials of entry 1.
fn least_processor(rows: &[&Trial]) -> Option<Check> {
    let us = |model: &str| row(rows, model, 1)?.results.get(CPU_US_IN_TURNS);
    let others = SIX.iter().filter(|m| **m != PORT).filter_map(|m| us(m));
    let (port, least) = (us(PORT)?, others.fold(f64::INFINITY, f64::min));
    let name = "completion port: CPU time per message over the least of the source's other five, entry 1, in turns";
    least.is_finite().then(|| Check::new(name, port / least, AtMost, 1.0))
}

//! What the table of models says: thread counts, the collapse of select on arrays, the processor time of the completion
//! port, and a ranking.

use run::{Check, Run, Trial};

use super::super::check;
use super::Parameters;

/// The source's six models by our names.
const SIX: [&str; 6] = ["blocking", "select-array", "sigio", "event-groups", "uring-groups", "uring"];
/// Connections from which the source's non-blocking server had collapsed, and what it was asked to hold then.
const COLLAPSED_AT: f64 = 4011.0;
const COLLAPSED_OF: f64 = 7000.0;
/// Most user memory of a mostly idle connection of `uring` with high-connections, bytes.
const IDLE_BYTES: f64 = 512.0;

pub(super) fn conclude(run: &mut Run, parameters: &Parameters) {
    let rows: Vec<&Trial> = run.trials.iter().collect();
    let mut checks = vec![all_ran(&rows, parameters)];
    checks.extend(threads(&rows));
    checks.extend(collapse(&rows));
    checks.extend(least_processor(&rows));
    checks.extend(idle_memory(&rows));
    let mut conclusions = conclusions(&rows);
    conclusions.extend(collapse_words(&rows));
    run.findings.checks = checks;
    run.findings.conclusions = conclusions;
}

fn axis(trial: &Trial, name: &str) -> Option<f64> {
    trial.axes.get(name).copied()
}

fn row<'a>(rows: &[&'a Trial], model: &str, entry: f64) -> Option<&'a Trial> {
    rows.iter().copied().find(|t| t.label == model && axis(t, "entry") == Some(entry))
}

fn all_ran(rows: &[&Trial], parameters: &Parameters) -> Check {
    let ran = rows.iter().filter(|t| t.tally.completed > 0).count();
    let models = parameters.texts("models", &[]).len().max(1) * parameters.numbers("entries", &[1.0, 2.0, 3.0]).len();
    check("rows that ran", ran as f64, "at least", models as f64)
}

/// Threads beyond those at rest follow the connections that are held, also where those are fewer than attempted.
fn threads(rows: &[&Trial]) -> Vec<Check> {
    rows.iter()
        .filter_map(|t| {
            let wanted = axis(t, "threads_by_rule")?;
            let (held, attempted) = (axis(t, "held")?, axis(t, "connections")?);
            let threads = axis(t, "threads_then")?;
            let of = if held < attempted { format!(" of {held} held ({attempted} attempted)") } else { String::new() };
            let name = format!("{} entry {}: threads beyond those at rest{of}", t.label, axis(t, "entry")?);
            Some(check(name, threads - axis(t, "threads_at_rest")?, "equals", wanted))
        })
        .collect()
}

/// What collapses of select on arrays, entries 1 and 2: bytes a second over those of select, where the source's server
/// moved none; and, entry 1, the share of the connections that it came to accept, one a wait (the source: 4,011 of 7,000).
fn collapse(rows: &[&Trial]) -> Vec<Check> {
    let ratio = |entry: f64| {
        let (array, bits) = (row(rows, "select-array", entry)?, row(rows, "select", entry)?);
        axis(array, "connections").filter(|n| *n >= COLLAPSED_AT)?;
        let ratio = axis(array, "bytes_per_s")? / axis(bits, "bytes_per_s")?.max(1.0);
        let name = format!("select-array collapses: its throughput over select's, entry {entry}");
        Some(check(name, ratio, "at most", 0.34))
    };
    let accepted = || {
        let array = row(rows, "select-array", 1.0)?;
        let asked = axis(array, "connections").filter(|n| *n >= COLLAPSED_AT)?;
        let name = "select-array collapses: share of its connections that it accepted, entry 1";
        Some(check(name, axis(array, "held")? / asked, "at most", COLLAPSED_AT / COLLAPSED_OF))
    };
    [ratio(1.0), ratio(2.0), accepted()].into_iter().flatten().collect()
}

/// User memory of a connection that says something every 20 s, entry 3.
fn idle_memory(rows: &[&Trial]) -> Option<Check> {
    let bytes = axis(row(rows, "uring+high-connections", 3.0)?, "memory_per_connection_bytes")?;
    let name = "uring with high-connections: user memory a mostly idle connection, entry 3, bytes";
    Some(check(name, bytes, "at most", IDLE_BYTES))
}

/// Why select on arrays does what it does here: the searches of a wait are shared by all that are ready.
fn collapse_words(rows: &[&Trial]) -> Option<String> {
    let (array, bits) = (row(rows, "select-array", 1.0)?, row(rows, "select", 1.0)?);
    let user = |t: &Trial| t.server.as_ref()?.costs.get("process_user_us")?.per_request.value();
    let (held, asked) = (axis(array, "held")?, axis(array, "connections")?);
    let busy = row(rows, "select-array", 2.0).and_then(cost).zip(row(rows, "select", 2.0).and_then(cost));
    let rare = busy.map_or_else(String::new, |(a, b)| {
        format!(
            " Where few are ready at once (entry 2) every message pays for a wait of its own: {a:.0} us of processor a \
             message, select {b:.0} us."
        )
    });
    Some(format!(
        "select-array takes one connection a wait and searches its sets for each socket, so it came to accept {held:.0} of \
         {asked:.0} (the source's 4,011 of 7,000). Of those, nearly all are ready at each wait of entry 1 and share its \
         searches: {:.1} us of user time a message, select {:.1} us.{rare}",
        user(array)?,
        user(bits)?
    ))
}

fn cost(trial: &Trial) -> Option<f64> {
    let us = trial.server.as_ref()?.costs.get("process_cpu_us")?.per_request.value()?;
    // A server that got no processor in the window says nothing of what a message costs.
    (us > 0.0).then_some(us)
}

/// Processor time a message of `uring` over the least of the source's other five, entry 1.
fn least_processor(rows: &[&Trial]) -> Option<Check> {
    let port = cost(row(rows, "uring", 1.0)?)?;
    let others = SIX.iter().filter(|m| **m != "uring").filter_map(|m| cost(row(rows, m, 1.0)?));
    let least = others.fold(f64::INFINITY, f64::min);
    let name = "completion port: processor time a message over the least of the source's other five, entry 1";
    least.is_finite().then(|| check(name, port / least, "at most", 1.0))
}

/// Ranked as the source does: by the connections held, then by what they got through, with the processor it took.
fn conclusions(rows: &[&Trial]) -> Vec<String> {
    let mut sentences = Vec::new();
    for entry in [1.0, 2.0, 3.0] {
        let mut of: Vec<&Trial> = rows.iter().copied().filter(|t| axis(t, "entry") == Some(entry)).collect();
        let key = |t: &Trial| (axis(t, "held").unwrap_or(0.0), axis(t, "bytes_per_s").unwrap_or(0.0));
        of.sort_by(|a, b| key(b).0.total_cmp(&key(a).0).then(key(b).1.total_cmp(&key(a).1)));
        let ranked: Vec<String> = of
            .iter()
            .map(|t| {
                let us = cost(t).map_or_else(|| "?".to_string(), |us| format!("{us:.1}"));
                let (held, bytes) = key(t);
                format!("{} ({held:.0} held, {:.1} MB/s, {us} us a message)", t.label, bytes / 1e6)
            })
            .collect();
        if !ranked.is_empty() {
            sentences.push(format!("Entry {entry}, by connections held, then by throughput: {}.", ranked.join(", ")));
        }
    }
    sentences
}

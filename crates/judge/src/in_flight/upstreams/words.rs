//! The verdict's sentence and advice about the full upstream that the server waits for.

use run::{UpstreamLimit, UpstreamLoad};

use super::waits_for::{fills_cpus, replicas, rival};
use super::{MOST_LINES, named, quota};
use crate::Facts;
use crate::context::view::program;
use crate::in_flight::full_cpus::FullCpus;
use crate::number::{cpus, figure, percent};

/// Returns the advice on the upstream that the server waits for, if any.
pub(crate) fn advice(facts: &Facts<'_>) -> Option<String> {
    if let Some(full_cpus) = fills_cpus(facts).then(|| FullCpus::of(facts)).flatten() {
        return Some(full_cpus.advice());
    }
    let full: Vec<&UpstreamLoad> = replicas(facts).collect();
    let limit = full.first()?.limit;
    Some(match full.as_slice() {
        [one] => {
            let action = action(limit, &format!("the upstream at {}", one.behind.address));
            format!("{action}: it is full and the server is not.")
        }
        all => {
            let action = action(limit, &format!("each of the {} upstreams at {}", all.len(), addresses(all)));
            format!("{action}, or add another upstream: they are full and the server is not.")
        }
    })
}

/// Returns the action that lets `upstream` do more, as the beginning of a sentence.
fn action(limit: Option<UpstreamLimit>, upstream: &str) -> String {
    match limit {
        Some(UpstreamLimit::Quota) => format!(
            "Raise the CPU quota (cpu.max, `--cpus`, `limits.cpu`) of {upstream} and, if it does not follow the quota, its \
             number of threads, or make it do less per request"
        ),
        Some(UpstreamLimit::Lock) => {
            format!("Start more processes of {upstream} (more CPUs do not help), or find its lock with a profiler")
        }
        Some(UpstreamLimit::Disk) => {
            format!("Let {upstream} serve from memory, flush less often, or give it a faster disk")
        }
        _ => format!("Give {upstream} more workers or CPUs, or profile it at this load"),
    }
}

/// Returns the verdict's sentence about the upstream that the server waits for. Returns `None` if no upstream is full.
pub(crate) fn sentence(facts: &Facts<'_>) -> Option<String> {
    let full: Vec<&UpstreamLoad> = replicas(facts).collect();
    let sentence = match full.as_slice() {
        [] => return None,
        [one] => of_one(one),
        all => of_replicas(all),
    };
    let or = rival(facts).map_or(String::new(), |load| format!("; or for {}, which is full too", named(&load.behind)));
    Some(sentence + &or)
}

/// Returns the sentence about one upstream. A terminal that is too small shortens a sentence to its first clause, so
/// the limit is in the same clause as the upstream.
fn of_one(load: &UpstreamLoad) -> String {
    let (used, allowed) = (load.cpu_used.unwrap_or(0.0), load.cpu_allowed.unwrap_or(0.0));
    let name = named(&load.behind);
    match load.limit {
        Some(UpstreamLimit::Thread) => format!(
            "the server waits for {name}, of which one thread was busy {} of the time",
            percent(load.busiest_thread.unwrap_or(0.0))
        ),
        Some(UpstreamLimit::Lock) => format!(
            "the server waits for {name}, in which {} ({} of {} used)",
            crate::in_flight::serial_words::SENTENCE,
            figure(used),
            cpus(allowed)
        ),
        Some(UpstreamLimit::Quota) => format!("the server waits for {name}: {}", quota::words(load)),
        Some(UpstreamLimit::Disk) => {
            format!("the server waits for {name}, and that waits for the full disk of its host")
        }
        _ => format!("the server waits for {name}, which used {} of its {}", figure(used), cpus(allowed)),
    }
}

/// Returns the sentence about several replicas. Each number in the sentence is the smallest value of any replica.
fn of_replicas(all: &[&UpstreamLoad]) -> String {
    let least = |of: fn(&UpstreamLoad) -> Option<f64>| {
        percent(all.iter().filter_map(|load| of(load)).reduce(f64::min).unwrap_or(0.0))
    };
    let why = match all.first().and_then(|load| load.limit) {
        Some(UpstreamLimit::Thread) => {
            let busy = least(|load| load.busiest_thread);
            format!("one thread of each ran or waited for a CPU at least {busy} of the time")
        }
        Some(UpstreamLimit::Lock) => format!("in each, {}", crate::in_flight::serial_words::SENTENCE),
        Some(UpstreamLimit::Quota) => "each used up its CPU quota".into(),
        Some(UpstreamLimit::Disk) => "each waits for the full disk of its host".into(),
        _ => format!("each used at least {} of its CPUs", least(|load| Some(load.cpu_used? / load.cpu_allowed?))),
    };
    let program = all.first().and_then(|load| load.behind.processes.first()).map_or("", |process| program(process));
    format!("the server waits: the {} upstreams at {} ({program}) are full, {why}", all.len(), addresses(all))
}

/// Lists the addresses of several upstreams. Leaves out the end of a long list.
fn addresses(all: &[&UpstreamLoad]) -> String {
    let names: Vec<&str> = all.iter().map(|load| load.behind.address.as_str()).collect();
    match names.as_slice() {
        [first, .., last] if names.len() > MOST_LINES => format!("{first} to {last}"),
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        names => names.concat(),
    }
}

//! Identity of a series: all runs of a series have equal plans and ran on equal machines.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

use run::{Intensity, RunSummary};

use crate::number::{counted, figure};

/// Keys of a plan that affect neither the load nor the figures. The key `reach_max` only adds a sweep step with the
/// user's own number of connections. Older runs do not have this key.
const APART: [&str; 8] = [
    "expect",
    "load.seed",
    "observe",
    "repeats",
    "search.prove_dir",
    "search.reach_max",
    "target.authorized",
    "target.server_pid",
];
/// Maximum length of a key's value, bytes. A longer value of a key is replaced by a hash.
const MAX_VALUE_BYTES: usize = 80;
/// Maximum length of a series' name, characters.
const MAX_NAME: usize = 120;
/// Maximum number of differing keys in a series' name.
const MAX_DIFFERENCES: usize = 3;

/// Description of the plan and the machines that all runs of a series share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity {
    /// Command, target and load of the runs, in words.
    name: String,
    /// Keys of the plan and of the machines, with their values.
    keys: Vec<(String, String)>,
}

impl Identity {
    pub(super) fn of(run: &RunSummary) -> Self {
        let within = |key: &str, apart: &str| {
            key.strip_prefix(apart).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let keys = run.plan.keys().into_iter().filter(|(key, _)| !APART.iter().any(|apart| within(key, apart)));
        // Placeholders for secrets have a different salt in each run. One text therefore replaces all placeholders, so
        // that equal secrets look equal.
        let plan = keys.map(|(key, value)| (key, bounded(run::unify_placeholders(&value.to_string()))));
        let machine = |host: &run::HostInfo| {
            let machine = format!("{} CPUs, {}", host.cpus, host.cpu_model);
            (format!("machine of the {}", host.role), bounded(machine))
        };
        Self { name: name(run), keys: plan.chain(run.hosts.iter().map(machine)).collect() }
    }
}

fn bounded(value: String) -> String {
    if value.len() <= MAX_VALUE_BYTES {
        return value;
    }
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    format!("#{:016x}", hasher.finish())
}

/// Returns the name of a series: its command, its target and its load.
fn name(run: &RunSummary) -> String {
    let target = if run.plan.target.url.is_empty() { "the embedded server" } else { &run.plan.target.url };
    let load = match &run.plan.load.intensity {
        _ if run.plan.command == "find" => String::new(),
        Intensity::Closed { connections, .. } => format!(", {}", counted(f64::from(*connections), "connection")),
        Intensity::Open { rate, .. } => format!(", {} requests/s", figure(*rate)),
        Intensity::SClients { descriptors, .. } => format!(", {}", counted(f64::from(*descriptors), "S-Client")),
    };
    format!("{} {target}{load}", run.plan.command).chars().take(MAX_NAME).collect()
}

/// Returns the names of all series. If several series would have equal names, each except the first gets a list of the
/// keys in which this series differs from the first.
pub(super) fn names<'a>(series: impl Iterator<Item = &'a Identity>) -> Vec<String> {
    let all: Vec<&Identity> = series.collect();
    let first = |name: &str| all.iter().find(|series| series.name == name).copied();
    let named = |series: &&Identity| match first(&series.name).filter(|first| first.keys != series.keys) {
        None => series.name.clone(),
        Some(first) => format!("{} ({})", series.name, differences(first, series)),
    };
    all.iter().map(named).collect()
}

fn differences(first: &Identity, series: &Identity) -> String {
    let differ: Vec<&(String, String)> = series.keys.iter().filter(|key| !first.keys.contains(key)).collect();
    let shown: Vec<String> = differ.iter().take(MAX_DIFFERENCES).map(|(key, value)| format!("{key} {value}")).collect();
    match (shown.len(), differ.len() - shown.len()) {
        (0, _) => "fewer keys in the plan".into(),
        (_, 0) => shown.join(", "),
        (_, more) => format!("{}, {more} more", shown.join(", ")),
    }
}

//! Findings about a server that handles only a few requests at the same time. The findings are advice, and counts (such
//! as a number of threads) that equal the number of requests handled at the same time.

use run::{Counted, WaitCause};

use crate::Facts;
use crate::in_flight::places::{self, Places};
use crate::in_flight::process_locks::OneCpuEach;
use crate::in_flight::serial;
use crate::in_flight::upstreams;

/// Findings about the number of requests that a server handles at a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Inside {
    /// True if only one of the server's requests runs on a CPU at any time.
    pub(crate) serial: bool,
    /// Counts inside the server that match the number of requests handled at a time.
    pub(crate) counted: Vec<Counted>,
    /// Advice about the counts in `counted`; `None` without counts.
    pub(crate) advice: Option<Vec<String>>,
}

impl Inside {
    pub(crate) fn of(facts: &Facts<'_>) -> Self {
        let places = Places::of(facts);
        let serial = serial::is_serial(facts, places.as_ref());
        let counted: Vec<Counted> = places.iter().flat_map(Places::matching).cloned().collect();
        // Sampled threads of a pool show the number of its workers. The threads that ran include threads of a runtime,
        // such as garbage collectors and compilers.
        let is_pool_seen = facts.waits.iter().any(|finding| finding.cause == WaitCause::WorkerPool);
        let many = places
            .as_ref()
            .filter(|_| !is_pool_seen)
            .and_then(|p| Some(places::advice_too_many(p.too_many()?, p.places)));
        let more_processes = OneCpuEach::of(facts).map(|each| each.advice());
        let advice = match (serial, counted.is_empty()) {
            // The advice about the full upstream remains, but more workers do not help while the upstream's CPUs are
            // full.
            _ if upstreams::fills_cpus(facts) => Some(Vec::new()),
            (true, _) => Some(crate::in_flight::serial_words::ADVICE.map(str::to_string).into()),
            (_, false) => Some(counted.iter().map(places::advice).chain(more_processes).collect()),
            _ => more_processes.or(many).map(|advice| vec![advice]),
        };
        Self { serial, counted, advice }
    }
}

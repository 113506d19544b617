//! Counters that only a reference server itself knows, such as the number of records read from its cache and from the
//! disk. Loadline requests the server's counters during a load test and records them like all other counters.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use probe::Exporter;
use run::{Absence, Column, CounterId, Recording};

use crate::agents::AgentGroup;

/// Maximum time to wait for a server's answer to a request for its counters. If a server needs longer, the sample lacks
/// its counters.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// Access to the counters of a server that was started by loadline. The reference to the server is weak, so the server
/// ends when the run drops its agents.
#[derive(Clone, Debug)]
pub struct ServerCounters {
    group: Weak<Mutex<AgentGroup>>,
    /// Object of the counters: the part of their IDs before the dot, as in `COUNTERS`. The part after the dot is the
    /// name that the server uses.
    object: &'static str,
}

impl ServerCounters {
    /// Creates access to the counters whose IDs begin with `object`, as reported by the servers in `group`.
    pub fn new(group: &Arc<Mutex<AgentGroup>>, object: &'static str) -> Self {
        Self { group: Arc::downgrade(group), object }
    }

    /// Returns a function that requests the counters from the servers.
    pub(crate) fn exporter(&self) -> Exporter {
        let asked = self.clone();
        Box::new(move || asked.ask())
    }

    fn ids(&self) -> impl Iterator<Item = &'static str> {
        run::COUNTERS.iter().filter(|c| c.object == self.object).map(|c| c.id)
    }

    /// Requests the counters once. For each missing counter, stores the reason.
    fn ask(&self) -> Recording {
        let counts = self.group.upgrade().map(|group| {
            let mut group = group.lock().unwrap_or_else(PoisonError::into_inner);
            group.counts(ANSWER_TIMEOUT).0
        });
        let counts = counts.unwrap_or_default();
        let mut row = Recording::default();
        for id in self.ids() {
            let (counter, instance) = (CounterId::new(id), String::new());
            match id.split_once('.').and_then(|(_, name)| counts.get(name)) {
                Some(n) => row.columns.push(Column { counter, instance, values: vec![Some(*n as f64)] }),
                None => {
                    let reason = format!("the server did not answer within {} ms", ANSWER_TIMEOUT.as_millis());
                    row.absent.push(Absence { counter, instance, reason });
                }
            }
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_a_silent_server_are_absent_with_a_reason() {
        let silent = ServerCounters { group: Weak::new(), object: "Records" }.ask();
        assert!(silent.columns.is_empty());
        assert!(silent.absent.iter().any(|a| a.counter.as_str() == "record.cache_hits" && a.reason.contains("answer")));
    }

    #[test]
    fn every_told_count_is_one_of_the_server_s_statistics() {
        let stats = serde_json::to_value(serve::Stats::default()).unwrap();
        for object in ["Records", "Server"] {
            let server_counters = ServerCounters { group: Weak::new(), object };
            assert!(server_counters.ids().count() > 0);
            server_counters.ids().for_each(|id| assert!(stats[id.split_once('.').unwrap().1].is_u64(), "{id}"));
        }
    }
}

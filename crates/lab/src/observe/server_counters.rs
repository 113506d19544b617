//! What a reference server counts itself and no file of the kernel tells (whether a record came from the cache or the
//! disk), asked of it while a trial runs and kept like any other counter.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use probe::Exporter;
use run::{Absence, Column, CounterId, Recording};

use crate::agents::AgentGroup;

/// A server that takes longer to answer has its counters left out.
const PATIENCE: Duration = Duration::from_millis(500);

/// A server that can be asked for its counts. It does not keep the server alive.
#[derive(Clone, Debug)]
pub struct ServerCounters {
    group: Weak<Mutex<AgentGroup>>,
    /// Which counters it tells: those of this object; the part behind the dot is its own name for each.
    object: &'static str,
}

impl ServerCounters {
    /// Counters of `object` (as in `COUNTERS`) are asked of these servers.
    pub fn of(group: &Arc<Mutex<AgentGroup>>, object: &'static str) -> Self {
        Self { group: Arc::downgrade(group), object }
    }

    /// Asks for the observer.
    pub(crate) fn exporter(&self) -> Exporter {
        let asked = self.clone();
        Box::new(move || asked.ask())
    }

    fn ids(&self) -> impl Iterator<Item = &'static str> {
        run::COUNTERS.iter().filter(|c| c.object == self.object).map(|c| c.id)
    }

    /// One row of what is answered; a counter that is not says why.
    fn ask(&self) -> Recording {
        let counts = self.group.upgrade().map(|group| {
            let mut group = group.lock().unwrap_or_else(PoisonError::into_inner);
            group.counts(PATIENCE).0
        });
        let counts = counts.unwrap_or_default();
        let mut row = Recording::default();
        for id in self.ids() {
            let (counter, instance) = (CounterId::new(id), String::new());
            match id.split_once('.').and_then(|(_, name)| counts.get(name)) {
                Some(n) => row.columns.push(Column { counter, instance, values: vec![Some(*n as f64)] }),
                None => {
                    let reason = format!("the server did not answer within {} ms", PATIENCE.as_millis());
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
    fn silence_says_why() {
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

//! What a reference server counts itself and no file of the kernel tells (whether a record came from the cache or the
//! disk), asked of it at the edges of the window and kept like any other counter.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use run::{Absence, Column, CounterId, Recording};

use crate::agent::Crew;

/// A server that takes longer to answer has its counters left out.
const PATIENCE: Duration = Duration::from_millis(500);

/// A server that can be asked for its counts. It does not keep the server alive.
#[derive(Clone, Debug)]
pub struct Teller {
    crew: Weak<Mutex<Crew>>,
    /// Which counters it tells: those of this object; the part behind the dot is its own name for each.
    object: &'static str,
}

impl Teller {
    /// Counters of `object` (as in `COUNTERS`) are asked of these servers.
    pub fn of(crew: &Arc<Mutex<Crew>>, object: &'static str) -> Self {
        Self { crew: Arc::downgrade(crew), object }
    }

    fn ids(&self) -> impl Iterator<Item = &'static str> {
        run::COUNTERS.iter().filter(|c| c.object == self.object).map(|c| c.id)
    }
}

/// Asks during a trial.
pub(crate) struct Listener {
    teller: Teller,
    begin: Instant,
    recording: Mutex<Recording>,
}

impl Listener {
    /// Times count from `begin`.
    pub(crate) fn open(teller: Teller, begin: Instant) -> Self {
        Self { teller, begin, recording: Mutex::default() }
    }

    /// Asks now; returns the time of the answer, `None` when there was none.
    pub(crate) fn ask(&self) -> Option<f64> {
        let crew = self.teller.crew.upgrade()?;
        let mut crew = crew.lock().unwrap_or_else(PoisonError::into_inner);
        let (counts, _) = crew.counts(PATIENCE);
        let now = Instant::now();
        let t_s = now.saturating_duration_since(self.begin).as_secs_f64()
            - self.begin.saturating_duration_since(now).as_secs_f64();
        let values = self.teller.ids().filter_map(|id| Some((id, *counts.get(id.split_once('.')?.1)? as f64)));
        put(&mut self.recording.lock().unwrap_or_else(PoisonError::into_inner), t_s, values).then_some(t_s)
    }

    /// What was answered; a counter that was not says why.
    pub(crate) fn finish(self) -> Recording {
        let mut recording = self.recording.into_inner().unwrap_or_else(PoisonError::into_inner);
        let silent = |id: &&'static str| recording.columns_of(id).next().is_none();
        let reason = format!("the server did not answer within {} ms", PATIENCE.as_millis());
        let absent: Vec<Absence> = self.teller.ids().filter(silent).map(|id| absence(id, &reason)).collect();
        recording.absent = absent;
        recording
    }
}

fn absence(id: &'static str, reason: &str) -> Absence {
    Absence { counter: CounterId::new(id), instance: String::new(), reason: reason.into() }
}

/// Adds a row, if there is anything in it.
fn put(recording: &mut Recording, t_s: f64, values: impl Iterator<Item = (&'static str, f64)>) -> bool {
    let row = recording.t_s.len();
    for (id, value) in values {
        let known = recording.columns.iter().position(|c| c.counter.as_str() == id);
        let at = known.unwrap_or_else(|| {
            let column = Column { counter: CounterId::new(id), instance: String::new(), values: Vec::new() };
            recording.columns.push(column);
            recording.columns.len() - 1
        });
        recording.columns[at].values.resize(row, None);
        recording.columns[at].values.push(Some(value));
    }
    let any = recording.columns.iter().any(|c| c.values.len() > row);
    if any {
        recording.t_s.push(t_s);
        recording.columns.iter_mut().for_each(|c| c.values.resize(row + 1, None));
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::Window;

    #[test]
    fn answers_are_rows_and_silence_says_why() {
        let mut told = Recording::default();
        assert!(put(&mut told, 0.5, [("record.cache_hits", 3.0)].into_iter()));
        assert!(!put(&mut told, 1.0, std::iter::empty()), "no answer is no row");
        assert!(put(&mut told, 2.5, [("record.cache_hits", 10.0), ("record.disk_reads", 0.0)].into_iter()));
        assert_eq!(told.t_s, [0.5, 2.5]);
        assert_eq!(told.reading("record.cache_hits", "", Window::ALL).value(), Some(7.0));
        assert_eq!(told.reading("record.disk_reads", "", Window::ALL).value(), None, "one sample is no growth");

        let nobody = Listener::open(Teller { crew: Weak::new(), object: "Records" }, Instant::now());
        assert_eq!(nobody.ask(), None);
        let silent = nobody.finish();
        assert!(silent.absent.iter().any(|a| a.counter.as_str() == "record.cache_hits" && a.reason.contains("answer")));
    }

    #[test]
    fn every_told_count_is_one_of_the_server_s_statistics() {
        let stats = serde_json::to_value(serve::Stats::default()).unwrap();
        let teller = Teller { crew: Weak::new(), object: "Records" };
        assert!(teller.ids().count() > 0);
        teller.ids().for_each(|id| assert!(stats[id.split_once('.').unwrap().1].is_u64(), "{id}"));
    }
}

//! Changes of a run's counts between two readings of its state.

use crate::live::{Model, Shared, SideNow, Totals};

/// Reader of the state of a running measurement.
#[derive(Debug)]
pub(crate) struct Looks {
    shared: Shared,
    /// Counts of the whole run at the previous reading.
    before: Totals,
}

/// State of a run at one reading.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    /// Name of the current step of the run.
    pub(crate) step: String,
    /// Number of trials that have ended.
    pub(crate) trials: usize,
    /// True if a load is running, or ran at some time since the previous reading.
    pub(crate) has_load: bool,
    /// Counts since the previous reading.
    pub(crate) counts: Totals,
    /// Number of requests in flight.
    pub(crate) in_flight: u64,
    /// Number of established connections.
    pub(crate) open: u64,
    /// Newest readings (samples) of the counters on the hosts of client and server.
    pub(crate) sides: Vec<SideNow>,
}

impl Looks {
    pub(crate) fn new(shared: &Shared) -> Self {
        let before = shared.lock().totals();
        Self { shared: shared.clone(), before }
    }

    /// Reads the current state of the run. Holds the lock on the shared state only while it copies this state.
    pub(crate) fn look(&mut self) -> Look {
        let (mut look, now) = copied(&self.shared.lock());
        look.counts = now.since(&self.before);
        look.has_load |= look.counts != Totals::default();
        self.before = now;
        look
    }
}

fn copied(model: &Model) -> (Look, Totals) {
    let tick = &model.now.tick;
    let look = Look {
        step: model.step.0.clone(),
        trials: model.trials,
        has_load: tick.t_s > 0.0 && !model.watches,
        counts: Totals::default(),
        in_flight: tick.in_flight,
        open: tick.open,
        sides: model.sides.clone(),
    };
    (look, model.totals())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use lab::LiveProgress;
    use run::{CoarseHist, ErrorKind, Errors, Tick, TickDetail, Trial};

    /// Returns the state of a load in which every response took 1 ms.
    pub(crate) fn state(t_s: f64, completed: u64, resets: u64) -> LiveProgress {
        let mut counts = vec![0; CoarseHist::BUCKETS];
        counts[CoarseHist::bucket(1_000_000)] = completed;
        let errors = Errors([(ErrorKind::Reset, resets)].into());
        let detail = TickDetail { errors, responses: CoarseHist::of(counts), ..TickDetail::default() };
        let tick = Tick { t_s, completed, sent: completed + resets, in_flight: 3, open: 4, ..Tick::default() };
        LiveProgress { tick, detail, ..LiveProgress::default() }
    }

    #[test]
    fn no_count_of_a_step_is_lost_between_two_looks() {
        let shared = Shared::new(Model::new("find".into(), String::new(), 30.0));
        let mut looks = Looks::new(&shared);
        assert!(!looks.look().has_load);
        shared.lock().phase("1 connection", 1.0);
        shared.lock().progress(state(1.0, 100, 2));
        let first = looks.look();
        assert_eq!((first.has_load, first.counts.completed, first.counts.sent, first.open), (true, 100, 102, 4));
        shared.lock().progress(state(2.0, 300, 2));
        shared.lock().trial(&Trial::default(), "1 connection");
        shared.lock().phase("2 connections", 1.0);
        shared.lock().progress(state(0.5, 70, 1));
        let second = looks.look();
        assert_eq!((second.step.as_str(), second.counts.completed, second.counts.sent), ("2 connections", 270, 271));
        assert_eq!((second.counts.detail.failed_requests(), second.counts.detail.responses.len()), (1, 270));
        assert_eq!(looks.look().counts, Totals::default());
    }
}

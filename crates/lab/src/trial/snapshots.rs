//! Snapshots of a load during a long measurement, from which its parts ("stretches") are computed. The snapshots use
//! limited memory: at most some hundreds are kept, however long the measurement is.

use run::{DETAIL_INTERVAL, LoadPlan, Moment, Stage, TickDetail};

/// Minimum length of a stretch, seconds. Ticks (progress reports) with details arrive only five times per second.
const MIN_STRETCH_S: f64 = 1.0;
/// Minimum length of each stretch of a measurement, seconds, if the offered rate changes. If stretches are short, few
/// different rates are offered during one stretch.
const MIN_STRETCH_OF_STAGES_S: f64 = 0.5;
/// Maximum number of stretches in a measurement.
const MAX_STRETCHES: f64 = 400.0;

/// Returns true if a measurement is divided into stretches. A measurement is divided if it is long enough to show how a
/// load changes over time: it then has at least three stretches. A load of planned stages is always divided, because
/// each stage needs its own response times.
pub(crate) fn is_stretched(plan: &LoadPlan) -> bool {
    plan.duration_s >= 4.0 * MIN_STRETCH_S || !plan.stages.is_empty()
}

/// Snapshots of a load. Before [`Snapshots::begin`] is called, no snapshots exist.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshots {
    step_s: f64,
    /// Times at which the last tick with details is expected before a stage ends, or before the window of a load with
    /// stages ends. A stretch ends at each time in the list.
    edges: Vec<f64>,
    states: Vec<(f64, TickDetail)>,
}

impl Snapshots {
    /// Starts a measurement of `window_s` seconds with a first snapshot. All times, including those of the planned
    /// stages, are seconds since the load began.
    pub(crate) fn begin(now_s: f64, (window_s, stages): (f64, &[Stage]), known: TickDetail) -> Self {
        // A load with stages has stretches twice as long, because the ends of its stages may double the number of
        // stretches.
        let (least_s, times) = if stages.is_empty() { (MIN_STRETCH_S, 1.0) } else { (MIN_STRETCH_OF_STAGES_S, 2.0) };
        let step_s = (times * window_s / MAX_STRETCHES).max(least_s);
        let ends = stages.iter().scan(0.0, |end_s, stage| {
            *end_s += stage.seconds;
            Some(*end_s)
        });
        let window_end = (!stages.is_empty()).then_some(now_s + window_s);
        let mut edges: Vec<f64> = ends.chain(window_end).map(|end_s| end_s - DETAIL_INTERVAL.as_secs_f64()).collect();
        edges.dedup_by(|next, kept| *next - *kept < step_s);
        Self { step_s, edges, states: vec![(now_s, known)] }
    }

    /// Returns true if a stretch has ended, so that a snapshot is due. Snapshots are taken at ticks (progress reports)
    /// that contain details. If a measurement is longer than planned, the additional time has no stretches.
    pub(crate) fn due(&self, now_s: f64) -> bool {
        let full = self.states.len() as f64 > MAX_STRETCHES + 1.0;
        let is_edge = |since_s: f64| self.edges.iter().any(|edge_s| since_s < *edge_s && *edge_s <= now_s);
        self.states.last().is_some_and(|(since_s, _)| now_s >= since_s + self.step_s || is_edge(*since_s)) && !full
    }

    /// Takes the snapshot at the end of a stretch.
    pub(crate) fn push(&mut self, now_s: f64, known: TickDetail) {
        self.states.push((now_s, known));
    }

    /// Returns a rough upper bound of the memory in use, bytes.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        // A histogram is a `BTreeMap`. The nodes of a `BTreeMap` are about half full or more, so an entry takes at most
        // about twice its size.
        let each = size_of::<(f64, TickDetail)>() + run::CoarseHist::BUCKETS * 2 * size_of::<(u16, u64)>();
        self.states.capacity() * each
    }

    /// Returns all stretches that ended before a moment.
    pub(crate) fn moments(&self, until_s: f64) -> Vec<Moment> {
        let known = self.states.windows(2).filter(|pair| pair[1].0 <= until_s);
        known.map(|pair| between(&pair[0], &pair[1])).collect()
    }
}

fn between((from_s, before): &(f64, TickDetail), (to_s, after): &(f64, TickDetail)) -> Moment {
    let grown = after.since(before);
    let percentile = |q: f64| grown.percentile(q).exact();
    let failures = |detail: &TickDetail| detail.errors.0.values().fold(detail.unexpected, |a, n| a.saturating_add(*n));
    Moment {
        t_s: from_s.midpoint(*to_s),
        seconds: to_s - from_s,
        completed: grown.responses.len(),
        failed: failures(after).saturating_sub(failures(before)),
        unexpected: after.unexpected.saturating_sub(before.unexpected),
        p50_us: percentile(0.5),
        p99_us: percentile(0.99),
    }
}

#[cfg(test)]
mod tests {
    use run::{CoarseHist, ErrorKind, Errors};

    use super::*;

    /// Returns a snapshot with `answers` answers that took a millisecond, and with `resets` resets.
    fn known(answers: u64, resets: u64) -> TickDetail {
        let mut counts = vec![0; CoarseHist::BUCKETS];
        counts[CoarseHist::bucket(1_000_000)] = answers;
        let errors = Errors([(ErrorKind::Reset, resets)].into());
        TickDetail { errors, unexpected: 2 * resets, responses: CoarseHist::of(counts), ..TickDetail::default() }
    }

    #[test]
    fn a_stretch_contains_the_events_between_two_moments() {
        let mut stretches = Snapshots::begin(5.0, (10.0, &[]), known(100, 0));
        assert!(!stretches.due(5.9) && stretches.due(6.0));
        stretches.push(6.0, known(300, 0));
        stretches.push(7.5, known(300, 5));
        stretches.push(9.0, known(900, 5));
        let moments = stretches.moments(8.0);
        let figures: Vec<(f64, f64, [u64; 3])> =
            moments.iter().map(|m| (m.t_s, m.seconds, [m.completed, m.failed, m.unexpected])).collect();
        assert_eq!(figures, [(5.5, 1.0, [200, 0, 0]), (6.75, 1.5, [0, 15, 10])]);
        assert!(moments[0].p50_us.is_some_and(|us| (us - 1000.0).abs() < 90.0) && moments[1].p50_us.is_none());
    }

    /// Progress details arrive five times a second, so the last stretch (part of the measurement) may be incomplete.
    #[test]
    fn the_shortest_window_with_stretches_has_three() {
        let mut window = Snapshots::begin(0.03, (4.0, &[]), known(0, 0));
        let ticks = (1..).map(|tick| 0.2 * f64::from(tick));
        for now_s in ticks.take_while(|now_s| *now_s < 4.0) {
            if window.due(now_s) {
                window.push(now_s, known(1, 0));
            }
        }
        let of = |duration_s, stages: &[Stage]| LoadPlan { duration_s, stages: stages.to_vec(), ..LoadPlan::default() };
        assert!(is_stretched(&of(4.0, &[])) && window.moments(4.0).len() >= 3, "{}", window.moments(4.0).len());
        assert!(!is_stretched(&of(3.9, &[])) && is_stretched(&of(1.0, &[Stage { seconds: 1.0, from: 1.0, to: 2.0 }])));
    }

    #[test]
    fn an_hour_of_short_stages_has_stretches_to_its_end() {
        let stages = vec![Stage { seconds: 0.6, from: 1.0, to: 2.0 }; 6000];
        let mut load = Snapshots::begin(0.0, (3600.0, &stages), known(0, 0));
        for tick in 1..=18_000 {
            let now_s = 0.2 * f64::from(tick);
            if load.due(now_s) {
                load.push(now_s, known(1, 0));
            }
        }
        let moments = load.moments(1e9);
        assert!(moments.len() <= 402 && moments.last().is_some_and(|m| m.t_s > 3580.0), "{:?}", moments.last());
    }

    #[test]
    fn a_stretch_ends_shortly_before_each_stage_ends() {
        let stages = [2.0, 0.7, 3.3].map(|seconds| Stage { seconds, from: 1.0, to: 2.0 });
        for phase_s in [0.0, 0.07, 0.13, 0.19] {
            let mut load = Snapshots::begin(0.01, (6.0, &stages), known(0, 0));
            let ticks = (1..).map(|tick| phase_s + 0.2 * f64::from(tick));
            for now_s in ticks.take_while(|now_s| *now_s < 6.0) {
                if load.due(now_s) {
                    load.push(now_s, known(1, 0));
                }
            }
            let ends: Vec<f64> = load.moments(6.0).iter().map(|m| m.t_s + m.seconds / 2.0).collect();
            for edge_s in [2.0, 2.7, 6.0] {
                let is_near = |end_s: &f64| (edge_s - 0.201..=edge_s).contains(end_s);
                assert!(ends.iter().any(is_near), "no stretch ends before {edge_s} s: {ends:?}");
            }
        }
    }

    #[test]
    fn a_day_has_as_many_stretches_as_some_minutes() {
        let mut day = Snapshots::begin(0.0, (86_400.0, &[]), known(0, 0));
        for second in 1..200_000 {
            let now_s = f64::from(second);
            if day.due(now_s) {
                day.push(now_s, known(1, 0));
            }
        }
        assert!((390..=402).contains(&day.moments(1e9).len()), "{}", day.moments(1e9).len());
        assert!(!Snapshots::default().due(100.0) && Snapshots::default().moments(100.0).is_empty());
    }
}

//! Stops of a server that recur under any load: for a while, the server answers nothing. For example, a lock is held
//! for 150 ms in each second, or a garbage collection stops all threads. A client of a closed loop meets each stop only
//! once, so few of its answers are slow. In an open loop, all requests that arrive during a stop are late. A stop
//! delays these requests, not a queue, so a lower rate does not help.

use run::{Limits, SummaryFigure, Trial};

use super::rare_slow::Slow;
use crate::context::single::{clients, closed, good, highest_rate};
use crate::estimate::objective::holds;
use crate::number::{duration, median, percent, positive};
use crate::thresholds::{FAR_SLOWER, FEWEST_WINDOWS, HARMLESS, MUCH_LOWER, NOTICED_US};

/// Stops of a server under light loads, which break a limit on a percentile at any rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RecurringStops {
    /// Share of the time in which requests are slow because of a stop, 0 to 1.
    share: f64,
    /// Length of a stop, microseconds.
    length_us: f64,
    /// Percentile whose limit the stops break.
    figure: SummaryFigure,
    /// Limit that the stops break, microseconds.
    limit_us: f64,
}

/// One load, and the shares of its time in which requests were slow.
struct Seen<'a> {
    trial: &'a Trial,
    /// Share of the time in which a new request would have met the stop, or its backlog, 0 to 1.
    slow: f64,
    /// Share of the time in which a new request would have taken longer than the limit, 0 to 1.
    late: f64,
}

impl RecurringStops {
    /// Finds the stops in the light loads, which have at most half of the highest rate. Returns `None` if an open loop
    /// met the objective, or if the light loads show too few stops.
    pub(crate) fn of(loads: &[&Trial], limits: &Limits) -> Option<Self> {
        if loads.iter().any(|t| !closed(t) && holds(t, limits)) {
            return None;
        }
        let most = highest_rate(loads.iter().copied());
        let is_light = |t: &&Trial| good(t) <= MUCH_LOWER * most;
        let light: Vec<&Trial> = loads.iter().copied().filter(is_light).collect();
        let figures = [(SummaryFigure::P99, limits.p99_us), (SummaryFigure::P999, limits.p99_9_us)];
        figures.into_iter().find_map(|(figure, limit_us)| Self::beyond(&light, figure, limit_us?))
    }

    fn beyond(light: &[&Trial], figure: SummaryFigure, limit_us: f64) -> Option<Self> {
        let seen: Vec<Seen<'_>> = light.iter().filter_map(|trial| Seen::of(trial, limit_us)).collect();
        let with_stop: Vec<&Seen<'_>> = seen.iter().filter(|seen| seen.late > 0.0).collect();
        let length_us = median(with_stop.iter().map(|seen| seen.trial.latency_us.max).collect())?;
        let is_broken = mean_over_time(&seen, |seen| seen.late) > figure.share_above()?;
        let share = mean_over_time(&seen, |seen| seen.slow);
        (with_stop.len() >= FEWEST_WINDOWS && is_broken).then_some(Self { share, length_us, figure, limit_us })
    }

    /// Describes the stops, with the objective that could be met.
    pub(crate) fn sentence(&self) -> String {
        let option = if self.figure == SummaryFigure::P999 { "--p99.9" } else { "--p99" };
        let name = option.trim_start_matches('-');
        let (length, limit) = (duration(self.length_us), duration(self.limit_us));
        format!(
            "answers take up to about {length} in {} of the time at any load, because the server keeps stopping, so no \
             rate holds {name} under {limit}: mend the stops, or allow them ({option} {})",
            percent(self.share),
            duration(self.length_us + NOTICED_US).replace(' ', "")
        )
    }
}

impl<'a> Seen<'a> {
    /// Returns `None` for a load without response times, and for a load that a pause of the machine may have made slow.
    fn of(trial: &'a Trial, limit_us: f64) -> Option<Self> {
        let mut pauses = trial.measured.pauses.iter();
        if pauses.any(|pause| 1e6 * pause.length_s() > HARMLESS * limit_us) {
            return None;
        }
        let times = trial.histograms.get("response")?;
        let usual_us = positive(times.quantile_us(SummaryFigure::P50.share()?))?;
        let slow = Slow::of(times, FAR_SLOWER * usual_us);
        let late = Slow::of(times, limit_us);
        // A client of a closed loop waits until a stop ends. Few answers of such a client are slow, so their total time
        // counts, not their number.
        let client_us = 1e6 * clients(trial) * trial.measured.window.length_s();
        Some(match closed(trial) {
            true => Self { trial, slow: slow.sum_us / client_us, late: late.excess_us(limit_us) / client_us },
            false => Self { trial, slow: slow.share(), late: late.share() },
        })
    }
}

/// Returns the mean of a share over the time of all loads.
fn mean_over_time(seen: &[Seen<'_>], share: impl Fn(&Seen<'_>) -> f64) -> f64 {
    let length_s = |seen: &Seen<'_>| seen.trial.measured.window.length_s();
    let all_s: f64 = seen.iter().map(length_s).sum();
    seen.iter().map(|seen| share(seen) * length_s(seen)).sum::<f64>() / all_s.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use run::Hist;

    use super::*;
    use crate::planted::{PlantedRun, Point};

    const STOP_S: f64 = 0.15;

    /// Makes the run of a server that stops for 150 ms in each second, in the loads for which `stops` returns true.
    fn run(stops: fn(&Point) -> bool) -> PlantedRun {
        let change = move |t: &mut Trial, p: &Point| {
            let mut times = Hist::new();
            let (answers, seconds) = (p.x * t.measured.window.length_s(), t.measured.window.length_s());
            times.record_many_ns((p.r_us * 1e3) as u64, answers as u64);
            let slow_us: Vec<f64> = match (stops(p), closed(t)) {
                (false, _) => Vec::new(),
                (true, true) => vec![STOP_S * 1e6; (p.n * seconds) as usize],
                // A request that arrives during a stop waits until the stop ends.
                (true, false) => (0..(STOP_S * answers) as u32).map(|i| 1e6 * f64::from(i) / answers).collect(),
            };
            slow_us.iter().for_each(|us| times.record_ns((us * 1e3) as u64 + 1000));
            t.latency_us = run::Summary::of(&times);
            t.histograms.insert("response".into(), times);
        };
        PlantedRun::new(150.0, 14_000.0).rates(&[0.3, 0.4, 1.2]).change(change)
    }

    fn warnings(run: &PlantedRun) -> Vec<String> {
        let mut run = run.run();
        crate::judge(&mut run);
        run.findings.trust.warnings.into_iter().filter(|warning| warning.contains("keeps stopping")).collect()
    }

    /// An earlier version of loadline only said that the capacity is below the lowest rate that was tried.
    #[test]
    fn stops_at_any_load_explain_why_no_rate_holds_the_objective() {
        let told = warnings(&run(|_| true));
        assert_eq!(told.len(), 1, "{told:?}");
        let wanted = ["up to about 150 ms in 13.6 %", "at any load", "no rate holds p99 under 100 ms", "--p99 250ms"];
        assert!(wanted.iter().all(|words| told[0].contains(words)), "{told:?}");
    }

    #[test]
    fn stops_of_heavy_loads_and_stops_that_the_objective_allows_are_not_told() {
        assert_eq!(warnings(&run(|p| p.x > 7000.0)), [""; 0]);
        let allowed = run(|_| true).plan(|plan| plan.objective.p99_us = Some(300_000.0));
        assert_eq!(warnings(&allowed), [""; 0]);
    }
}

//! Signals: named values with their intervals. Each signal is compared with one threshold.
//!
//! A signal near its threshold is weak evidence, and a signal far from its threshold is strong evidence. The distance
//! from the threshold, divided by the signal's width, is a logarithm of odds: the odds that the true value is above the
//! threshold (a logistic curve). Evidence adds up as log odds, so no rule switches abruptly at a threshold.

use run::Window;
use stats::Sample;
use stats::moments::NORMAL_95;
use stats::student::t95;

use crate::context::view::View;
use crate::number::positive;
use crate::thresholds::FEWEST_WINDOWS;

pub(crate) mod cpu;
pub(crate) mod full;
pub(crate) mod good_work;
pub(crate) mod interrupts;
pub(crate) mod limit_evidence;
pub(crate) mod medium;
pub(crate) mod ready;
#[cfg(test)]
mod simulated;

/// Number of parts into which a window is split. The spread of a signal's values over the parts of the window gives the
/// signal's interval.
const PARTS: usize = 8;

/// A measured value and its threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signal {
    /// Name of the signal in words.
    pub name: &'static str,
    /// Measured value of the signal.
    pub value: f64,
    /// Lower end of the 95 % interval of `value`.
    pub low: f64,
    /// Upper end of the 95 % interval of `value`.
    pub high: f64,
    /// Value at which the signal supports the verdict and the opposite equally.
    pub threshold: f64,
    /// Distance from the threshold at which "above" is e (2.72) times as likely as "below", or the reverse.
    pub width: f64,
    /// ID of the verdict that would hold if the value were on the other side of the threshold. An empty ID stands for
    /// the verdict that the rules rank second.
    pub beyond: &'static str,
    /// True if a value below the threshold supports the verdict; false if a value above the threshold does.
    pub carries_below: bool,
}

impl Signal {
    /// Makes a signal whose value has no interval.
    pub fn new(name: &'static str, value: f64, (threshold, width): (f64, f64)) -> Self {
        Self { name, value, low: value, high: value, threshold, width, beyond: "", carries_below: false }
    }

    /// Makes a signal from a share of counted events, such as dropped connects. The width of the signal is the
    /// statistical error of the share, which follows from the square root of the count. A few events therefore never
    /// make a sure signal.
    pub(crate) fn counted(name: &'static str, (share, events): (f64, f64), threshold: f64) -> Self {
        let error = share.max(f64::MIN_POSITIVE) / events.max(1.0).sqrt();
        Self::new(name, share, (threshold, error)).within(Some((share - NORMAL_95 * error, share + NORMAL_95 * error)))
    }

    /// Makes a signal from a number of events. The width of the signal is the statistical error of the count: the
    /// square root of the number of events.
    pub(crate) fn count(name: &'static str, events: f64, threshold: f64) -> Self {
        Self::counted(name, (events, events), threshold)
    }

    /// Returns the probability that the true value is above the threshold.
    pub(crate) fn chance(&self) -> f64 {
        chance(self.log_odds())
    }

    /// Turns the signal into one that supports its verdict below the threshold. `id` is the verdict for a value above
    /// the threshold. If `id` is empty, this verdict is the one that the rules rank second.
    pub(crate) fn beyond(self, id: &'static str) -> Self {
        Self { beyond: id, carries_below: true, ..self }
    }

    /// Returns true if the value is on the side of the threshold that supports the verdict.
    pub(crate) fn carries(&self) -> bool {
        self.carries_below == (self.log_odds() < 0.0)
    }

    /// Returns the signal with `interval` as the interval of its value.
    pub(crate) fn within(self, interval: Option<(f64, f64)>) -> Self {
        let (low, high) = interval.unwrap_or((self.value, self.value));
        Self { low: low.min(self.value), high: high.max(self.value), ..self }
    }

    /// Returns the log odds that the true value is above the threshold.
    pub(crate) fn log_odds(&self) -> f64 {
        (self.value - self.threshold) / self.width
    }

    /// Returns the distance from the threshold in units of the width.
    pub(crate) fn distance(&self) -> f64 {
        self.log_odds().abs()
    }
}

/// Converts log odds to a probability.
pub fn chance(log_odds: f64) -> f64 {
    if log_odds.is_nan() { 0.0 } else { 1.0 / (1.0 + (-log_odds).exp()) }
}

/// Returns the odds of a probability.
pub(crate) fn odds(chance: f64) -> f64 {
    let chance = chance.clamp(0.0, 1.0 - f64::EPSILON);
    chance / (1.0 - chance)
}

/// Lowers the probability `chance` of a cause that competes with other causes. `rivals` contains the probabilities of
/// the causes that this cause does not explain. All causes share the probability in proportion to their odds.
pub(crate) fn shared(chance: f64, rivals: impl Iterator<Item = f64>) -> f64 {
    let own = odds(chance);
    let all: f64 = own + rivals.map(odds).sum::<f64>();
    if all > own { chance * own / all } else { chance }
}

/// Returns the 95 % interval of the mean of a value over the parts of a window. `of` computes the value of a part from
/// the counter `counter`. Returns `None` if the window has too few parts for an interval. Each part begins and ends at
/// a sample of the counter, since some rows of a recording lack a value of this counter.
pub(crate) fn spread(view: &View<'_>, counter: &str, of: impl Fn(&View<'_>) -> Option<f64>) -> Option<(f64, f64)> {
    let recording = &view.side.recording;
    let columns: Vec<&run::Column> = recording.columns.iter().filter(|c| c.counter.as_str() == counter).collect();
    let is_read = |row: usize| columns.iter().any(|column| matches!(column.values.get(row), Some(Some(_))));
    let rows = recording.t_s.iter().copied().enumerate();
    let times: Vec<f64> = rows.filter(|(row, t)| view.window.holds(*t) && is_read(*row)).map(|(_, t)| t).collect();
    let steps = times.len().checked_sub(1)?;
    let parts = PARTS.min(steps);
    let at = |n: usize| times.get(n * steps / parts).copied();
    let part = |n: usize| {
        let window = Window { begin_s: at(n)?, end_s: at(n + 1)? };
        let span_s = positive(recording.span_s(window));
        of(&View { window, span_s, ..*view }).filter(|value| value.is_finite())
    };
    let values: Vec<f64> = (0..parts).filter_map(part).collect();
    let sample = Sample::of(&values).filter(|_| values.len() >= FEWEST_WINDOWS)?;
    let half = t95(sample.n - 1.0) * sample.error();
    half.is_finite().then_some((sample.mean - half, sample.mean + half))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The samples (readings of the counters) in the recording of this test are not equally spaced in time.
    #[test]
    fn a_value_has_an_interval_however_its_samples_are_spaced() {
        let mut run = crate::planted::planted("server-single-thread").unwrap();
        for side in run.trials.iter_mut().filter_map(|t| t.server.as_mut()) {
            let times = [0.0, 0.31, 0.52, 0.9, 1.05, 1.41, 1.62, 1.88, 2.0];
            let busy = [0.0, 0.3, 0.5, 0.86, 1.0, 1.33, 1.53, 1.77, 1.9];
            side.recording.t_s = times.into();
            for column in &mut side.recording.columns {
                let is_thread = column.counter.as_str() == "thread.cpu" && column.instance == "srv:100/101";
                let first = column.values.first().copied().flatten();
                let at = |n: usize| if is_thread { Some(busy[n] * 1e6) } else { first };
                column.values = (0..times.len()).map(at).collect();
            }
        }
        crate::judge(&mut run);
        let facts = crate::Facts::of(&run);
        let thread = cpu::ServerCpu::of(&facts).and_then(|cpu| cpu.thread()).unwrap();
        let Signal { value, low, high, .. } = thread.ran;
        assert!(low < value && value < high && high - low < 0.1, "{low} {value} {high}");
    }

    /// In one run, the counters of processes were read less often than those of CPUs. An earlier version of loadline
    /// treated parts of the window with fewer than two samples as idle.
    #[test]
    fn rows_without_a_sample_of_a_counter_are_no_part_of_its_interval() {
        let mut run = crate::planted::planted("server-single-thread").unwrap();
        for side in run.trials.iter_mut().filter_map(|t| t.server.as_mut()) {
            side.recording.t_s = (0..=8).map(|n| f64::from(n) / 4.0).collect();
            for column in &mut side.recording.columns {
                let is_process = column.counter.as_str() == "process.cpu";
                let first = column.values.first().copied().flatten();
                let at = |n: usize| match is_process {
                    true => n.is_multiple_of(4).then_some(n as f64 * 0.25e6),
                    false => first,
                };
                column.values = (0..=8).map(at).collect();
            }
        }
        crate::judge(&mut run);
        let wants = cpu::ServerCpu::of(&crate::Facts::of(&run)).and_then(|cpu| cpu.wants).unwrap();
        assert_eq!((wants.low, wants.high), (wants.value, wants.value), "two parts have no interval");
    }

    #[test]
    fn few_events_never_make_a_sure_signal() {
        let lost = |events| Signal::counted("lost share", (0.03, events), 0.01);
        assert!((lost(0.0).chance() - lost(1.0).chance()).abs() < 1e-9 && lost(1.0).chance() < 0.7);
        assert!((0.7..0.85).contains(&lost(4.0).chance()) && lost(100.0).chance() > 0.99);
        assert!(lost(4.0).low < 0.01 && lost(100.0).low > 0.01);
        assert!(Signal::counted("none", (0.0, 0.0), 0.01).chance() < 1e-9);
    }

    #[test]
    fn a_signal_at_its_threshold_says_nothing_and_each_width_multiplies_the_odds() {
        let at = |value| chance(Signal::new("busy", value, (0.9, 0.02)).log_odds());
        assert!((at(0.9) - 0.5).abs() < 1e-9);
        assert!((odds(at(0.92)) / odds(at(0.9)) - 1.0_f64.exp()).abs() < 1e-9);
        assert!(chance(f64::NAN) == 0.0 && odds(1.0).is_finite() && odds(f64::NAN).is_nan());
    }
}

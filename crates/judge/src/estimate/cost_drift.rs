//! Growth of the CPU time per answer during a run. A server whose list, table or cache grows with each request needs
//! more CPU time for each answer than at the beginning. A machine that becomes slower lengthens the generator's CPU
//! time per answer, too, and in the same proportion. The two figures together tell a slower server from a slower
//! machine.

use run::{Trial, Window};
use stats::trend::trend_within;

use crate::Facts;
use crate::context::single::{closed, good, highest_rate, refused, server_of};
use crate::context::view::View;
use crate::number::{duration, grew, median, positive};
use crate::thresholds::{COST_MATTERS, FEWEST_WINDOWS, MACHINE_SLOWER, MUCH_LOWER, REFUSED, TREND_SURE};

/// Minimum number of measurements for a trend. Fewer measurements cannot exceed [`TREND_SURE`].
const FEWEST_POINTS: usize = 8;
/// Number of parts of the window, if the run has a single load.
const PARTS: usize = 20;

/// Cause of a growing CPU time per answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slower {
    /// The server needs more CPU time per answer, and the generator does not.
    Server,
    /// Server and generator need more CPU time per answer, in about the same proportion.
    Machine,
}

/// CPU time per answer at the beginning and at the end of a run, microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Course {
    begin_us: f64,
    end_us: f64,
    /// Growth of the logarithm per second.
    slope: f64,
    /// Test statistic of the trend, in standard deviations.
    z: f64,
}

impl Course {
    /// Returns the course of the CPU time, by a straight line through its logarithms. `sound` and `disturbed` are
    /// moments, in seconds, and CPU times, in loads without and with other programs. Other programs may lengthen each
    /// CPU time, because they use caches and hyper-threads. Disturbed loads are therefore compared only with each
    /// other. The line passes through the sound loads. Returns `None` if there are fewer than `fewest` loads, or if no
    /// load is sound.
    fn of(sound: &[(f64, f64)], disturbed: &[(f64, f64)], fewest: usize) -> Option<Self> {
        let logarithms =
            |points: &[(f64, f64)]| -> Vec<(f64, f64)> { points.iter().map(|(t_s, us)| (*t_s, us.ln())).collect() };
        if sound.len() + disturbed.len() < fewest {
            return None;
        }
        let [sound, disturbed] = [sound, disturbed].map(logarithms);
        // If all values are equal, there is no trend.
        let (slope, z) = trend_within(&[&sound, &disturbed]).map_or((0.0, 0.0), |found| (found.slope, found.z));
        let middle = |of: fn(&(f64, f64)) -> f64| median(sound.iter().map(of).collect());
        let (t_s, ln) = (middle(|point| point.0)?, middle(|point| point.1)?);
        let at = |moment_s: f64| (ln + slope * (moment_s - t_s)).exp();
        let times = || sound.iter().chain(&disturbed).map(|point| point.0);
        let (begin_s, end_s) = (times().reduce(f64::min)?, times().reduce(f64::max)?);
        Some(Self { begin_us: at(begin_s), end_us: at(end_s), slope, z })
    }

    /// Returns the natural logarithm of the factor by which the CPU time per answer grew.
    fn growth(&self) -> f64 {
        (self.end_us / self.begin_us).ln()
    }

    fn text(&self, of: &str) -> String {
        let (begin, end) = (duration(self.begin_us), duration(self.end_us));
        format!("from {begin} to {end} at the {of} ({})", grew(self.end_us / self.begin_us - 1.0))
    }
}

/// Growth of the server's CPU time per answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CostDrift {
    server: Course,
    generator: Course,
}

impl CostDrift {
    /// Finds the growth of the server's CPU time per answer in a run. Leaves out light loads, because a lightly loaded
    /// side needs more CPU time per answer. A light load has less than half of the highest rate and of the largest CPU
    /// use. In a run with a single load, compares the parts of its window. Returns `None` if the server's CPU time per
    /// answer did not grow, or if too few loads show it.
    pub(crate) fn of(facts: &Facts<'_>) -> Option<Self> {
        let costs = Costs::of(facts);
        let server = Course::of(&costs.server(false), &costs.server(true), FEWEST_POINTS)?;
        let loops =
            [true, false].map(|is_closed| [false, true].map(|is_disturbed| costs.generator(is_closed, is_disturbed)));
        let most = |[sound, disturbed]: &[Vec<_>; 2]| (!sound.is_empty(), sound.len() + disturbed.len());
        let [sound, disturbed] = loops.into_iter().max_by_key(most)?;
        let generator = Course::of(&sound, &disturbed, FEWEST_WINDOWS)?;
        let is_grown = server.z >= TREND_SURE && server.growth() >= (1.0 + COST_MATTERS).ln();
        is_grown.then_some(Self { server, generator })
    }

    /// Returns the cause of the growth: a slower server or a slower machine. If the generator's CPU time per answer
    /// grew by more than half as much in the same time, the machine became slower.
    pub(crate) fn slower(&self) -> Slower {
        if self.generator.slope < MACHINE_SLOWER * self.server.slope { Slower::Server } else { Slower::Machine }
    }

    /// Describes the growth and its cause, with the figures of both sides.
    pub(crate) fn sentence(&self) -> String {
        let costs = format!(
            "the CPU time per answer went {}, and {}",
            self.server.text("server"),
            self.generator.text("generator")
        );
        match self.slower() {
            Slower::Server => format!(
                "the server became slower during the run, not the machine: {costs}; a list, a table or a cache may grow, so each \
                 rate and time holds only for its moment"
            ),
            Slower::Machine => format!("the machine became slower during the run: {costs}"),
        }
    }
}

/// CPU times per answer in the loads of a run, or in the parts of its single load, by time.
struct Costs(Vec<Cost>);

impl Costs {
    /// Returns the costs in all loads except light ones. Loads that other programs disturbed are included.
    fn of(facts: &Facts<'_>) -> Self {
        let sound = || facts.sweep.iter().chain(&facts.search).copied().filter(|trial| refused(trial) < REFUSED);
        let disturbed = || facts.spoiled.iter().copied().filter(|trial| refused(trial) < REFUSED);
        let used = |trial: &Trial| server_of(trial).and_then(|view| view.cpu_used()).unwrap_or(0.0);
        let loads = || sound().chain(disturbed());
        let (most_used, most) = (loads().map(used).fold(0.0, f64::max), highest_rate(loads()));
        let is_heavy = |t: &&Trial| good(t) >= MUCH_LOWER * most || used(t) >= MUCH_LOWER * most_used;
        let of_loads = || {
            let of_disturbed = |trial: &Trial| Some(Cost { is_disturbed: true, ..Cost::of(trial)? });
            sound().filter(is_heavy).filter_map(Cost::of).chain(disturbed().filter(is_heavy).filter_map(of_disturbed))
        };
        let mut costs: Vec<Cost> = match facts.decisive.filter(|_| sound().next().is_none()) {
            Some(single) => parts(single).into_iter().filter_map(|window| Cost::within(single, window)).collect(),
            None => of_loads().collect(),
        };
        costs.sort_by(|a, b| a.t_s.total_cmp(&b.t_s));
        Self(costs)
    }

    /// Returns the moments of the disturbed or the sound loads, in seconds, and the server's CPU times.
    fn server(&self, is_disturbed: bool) -> Vec<(f64, f64)> {
        let of_kind = self.0.iter().filter(|cost| cost.is_disturbed == is_disturbed);
        of_kind.map(|cost| (cost.t_s, cost.server_us)).collect()
    }

    /// Returns the moments of the closed or the open loops among the disturbed or the sound loads, in seconds, and the
    /// generator's CPU times.
    fn generator(&self, is_closed: bool, is_disturbed: bool) -> Vec<(f64, f64)> {
        let is_of_kind = |cost: &&Cost| (cost.is_closed, cost.is_disturbed) == (is_closed, is_disturbed);
        self.0.iter().filter(is_of_kind).map(|cost| (cost.t_s, cost.generator_us)).collect()
    }
}

/// CPU time per answer of both sides, in one load or in a part of it.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// Middle of the window, seconds since 1970, or since the load began if there is only one load.
    t_s: f64,
    server_us: f64,
    generator_us: f64,
    /// True for a closed loop. The generator of an open loop also keeps its times, so it needs more CPU time per
    /// answer.
    is_closed: bool,
    /// True if other programs used much of the CPUs during most of the load.
    is_disturbed: bool,
}

impl Cost {
    /// Returns the costs in the window of a trial.
    fn of(trial: &Trial) -> Option<Self> {
        let began_s = trial.measured.load_began_unix_s?;
        let cost = Self::by_rate(trial, trial.measured.window, trial.rates.completed_rate)?;
        Some(Self { t_s: began_s + cost.t_s, ..cost })
    }

    /// Returns the CPU time per answer of both sides in a part of a trial's window.
    fn within(trial: &Trial, window: Window) -> Option<Self> {
        let (measured, step_s) = (&trial.measured, trial.measured.step_s());
        let is_inside =
            |i: usize| window.holds(measured.window.begin_s + f64::midpoint(i as f64, (i + 1) as f64) * step_s);
        let rates = measured.series_completed.iter().enumerate().filter(|(i, _)| is_inside(*i)).map(|(_, rate)| *rate);
        let rates: Vec<f64> = rates.collect();
        let rate = (!rates.is_empty()).then(|| stats::average(&rates))?;
        Self::by_rate(trial, window, rate)
    }

    fn by_rate(trial: &Trial, window: Window, rate: f64) -> Option<Self> {
        let us = |view: View<'_>| {
            let span_s = positive(view.side.recording.span_s(window));
            positive(View { window, span_s, ..view }.cpu_used()? / rate * 1e6)
        };
        let server_us = server_of(trial).and_then(us)?;
        let generator_us = us(View::new("client", trial, &trial.client))?;
        let t_s = f64::midpoint(window.begin_s, window.end_s);
        Some(Self { t_s, server_us, generator_us, is_closed: closed(trial), is_disturbed: false })
    }
}

/// Returns equal parts of a trial's window.
fn parts(trial: &Trial) -> Vec<Window> {
    let window = trial.measured.window;
    let at = |part: usize| window.begin_s + window.length_s() * part as f64 / PARTS as f64;
    (0..PARTS).map(|part| Window { begin_s: at(part), end_s: at(part + 1) }).collect()
}

#[cfg(test)]
mod tests;

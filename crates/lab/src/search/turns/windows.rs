//! Measurements (windows) of two servers under the requested load: their order, number, length and time.

use run::{Intensity, Trial, TrialKind, WindowOrder};

use judge::Pairing;

use super::duet::Placement;
use super::side_turn::{at_once, turn};
use crate::search::Conductor;
use crate::search::step::is_alive;
use crate::trial::turn_order::TurnOrder;
use crate::{LabError, Point};

/// Minimum length of a measurement, seconds.
const MIN_WINDOW_S: f64 = 0.2;
/// Length of a measurement of a fast server, if the budget is large enough, seconds.
const PREFERRED_WINDOW_S: f64 = 0.6;
/// Maximum length of a measurement's warm-up, seconds.
const MAX_WARM_UP_S: f64 = 0.3;
/// Time that a measurement takes beyond its length, for the warm-up and for starting and ending the load, seconds.
const WINDOW_OVERHEAD_S: f64 = 0.4;
/// Minimum length of a measurement as a multiple of the response time, if the budget allows it.
const RESPONSES_PER_WINDOW: f64 = 20.0;
/// Minimum number of measurements per server. Fewer measurements seldom detect a difference. In a simulation of 200
/// comparisons of equal servers, the measurements scatter by 2 %. In the simulation, 97 of the 200 comparisons stay
/// undecided with seven measurements per server, and 7 with twenty (`docs/explanation/compare.md`).
pub(super) const MIN_WINDOWS: u64 = 7;
/// Number of measurements per server that the budget should allow.
const PREFERRED_WINDOWS: f64 = 10.0;

/// Measurements of both servers under the requested load: order, number and duration.
pub(super) struct Windows<'d> {
    order: RecordedOrder,
    /// Moves the servers to their CPUs; `None` if the measurements of a pair run one after the other.
    duet: Option<&'d mut dyn Placement>,
    /// Reason why the servers can no longer be moved, so that later pairs are measured in turns; `None` if the servers
    /// can be moved.
    moves_no_more: Option<String>,
    pub(super) pairs: u64,
    /// Time used by all pairs so far, seconds.
    pub(super) used_s: f64,
    /// Time used by the last pair, seconds.
    pub(super) last_s: f64,
    /// Time budgeted for all pairs, seconds.
    pub(super) room_s: f64,
}

impl<'d> Windows<'d> {
    pub(super) fn new(seed: u64, room_s: f64, duet: Option<&'d mut dyn Placement>) -> Self {
        let order = RecordedOrder::new(seed, duet.is_some());
        Self { order, duet, moves_no_more: None, pairs: 0, used_s: 0.0, last_s: 0.0, room_s }
    }

    /// Returns the order of the two measurements of a pair: one after the other, or at the same time.
    pub(super) fn pairing(&self) -> Pairing {
        if self.order.turns.at_once { Pairing::AtOnce } else { Pairing::InTurns }
    }

    /// Returns true if another pair of measurements can end before `until_s`, the time limit of all pairs together. The
    /// first pair always takes place, because a comparison without any pair of measurements has no result.
    pub(super) fn fit(&self, until_s: f64) -> bool {
        self.pairs == 0 || self.used_s + self.last_s < until_s
    }

    /// Conducts the two measurements of one pair.
    pub(super) fn pair(&mut self, sides: &mut [&mut dyn Conductor; 2]) -> Result<(), LabError> {
        let length_s = length_s(self.room_s, response_s(sides));
        // Both measurements of a pair get the same arrivals and think times. Each pair gets its own arrivals and think
        // times.
        let seed = self.order.turns.seed.wrapping_add(self.pairs);
        let number = self.pairs + 1;
        let order = self.order.pair();
        self.last_s = match self.place(order[0] == 1) {
            true => {
                let took_s = at_once(sides, |side| window(side, number, length_s, seed));
                self.duet.iter_mut().for_each(|duet| duet.restore());
                took_s?
            }
            false => in_turns(sides, order, |side| window(side, number, length_s, seed))?,
        };
        self.used_s += self.last_s;
        self.pairs += 1;
        Ok(())
    }

    /// Moves both servers to separate CPUs. Returns false if the measurements of this pair must run in turns.
    fn place(&mut self, swapped: bool) -> bool {
        let Some(duet) = &mut self.duet else { return false };
        if let Err(why) = duet.place(swapped) {
            duet.restore();
            self.moves_no_more = Some(why);
            self.duet = None;
        }
        self.duet.is_some()
    }

    /// Returns the order of all measurements, and notes on conclusions that need more or longer measurements.
    pub(super) fn end(self, sides: &[&mut dyn Conductor; 2], stopped: bool) -> (WindowOrder, Vec<String>) {
        let length_s = length_s(self.room_s, response_s(sides));
        let moves = self.moves_no_more.map(|why| format!("later pairs of windows ran in turns: {why}"));
        let notes = notes_on_windows(self.pairs, length_s, response_s(sides), stopped);
        (self.order.turns, moves.into_iter().chain(notes).collect())
    }
}

/// Conducts the measurements of a pair one after the other. Returns the total time of the pair's two measurements,
/// seconds.
fn in_turns(
    sides: &mut [&mut dyn Conductor; 2],
    order: [usize; 2],
    act: impl Fn(&mut dyn Conductor) -> Result<(), LabError>,
) -> Result<f64, LabError> {
    let mut all_s = 0.0;
    for at in order {
        let took_s = turn(sides, at, &act)?;
        // The time of measurements does not count as time of a search.
        sides[at].leave_out(took_s);
        all_s += took_s;
    }
    Ok(all_s)
}

/// Conducts one measurement of `window_s` seconds. `number` is the number of the pair, counted from 1.
fn window(side: &mut dyn Conductor, number: u64, window_s: f64, seed: u64) -> Result<(), LabError> {
    let mut plan = side.load().clone();
    (plan.duration_s, plan.warmup_s, plan.seed) = (window_s, MAX_WARM_UP_S, seed);
    if let Intensity::Closed { connections, .. } = plan.intensity {
        plan.threads = plan.threads.min(connections.max(1));
    }
    let point = Point { label: format!("window {number}"), kind: TrialKind::Fixed, ..Point::default() };
    let trial = side.trial(plan, &point)?;
    if trial.measured.tally.completed == 0 && !side.stopped() {
        is_alive(side)?;
    }
    Ok(())
}

/// Returns the length of a measurement, seconds. The length is at least [`RESPONSES_PER_WINDOW`] response times, unless
/// the time then allows fewer than [`MIN_WINDOWS`] measurements of each server.
fn length_s(room_s: f64, response_s: f64) -> f64 {
    let fitting = |pairs: f64| room_s / (2.0 * pairs) - WINDOW_OVERHEAD_S;
    let base_s = fitting(PREFERRED_WINDOWS).clamp(MIN_WINDOW_S, PREFERRED_WINDOW_S);
    (RESPONSES_PER_WINDOW * response_s).min(fitting(MIN_WINDOWS as f64)).max(base_s)
}

/// Returns the response time of the slower server, seconds. The response time of a server is the median of the mean
/// response times in its measurements. Because of the median, one measurement that another program disturbed does not
/// make all later measurements longer. For a measurement without answers, its length counts as the response time.
/// Before the first measurement, the result is 0.
fn response_s(sides: &[&mut dyn Conductor; 2]) -> f64 {
    let mean_s = |t: &Trial| {
        if t.measured.tally.completed > 0 { t.latency_us.mean / 1e6 } else { t.measured.length_s }
    };
    let typical_s = |side: &&mut dyn Conductor| {
        let windows = side.run().trials.iter().filter(|t| t.kind == TrialKind::Fixed);
        judge::median(windows.map(mean_s).filter(|s| s.is_finite()).collect()).unwrap_or(0.0)
    };
    let [a, b] = sides.each_ref().map(typical_s);
    a.max(b)
}

/// Returns notes on conclusions that need more or longer measurements.
fn notes_on_windows(pairs: u64, window_s: f64, response_s: f64, stopped: bool) -> Vec<String> {
    let why = if stopped { "it was ended early" } else { "the budget ended" };
    let few = (pairs < MIN_WINDOWS).then(|| {
        let plural = if pairs == 1 { "" } else { "s" };
        format!("{why} after {pairs} pair{plural} of windows, and fewer than {MIN_WINDOWS} seldom tell anything apart: give more --budget")
    });
    let short = (response_s > 0.0 && window_s < 0.99 * RESPONSES_PER_WINDOW * response_s).then(|| {
        let held = window_s / response_s;
        format!(
            "windows of {window_s:.1} s hold {held:.0} response times of {response_s:.2} s each: what was under way at their ends weighs \
             much; give more --budget"
        )
    });
    few.into_iter().chain(short).collect()
}

/// Generator of the order of turns within each pair, with a record of all orders so far.
struct RecordedOrder {
    order: TurnOrder,
    turns: WindowOrder,
}

impl RecordedOrder {
    fn new(seed: u64, at_once: bool) -> Self {
        Self { order: TurnOrder::new(seed), turns: WindowOrder { seed, new_first: Vec::new(), at_once } }
    }

    fn pair(&mut self) -> [usize; 2] {
        let pair = self.order.pair();
        self.turns.new_first.push(pair[0] == 1);
        pair
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_hold_twenty_response_times_where_seven_pairs_have_room() {
        assert!((length_s(60.0, 0.001) - PREFERRED_WINDOW_S).abs() < 1e-9, "of a quick server as ever");
        assert!((length_s(60.0, 0.1) - 2.0).abs() < 1e-9, "{}", length_s(60.0, 0.1));
        // Measurements become short enough for seven pairs, but not shorter than the minimum length.
        let longest = length_s(60.0, 5.0);
        assert!((14.0 * (longest + WINDOW_OVERHEAD_S) - 60.0).abs() < 1e-6, "{longest}");
        assert!((length_s(1.0, 5.0) - MIN_WINDOW_S).abs() < 1e-9);
    }

    #[test]
    fn notes_say_what_a_short_budget_left_open() {
        assert_eq!(notes_on_windows(12, 0.6, 0.001, false), Vec::<String>::new());
        let few = notes_on_windows(3, 0.6, 0.001, false);
        assert!(few.len() == 1 && few[0].contains("the budget ended after 3 pairs"), "{few:?}");
        assert!(notes_on_windows(3, 0.6, 0.001, true)[0].contains("ended early"));
        let short = notes_on_windows(7, 2.0, 1.0, false);
        assert!(short.len() == 1 && short[0].contains("hold 2 response times"), "{short:?}");
    }
}

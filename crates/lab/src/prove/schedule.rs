//! Schedule of an experiment's levers. A lever is a temporary change that an experiment makes, such as slowing a CPU.
//! The load is divided into time slots. Each lever is on in half of the time slots, in random order. Time slots are so
//! short that the speed of the machine drifts little within one time slot.

use run::SlotPlan;

use crate::levers::Lever;

/// Share of the whole time budget that the experiment gets, if response times are short. The experiment tests the
/// verdict (the named bottleneck). Of a budget of 30 s, the experiment gets 9 s. If a load test with fewer CPUs
/// follows, the time slots that slow server and generator get about half of the experiment's time.
pub(crate) const BUDGET_SHARE: f64 = 0.3;
/// Largest share of the budget of `find` for an experiment, if response times are long.
pub(crate) const MAX_BUDGET_SHARE: f64 = 0.45;
/// Number of time slots in a block. In each block of time slots, a lever is on as often as it is off.
const BLOCK: usize = 8;
/// Number of time slots at the end of an experiment in which all levers are off. These last time slots show whether
/// throughput recovers.
pub(super) const RECOVERY_SLOTS: usize = BLOCK;
/// Maximum number of time slots. If there is time for more time slots, the experiment makes the time slots longer
/// instead of adding more.
const MAX_SLOTS: u32 = 800;
/// Shortest time slot, seconds.
const MIN_SLOT_S: f64 = 0.015;
/// Shortest time slot if the experiment changes something on another host, seconds. The clock difference between two
/// hosts is known only to within half a round-trip time. In a shorter time slot, this error would be too large.
const MIN_REMOTE_SLOT_S: f64 = 0.06;

/// Requirements for the time slots of an experiment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Density {
    /// Number of requests that a time slot should complete.
    requests: f64,
    /// Minimum length of a time slot as a multiple of the response time. If time slots are shorter, many of the
    /// requests that complete in a time slot began in the preceding time slot.
    responses: f64,
    /// Minimum number of time slots of the experiment, unless a lever needs more time slots.
    slots: u32,
    /// Maximum length of a time slot, seconds.
    longest_s: f64,
    /// Maximum share of a time slot to leave out at its start.
    settle: f64,
    /// Preferred number of time slots if time is short and the levers do not need more. If there is time for more time
    /// slots than preferred, the experiment makes the time slots longer instead of adding more.
    preferred: u32,
}

/// Requirements for the time slots if there is enough time.
const AMPLE: Density =
    Density { requests: 200.0, responses: 10.0, slots: 48, longest_s: 0.5, settle: 0.5, preferred: 64 };
/// Requirements for the time slots if time is short. A count of 25 requests has a standard deviation of at most 20 %. A
/// wide confidence interval is better than no result.
const SHORT: Density =
    Density { requests: 25.0, responses: 5.0, slots: 32, longest_s: 0.5, settle: 0.5, preferred: 64 };
/// Requirements for a server that completes few requests per second. A request that spans two time slots is counted as
/// a fraction in each time slot, so a few completions per time slot are enough. The evaluation therefore leaves out
/// only a small part at the start of a time slot. A request that spans two time slots also weakens the measured effect
/// at the end of a time slot. Leaving out more of the start would therefore not help. In a simulation with a true
/// elasticity of 1, a full CPU handles one request of 0.1 s at a time. The lever takes half of the CPU. With three
/// requests per time slot, the measured elasticity is 0.82 if half of each time slot is left out. The measured
/// elasticity is 0.86 if a fifth of each time slot is left out.
pub(super) const SPARSE: Density =
    Density { requests: 3.0, responses: 1.5, slots: 0, longest_s: 2.0, settle: 0.2, preferred: 0 };
/// Requirements for a server that completes few requests per second, used if the budget has time for longer time slots.
/// With only eight requests per time slot, an elasticity whose true value is 1 is measured as 0.95.
pub(super) const SPARSE_LONG: Density = Density { requests: 8.0, ..SPARSE };

/// Requirements that the levers of an experiment have for the time slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotNeeds {
    /// Shortest time slot in which the effects of all levers are visible, seconds.
    pub(super) least_s: f64,
    /// Minimum time to leave out at the start of each time slot, seconds.
    pub(super) settle_s: f64,
    /// Minimum number of time slots, including one that may be lost to a pause of the machine.
    pub(super) fewest: u32,
    /// True if a few long time slots are enough, because the lever takes whole CPUs and has a large effect.
    pub(super) is_alone: bool,
}

/// Time that the kernel needs to move load to other CPUs after the experiment took one CPU, seconds.
/// `levers/server_cpu_count.rs` describes the measurement behind this value.
const BALANCE_S: f64 = 0.07;

impl SlotNeeds {
    pub(super) fn new(levers: &[&Lever], far: bool) -> Self {
        let shortest_s = if far { MIN_REMOTE_SLOT_S } else { MIN_SLOT_S };
        let least_s = levers.iter().map(|row| row.slot_s).fold(shortest_s, f64::max);
        let is_alone = levers.iter().any(|row| row.is_alone());
        let settle_s = if is_alone { BALANCE_S } else { 0.0 };
        Self { least_s, settle_s, fewest: judge::prove::fewest_slots(levers.len()) as u32 + 1, is_alone }
    }
}

/// Plans the time slots within `seconds`, for a load of `rate` requests per second with a response time of
/// `response_s`. Returns `None` if `seconds` is too short for the minimum number of time slots.
pub(super) fn slots(load: (f64, f64), wanted: SlotNeeds, first_s: f64, seconds: f64) -> Option<SlotPlan> {
    [AMPLE, SHORT].into_iter().find_map(|density| slots_of(density, load, wanted, first_s, seconds))
}

/// Plans the time slots for one set of requirements.
pub(super) fn slots_of(
    density: Density,
    (rate, response_s): (f64, f64),
    wanted: SlotNeeds,
    first_s: f64,
    seconds: f64,
) -> Option<SlotPlan> {
    let asked_s =
        |density: Density| (density.requests / rate.max(1e-3)).max(density.responses * response_s).max(wanted.least_s);
    let ample = density.requests >= AMPLE.requests;
    // A shorter time slot would contain many requests that were queued in the preceding time slot.
    if !ample && asked_s(density) > density.longest_s.max(wanted.least_s) {
        return None;
    }
    let room_s = seconds - first_s;
    let within = |slot_s: f64| slot_s.clamp(wanted.least_s, density.longest_s.max(wanted.least_s));
    let fewest = if wanted.is_alone { wanted.fewest } else { density.slots.max(wanted.fewest) };
    let wanted_s = match ample {
        true => within(asked_s(density)),
        // Time slots are as long as possible, because short time slots could coincide with batches of the server's
        // work.
        false => (room_s / f64::from(if wanted.is_alone { fewest } else { density.preferred.max(fewest) }))
            .clamp(within(asked_s(density)), within(asked_s(AMPLE)).max(within(asked_s(density)))),
    };
    // Add a tiny number, so that a rounding error does not remove the last time slot if this time slot just fits.
    let count = (room_s / wanted_s + 5e-10).floor().min(f64::from(MAX_SLOTS));
    if count < f64::from(fewest) {
        return None;
    }
    let slot_s = (room_s / count).clamp(wanted_s, within(density.longest_s));
    let settle_s = (2.0 * response_s).clamp(0.15 * slot_s, density.settle * slot_s).max(wanted.settle_s);
    Some(SlotPlan { first_s, slot_s, settle_s, count: count as u32 })
}

/// Returns the number of time slots at the end with all levers off. Returns 0 if the levers need all time slots, or if
/// a lever has its own load test.
pub(super) fn recovery_slots(count: u32, levers: &[&Lever]) -> usize {
    let fewest = judge::prove::fewest_slots(levers.len()) + RECOVERY_SLOTS;
    if count as usize >= fewest && levers.iter().all(|row| !row.is_alone()) { RECOVERY_SLOTS } else { 0 }
}

/// Returns the shortest time for time slots of one lever on a server that completes few requests per second, seconds.
/// `least_s` is the shortest time slot that the lever needs.
pub(super) fn least_seconds(load: (f64, f64), least_s: f64, first_s: f64) -> f64 {
    least_seconds_of(SPARSE, load, least_s, first_s)
}

/// Returns the shortest time for time slots of several levers, seconds; `None` if the server completes too few requests
/// for several levers.
pub(super) fn least_seconds_of_many((rate, response_s): (f64, f64), wanted: SlotNeeds, first_s: f64) -> Option<f64> {
    let slot_s = (SHORT.requests / rate.max(1e-3)).max(SHORT.responses * response_s).max(wanted.least_s);
    let fewest = if wanted.is_alone { wanted.fewest } else { SHORT.slots.max(wanted.fewest) };
    (slot_s <= SHORT.longest_s.max(wanted.least_s)).then_some(first_s + slot_s * f64::from(fewest))
}

/// Returns the shortest time for time slots of one lever that meet the requirements in `density`, seconds.
pub(super) fn least_seconds_of(density: Density, (rate, response_s): (f64, f64), least_s: f64, first_s: f64) -> f64 {
    let slot_s = (density.requests / rate.max(1e-3)).max(density.responses * response_s).max(least_s);
    first_s + slot_s * (judge::prove::fewest_slots(1) + 1) as f64
}

/// Returns one flag per time slot: true if the lever is on in that time slot. In the last `recovery` time slots, no
/// lever is on.
pub(super) fn sequence(count: u32, recovery: usize, random: &mut fastrand::Rng) -> Vec<bool> {
    let pulled = (count as usize).saturating_sub(recovery);
    let mut on = Vec::with_capacity(count as usize);
    while on.len() < pulled {
        let mut block: Vec<bool> = (0..BLOCK).map(|i| i < BLOCK / 2).collect();
        random.shuffle(&mut block);
        on.extend(block);
    }
    on.truncate(pulled);
    on.resize(count as usize, false);
    on
}

/// Returns one list per lever with a flag for each time slot: true if the lever is on. Only one lever is on at a time.
/// Each block of time slots has, in random order, one time slot per lever and some time slots without a lever. In the
/// last [`RECOVERY_SLOTS`] time slots, no lever is on.
pub(super) fn one_at_a_time(levers: usize, count: u32, random: &mut fastrand::Rng) -> Vec<Vec<bool>> {
    let mut on = vec![Vec::with_capacity(count as usize); levers];
    let pulled = (count as usize).saturating_sub(RECOVERY_SLOTS);
    while on.first().is_some_and(|on| on.len() < pulled) {
        let mut slots: Vec<usize> = (0..judge::prove::block(levers)).collect();
        random.shuffle(&mut slots);
        on.iter_mut().enumerate().for_each(|(lever, on)| on.extend(slots.iter().map(|slot| *slot == lever)));
    }
    on.iter_mut().for_each(|on| {
        on.truncate(pulled);
        on.resize(count as usize, false);
    });
    on
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a budget of 14 s, an earlier version of loadline skipped the levers that change the server, without a
    /// message.
    #[test]
    fn the_shortest_time_for_several_levers_is_enough_and_less_is_not() {
        for (load, fewest) in [((2000.0, 0.004), 41), ((100.0, 0.02), 33), ((100_000.0, 0.0001), 49)] {
            let needs = SlotNeeds { least_s: MIN_SLOT_S, settle_s: 0.0, fewest, is_alone: false };
            let least_s = least_seconds_of_many(load, needs, 0.4).unwrap();
            assert!(slots(load, needs, 0.4, least_s + 1e-6).is_some(), "{load:?}: {least_s}");
            assert!(slots(load, needs, 0.4, 0.97 * least_s).is_none(), "{load:?}: {least_s}");
        }
        let needs = SlotNeeds { least_s: MIN_SLOT_S, settle_s: 0.0, fewest: 33, is_alone: false };
        assert_eq!(least_seconds_of_many((10.0, 0.1), needs, 0.4), None);
    }

    #[test]
    fn slots_fit_the_time_and_the_load() {
        let slots = |load, least_s, first_s, seconds| {
            slots(load, SlotNeeds { least_s, settle_s: 0.0, fewest: 25, is_alone: false }, first_s, seconds)
        };
        let fast = slots((100_000.0, 0.001), MIN_SLOT_S, 0.5, 8.0).unwrap();
        assert!(fast.end_s() <= 8.0 + 1e-9 && fast.slot_s >= MIN_SLOT_S && fast.count > 100, "{fast:?}");
        let slow = slots((500.0, 0.03), MIN_SLOT_S, 0.5, 30.0).unwrap();
        assert!(slow.slot_s >= 0.4 && slow.settle_s >= 0.06, "{slow:?}");
        let long = slots((100_000.0, 0.001), 0.4, 0.5, 30.0).unwrap();
        assert!(long.slot_s >= 0.4, "{long:?}");
        assert_eq!(slots((100.0, 0.1), MIN_SLOT_S, 0.5, 5.0), None, "a dozen slots tell nothing");
        let short = slots((150.0, 0.04), MIN_SLOT_S, 0.4, 7.5).unwrap();
        assert!(short.count >= 32 && short.slot_s >= 0.2 && short.end_s() <= 7.5 + 1e-9, "{short:?}");
    }

    /// In an earlier version of loadline, three levers got 32 time slots but needed 33, so the experiment had no
    /// result.
    #[test]
    fn there_are_as_many_slots_as_the_levers_need_or_none() {
        let rows: Vec<&Lever> = crate::levers::LEVERS.iter().filter(|row| !row.is_alone()).take(3).collect();
        let slots_for = |seconds| {
            slots((115.0, 0.034), SlotNeeds::new(&rows, false), 0.4, seconds).map(|slots| slots.count as usize)
        };
        let most = [7.0, 7.5, 8.0, 9.0, 10.0, 12.0].map(slots_for);
        assert!(most.iter().flatten().all(|count| *count > judge::prove::fewest_slots(3)), "{most:?}");
        assert!(most[0].is_none() && most[5].is_some(), "{most:?}");
    }

    #[test]
    fn whole_cpus_are_taken_for_a_few_slots_in_which_the_kernel_balances_them() {
        let rows: Vec<&Lever> = crate::levers::LEVERS.iter().filter(|row| row.is_alone()).collect();
        let needs = SlotNeeds::new(&rows, false);
        let found = slots((900.0, 0.009), needs, 0.4, 3.5).unwrap();
        assert!(found.slot_s >= 0.15 && found.settle_s >= BALANCE_S && found.count >= 18, "{found:?}");
        let slow = slots_of(SPARSE, (20.0, 0.1), needs, 0.4, 3.5).unwrap();
        assert!(slow.slot_s >= 0.15 && slow.end_s() <= 3.5 + 1e-9, "{slow:?}");
        let on = sequence(18, 0, &mut fastrand::Rng::with_seed(1));
        assert_eq!((on.len(), on.iter().filter(|on| **on).count() / 8), (18, 1));
    }

    /// In an earlier version of loadline, the experiment on a server with 5 requests per second needed a budget of
    /// several minutes.
    #[test]
    fn a_slow_server_has_slots_with_a_few_requests_in_each() {
        let needs = SlotNeeds { least_s: MIN_SLOT_S, settle_s: 0.0, fewest: 18, is_alone: false };
        for (rate, response_s, seconds) in [(5.0, 0.4, 12.6), (20.0, 0.1, 5.0), (100.0, 0.02, 3.0)] {
            let found = slots_of(SPARSE, (rate, response_s), needs, 0.4, seconds).unwrap();
            assert!(found.end_s() <= seconds + 1e-9 && found.count >= 18, "{found:?}");
            assert!(found.slot_s * rate >= 3.0 - 1e-9 && found.settle_s <= 0.5 * found.slot_s, "{found:?}");
            assert!(least_seconds((rate, response_s), 0.0, 0.4) <= seconds, "{rate}");
        }
        assert_eq!(slots_of(SPARSE, (1.0, 2.0), needs, 0.4, 12.0), None);
        assert!(least_seconds((1.0, 2.0), 0.0, 0.4) > 50.0);
    }

    #[test]
    fn at_a_rate_one_lever_is_on_at_a_time() {
        let on = one_at_a_time(3, 5 * 10 + RECOVERY_SLOTS as u32, &mut fastrand::Rng::with_seed(1));
        assert!(on.iter().all(|on| on.len() == 58 && on.iter().filter(|on| **on).count() == 10), "{on:?}");
        assert!((0..58).all(|slot| on.iter().filter(|on| on[slot]).count() <= usize::from(slot < 50)));
    }

    #[test]
    fn each_lever_is_on_half_of_the_time_and_never_at_the_end() {
        let mut random = fastrand::Rng::with_seed(1);
        let (a, b) = (sequence(168, RECOVERY_SLOTS, &mut random), sequence(168, RECOVERY_SLOTS, &mut random));
        assert_eq!((a.len(), a.iter().filter(|on| **on).count()), (168, 80));
        assert!(a[160..].iter().all(|on| !on));
        assert_ne!(a, b);
    }
}

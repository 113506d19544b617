//! Schedule of the levers: slots that are short compared with the drift of a machine, in random order, half of them
//! on.

use run::SlotPlan;

use crate::levers::Lever;

/// Slots in a block. In each block a lever is on exactly as often as off.
const BLOCK: usize = 8;
/// Slots at the end with all levers off: throughput must recover.
pub(super) const RECOVERY_SLOTS: usize = BLOCK;
/// Minimum number of slots, normally and when time is short.
const MIN_SLOTS: [u32; 2] = [48, 32];
/// Number of slots up to which a short time is spent on more slots rather than longer ones.
const PREFERRED_SLOTS: u32 = 64;
/// Maximum number of slots: more time makes them longer.
const MAX_SLOTS: u32 = 800;
/// Shortest slot, seconds.
const MIN_SLOT_S: f64 = 0.015;
/// Shortest slot with a lever on another host, seconds: its clock is only known to half the round trip.
const MIN_REMOTE_SLOT_S: f64 = 0.06;
/// Longest slot, seconds.
const MAX_SLOT_S: f64 = 0.5;
/// Requests that a slot should complete, normally and when time is short. With fewer, the count scatters by more than
/// a tenth; but a wider interval is better than none.
const REQUESTS_PER_SLOT: [f64; 2] = [200.0, 25.0];
/// Response times that a slot should last, normally and when time is short, so that leftovers of the slot before are
/// a small part of it.
const RESPONSES_PER_SLOT: [f64; 2] = [10.0, 5.0];

/// Requirements of an experiment's levers for its slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotNeeds {
    /// Shortest slot in which all levers show their effect, seconds.
    pub(super) least_s: f64,
    /// Minimum number of slots, plus one that a pause of the machine may spoil.
    pub(super) fewest: u32,
}

impl SlotNeeds {
    pub(super) fn new(levers: &[&Lever], far: bool) -> Self {
        let shortest_s = if far { MIN_REMOTE_SLOT_S } else { MIN_SLOT_S };
        let least_s = levers.iter().map(|row| row.slot_s).fold(shortest_s, f64::max);
        Self { least_s, fewest: judge::prove::fewest_slots(levers.len()) as u32 + 1 }
    }
}

/// Plans the slots for a load of `rate` requests per second with a response time of `response_s`, within `seconds`.
/// Returns `None` if that is too short for the minimum number.
pub(super) fn slots(load: (f64, f64), wanted: SlotNeeds, first_s: f64, seconds: f64) -> Option<SlotPlan> {
    (0..MIN_SLOTS.len()).find_map(|short| slots_if(short, load, wanted, first_s, seconds))
}

/// Plans the slots with enough time (0) or when time is short (1).
fn slots_if(
    short: usize,
    (rate, response_s): (f64, f64),
    wanted: SlotNeeds,
    first_s: f64,
    seconds: f64,
) -> Option<SlotPlan> {
    let asked_s =
        |short: usize| (REQUESTS_PER_SLOT[short] / rate.max(1e-3)).max(RESPONSES_PER_SLOT[short] * response_s);
    // A slot shorter than that would still hold the queue of the slot before.
    if short > 0 && asked_s(short) > MAX_SLOT_S {
        return None;
    }
    let room_s = seconds - first_s;
    let within = |slot_s: f64| slot_s.clamp(wanted.least_s, MAX_SLOT_S);
    let wanted_s = match short {
        0 => within(asked_s(0)),
        // As long as possible with enough slots: a server that answers in batches would be in step with short ones.
        _ => (room_s / f64::from(PREFERRED_SLOTS.max(wanted.fewest))).clamp(within(asked_s(short)), within(asked_s(0))),
    };
    let count = (room_s / wanted_s).floor().min(f64::from(MAX_SLOTS));
    if count < f64::from(MIN_SLOTS[short].max(wanted.fewest)) {
        return None;
    }
    let slot_s = (room_s / count).clamp(wanted_s, MAX_SLOT_S);
    let settle_s = (2.0 * response_s).clamp(0.15 * slot_s, 0.5 * slot_s);
    Some(SlotPlan { first_s, slot_s, settle_s, count: count as u32 })
}

/// Returns the slots in which a lever is on.
pub(super) fn sequence(count: u32, random: &mut fastrand::Rng) -> Vec<bool> {
    let pulled = (count as usize).saturating_sub(RECOVERY_SLOTS);
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

/// Returns for each lever the slots in which it is on, one lever at a time. Blocks are in random order, each with one
/// slot per lever and some without any.
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

    #[test]
    fn slots_fit_the_time_and_the_load() {
        let slots = |load, least_s, first_s, seconds| slots(load, SlotNeeds { least_s, fewest: 25 }, first_s, seconds);
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

    /// Three levers once got 32 slots where 33 were needed, so the experiment had no result.
    #[test]
    fn there_are_as_many_slots_as_the_levers_need_or_none() {
        let rows: Vec<&Lever> = crate::levers::LEVERS.iter().take(3).collect();
        let slots_for = |seconds| {
            slots((115.0, 0.034), SlotNeeds::new(&rows, false), 0.4, seconds).map(|slots| slots.count as usize)
        };
        let most = [7.0, 7.5, 8.0, 9.0, 10.0, 12.0].map(slots_for);
        assert!(most.iter().flatten().all(|count| *count > judge::prove::fewest_slots(3)), "{most:?}");
        assert!(most[0].is_none() && most[5].is_some(), "{most:?}");
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
        let (a, b) = (sequence(168, &mut random), sequence(168, &mut random));
        assert_eq!((a.len(), a.iter().filter(|on| **on).count()), (168, 80));
        assert!(a[160..].iter().all(|on| !on));
        assert_ne!(a, b);
    }
}

//! Clock of the time slots in which an experiment's lever is on or off. A lever is a temporary change that an
//! experiment makes, such as slowing a CPU. The clock runs on the host on which the lever makes its change. The clock
//! also notices commands to stop the lever.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, TryRecvError};

use run::{AgentCommand, LeverPart, LeverPlan, SlotPlan};
use sys::clock;

/// Maximum time between two checks for a stop, nanoseconds.
const CHECK_INTERVAL_NS: u64 = 20_000_000;

/// Maximum share of the measured part of a time slot in which the lever is still on or off as in the time slot before.
/// A lever that is late by at most this share makes the reported speed wrong by at most a tenth of the lever's
/// slowdown.
const MAX_WRONG_SHARE: f64 = 0.1;

/// Start and end times of a lever's time slots on this host's clock, with a flag to stop. All threads of the lever
/// share one `SlotClock`.
pub(super) struct SlotClock {
    pub(super) plan: LeverPlan,
    origin_ns: u64,
    stop: AtomicBool,
}

impl SlotClock {
    pub(super) fn new(plan: &LeverPlan) -> Self {
        let lead = plan.start_at_ns as i128 - i128::from(clock::realtime_ns());
        let origin_ns = (i128::from(clock::monotonic_ns()) + lead).max(0) as u64;
        Self { plan: plan.clone(), origin_ns, stop: AtomicBool::new(false) }
    }

    /// Returns start and end of a time slot, nanoseconds of CLOCK_MONOTONIC.
    pub(super) fn whole_ns(&self, slot: usize) -> (u64, u64) {
        self.at(&SlotPlan { settle_s: 0.0, ..self.plan.slots }, slot)
    }

    /// Returns start and end of the measured part of a time slot, nanoseconds of CLOCK_MONOTONIC. The measured part
    /// begins after the lever's effect has settled.
    pub(super) fn measured_ns(&self, slot: usize) -> (u64, u64) {
        self.at(&self.plan.slots, slot)
    }

    fn at(&self, slots: &SlotPlan, slot: usize) -> (u64, u64) {
        let (begin, end) = slots.measured_ns(slot as u32);
        (self.origin_ns + begin, self.origin_ns + end)
    }

    /// Sleeps until `at_ns` of the monotonic clock. Returns false if the lever is stopped before `at_ns`.
    pub(super) fn sleep_until(&self, at_ns: u64) -> bool {
        self.wait_until(at_ns, || {})
    }

    fn wait_until(&self, at_ns: u64, look: impl Fn()) -> bool {
        loop {
            look();
            let now = clock::monotonic_ns();
            match self.stopped() {
                true => return false,
                false if now >= at_ns => return true,
                false => clock::sleep_until_ns(at_ns.min(now + CHECK_INTERVAL_NS)),
            }
        }
    }

    pub(super) fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    pub(super) fn end(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Ends the time slots because a thread could not be started. Returns the reason, as a text for the user.
    pub(super) fn end_for_lack_of_threads(&self, error: &std::io::Error) -> String {
        self.end();
        format!("no thread could be started: {}", sys::exhausted::why_not_started(error))
    }

    /// Sleeps until `at_ns` of the monotonic clock. Returns false if a command stops the lever before `at_ns`.
    fn hear_until(&self, at_ns: u64, commands: &Receiver<AgentCommand>) -> bool {
        self.wait_until(at_ns, || {
            if matches!(commands.try_recv(), Ok(AgentCommand::Stop) | Err(TryRecvError::Disconnected)) {
                self.end();
            }
        })
    }

    /// Waits for the measured part of each slot, one after another. Calls `begin` at the start of the measured part of
    /// each slot, and `end` at the end of this part. Returns the values that `end` returned, one per slot. A slot has
    /// no value if this thread got no CPU during the measured part, for example because the machine stood still.
    /// Returns an error if the lever was stopped.
    pub(super) fn measure<T, R>(
        &self,
        commands: &Receiver<AgentCommand>,
        begin: impl Fn() -> T,
        end: impl Fn(usize, T) -> R,
    ) -> Result<Vec<Option<R>>, String> {
        let mut seen = Vec::with_capacity(self.plan.on.len());
        for slot in 0..self.plan.on.len() {
            let (from, to) = self.measured_ns(slot);
            if !self.hear_until(from, commands) {
                break;
            }
            if clock::monotonic_ns() >= to {
                seen.push(None);
                continue;
            }
            let before = begin();
            if !self.hear_until(to, commands) {
                break;
            }
            seen.push(Some(end(slot, before)));
        }
        self.end();
        match seen.len() == self.plan.on.len() {
            true => Ok(seen),
            false => Err(format!("the lever {} was stopped after {} slots", self.plan.lever, seen.len())),
        }
    }

    /// Calls `set` at the start of each time slot in which the lever changes to on or off. Returns the speed of the
    /// resource in each time slot: `speed` while the lever is on, and 1 otherwise. The speed is NaN (not a number) if
    /// the lever was switched too late for the measured part of the time slot.
    pub(super) fn switch(
        &self,
        commands: &Receiver<AgentCommand>,
        speed: f64,
        mut set: impl FnMut(bool) -> Result<(), String>,
    ) -> Result<LeverPart, String> {
        let (mut is_on, mut switched_ns) = (false, 0);
        let mut speeds = Vec::with_capacity(self.plan.on.len());
        for (slot, on) in self.plan.on.iter().enumerate() {
            if !self.hear_until(self.whole_ns(slot).0, commands) {
                return Err(format!("the lever {} was stopped after {slot} slots", self.plan.lever));
            }
            if *on != is_on {
                set(*on)?;
                (is_on, switched_ns) = (*on, clock::monotonic_ns());
            }
            let is_in_time = switched_ns <= self.switched_until_ns(slot);
            speeds.push(match (is_in_time, *on) {
                (false, _) => f64::NAN,
                (true, true) => speed,
                (true, false) => 1.0,
            });
        }
        let last = self.plan.on.len().saturating_sub(1);
        self.hear_until(self.whole_ns(last).1, commands);
        Ok(LeverPart { speed: speeds, ..LeverPart::default() })
    }

    /// Returns the last moment at which the lever may be switched for a time slot, nanoseconds of CLOCK_MONOTONIC.
    fn switched_until_ns(&self, slot: usize) -> u64 {
        let (from, to) = self.measured_ns(slot);
        from + (MAX_WRONG_SHARE * to.saturating_sub(from) as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> LeverPlan {
        let slots = SlotPlan { first_s: 0.0, slot_s: 0.01, settle_s: 0.0, count: 4 };
        let on = vec![false, true, true, false];
        LeverPlan { lever: "x".into(), start_at_ns: clock::realtime_ns(), slots, on, ..LeverPlan::default() }
    }

    #[test]
    fn the_lever_switches_only_if_a_slot_differs_from_the_one_before() {
        let (_sender, commands) = std::sync::mpsc::channel();
        let mut said = Vec::new();
        let slots = SlotPlan { slot_s: 0.3, settle_s: 0.25, ..plan().slots };
        let part = SlotClock::new(&LeverPlan { slots, ..plan() }).switch(&commands, 0.5, |on| {
            said.push(on);
            Ok(())
        });
        assert_eq!((said, part.unwrap().speed), (vec![true, false], vec![1.0, 0.5, 0.5, 1.0]));
    }

    /// The lever is ready almost at the end of the third time slot. The first time slot needs no switch.
    #[test]
    fn time_slots_for_which_the_lever_was_switched_too_late_have_no_speed() {
        let slots = SlotPlan { first_s: 0.0, slot_s: 0.3, settle_s: 0.15, count: 6 };
        let on = vec![false, true, false, false, true, false];
        let plan = LeverPlan { start_at_ns: clock::realtime_ns() - 890_000_000, slots, on, ..plan() };
        let (_sender, commands) = std::sync::mpsc::channel();
        let speed = SlotClock::new(&plan).switch(&commands, 0.75, |_| Ok(())).unwrap().speed;
        assert_eq!((speed[0], speed[1].is_nan(), speed[2].is_nan()), (1.0, true, true), "{speed:?}");
        assert_eq!(speed[3..], [1.0, 0.75, 1.0]);
    }

    #[test]
    fn a_slot_that_was_over_before_the_lever_looked_has_no_value() {
        let (_sender, commands) = std::sync::mpsc::channel();
        let started_at_ns = clock::realtime_ns() - 1_000_000_000;
        let plan = LeverPlan { start_at_ns: started_at_ns, ..plan() };
        assert_eq!(SlotClock::new(&plan).measure(&commands, || (), |slot, ()| slot), Ok(vec![None; 4]));
    }

    #[test]
    fn the_lever_stops_if_its_commands_can_no_longer_arrive() {
        let (sender, commands) = std::sync::mpsc::channel();
        drop(sender);
        let error = SlotClock::new(&plan()).switch(&commands, 0.5, |_| Ok(())).unwrap_err();
        assert!(error.contains("stopped after 0 slots"), "{error}");
        assert!(SlotClock::new(&plan()).measure(&commands, || (), |_, ()| 1.0).is_err());
    }
}

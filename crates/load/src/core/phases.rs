//! Phases of a trial (warm-up, window, drain), which the conductor (the process that controls the run) commands.

use run::Phase;

use super::Core;
use crate::driver::Ops;

impl Core {
    /// Records the start of a phase that the conductor (controlling process) ordered for `at_ns`, unless this start is
    /// already recorded. Connections are not changed, because the caller may just be handling an event of a connection.
    ///
    /// A thread that was not scheduled on a CPU reads the command late. The thread did nothing before it read the
    /// command, so the phase counts as started at the ordered time. All agents (generator processes) therefore have the
    /// same measured window, even if they compete for a CPU.
    pub(crate) fn edge(&mut self, phase: Phase, at_ns: u64, now: u64) {
        let mut edge_ns = self.record.edge_ns(at_ns, now);
        if phase == Phase::Drain && self.in_flight == 0 {
            edge_ns = self.recorded_end_ns().map_or(edge_ns, |end| edge_ns.min(end.max(self.answered_ns)));
        }
        self.record.advance(edge_ns, self.in_flight);
        if phase == Phase::Drain && self.record.measuring {
            self.record_under_way(edge_ns);
        }
        self.record.enter(phase, edge_ns);
    }

    /// Starts a phase that the conductor (controlling process) ordered for `at_ns`.
    pub(crate) fn enter<O: Ops>(&mut self, ops: &mut O, phase: Phase, at_ns: u64) {
        let now = ops.now();
        self.edge(phase, at_ns, now);
        ops.tell_phase(phase, now);
        if phase == Phase::Measure {
            self.end_opening(now);
        }
        if phase == Phase::Drain && !self.draining {
            self.drain(ops, now);
        }
    }
}

//! The end of a shard (generator thread): its result, with notes about resources that ran out.

use super::{Core, Mode, State};
use crate::driver::Ops;
use crate::record::Offered;
use run::number::prose::counted;
use sys::exhausted;

impl Core {
    /// Closes all connections, counts the unanswered requests, and returns the result of the shard (generator thread).
    pub(crate) fn finish<O: Ops>(mut self, ops: &mut O) -> run::LoadPart {
        let now = ops.refresh();
        self.record.advance(now, self.in_flight);
        self.record_hung();
        for conn in 0..self.conns.len() as u32 {
            let c = self.conns[conn as usize];
            self.record.counts.unanswered += u64::from(c.in_flight);
            self.record.counts.phantom += u64::from(c.in_flight > 0 && !c.heard);
            if !matches!(c.state, State::Free | State::Waiting) {
                if !matches!(c.state, State::Connecting) {
                    self.say_goodbye(ops, conn);
                }
                ops.close(conn);
            }
        }
        self.record.counts.unanswered += self.requeued.len() as u64;
        let (offered, notes) = (self.offered(), self.notes());
        let opened = (self.task.connect_gap_ns > 0.0).then(|| self.record.opened());
        run::LoadPart { opened, notes, ..self.record.part(now, offered) }
    }

    /// Returns the way to compute the number of offered requests.
    fn offered(&self) -> Offered {
        match &self.mode {
            Mode::Open(pool) if pool.dues().is_even() => Offered::Rate(pool.dues().rate()),
            Mode::Open(_) => Offered::Due,
            Mode::SClients(d) if d.dues().is_some() => Offered::Due,
            Mode::SClients(d) => Offered::Attempts { at_least: d.least_per_s() },
            Mode::Handling => Offered::Attempts { at_least: 0.0 },
            Mode::Closed { .. } => Offered::Sent,
        }
    }

    /// Returns notes for the user about the load and about resources that ran out.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.handed_over + self.kept_here > 0 {
            notes.push(format!(
                "two processes: {} of {} passed on to the handling process; the others were handled where they were established, \
                 because it was behind",
                self.handed_over,
                counted((self.handed_over + self.kept_here) as f64, "connection")
            ));
        }
        if let Mode::SClients(d) = &self.mode
            && d.waited() > 0
        {
            notes.push(format!(
                "{} without a free descriptor waited for one: give more of them (--s-clients), at least the \
                 highest rate times T",
                counted(d.waited() as f64, "arrival")
            ));
        }
        notes.extend(self.ports_ran_out.then(exhausted::no_ports));
        notes.extend(self.fds_ran_out.then(exhausted::no_descriptors));
        notes
    }
}

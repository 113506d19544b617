//! S-Clients (sockets that connect again and again) with an arrival process. Each arrival starts one connect on a free
//! descriptor (there are D descriptors). If a connect is not established within the timeout T, the client gives the
//! connect up and does not repeat it. If no descriptor is free, the arrival waits, and counts as due.

use super::descriptors::{Descriptors, Pace};
use super::due_clock::MAX_DUE_PER_PASS;
use super::{Core, Mode, State};
use crate::driver::Ops;

impl Core {
    pub(super) fn pace(&mut self) -> Option<&mut Pace> {
        self.descriptors().and_then(|d| d.pace.as_mut())
    }

    /// Starts the connects that are due, while descriptors are free.
    pub(super) fn sclients_due<O: Ops>(&mut self, ops: &mut O) {
        let now = ops.now();
        for _ in 0..MAX_DUE_PER_PASS {
            let Some(due) = self.pace().and_then(|pace| pace.dues.take_due(now)) else { break };
            self.record.counts.due += 1;
            if self.record.measuring {
                self.record.start_error.record_ns(now.saturating_sub(due));
            }
            if !self.sclients_arrival(ops) {
                self.pace().into_iter().for_each(|pace| pace.waited += 1);
            }
        }
        for _ in 0..MAX_DUE_PER_PASS {
            if !self.sclients_arrival(ops) {
                return;
            }
        }
    }

    /// Starts the connect of the oldest waiting arrival. Returns false if no arrival waits or no descriptor is free.
    fn sclients_arrival<O: Ops>(&mut self, ops: &mut O) -> bool {
        let Mode::SClients(Descriptors { wanted, pace: Some(pace), .. }) = &self.mode else { return false };
        if pace.connecting >= *wanted || pace.dues.waiting() == 0 {
            return false;
        }
        let Some(conn) = self.take_number(ops) else {
            self.fds_ran_out = true;
            return false;
        };
        let Some(pace) = self.pace() else { return false };
        let Some(intended_ns) = pace.dues.take_waiting() else { return false };
        pace.connecting += 1;
        if self.record.measuring {
            self.record.blocked.record_ns(ops.now().saturating_sub(intended_ns));
        }
        self.conns[conn as usize].intended_ns = intended_ns;
        self.connect(ops, conn);
        true
    }

    /// Frees the descriptor of a connect that has succeeded or failed. Returns false if the connects follow no arrival
    /// process.
    pub(super) fn sclients_arrived(&mut self) -> bool {
        self.pace().map(|pace| pace.connecting -= 1).is_some()
    }

    /// Frees the descriptor and the number of a connect that was given up. Returns false if the connects follow no
    /// arrival process.
    pub(super) fn sclients_given_up(&mut self, conn: u32) -> bool {
        let paced = self.sclients_arrived();
        if paced {
            let c = &mut self.conns[conn as usize];
            (c.state, c.deadline_ns) = (State::Free, u64::MAX);
            self.free.push(conn);
        }
        paced
    }
}

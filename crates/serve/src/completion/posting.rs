//! Decides when receives are posted, which kind is used, and which connections get buffers if there are too few.

use super::{MAX_BACKLOG, Operation, Receive, Worker, user_data};

impl Worker {
    /// Posts a receive if it is time for one. `now` means that a zero-byte receive has completed, so that data is
    /// waiting.
    pub(super) fn arm(&mut self, index: u32, now: bool) -> sys::Result<()> {
        let (receive, how) = (self.setup.receive, self.link_flags());
        let drain = self.shard.setup.policy.read.bytes as u32;
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        if conn.armed || conn.input_ended || !conn.state.takes_input() {
            return Ok(());
        }
        // During a send, only a multishot receive is posted, because that kind can be cancelled. A single receive is
        // posted after the answer.
        if receive != Receive::Multishot && (conn.sending || conn.queued) {
            return Ok(());
        }
        if conn.backlog.as_ref().is_some_and(|b| b.len() >= MAX_BACKLOG) {
            return Ok(());
        }
        conn.armed = true;
        let (file, user) = (Self::file(index, conn), user_data(Operation::Recv, conn.generation, index));
        match receive {
            Receive::Multishot => self.ring.recv_multi(file, user)?,
            Receive::Single => self.ring.recv_once(file, false, how, user)?,
            Receive::Empty if now || (conn.drained > 0 && conn.drained < drain) => {
                self.ring.recv_once(file, true, how, user)?;
            }
            Receive::Empty => {
                (conn.empty, conn.drained) = (true, 0);
                self.ring.recv_nothing(file, how, user)?;
            }
        }
        self.signal_end(index)
    }

    /// Posts receives for connections that found no buffer before. To save memory, the strategy high-connections first
    /// uses returned buffers. The strategy takes new buffers only if none was returned during one turn, because peers
    /// that do not read may hold all of them.
    pub(super) fn feed_starved(&mut self) -> sys::Result<()> {
        let returned = self.buffers.returned() as usize;
        if self.starved.is_empty() {
            return Ok(());
        }
        let patient = self.setup.receive == Receive::Empty;
        let fed = match returned {
            0 if patient && !self.waited => 0,
            n if patient && n > 0 => n.min(self.starved.len()),
            _ => {
                self.buffers.more();
                self.starved.len()
            }
        };
        self.waited = patient && fed == 0;
        self.buffers.publish();
        for _ in 0..fed {
            let Some((index, generation)) = self.starved.pop_front() else { break };
            if self.conn(index, generation).is_some() {
                self.arm(index, true)?;
            }
        }
        Ok(())
    }
}

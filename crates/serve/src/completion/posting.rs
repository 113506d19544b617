//! Decides when receive operations are submitted to io_uring, and which kind is used. Also decides which connections
//! get a buffer if there are fewer buffers than connections.

use super::{MAX_BACKLOG, Operation, Receive, Worker, user_data};

impl Worker {
    /// Posts a receive if the connection may receive now and has none posted. `now` is true if data is certainly
    /// waiting, because a zero-byte receive has completed.
    pub(super) fn arm(&mut self, index: u32, now: bool) -> sys::Result<()> {
        let (receive, how) = (self.setup.receive, self.link_flags());
        let drain = self.shard.setup.policy.read.bytes as u32;
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        if conn.armed || conn.input_ended || !conn.state.takes_input() {
            return Ok(());
        }
        // A single receive is never posted during a send. A multishot receive may continue during a send, because
        // `input` cancels the multishot receive if the backlog becomes full.
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

    /// Posts receives for connections for which no buffer was free before. The strategy `high-connections` saves
    /// memory: it first uses buffers that other connections return. If no buffer was returned during one iteration of
    /// the event loop, the server allocates more buffers. Without more buffers, connections whose peers do not read
    /// could hold all buffers and stop all other connections.
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

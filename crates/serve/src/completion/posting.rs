//! Posting receives: when a connection gets one, of which sort, and who gets the buffers when there are too few.

use super::{BACKLOG, Kind, Receive, Worker, user};

impl Worker {
    /// Posts a receive if there should be one. `now`: the empty receive has said that there is something.
    pub(super) fn arm(&mut self, index: u32, now: bool) -> sys::Result<()> {
        let (receive, how) = (self.setup.receive, self.how());
        let drain = self.common.shard.policy.read.bytes as u32;
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        if conn.armed || conn.input_ended || !conn.state.takes_input() {
            return Ok(());
        }
        // A receive may wait beside a send only if it can be told to end: single ones follow the answer.
        if receive != Receive::Lasting && (conn.sending || conn.queued) {
            return Ok(());
        }
        if conn.backlog.as_ref().is_some_and(|b| b.len() >= BACKLOG) {
            return Ok(());
        }
        conn.armed = true;
        let (file, user) = (Self::file(index, conn), user(Kind::Recv, conn.generation, index));
        match receive {
            Receive::Lasting => self.ring.recv_multi(file, user)?,
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

    /// Those that found no buffer receive again. Under high-connections, which is there to save memory, the first of them
    /// take the buffers that came back, and further ones are touched only if none did for a turn: peers that do not read
    /// may keep all of them.
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

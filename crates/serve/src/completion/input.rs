//! What comes in: completed receives, the backlog behind an outstanding send, the end of a peer's side.

use sys::Errno;
use sys::uring::{BufferId, Cqe, OpFlags};

use super::{BACKLOG, Kind, Receive, Sending, Worker, user};
use crate::connection::End;

impl Worker {
    pub(super) fn received(&mut self, index: u32, generation: u32, cqe: Cqe) -> sys::Result<()> {
        let outcome = cqe.outcome();
        let lasting = self.setup.receive == Receive::Lasting;
        let Some(conn) = self.conn(index, generation) else {
            cqe.buffer.into_iter().for_each(|id| self.buffers.recycle(id));
            return Ok(());
        };
        if !cqe.more {
            (conn.armed, conn.stopping) = (false, false);
        }
        let was_empty = std::mem::take(&mut conn.empty);
        match outcome {
            Ok(0) if was_empty => {
                conn.drained = 0;
                self.arm(index, true)
            }
            Ok(0) => {
                cqe.buffer.into_iter().for_each(|id| self.buffers.recycle(id));
                self.end_of_input(index)
            }
            Ok(n) => {
                let Some(id) = cqe.buffer else { return Ok(()) };
                conn.drained = conn.drained.saturating_add(n);
                self.common.shard.cell.bytes_in.add(u64::from(n));
                self.input(index, id, n, lasting)
            }
            Err(Errno::NOBUFS) => {
                self.starved.push_back((index, generation));
                Ok(())
            }
            // Drained: wait for more with an empty receive. Or the lasting receive was told to end.
            Err(Errno::AGAIN | Errno::CANCELED | Errno::INTR) => {
                conn.drained = u32::MAX;
                self.advance(index)
            }
            Err(_) => self.close(index, End::Reset),
        }
    }

    /// Bytes of a connection: given to the session, sent back as they are, or kept while a send is outstanding.
    pub(super) fn input(&mut self, index: u32, id: BufferId, n: u32, lasting: bool) -> sys::Result<()> {
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        if conn.sending || conn.queued {
            let backlog = conn.backlog.get_or_insert_default();
            backlog.push_back((id, n));
            if lasting && conn.armed && !conn.stopping && backlog.len() >= BACKLOG {
                conn.stopping = true;
                let which = user(Kind::Recv, conn.generation, index);
                return self.ring.cancel(which, OpFlags::SKIP_SUCCESS, user(Kind::Ignore, 0, 0));
            }
            return Ok(());
        }
        self.consume(index, id, n)
    }

    /// Gives bytes to the session (or sends them back) and goes on with the connection.
    pub(super) fn consume(&mut self, index: u32, id: BufferId, n: u32) -> sys::Result<()> {
        let now_ms = self.common.now_ms();
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        if conn.state.mirrors()
            && let Some(send) = self.free_sends.pop()
        {
            return self.mirror(index, send, id, n);
        }
        let taken = conn.state.received(self.buffers.bytes(&id, n as usize), now_ms);
        self.buffers.recycle(id);
        self.common.watch_head(index, &mut conn.state.activity);
        self.completed_requests(index, taken)
    }

    /// Sends bytes back from the buffer that they arrived in.
    fn mirror(&mut self, index: u32, send: u32, id: BufferId, n: u32) -> sys::Result<()> {
        let (how, now_ms) = (self.how(), self.common.now_ms());
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        conn.state.mirrored(n as usize, now_ms);
        conn.state.activity.output_waits(now_ms);
        conn.sending = true;
        let (file, generation) = (Self::file(index, conn), conn.generation);
        self.common.shard.cell.requests.add(1);
        self.ring.send_buffer(file, &self.buffers, &id, n as usize, how, user(Kind::Send, 0, send))?;
        self.signal_end(index)?;
        self.sends[send as usize] = Some(Sending { index, generation, len: n, buffer: Some(id) });
        // A single receive may wait beside the send: what it brings is kept until the send is done.
        self.arm(index, false)
    }

    /// Counts requests that input completed and goes on with the connection.
    fn completed_requests(&mut self, index: u32, completed: Result<u32, End>) -> sys::Result<()> {
        match completed {
            Ok(n) => {
                self.common.shard.cell.requests.add(u64::from(n));
                self.advance(index)
            }
            Err(end) => self.close(index, end),
        }
    }

    pub(super) fn end_of_input(&mut self, index: u32) -> sys::Result<()> {
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        conn.input_ended = true;
        // What waits in the backlog comes before the end.
        if conn.backlog.is_some() { Ok(()) } else { self.tell_end(index) }
    }

    pub(super) fn tell_end(&mut self, index: u32) -> sys::Result<()> {
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        let completed = conn.state.end_of_input();
        self.completed_requests(index, completed)
    }
}

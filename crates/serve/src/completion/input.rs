//! Input: completed receives, data that waits for a send to complete, and the end of the input.

use sys::Errno;
use sys::uring::{BufferId, Cqe, OpFlags};

use super::{MAX_BACKLOG, Operation, Receive, Sending, Waiting, Worker, user_data};
use crate::connection::End;

impl Worker {
    pub(super) fn received(&mut self, index: u32, generation: u32, cqe: Cqe) -> sys::Result<()> {
        let outcome = cqe.outcome();
        let lasting = self.setup.receive == Receive::Multishot;
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
                self.shard.setup.cell.bytes_in.add(u64::from(n));
                self.input(index, id, n, lasting)
            }
            Err(Errno::NOBUFS) => {
                self.starved.push_back((index, generation));
                Ok(())
            }
            // The socket has no data, or the multishot receive was cancelled.
            Err(Errno::AGAIN | Errno::CANCELED | Errno::INTR) => {
                conn.drained = u32::MAX;
                self.advance(index)
            }
            Err(_) => self.close(index, End::Reset),
        }
    }

    /// Handles bytes that arrived on a connection. While a send is outstanding, the received bytes are added to the
    /// backlog. If no send is outstanding, the received bytes are processed immediately.
    pub(super) fn input(&mut self, index: u32, id: BufferId, n: u32, lasting: bool) -> sys::Result<()> {
        let may_hold = self.may_hold_buffer();
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        if !conn.sending && !conn.queued {
            return self.consume(index, id, n);
        }
        let backlog = conn.backlog.get_or_insert_default();
        if may_hold {
            self.held_buffers += 1;
            backlog.push_back(Waiting::Buffer(id, n));
        } else {
            backlog.push_back(Waiting::Copy(self.buffers.bytes(&id, n as usize).into()));
            self.buffers.recycle(id);
        }
        if lasting && conn.armed && !conn.stopping && backlog.len() >= MAX_BACKLOG {
            conn.stopping = true;
            let which = user_data(Operation::Recv, conn.generation, index);
            return self.ring.cancel(which, OpFlags::SKIP_SUCCESS, user_data(Operation::Ignore, 0, 0));
        }
        Ok(())
    }

    /// Returns true if one more receive buffer may hold data until a send completes. At least half of the buffers
    /// always remain for receives. Connections whose peers do not read therefore cannot stop all other connections.
    #[inline]
    fn may_hold_buffer(&self) -> bool {
        2 * self.held_buffers < usize::from(self.setup.buffers)
    }

    /// Returns a receive buffer that held data during a send.
    pub(super) fn release_buffer(&mut self, id: BufferId) {
        self.held_buffers -= 1;
        self.buffers.recycle(id);
    }

    /// Processes data from the backlog.
    pub(super) fn consume_waiting(&mut self, index: u32, waiting: Waiting) -> sys::Result<()> {
        let bytes = match waiting {
            Waiting::Buffer(id, n) => {
                self.held_buffers -= 1;
                return self.consume(index, id, n);
            }
            Waiting::Copy(bytes) => bytes,
        };
        let now_ms = self.shard.now_ms();
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        let taken = conn.state.received(&bytes, now_ms);
        self.shard.watch_head(index, &mut conn.state.activity);
        self.completed_requests(index, taken)
    }

    /// Passes received bytes to the session, or sends them back directly as an echo. After the session has handled the
    /// bytes, takes the next step of the connection.
    pub(super) fn consume(&mut self, index: u32, id: BufferId, n: u32) -> sys::Result<()> {
        let (now_ms, may_hold) = (self.shard.now_ms(), self.may_hold_buffer());
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        if may_hold
            && conn.state.mirrors()
            && let Some(send) = self.free_sends.pop()
        {
            return self.mirror(index, send, id, n);
        }
        let taken = conn.state.received(self.buffers.bytes(&id, n as usize), now_ms);
        self.buffers.recycle(id);
        self.shard.watch_head(index, &mut conn.state.activity);
        self.completed_requests(index, taken)
    }

    /// Sends bytes back from the buffer in which they arrived.
    fn mirror(&mut self, index: u32, send: u32, id: BufferId, n: u32) -> sys::Result<()> {
        let (how, now_ms) = (self.link_flags(), self.shard.now_ms());
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        conn.state.mirrored(n as usize, now_ms);
        conn.state.activity.output_waits(now_ms);
        conn.sending = true;
        let (file, generation) = (Self::file(index, conn), conn.generation);
        self.shard.setup.cell.requests.add(1);
        self.ring.send_buffer(file, &self.buffers, &id, n as usize, how, user_data(Operation::Send, 0, send))?;
        self.signal_end(index)?;
        self.sends[send as usize] = Some(Sending { index, generation, len: n, buffer: Some(id) });
        self.held_buffers += 1;
        // While a send is outstanding, a multishot receive may continue. Data that arrives before the send completes is
        // added to the backlog.
        self.arm(index, false)
    }

    /// Counts the requests that the input completed, and continues with the connection.
    fn completed_requests(&mut self, index: u32, completed: Result<u32, End>) -> sys::Result<()> {
        match completed {
            Ok(n) => {
                self.shard.setup.cell.requests.add(u64::from(n));
                self.advance(index)
            }
            Err(end) => self.close(index, end),
        }
    }

    pub(super) fn end_of_input(&mut self, index: u32) -> sys::Result<()> {
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        conn.input_ended = true;
        // The session first gets the data in the backlog, and then learns about the end of the input.
        if conn.backlog.is_some() { Ok(()) } else { self.tell_end(index) }
    }

    pub(super) fn tell_end(&mut self, index: u32) -> sys::Result<()> {
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        let completed = conn.state.end_of_input();
        self.completed_requests(index, completed)
    }
}

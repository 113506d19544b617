//! Whose turn it is: completed sends and the queue for them, and the places of high-throughput.

use sys::uring::{Cqe, OpFlags};

use super::{Kind, Worker, user};
use crate::connection::End;

impl Worker {
    pub(super) fn sent(&mut self, send: u32, cqe: &Cqe) -> sys::Result<()> {
        let Some(sending) = self.sends[send as usize].take() else { return Ok(()) };
        sending.buffer.into_iter().for_each(|id| self.buffers.recycle(id));
        self.free_sends.push(send);
        let mut outcome = Ok(());
        if let Some(conn) = self.conn(sending.index, sending.generation) {
            conn.sending = false;
            conn.state.activity.output_left();
            let n = cqe.outcome().unwrap_or(0);
            self.common.shard.cell.bytes_out.add(u64::from(n));
            // A short send ends with an error of the socket (MSG_WAITALL).
            outcome =
                if n == sending.len { self.advance(sending.index) } else { self.close(sending.index, End::Reset) };
        }
        self.next_sender()?;
        outcome
    }

    /// A send completed: the first connection that waits for that may send.
    pub(super) fn next_sender(&mut self) -> sys::Result<()> {
        while !self.free_sends.is_empty() {
            let Some((index, generation)) = self.send_queue.pop_front() else { return Ok(()) };
            if let Some(conn) = self.conn(index, generation) {
                conn.queued = false;
                self.advance(index)?;
            }
        }
        Ok(())
    }

    /// high-throughput: a free place goes to the next in the line.
    pub(super) fn pass_place(&mut self) -> sys::Result<()> {
        let Some(index) = self.common.next_in_line() else { return Ok(()) };
        let now_ms = self.common.now_ms();
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        conn.state.activity.take_place(now_ms);
        self.advance(index)
    }

    /// high-throughput: a connection gives its place to the next in the line.
    pub(super) fn park(&mut self, index: u32) -> sys::Result<()> {
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        self.common.wait_in_line(index, &mut conn.state.activity);
        if conn.armed && !conn.stopping {
            conn.stopping = true;
            let which = user(Kind::Recv, conn.generation, index);
            self.ring.cancel(which, OpFlags::SKIP_SUCCESS, user(Kind::Ignore, 0, 0))?;
        }
        self.pass_place()
    }
}

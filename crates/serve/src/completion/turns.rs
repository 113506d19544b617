//! Whose turn it is: completed sends and the queue for them, and the places of high-throughput.

use sys::uring::{Cqe, How};

use super::{Kind, Worker, user};
use crate::conn::End;

impl Worker {
    pub(super) fn sent(&mut self, send: u32, cqe: &Cqe) -> sys::Result<()> {
        let Some(sending) = self.sends[send as usize].take() else { return Ok(()) };
        sending.buffer.into_iter().for_each(|id| self.buffers.recycle(id));
        self.free_sends.push(send);
        let mut outcome = Ok(());
        if let Some(conn) = self.conn(sending.index, sending.generation) {
            conn.sending = false;
            conn.sent_ms = 0;
            let n = cqe.outcome().unwrap_or(0);
            self.shard.cell.bytes_out.add(u64::from(n));
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

    pub(super) fn set_ticket(&mut self, index: u32, ticket: u32) {
        let at = index as usize;
        if self.tickets.len() <= at {
            self.tickets.resize(at + 1, 0);
        }
        self.tickets[at] = ticket;
    }

    /// high-throughput: a free place goes to the next in the line.
    pub(super) fn pass_place(&mut self) -> sys::Result<()> {
        let tickets = &self.tickets;
        let next = self.line.next(|index, ticket| tickets.get(index as usize) == Some(&ticket));
        let Some(index) = next else { return Ok(()) };
        self.set_ticket(index, 0);
        let now_ms = self.now_ms();
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        (conn.parked, conn.served, conn.heard_ms) = (false, false, now_ms);
        self.advance(index)
    }

    pub(super) fn park(&mut self, index: u32) -> sys::Result<()> {
        let ticket = self.line.wait(index);
        self.set_ticket(index, ticket);
        if let Some(conn) = self.conns[index as usize].as_deref_mut() {
            (conn.parked, conn.served) = (true, false);
            if conn.armed && !conn.stopping {
                conn.stopping = true;
                let which = user(Kind::Recv, conn.generation, index);
                self.ring.cancel(which, How::SKIP_SUCCESS, user(Kind::Ignore, 0, 0))?;
            }
        }
        self.pass_place()
    }
}

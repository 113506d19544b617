//! Handles completed sends, connections that wait to send, and the worker slots of the strategy `high-throughput`.

use sys::uring::{Cqe, OpFlags};

use super::{Operation, Worker, user_data};
use crate::connection::End;

impl Worker {
    pub(super) fn sent(&mut self, send: u32, cqe: &Cqe) -> sys::Result<()> {
        let Some(sending) = self.sends[send as usize].take() else { return Ok(()) };
        sending.buffer.into_iter().for_each(|id| self.release_buffer(id));
        self.free_sends.push(send);
        let mut outcome = Ok(());
        if let Some(conn) = self.conn(sending.index, sending.generation) {
            conn.sending = false;
            conn.state.activity.output_left();
            let n = cqe.outcome().unwrap_or(0);
            self.shard.setup.cell.bytes_out.add(u64::from(n));
            // MSG_WAITALL is set, so the kernel sends fewer bytes than requested only if the socket has failed.
            outcome =
                if n == sending.len { self.advance(sending.index) } else { self.close(sending.index, End::Reset) };
        }
        self.next_sender()?;
        outcome
    }

    /// Lets connections in the queue send, the first one first, until the maximum number of sends is outstanding.
    pub(super) fn next_sender(&mut self) -> sys::Result<()> {
        while !self.free_sends.is_empty() {
            let Some((index, generation)) = self.send_queue.pop_front() else { return Ok(()) };
            let now_ms = self.shard.now_ms();
            if let Some(conn) = self.conn(index, generation) {
                conn.queued = false;
                conn.state.activity.read_again(now_ms);
                self.advance(index)?;
            }
        }
        Ok(())
    }

    /// For the strategy `high-throughput`: gives a free worker slot to the next waiting connection.
    pub(super) fn pass_slot_on(&mut self) -> sys::Result<()> {
        let Some(index) = self.shard.next_in_line() else { return Ok(()) };
        let now_ms = self.shard.now_ms();
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        conn.state.activity.take_slot(now_ms);
        self.advance(index)
    }

    /// Moves a connection to the end of the queue for worker slots (strategy `high-throughput`). The next connection in
    /// the queue gets the worker slot.
    pub(super) fn park(&mut self, index: u32) -> sys::Result<()> {
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        self.shard.wait_in_line(index, &mut conn.state.activity);
        if conn.armed && !conn.stopping {
            conn.stopping = true;
            let which = user_data(Operation::Recv, conn.generation, index);
            self.ring.cancel(which, OpFlags::SKIP_SUCCESS, user_data(Operation::Ignore, 0, 0))?;
        }
        self.pass_slot_on()
    }
}

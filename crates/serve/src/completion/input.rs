//! What comes in: completed receives, the backlog behind an outstanding send, the end of a peer's side.

use proto::Progress;
use sys::Errno;
use sys::uring::{BufferId, Cqe, How};

use super::{BACKLOG, Kind, Receive, Sending, Worker, user};
use crate::conn::End;

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
        if conn.marks.lingering {
            let over = conn.marks.drops(n);
            self.buffers.recycle(id);
            return if over { self.close(index, End::Done) } else { self.advance(index) };
        }
        if conn.closing {
            self.buffers.recycle(id);
            return self.advance(index);
        }
        if conn.sending || conn.queued {
            let backlog = conn.backlog.get_or_insert_default();
            backlog.push_back((id, n));
            if lasting && conn.armed && !conn.stopping && backlog.len() >= BACKLOG {
                conn.stopping = true;
                let which = user(Kind::Recv, conn.generation, index);
                return self.ring.cancel(which, How::SKIP_SUCCESS, user(Kind::Ignore, 0, 0));
            }
            return Ok(());
        }
        self.consume(index, id, n)
    }

    /// Gives bytes to the session (or sends them back) and goes on with the connection.
    pub(super) fn consume(&mut self, index: u32, id: BufferId, n: u32) -> sys::Result<()> {
        let (how, now_ms) = (self.how(), self.common.now_ms());
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        if conn.session.mirrors()
            && let Some(send) = self.free_sends.pop()
        {
            conn.session.mirrored(n as usize);
            conn.sending = true;
            conn.marks.heard(1, false, now_ms);
            conn.marks.blocked_ms = now_ms.max(1);
            let (file, generation) = (Self::file(index, conn), conn.generation);
            self.common.shard.cell.requests.add(1);
            self.ring.send_buffer(file, &self.buffers, &id, n as usize, how, user(Kind::Send, 0, send))?;
            self.told(index)?;
            self.sends[send as usize] = Some(Sending { index, generation, len: n, buffer: Some(id) });
            // A single receive may wait beside the send: what it brings is kept until the send is done.
            return self.arm(index, false);
        }
        let taken = conn.session.receive(self.buffers.bytes(&id, n as usize));
        self.buffers.recycle(id);
        match taken {
            Ok(progress) => {
                conn.marks.heard(progress.completed, conn.session.awaits_head(), now_ms);
                self.common.watch_head(index, &mut conn.marks);
                self.note(index, progress);
                self.advance(index)
            }
            Err(_) => self.close(index, End::Fault),
        }
    }

    pub(super) fn note(&mut self, index: u32, progress: Progress) {
        self.common.shard.cell.requests.add(u64::from(progress.completed));
        if let Some(conn) = self.conns[index as usize].as_deref_mut() {
            conn.closing |= progress.close;
            conn.linger |= progress.linger;
        }
    }

    pub(super) fn end_of_input(&mut self, index: u32) -> sys::Result<()> {
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        conn.peer_closed = true;
        if conn.marks.lingering {
            return self.close(index, End::Done);
        }
        // What waits in the backlog comes before the end.
        if conn.backlog.is_some() { Ok(()) } else { self.tell_end(index) }
    }

    pub(super) fn tell_end(&mut self, index: u32) -> sys::Result<()> {
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        match conn.session.peer_closed() {
            Ok(progress) => {
                self.note(index, progress);
                self.advance(index)
            }
            Err(_) => self.close(index, End::Fault),
        }
    }
}

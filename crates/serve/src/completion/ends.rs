//! Opens and closes connections, and checks their deadlines.

use std::os::fd::{AsFd, OwnedFd};

use sys::uring::{File, OpFlags};

use super::{Conn, Operation, Waiting, Worker, user_data};
use crate::connection::End;
use crate::strategies::LimitHit;

impl Worker {
    /// Opens a new connection. The connection has either an index in the ring's file table (`at`) or a descriptor.
    pub(super) fn open(&mut self, at: Option<u32>, fd: Option<OwnedFd>) -> sys::Result<()> {
        let waits = match self.shard.admit() {
            Ok(waits) => waits,
            Err(how) => {
                self.shard.refuse(fd.as_ref(), how);
                return at.map_or(Ok(()), |at| {
                    self.ring.close(at, OpFlags::SKIP_SUCCESS, user_data(Operation::Ignore, 0, 0))
                });
            }
        };
        self.generation = (self.generation + 1) & 0xff_ffff;
        let mut state = self.shard.begin(waits);
        let index = at.or_else(|| self.free.pop()).unwrap_or(self.conns.len() as u32);
        if self.conns.len() <= index as usize {
            self.conns.resize_with(index as usize + 1, || None);
        }
        if waits {
            self.shard.wait_in_line(index, &mut state.activity);
        }
        self.conns[index as usize] = Some(Box::new(Conn::new(state, fd, self.generation)));
        self.advance(index)
    }

    /// Shuts down the sending side of a connection. The kernel runs the shutdown in a thread of its own, and looks up
    /// the file by its index only when the shutdown runs. The connection is not closed before the shutdown has run, so
    /// the index still belongs to this connection.
    pub(super) fn end_side(&mut self, index: u32) -> sys::Result<()> {
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        if let Some(fd) = &conn.fd {
            // If the peer has already closed the connection, the next receive reports this.
            let _ = sys::socket::shutdown_write(fd);
            return Ok(());
        }
        conn.ending = true;
        self.ring.shutdown_write(
            File::Fixed(index),
            OpFlags::empty(),
            user_data(Operation::Shutdown, conn.generation, index),
        )
    }

    /// Records that the shutdown of the server's sending side has run. Closes the connection if it has ended while the
    /// shutdown was posted.
    pub(super) fn side_ended(&mut self, index: u32, generation: u32) -> sys::Result<()> {
        let Some(conn) = self.conn(index, generation) else { return Ok(()) };
        conn.ending = false;
        conn.over.map_or(Ok(()), |end| self.close(index, end))
    }

    pub(super) fn close(&mut self, index: u32, end: End) -> sys::Result<()> {
        if let Some(conn) = self.conns.get_mut(index as usize).and_then(Option::as_deref_mut)
            && conn.ending
        {
            conn.over.get_or_insert(end);
            return Ok(());
        }
        let Some(conn) = self.conns.get_mut(index as usize).and_then(Option::take) else { return Ok(()) };
        let file = Self::file(index, &conn);
        let running = conn.armed || conn.sending;
        let Conn { fd, state, backlog, .. } = *conn;
        // The end of the connection is counted before the socket is closed. The server's counts are therefore already
        // right when the peer notices the close.
        let frees_slot = self.shard.end(index, state, end);
        self.close_file(index, file, fd, running)?;
        for waiting in backlog.into_iter().flat_map(|backlog| *backlog) {
            if let Waiting::Buffer(id, _) = waiting {
                self.release_buffer(id);
            }
        }
        if frees_slot { self.pass_slot_on() } else { Ok(()) }
    }

    /// Closes the socket of a connection. Operations that are posted for the socket keep it open, so these operations
    /// are cancelled first, and their completions are ignored.
    fn close_file(&mut self, index: u32, file: File, fd: Option<OwnedFd>, running: bool) -> sys::Result<()> {
        let ignore = user_data(Operation::Ignore, 0, 0);
        if running {
            let then = if fd.is_none() { OpFlags::SKIP_SUCCESS | OpFlags::IO_HARDLINK } else { OpFlags::SKIP_SUCCESS };
            self.ring.cancel_file(file, then, ignore)?;
        }
        if fd.is_none() {
            return self.ring.close(index, OpFlags::SKIP_SUCCESS, ignore);
        }
        if running {
            // The descriptor must stay open until the cancellation has run.
            self.ring.submit()?;
        }
        drop(fd);
        self.free.push(index);
        Ok(())
    }

    /// Checks the deadlines of all connections, except connections that wait until they may send. While a connection
    /// waits, its session gets no data, so its peer cannot be called silent.
    pub(super) fn sweep(&mut self) -> sys::Result<()> {
        let conns = self.conns.iter().enumerate().filter_map(|(i, conn)| Some((i as u32, conn.as_deref()?)));
        let checked = conns.filter(|(_, conn)| !conn.queued).map(|(i, conn)| (i, &conn.state.activity));
        let overdue = self.shard.overdue(checked);
        for (index, why) in overdue.close {
            if let (Some(why), Some(conn)) = (why, self.conns[index as usize].as_deref()) {
                self.shard.close_at_limit(why, conn.fd.as_ref().map(AsFd::as_fd));
            }
            self.close(index, End::Done)?;
        }
        for index in self.shard.take_heads() {
            let Some(conn) = self.conns.get_mut(index as usize).and_then(Option::as_deref_mut) else { continue };
            if self.shard.head_is_late(index, &mut conn.state.activity) {
                self.shard.close_at_limit(LimitHit::SlowHead, conn.fd.as_ref().map(AsFd::as_fd));
                conn.state.head_is_late();
                self.advance(index)?;
            }
        }
        for index in overdue.idle {
            if self.shard.any_waits() {
                self.park(index)?;
            }
        }
        Ok(())
    }
}

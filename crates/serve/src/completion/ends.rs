//! Begin and end of a connection, and the deadlines between.

use std::os::fd::{AsFd, OwnedFd};

use sys::uring::{File, OpFlags};

use super::{Conn, Kind, Worker, user};
use crate::connection::End;
use crate::strategies::LimitHit;

impl Worker {
    /// A new connection, at a place in the table of files or with a descriptor.
    pub(super) fn open(&mut self, at: Option<u32>, fd: Option<OwnedFd>) -> sys::Result<()> {
        let waits = match self.common.admit() {
            Ok(waits) => waits,
            Err(how) => {
                self.common.refuse(fd.as_ref(), how);
                return at.map_or(Ok(()), |at| self.ring.close(at, OpFlags::SKIP_SUCCESS, user(Kind::Ignore, 0, 0)));
            }
        };
        self.generation = (self.generation + 1) & 0xff_ffff;
        let mut state = self.common.begin(waits);
        let index = at.or_else(|| self.free.pop()).unwrap_or(self.conns.len() as u32);
        if self.conns.len() <= index as usize {
            self.conns.resize_with(index as usize + 1, || None);
        }
        if waits {
            self.common.wait_in_line(index, &mut state.activity);
        }
        self.conns[index as usize] = Some(Box::new(Conn::new(state, fd, self.generation)));
        self.advance(index)
    }

    /// Ends our side; what the peer still sends is read over. The kernel does it in a thread of its own, and only there looks
    /// up which connection has the place by then: it must be this one, so nothing is closed before it is done.
    pub(super) fn end_side(&mut self, index: u32) -> sys::Result<()> {
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        if let Some(fd) = &conn.fd {
            // A peer that has gone already is seen by the receive.
            let _ = sys::socket::shutdown_write(fd);
            return Ok(());
        }
        conn.ending = true;
        self.ring.shutdown_write(File::Fixed(index), OpFlags::empty(), user(Kind::Shutdown, conn.generation, index))
    }

    /// Our side has ended; the connection, too, if it was over by then.
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
        // Counted first: whoever sees the close finds it in the counts.
        let leaves_place = self.common.end(index, state, end);
        self.close_file(index, file, fd, running)?;
        backlog.into_iter().flat_map(|b| *b).for_each(|(id, _)| self.buffers.recycle(id));
        if leaves_place { self.pass_place() } else { Ok(()) }
    }

    /// Closes a socket, and ends first what still runs on it and keeps it open; those completions find no connection.
    fn close_file(&mut self, index: u32, file: File, fd: Option<OwnedFd>, running: bool) -> sys::Result<()> {
        let ignore = user(Kind::Ignore, 0, 0);
        if running {
            let then = if fd.is_none() { OpFlags::SKIP_SUCCESS | OpFlags::IO_HARDLINK } else { OpFlags::SKIP_SUCCESS };
            self.ring.cancel_file(file, then, ignore)?;
        }
        if fd.is_none() {
            return self.ring.close(index, OpFlags::SKIP_SUCCESS, ignore);
        }
        if running {
            // The descriptor must live until the cancel has run.
            self.ring.submit()?;
        }
        drop(fd);
        self.free.push(index);
        Ok(())
    }

    /// Looks at the deadlines of all connections.
    pub(super) fn sweep(&mut self) -> sys::Result<()> {
        let conns = self.conns.iter().enumerate();
        let overdue = self.common.overdue(conns.filter_map(|(i, c)| c.as_ref().map(|c| (i as u32, &c.state.activity))));
        for (index, why) in overdue.close {
            if let (Some(why), Some(conn)) = (why, self.conns[index as usize].as_deref()) {
                self.common.close_at_limit(why, conn.fd.as_ref().map(AsFd::as_fd));
            }
            self.close(index, End::Done)?;
        }
        for index in self.common.heads() {
            let Some(conn) = self.conns.get_mut(index as usize).and_then(Option::as_deref_mut) else { continue };
            if self.common.head_is_late(index, &mut conn.state.activity) {
                self.common.close_at_limit(LimitHit::SlowHead, conn.fd.as_ref().map(AsFd::as_fd));
                conn.state.head_is_late();
                self.advance(index)?;
            }
        }
        for index in overdue.idle {
            if self.common.anybody_waits() {
                self.park(index)?;
            }
        }
        Ok(())
    }
}

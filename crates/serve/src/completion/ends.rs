//! Begin and end of a connection, and the deadlines between.

use std::os::fd::OwnedFd;

use sys::socket;
use sys::uring::How;

use super::{Conn, Kind, LINGER_MS, SPARE, Worker, user};
use crate::conn::End;
use crate::ready::SWEEP_NS;
use crate::strategies::Refuse;
use crate::strategies::limits::Over;

impl Worker {
    /// A new connection, at a place in the table of files or with a descriptor.
    pub(super) fn open(&mut self, at: Option<u32>, fd: Option<OwnedFd>) -> sys::Result<()> {
        let mut parked = false;
        if let Some(active) = self.shard.policy.active {
            parked = !self.line.enter(&active);
            if parked && !self.line.may_wait(&active) {
                return self.refuse(at, fd, active.refuse);
            }
        }
        self.generation = (self.generation + 1) & 0xff_ffff;
        let session = self.spare.pop().unwrap_or_else(|| self.shard.service.session());
        let conn = Box::new(Conn {
            session,
            fd,
            generation: self.generation,
            armed: false,
            empty: false,
            stopping: false,
            sending: false,
            queued: false,
            peer_closed: false,
            closing: false,
            linger: false,
            lingering: false,
            parked,
            served: false,
            dropped: 0,
            heard_ms: self.now_ms(),
            sent_ms: 0,
            drained: 0,
            backlog: None,
        });
        let index = at.or_else(|| self.free.pop()).unwrap_or(self.conns.len() as u32);
        if self.conns.len() <= index as usize {
            self.conns.resize_with(index as usize + 1, || None);
        }
        self.conns[index as usize] = Some(conn);
        self.shard.cell.opened();
        if parked {
            let ticket = self.line.wait(index);
            self.set_ticket(index, ticket);
        }
        self.advance(index)
    }

    pub(super) fn refuse(&mut self, at: Option<u32>, fd: Option<OwnedFd>, how: Refuse) -> sys::Result<()> {
        self.shard.cell.accepted.add(1);
        self.shard.cell.refused.add(1);
        if let Some(fd) = fd {
            match how {
                Refuse::Busy => drop(socket::send(&fd, self.shard.service.busy_reply())),
                Refuse::Reset => drop(socket::set_reset_on_close(&fd)),
                Refuse::Close => {}
            }
        }
        at.map_or(Ok(()), |at| self.ring.close(at, How::SKIP_SUCCESS, user(Kind::Ignore, 0, 0)))
    }

    pub(super) fn close(&mut self, index: u32, end: End) -> sys::Result<()> {
        let Some(conn) = self.conns.get_mut(index as usize).and_then(Option::take) else { return Ok(()) };
        self.shard.cell.closed();
        match end {
            End::Done => {}
            End::Reset => self.shard.cell.resets.add(1),
            End::Fault => self.shard.cell.faults.add(1),
        }
        let file = Self::file(index, &conn);
        let ignore = user(Kind::Ignore, 0, 0);
        let running = conn.armed || conn.sending;
        if running {
            // What still runs keeps the socket open, so it is ended first. Its completions find no connection.
            let then = if conn.fd.is_none() { How::SKIP_SUCCESS | How::IO_HARDLINK } else { How::SKIP_SUCCESS };
            self.ring.cancel_file(file, then, ignore)?;
        }
        let Conn { fd, mut session, backlog, parked, .. } = *conn;
        match fd {
            None => self.ring.close(index, How::SKIP_SUCCESS, ignore)?,
            Some(fd) => {
                if running {
                    // The descriptor must live until the cancel has run.
                    self.ring.submit()?;
                }
                drop(fd);
                self.free.push(index);
            }
        }
        backlog.into_iter().flat_map(|b| *b).for_each(|(id, _)| self.buffers.recycle(id));
        if self.spare.len() < SPARE {
            session.reset();
            self.spare.push(session);
        }
        if let Some(told) = &self.shard.on_close {
            told();
        }
        if !parked && self.shard.policy.active.is_some() {
            self.set_ticket(index, 0);
            return self.pass_place();
        }
        Ok(())
    }

    /// Looks at the deadlines of all connections.
    pub(super) fn sweep(&mut self) -> sys::Result<()> {
        let (now_ms, policy) = (self.now_ms(), self.shard.policy);
        let (mut over, mut idle, mut lingering) = (Vec::new(), Vec::new(), false);
        for (index, conn) in self.conns.iter().enumerate().filter_map(|(i, c)| c.as_ref().map(|c| (i as u32, c))) {
            let quiet_ms = now_ms.saturating_sub(conn.heard_ms);
            if conn.lingering {
                lingering = true;
                if quiet_ms >= LINGER_MS {
                    over.push((index, None));
                }
            } else if let Some(why) = policy.limits.and_then(|l| l.over(now_ms, conn.heard_ms, conn.sent_ms)) {
                over.push((index, Some(why)));
            } else if policy.active.is_some_and(|a| !conn.parked && quiet_ms >= a.idle_ms) {
                idle.push(index);
            }
        }
        for (index, why) in over {
            self.name(index, why);
            self.close(index, End::Done)?;
        }
        for index in idle {
            if self.line.anybody() {
                self.park(index)?;
            }
        }
        let deadlines = lingering || policy.limits.is_some() || policy.active.is_some();
        self.next_sweep_ns = deadlines.then_some(self.now_ns + SWEEP_NS);
        Ok(())
    }

    pub(super) fn name(&mut self, index: u32, why: Option<Over>) {
        let (Some(why), Some(conn)) = (why, self.conns[index as usize].as_deref()) else { return };
        let (counter, words) = match why {
            Over::Unread => (&self.shard.cell.closed_unread, "sends and does not read"),
            Over::Silent => (&self.shard.cell.closed_silent, "is silent"),
        };
        counter.add(1);
        let addr = conn.fd.as_ref().and_then(|fd| socket::peer_addr(fd).ok());
        let peer = addr.map_or_else(|| "a peer".to_owned(), |a| a.to_string());
        self.shard.control.name_peer(format!("{peer} {words}"));
        if let Some(fd) = &conn.fd {
            let _ = socket::set_reset_on_close(fd);
        }
    }
}

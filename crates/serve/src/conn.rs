//! One connection under a readiness model: its socket, its session, and what happens when the socket is ready.
//!
//! Conclusion first: reading stops while anything waits to be written, so a peer that does not read cannot make the
//! server hold more than one piece of output.

use std::os::fd::{BorrowedFd, OwnedFd};

use proto::Session;
use sys::{Errno, socket};

use crate::shard::Marks;
use crate::stats::Cell;

/// A session that may move between threads.
pub(crate) type BoxedSession = Box<dyn Session + Send>;

/// Bytes read by one recv, and most bytes written by one send.
pub(crate) const PIECE: usize = 64 * 1024;
/// Most bytes written to one connection in one turn, so that a large reply starves nobody.
const WRITE_TURN: usize = 16 * PIECE;

/// What a connection waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Want {
    pub(crate) read: bool,
    pub(crate) write: bool,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The connection goes on and waits for this.
    Wait(Want),
    /// The turn was used up though the socket may have more: come back without waiting.
    Again(Want),
    /// The connection is over.
    Close(End),
}

/// Why a connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    /// An error of the socket.
    Reset,
    /// The peer broke the protocol.
    Fault,
}

/// Buffers of a thread that all its connections use in turn.
pub(crate) struct Scratch {
    pub(crate) input: Box<[u8]>,
    pub(crate) output: Box<[u8]>,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self { input: vec![0; PIECE].into(), output: vec![0; PIECE].into() }
    }
}

/// How much is read from one connection in one turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadTurn {
    /// Most bytes.
    pub(crate) bytes: usize,
    /// Reads on after a short read until the socket has nothing more (high-connections, edge-triggered models).
    pub(crate) drain: bool,
}

/// Output that the socket did not take.
struct Unsent {
    bytes: Vec<u8>,
    at: usize,
}

/// One connection.
pub(crate) struct Conn {
    fd: OwnedFd,
    /// What the poller was told last.
    pub(crate) want: Want,
    closing: bool,
    linger: bool,
    peer_closed: bool,
    pub(crate) marks: Marks,
    unsent: Option<Box<Unsent>>,
    session: BoxedSession,
}

impl Conn {
    pub(crate) fn new(fd: OwnedFd, session: BoxedSession, marks: Marks) -> Self {
        Self {
            fd,
            want: Want::default(),
            closing: false,
            linger: false,
            peer_closed: false,
            marks,
            unsent: None,
            session,
        }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.fd)
    }

    /// Output waits for the peer to read.
    pub(crate) fn blocked(&self) -> bool {
        self.unsent.is_some()
    }

    /// The socket, still open, and the session for another connection.
    pub(crate) fn into_parts(self) -> (OwnedFd, BoxedSession) {
        (self.fd, self.session)
    }

    /// A turn: writes what waits, reads what is there (if `readable`), and writes the answers.
    pub(crate) fn turn(
        &mut self,
        readable: bool,
        turn: ReadTurn,
        scratch: &mut Scratch,
        cell: &Cell,
        now_ms: u32,
    ) -> Turn {
        let mut more = match self.write(scratch, cell, now_ms) {
            Ok(more) => more,
            Err(end) => return Turn::Close(end),
        };
        let mut left = turn.bytes;
        while readable && !more && self.reads() {
            match self.read(scratch, cell, now_ms) {
                Ok(0) => break,
                Ok(n) => {
                    left = left.saturating_sub(n);
                    more = match self.write(scratch, cell, now_ms) {
                        Ok(more) => more,
                        Err(end) => return Turn::Close(end),
                    };
                    if n < scratch.input.len() && !turn.drain {
                        break;
                    }
                    more |= left == 0 && self.reads();
                }
                Err(end) => return Turn::Close(end),
            }
        }
        let want = self.wants();
        if !want.read && !want.write && !self.marks.parked {
            return Turn::Close(End::Done);
        }
        if more { Turn::Again(want) } else { Turn::Wait(want) }
    }

    /// The rest of a request's head did not come in time: the next turn tells the peer and ends.
    pub(crate) fn give_up_head(&mut self) {
        self.session.head_is_late();
        self.closing = true;
    }

    /// Whether bytes from the peer are taken now.
    fn reads(&self) -> bool {
        self.unsent.is_none() && !self.peer_closed && (!self.closing || self.marks.lingering) && !self.marks.parked
    }

    fn wants(&self) -> Want {
        let write = self.unsent.is_some() || (!self.marks.lingering && self.session.wants_transmit());
        Want { read: self.reads(), write }
    }

    /// Reads once. Gives the number of bytes; 0 when nothing is there or the peer has ended its side.
    fn read(&mut self, scratch: &mut Scratch, cell: &Cell, now_ms: u32) -> Result<usize, End> {
        let n = match socket::recv(&self.fd, &mut scratch.input) {
            Ok(0) => {
                self.end_of_input(scratch, cell, now_ms)?;
                return Ok(0);
            }
            Ok(n) => n,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(0),
            Err(_) => return Err(End::Reset),
        };
        cell.bytes_in.add(n as u64);
        if self.marks.lingering {
            return if self.marks.drops(n as u32) { Err(End::Done) } else { Ok(n) };
        }
        let mut rest = &scratch.input[..n];
        if self.session.mirrors() {
            let sent = send(&self.fd, rest)?;
            self.session.mirrored(sent);
            cell.bytes_out.add(sent as u64);
            cell.requests.add(1);
            rest = &rest[sent..];
            if rest.is_empty() {
                self.marks.heard(1, false, now_ms);
                return Ok(n);
            }
        }
        let progress = self.session.receive(rest).map_err(|_| End::Fault)?;
        cell.requests.add(u64::from(progress.completed));
        self.marks.heard(progress.completed, self.session.awaits_head(), now_ms);
        self.closing |= progress.close;
        self.linger |= progress.linger;
        Ok(n)
    }

    fn end_of_input(&mut self, scratch: &mut Scratch, cell: &Cell, now_ms: u32) -> Result<(), End> {
        self.peer_closed = true;
        if self.marks.lingering {
            return Err(End::Done);
        }
        let progress = self.session.peer_closed().map_err(|_| End::Fault)?;
        cell.requests.add(u64::from(progress.completed));
        self.closing |= progress.close;
        self.write(scratch, cell, now_ms).map(drop)
    }

    /// Writes until the session has nothing more or the socket takes nothing more. True: the turn is used up.
    fn write(&mut self, scratch: &mut Scratch, cell: &Cell, now_ms: u32) -> Result<bool, End> {
        if self.marks.lingering {
            return Ok(false);
        }
        let mut left = WRITE_TURN;
        if let Some(unsent) = &mut self.unsent {
            let n = send(&self.fd, &unsent.bytes[unsent.at..])?;
            cell.bytes_out.add(n as u64);
            unsent.at += n;
            if n > 0 {
                self.marks.blocked_ms = now_ms.max(1);
            }
            if unsent.at < unsent.bytes.len() {
                return Ok(false);
            }
            self.unsent = None;
            self.marks.blocked_ms = 0;
        }
        while left > 0 {
            let n = self.session.transmit(&mut scratch.output);
            if n == 0 {
                return self.written(now_ms).map(|()| false);
            }
            let sent = send(&self.fd, &scratch.output[..n])?;
            cell.bytes_out.add(sent as u64);
            left = left.saturating_sub(n);
            if sent < n {
                let bytes = scratch.output[sent..n].to_vec();
                self.unsent = Some(Box::new(Unsent { bytes, at: 0 }));
                self.marks.blocked_ms = now_ms.max(1);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Everything is written: is the connection over?
    fn written(&mut self, now_ms: u32) -> Result<(), End> {
        let progress = self.session.flushed();
        self.closing |= progress.close;
        if !self.closing {
            return Ok(());
        }
        if !self.linger || self.peer_closed {
            return Err(End::Done);
        }
        self.marks.linger(now_ms);
        socket::shutdown_write(&self.fd).map_err(|_| End::Reset)
    }
}

/// Writes; 0 when the socket takes nothing now.
pub(crate) fn send(fd: &OwnedFd, bytes: &[u8]) -> Result<usize, End> {
    match socket::send(fd, bytes) {
        Ok(n) => Ok(n),
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        Err(_) => Err(End::Reset),
    }
}

impl Conn {
    /// What it waits for between turns.
    pub(crate) fn first_want(&self) -> Want {
        let mut want = self.wants();
        // A parked connection keeps only the output it has begun.
        want.write &= !self.marks.parked || self.unsent.is_some();
        want
    }
}

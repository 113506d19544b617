//! A connection whose socket is read and written when the socket is ready. The readiness models and the model `workers`
//! use the type `Conn`.
//!
//! While output waits, the connection is not read. For a peer that does not read, the server stores at most one piece
//! of output (64 KiB).

use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};

use sys::{Errno, poll, socket};

use crate::connection::{Connection, End, Next, PIECE_BYTES};
use crate::stats::Cell;
use crate::strategies::ReadTurn;

/// Maximum number of bytes written to one connection in one turn. The maximum ensures that a large reply delays other
/// connections only briefly.
const WRITE_TURN_BYTES: usize = 16 * PIECE_BYTES;

/// Readiness (readable, writable or both) for which a connection waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Want {
    pub(crate) read: bool,
    pub(crate) write: bool,
}

/// Outcome of serving a connection for one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The connection waits until its socket is ready for reading or writing.
    Wait(Want),
    /// The connection has used up its turn, but more bytes may be available for reading or writing. The connection must
    /// get another turn, even without an event.
    Again(Want),
    Close(End),
}

/// Buffers of a thread. All connections of a thread use its buffers, one after another.
pub(crate) struct Scratch {
    input: Box<[u8]>,
    output: Box<[u8]>,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self { input: vec![0; PIECE_BYTES].into(), output: vec![0; PIECE_BYTES].into() }
    }
}

/// Output that the socket has not accepted yet.
struct Unsent {
    bytes: Vec<u8>,
    at: usize,
}

/// One connection with its socket.
pub(crate) struct Conn {
    fd: OwnedFd,
    /// Readiness that the poller currently watches for.
    pub(crate) want: Want,
    unsent: Option<Box<Unsent>>,
    pub(crate) state: Connection,
}

impl Conn {
    pub(crate) fn new(fd: OwnedFd, state: Connection) -> Self {
        Self { fd, want: Want::default(), unsent: None, state }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.fd)
    }

    /// Returns true if output waits for the peer to read.
    pub(crate) fn blocked(&self) -> bool {
        self.unsent.is_some()
    }

    /// Returns true if the connection is parked and its socket is broken, such as after a reset. The server neither
    /// reads from a parked connection nor writes to it, so it would not otherwise notice the broken socket. A
    /// level-triggered poller reports a broken socket again and again, even without interest in it.
    pub(crate) fn is_parked_and_broken(&self) -> bool {
        let broken = |found: i16| found & (poll::ERR | poll::HUP) != 0;
        self.state.activity.parked && poll::now(self.fd.as_raw_fd(), 0).is_ok_and(broken)
    }

    /// Returns the open socket and the state of the connection.
    pub(crate) fn into_parts(self) -> (OwnedFd, Connection) {
        (self.fd, self.state)
    }

    /// Serves the connection for one turn: writes waiting output, reads if `readable` is true, and writes the answers.
    pub(crate) fn turn(
        &mut self,
        readable: bool,
        turn: ReadTurn,
        scratch: &mut Scratch,
        cell: &Cell,
        now_ms: u32,
    ) -> Turn {
        match self.exchange(readable, turn, scratch, cell, now_ms) {
            Ok(true) => Turn::Again(self.wants()),
            Ok(false) => Turn::Wait(self.wants()),
            Err(end) => Turn::Close(end),
        }
    }

    /// Writes waiting output, reads requests, and writes answers. Returns true if the connection used up its turn, so
    /// that it needs another turn.
    fn exchange(
        &mut self,
        readable: bool,
        turn: ReadTurn,
        scratch: &mut Scratch,
        cell: &Cell,
        now_ms: u32,
    ) -> Result<bool, End> {
        let mut used_up = self.write(scratch, cell, now_ms)?;
        let mut left = turn.bytes;
        while readable && !used_up && self.takes_input() {
            let n = self.read(scratch, cell, now_ms)?;
            if n == 0 {
                break;
            }
            left = left.saturating_sub(n);
            used_up = self.write(scratch, cell, now_ms)?;
            if n < scratch.input.len() && !turn.drain {
                break;
            }
            used_up |= left == 0 && self.takes_input();
        }
        Ok(used_up)
    }

    fn takes_input(&self) -> bool {
        self.unsent.is_none() && self.state.takes_input()
    }

    /// Returns the readiness for which the connection waits between turns.
    pub(crate) fn wants(&self) -> Want {
        Want { read: self.takes_input(), write: self.unsent.is_some() || self.state.wants_write() }
    }

    /// Reads from the socket once. Returns the number of bytes; 0 if no bytes are available or the peer has closed its
    /// side.
    fn read(&mut self, scratch: &mut Scratch, cell: &Cell, now_ms: u32) -> Result<usize, End> {
        let n = match socket::recv(&self.fd, &mut scratch.input) {
            Ok(0) => {
                cell.requests.add(u64::from(self.state.end_of_input()?));
                return self.write(scratch, cell, now_ms).map(|_| 0);
            }
            Ok(n) => n,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(0),
            Err(_) => return Err(End::Reset),
        };
        cell.bytes_in.add(n as u64);
        let mut rest = &scratch.input[..n];
        if self.state.mirrors() {
            let sent = send(&self.fd, rest)?;
            self.state.mirrored(sent, now_ms);
            cell.bytes_out.add(sent as u64);
            cell.requests.add(1);
            rest = &rest[sent..];
            if rest.is_empty() {
                return Ok(n);
            }
        }
        cell.requests.add(u64::from(self.state.received(rest, now_ms)?));
        Ok(n)
    }

    /// Writes until no output is left or the socket accepts no more. Returns true if the connection used up its turn.
    fn write(&mut self, scratch: &mut Scratch, cell: &Cell, now_ms: u32) -> Result<bool, End> {
        if !self.write_unsent(cell, now_ms)? {
            return Ok(false);
        }
        let mut left = WRITE_TURN_BYTES;
        while left > 0 {
            let n = self.state.transmit(&mut scratch.output);
            if n == 0 {
                return self.settle(now_ms).map(|()| false);
            }
            let sent = send(&self.fd, &scratch.output[..n])?;
            cell.bytes_out.add(sent as u64);
            left = left.saturating_sub(n);
            if sent < n {
                let bytes = scratch.output[sent..n].to_vec();
                self.unsent = Some(Box::new(Unsent { bytes, at: 0 }));
                self.state.activity.output_waits(now_ms);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes the output that the socket did not accept in earlier writes. Returns true if no waiting output is left.
    fn write_unsent(&mut self, cell: &Cell, now_ms: u32) -> Result<bool, End> {
        let Some(unsent) = &mut self.unsent else { return Ok(true) };
        let n = send(&self.fd, &unsent.bytes[unsent.at..])?;
        cell.bytes_out.add(n as u64);
        unsent.at += n;
        if n > 0 {
            self.state.activity.output_waits(now_ms);
        }
        if unsent.at < unsent.bytes.len() {
            return Ok(false);
        }
        self.unsent = None;
        self.state.activity.output_left();
        Ok(true)
    }

    fn settle(&mut self, now_ms: u32) -> Result<(), End> {
        match self.state.settle(now_ms) {
            Next::Wait => Ok(()),
            Next::EndSide => socket::shutdown_write(&self.fd).map_err(|_| End::Reset),
            Next::Close(end) => Err(end),
        }
    }
}

/// Writes to the socket once, and returns the number of accepted bytes; 0 if the socket currently accepts none.
fn send(fd: &OwnedFd, bytes: &[u8]) -> Result<usize, End> {
    match socket::send(fd, bytes) {
        Ok(n) => Ok(n),
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        Err(_) => Err(End::Reset),
    }
}

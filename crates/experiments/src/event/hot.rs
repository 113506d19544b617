//! Hot (active) connections: TCP over loopback, with both ends in this process. Every connection whose data was read
//! gets new data before the next poll call. Each poll call therefore finds all hot connections ready, unless the kernel
//! delivers data late.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use sys::socket;

use lab::LabError;

/// The hot (active) connections of a benchmark. This process has both ends of each connection.
pub(super) struct Hot {
    ours: Vec<OwnedFd>,
    theirs: Vec<OwnedFd>,
    /// Index of each connection, by its descriptor; `u32::MAX` for other descriptors.
    index: Vec<u32>,
    ready: Vec<bool>,
    /// Decoys (connections without declared interest), and the number of pieces of data that a connection and its decoy
    /// get together.
    decoys: Option<(Box<Hot>, usize)>,
}

impl Hot {
    pub(super) fn open(count: usize) -> Result<Self, LabError> {
        let failed = |e: sys::Errno| LabError::set_up("opening hot connections", std::io::Error::from(e));
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = socket::tcp(any).map_err(failed)?;
        socket::bind(&listener, any).map_err(failed)?;
        socket::listen(&listener, 4096).map_err(failed)?;
        let to = socket::local_addr(&listener).map_err(failed)?;
        let mut pairs = Vec::with_capacity(count);
        for _ in 0..count {
            let client = socket::tcp(to).map_err(failed)?;
            socket::set_nodelay(&client, true).map_err(failed)?;
            socket::connect(&client, to).map_err(failed)?;
            pairs.push((socket::accept(&listener).map_err(failed)?, client));
        }
        Ok(Self::of(pairs))
    }

    /// Makes hot connections of pairs of connected sockets. The first socket of a pair is the one that is watched.
    fn of(pairs: Vec<(OwnedFd, OwnedFd)>) -> Self {
        let ready = vec![false; pairs.len()];
        let (ours, theirs): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let last = ours.iter().map(AsRawFd::as_raw_fd).max().unwrap_or(0);
        let mut index = vec![u32::MAX; last as usize + 1];
        for (at, fd) in ours.iter().enumerate() {
            index[fd.as_raw_fd() as usize] = at as u32;
        }
        Self { ours, theirs, index, ready, decoys: None }
    }

    /// Opens connections whose data arrives before the call that sends it returns. Over TCP, the kernel may deliver the
    /// data a moment later if the CPUs are busy. A test therefore cannot count on an exact number of ready connections.
    #[cfg(test)]
    pub(super) fn open_without_delay(count: usize) -> Self {
        let pair = || {
            let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
            ours.set_nonblocking(true).and_then(|()| theirs.set_nonblocking(true)).unwrap();
            (ours.into(), theirs.into())
        };
        Self::of((0..count).map(|_| pair()).collect())
    }

    /// Gives each connection a decoy (a connection without declared interest). A connection and its decoy together
    /// always get `pieces` pieces of data. Because the sum is constant, the work between two poll calls does not depend
    /// on the number of pieces for the connection itself.
    pub(super) fn with_decoys(self, decoys: Self, pieces: usize) -> Self {
        Self { decoys: Some((Box::new(decoys), pieces)), ..self }
    }

    pub(super) fn fds(&self) -> impl Iterator<Item = RawFd> + '_ {
        self.ours.iter().map(AsRawFd::as_raw_fd)
    }

    /// Sends `pieces` pieces of data to every connection that has no unread data. If connections have decoys, a
    /// connection and its decoy together get a fixed number of pieces. The decoy gets the pieces that its connection
    /// does not get.
    pub(super) fn trigger(&mut self, pieces: usize) {
        for (at, ready) in self.ready.iter_mut().enumerate() {
            if !std::mem::replace(ready, true) {
                let (decoys, all) = self.decoys.as_ref().map_or((&self.theirs, pieces), |(d, all)| (&d.theirs, *all));
                for piece in 0..all {
                    let _ = socket::send(if piece < pieces { &self.theirs[at] } else { &decoys[at] }, b"x");
                }
            }
        }
    }

    /// Reads all data of the connection with the descriptor `fd`.
    pub(super) fn serve(&mut self, fd: RawFd) {
        let Some(&at) = self.index.get(fd as usize).filter(|&&at| at != u32::MAX) else { return };
        self.take(at as usize);
    }

    /// Reads all data of all connections.
    pub(super) fn quiet(&mut self) {
        (0..self.ours.len()).for_each(|at| self.take(at));
    }

    /// Reads all data of a connection and of its decoy.
    fn take(&mut self, at: usize) {
        let _ = socket::recv(&self.ours[at], &mut [0; 64]);
        if let Some((decoys, _)) = &self.decoys {
            let _ = socket::recv(&decoys.ours[at], &mut [0; 64]);
        }
        self.ready[at] = false;
    }
}

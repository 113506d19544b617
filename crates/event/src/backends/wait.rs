//! Helper functions that the backends share.

use std::os::fd::RawFd;

use sys::{Errno, poll as bits};

/// Returns the error EBADF if `fd` is not an open descriptor. Backends use this function if their kernel calls check
/// the descriptor only later.
pub(super) fn check_open(fd: RawFd) -> sys::Result<()> {
    if fd < 0 || bits::now(fd, 0)? & bits::NVAL != 0 { Err(Errno::BADF) } else { Ok(()) }
}

/// Remaining time of a wait that may have to be repeated. The clock is read only before a repetition, so a wait that is
/// not repeated needs no clock. Because the clock is not read before the first wait, the duration of the first wait is
/// unknown and is not subtracted. A wait that is repeated may last up to twice the timeout.
pub(super) struct Remaining {
    timeout_ns: Option<u64>,
    until_ns: Option<u64>,
}

impl Remaining {
    pub(super) fn new(timeout_ns: Option<u64>) -> Self {
        Self { timeout_ns, until_ns: None }
    }

    /// Returns the remaining time, where `Some(None)` means no limit. Returns `None` if the timeout has passed.
    pub(super) fn again(&mut self) -> Option<Option<u64>> {
        let Some(ns) = self.timeout_ns else { return Some(None) };
        if ns == 0 {
            return None;
        }
        let now = sys::clock::monotonic_ns();
        let until = *self.until_ns.get_or_insert(now.saturating_add(ns));
        (until > now).then(|| Some(until - now))
    }
}

/// Returns true if these poll bits show that the peer has closed its side, or that the connection has failed.
#[inline]
pub(super) const fn ended(found: i16) -> bool {
    found & (bits::RDHUP | bits::HUP | bits::ERR) != 0
}

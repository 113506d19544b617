//! Times how long it takes to declare and to revoke interest in a descriptor: through the library, and with plain epoll
//! system calls.

use std::os::fd::RawFd;
use std::time::Instant;

use ::event::Mask;
use sys::epoll::{Epoll, Interest};
use sys::epoll_raw;
use sys::tsc::{self, Calibration};

use super::bench::{Amount, Timing};
use super::callers::{Caller, Library};
use super::hot::Hot;
use lab::LabError;

/// Times of declaring and revoking interest in a descriptor's events.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Declares {
    pub(super) declare: Timing,
    pub(super) revoke: Timing,
    /// Time of declaring interest if the library also returns the descriptor's current state.
    pub(super) with_state: Timing,
    /// Time of adding a descriptor with the system call epoll_ctl.
    pub(super) bare_add: Timing,
    /// Time of deleting a descriptor with the system call epoll_ctl.
    pub(super) bare_delete: Timing,
}

/// Calls `each` for each descriptor, and then once without a descriptor, to submit the changes. Returns the CPU cycles
/// per descriptor, plus the cycles for one reading of the clock, which callers subtract again. The clock is read only
/// before the first call and after the last call of `each`.
fn batch(fds: &[RawFd], clock: &Calibration, mut each: impl FnMut(Option<RawFd>)) -> u64 {
    let start = tsc::counts();
    fds.iter().for_each(|&fd| each(Some(fd)));
    each(None);
    tsc::counts().wrapping_sub(start).saturating_sub(clock.overhead) / fds.len().max(1) as u64 + clock.overhead
}

/// Alternately declares and revokes interest in all hot connections, and measures the times. The measured times include
/// submitting the collected changes of interest. Also times the plain epoll system calls for the same descriptors.
pub(super) fn declares(
    library: &mut Library,
    hot: &mut Hot,
    amount: Amount,
    clock: &Calibration,
) -> Result<Declares, LabError> {
    hot.quiet();
    let fds: Vec<RawFd> = hot.fds().collect();
    let failed = |e: sys::Errno| LabError::set_up("making an epoll instance", std::io::Error::from(e));
    let (begin, bare) = (Instant::now(), Epoll::new().map_err(failed)?);
    let mut counts: [Vec<u64>; 5] = Default::default();
    let mut timed = |mask: Mask, state: bool| {
        batch(&fds, clock, |fd| match fd {
            Some(fd) => library.declare(fd, mask, state),
            None => library.flush(),
        })
    };
    timed(Mask::NONE, false);
    while counts[0].len() * fds.len() < amount.calls && begin.elapsed() < amount.at_most {
        counts[0].push(timed(Mask::READ, false));
        counts[1].push(timed(Mask::NONE, false));
        counts[2].push(timed(Mask::READ, true));
        timed(Mask::NONE, false);
        counts[3].push(batch(&fds, clock, |fd| fd.into_iter().for_each(|fd| add(&bare, fd))));
        counts[4].push(batch(&fds, clock, |fd| fd.into_iter().for_each(|fd| delete(&bare, fd))));
    }
    timed(Mask::READ, false);
    library.call(usize::MAX);
    let [declare, revoke, with_state, bare_add, bare_delete] = counts.map(|list| Timing::of(list, 0, 0, clock));
    Ok(Declares { declare, revoke, with_state, bare_add, bare_delete })
}

fn add(epoll: &Epoll, fd: RawFd) {
    let _ = epoll_raw::add(epoll, fd, fd as u64, Interest::IN | Interest::RDHUP | Interest::ET);
}

fn delete(epoll: &Epoll, fd: RawFd) {
    let _ = epoll_raw::delete(epoll, fd);
}

//! The state of a descriptor.

use std::os::fd::RawFd;

use sys::poll;

use crate::{EventError, Mask, Result, State};

/// Returns the current state of a descriptor, with all kinds of events.
pub(crate) fn state(fd: RawFd) -> Result<State> {
    let found = poll::now(fd, Mask::ALL.to_poll()).map_err(|e| EventError::declare(fd, e))?;
    if found & poll::NVAL != 0 {
        return Err(EventError::declare(fd, sys::Errno::BADF));
    }
    Ok(Mask::from_poll(found))
}

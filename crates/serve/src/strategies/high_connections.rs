//! Strategy `high-connections`, for many connections that are mostly idle. Idle connections hold no buffer.
//!
//! At each wake-up, a ready connection is read until its socket would block, but at most `drain` bytes are read. The
//! limit `drain` ensures that a peer that never stops sending delays no other peer. Completion models post a zero-byte
//! receive, which completes when data arrives, and choose a buffer only then. Readiness models need no buffer for
//! waiting.

use super::policy::{Policy, ReadTurn};
use crate::{Options, ServeError};

pub(super) fn policy(options: &Options<'_>) -> Result<Policy, ServeError> {
    let bytes = options.get("drain")?.unwrap_or(256 * 1024);
    Ok(Policy { read: ReadTurn { bytes, drain: true }, lazy_buffers: true, ..Policy::NONE })
}

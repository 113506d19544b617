//! high-connections: for many connections that are mostly idle. Idle connections hold no buffer.
//!
//! At each wake-up, a ready connection is read until the socket would block, but at most `drain` bytes. A peer that
//! never stops sending therefore delays no other. Completion models post a zero-byte receive, which completes when data
//! arrives; only then do they choose a buffer. Readiness models wait without a buffer anyway.

use super::policy::{Policy, ReadTurn};
use crate::{Options, ServeError};

pub(super) fn policy(options: &Options<'_>) -> Result<Policy, ServeError> {
    let bytes = options.get("drain")?.unwrap_or(256 * 1024);
    Ok(Policy { read: ReadTurn { bytes, drain: true }, lazy_buffers: true, ..Policy::NONE })
}

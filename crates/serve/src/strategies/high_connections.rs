//! high-connections: for many connections that are mostly idle, which hold no buffer.
//!
//! A ready connection is read until the socket would block, but at most `drain` bytes per wake, so that a peer that never
//! stops sending starves nobody. Completion models post a receive of zero bytes, which completes when data is there, and
//! pick a buffer only then. Readiness models wait without a buffer anyway.

use super::policy::{Policy, ReadTurn};
use crate::{Options, ServeError};

pub(super) fn policy(options: &Options<'_>) -> Result<Policy, ServeError> {
    let bytes = options.get("drain")?.unwrap_or(256 * 1024);
    Ok(Policy { read: ReadTurn { bytes, drain: true }, lazy_buffers: true, ..Policy::NONE })
}

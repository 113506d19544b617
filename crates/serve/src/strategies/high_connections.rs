//! high-connections: for many connections that are mostly idle. Nothing is held for an idle one; when it becomes ready
//! it is drained until the socket would block, but at most `drain` bytes a wake, so that a peer that never stops
//! sending starves nobody. Readiness models wait without a buffer anyway; completion models post a receive of zero
//! bytes (it completes when data is there and takes none) and pick a buffer only then.

use super::policy::{Policy, ReadTurn};
use crate::{Options, ServeError};

pub(super) fn policy(options: &Options<'_>) -> Result<Policy, ServeError> {
    let bytes = options.get("drain")?.unwrap_or(256 * 1024);
    Ok(Policy { read: ReadTurn { bytes, drain: true }, lazy_buffers: true, ..Policy::NONE })
}

//! Groups of 63 sockets and a control slot a thread, the lowest ready index first: the relative of WSAEventSelect, where
//! WSAWaitForMultipleEvents takes at most 64 events and tells of one. Threads: ceil(connections / 63) + 1.
//!
//! poll(2) on 64 entries stands for the wait, an eventfd in slot 0 for the control event. By default a wake serves the
//! lowest ready index only, then waits again; with `fair` it serves all that are ready.
//!
//! Cost of an event: a wait that scans 64 entries (fair: a share of one), a recv and a send; and a thread for every 63
//! connections, so a switch of threads for almost every event.

use std::net::SocketAddr;
use std::sync::Arc;

use super::launch::Launch;
use super::{groups, poll};
use crate::ServeError;

/// Sockets of one thread.
const SOCKETS: u32 = 63;

pub(super) fn start(launch: &Launch<'_>) -> Result<SocketAddr, ServeError> {
    let fair = launch.options.on("fair")?;
    groups::start(launch, SOCKETS, Arc::new(move |shard| poll::run(shard, fair)))
}

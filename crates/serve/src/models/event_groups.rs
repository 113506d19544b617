//! Threads that each wait for up to 63 sockets and one control event. The model corresponds to WSAEventSelect on
//! Windows. WSAWaitForMultipleEvents accepts at most 64 events, and reports only the signalled event with the lowest
//! index. The number of threads is ceil(connections / 63) + 1.
//!
//! On Linux, poll(2) on 64 entries replaces WSAWaitForMultipleEvents, and an eventfd at index 0 replaces the control
//! event. By default, a wake-up serves only the ready socket with the lowest index. With the option `fair`, a wake-up
//! serves all ready sockets.
//!
//! Cost of an event: a wait that scans 64 entries, a recv and a send. With `fair`, several events share one wait. With
//! one thread per 63 connections, almost every event also needs a thread switch.

use std::net::SocketAddr;
use std::sync::Arc;

use super::launch::Launch;
use super::{groups, poll};
use crate::ServeError;

/// Maximum number of sockets per thread.
const SOCKETS: u32 = 63;

pub(super) fn start(launch: &Launch<'_>) -> Result<SocketAddr, ServeError> {
    let fair = launch.options.on("fair")?;
    groups::start(launch, SOCKETS, Arc::new(move |shard| poll::run(shard, fair)))
}

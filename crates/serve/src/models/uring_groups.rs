//! Groups of 62 outstanding operations per thread, each with its own ring. Corresponds to overlapped I/O with events, where
//! a thread waits for at most 64 event objects, one per operation.
//!
//! A connection has one outstanding operation at a time (a receive or a send), so a thread has at most 62 connections.
//! Threads: ceil(connections / 62) + 1.
//!
//! Unlike the original, a ring reports what completed, without a scan of all handles for each event. With option `literal`,
//! every operation signals its own eventfd and the thread waits for 62 of those, which keeps that cost.
//!
//! Cost of an event: one io_uring_enter for the few operations that complete together in one group, and a switch of threads.

use std::net::SocketAddr;
use std::sync::Arc;

use super::groups;
use super::launch::Launch;
use crate::ServeError;
use crate::completion::{OPERATIONS, Receive, Setup, Worker, probe};

pub(super) fn start(launch: &Launch<'_>) -> Result<SocketAddr, ServeError> {
    probe()?;
    let receive = if launch.policy.lazy_buffers { Receive::Empty } else { Receive::Single };
    let limit = launch.policy.limits.map(|l| l.sends);
    let sends = launch.options.get("sends")?.or(limit).unwrap_or(OPERATIONS).clamp(1, OPERATIONS);
    let literal = launch.options.on("literal")?;
    let run = move |shard| {
        let setup = Setup {
            receive,
            sends,
            send_bytes: 16 * 1024,
            buffers: 64,
            buffer_bytes: 4096,
            direct: false,
            entries: if literal { 256 } else { 64 },
            literal,
        };
        Worker::new(shard, setup)?.run()
    };
    groups::start(launch, OPERATIONS, Arc::new(run))
}

//! Threads with up to 62 outstanding operations and one ring each. The model corresponds to overlapped I/O with events
//! on Windows, where a thread waits for at most 64 event objects, one per operation.
//!
//! A connection has at most one outstanding operation (a receive or a send), so a thread can serve 62 connections. The
//! number of threads is ceil(connections / 62) + 1.
//!
//! Windows scans all handles for each event. A ring reports completed operations without a scan. With the option
//! `literal`, every operation signals its own eventfd, and the thread waits for 62 eventfds. The scan of 62 eventfds
//! costs as much as the scan of the handles on Windows.
//!
//! Cost of an event: a thread switch, and a part of one io_uring_enter. An io_uring_enter is shared only by operations
//! of one group that complete at the same time.

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

//! io_uring(7), which corresponds to the completion port of Windows: operations are posted, and a queue reports their
//! completions.
//!
//! `uring` follows the server of the Windows study (Jones and Deshpande, 2000): one queue, one serving thread, and one
//! posted receive per connection. At most 200 sends are outstanding; further sends wait in order of arrival. The model
//! `uring` differs from the server on Windows in two ways. On Windows, each connection reserves a buffer; on Linux, the
//! kernel chooses a buffer when data arrives. A completion port wakes the thread that has waited for the shortest time,
//! but a ring has only one waiting thread.
//!
//! `uring-sharded` uses more features of io_uring: one ring and one listening socket per thread, and multishot
//! receives.
//!
//! Cost of an event: a part of one io_uring_enter, which several events share. Each request also needs two entries in
//! the ring's queues, which are shared memory. Besides io_uring_enter, the thread makes no system calls.

use std::net::SocketAddr;

use super::launch::Launch;
use crate::ServeError;
use crate::completion::{Receive, Setup, Worker, allows_direct, probe};
use crate::strategies::limits::SENDS;

pub(super) fn single(launch: &Launch<'_>) -> Result<SocketAddr, ServeError> {
    start(launch, 1, Receive::Single, SENDS, 64 * 1024)
}

pub(super) fn sharded(launch: &Launch<'_>) -> Result<SocketAddr, ServeError> {
    start(launch, launch.plan.threads.max(1), Receive::Multishot, 4096, 32 * 1024)
}

fn start(
    launch: &Launch<'_>,
    threads: u32,
    receive: Receive,
    sends: u32,
    send_bytes: u32,
) -> Result<SocketAddr, ServeError> {
    launch.refuse_pace("uring")?;
    probe()?;
    let receive = if launch.policy.lazy_buffers { Receive::Empty } else { receive };
    let limit = launch.policy.limits.map(|l| l.sends);
    let sends = launch.options.get("sends")?.or(limit).unwrap_or(sends).clamp(1, 16_384);
    let (listeners, addr) = launch.listen(threads, threads > 1)?;
    for listener in listeners {
        let shard = launch.shard(Some(listener))?;
        let setup = Setup {
            receive,
            sends,
            send_bytes,
            buffers: 1024,
            buffer_bytes: 16 * 1024,
            direct: allows_direct(&launch.policy),
            entries: 512,
            literal: false,
        };
        launch.control.spawn("uring", || Worker::new(shard, setup)?.run())?;
    }
    Ok(addr)
}

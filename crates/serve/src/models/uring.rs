//! io_uring(7), the completion port's relative: operations are posted and one queue tells which completed.
//!
//! `uring` follows the source's server: one queue, one thread that serves, one receive posted a connection, sends first
//! in first out with at most 200 outstanding. It differs in that the kernel picks a buffer when data comes (the
//! original locks one a connection), and that a ring has one waiter where a port releases threads last in first out.
//! `uring-sharded` is what the mechanism can do: a ring and a listener a thread, receives that last (multishot).
//!
//! Cost of an event: a share of one io_uring_enter, two entries in shared memory for a request, no other system call.

use std::net::SocketAddr;

use super::launch::Launch;
use crate::ServeError;
use crate::completion::{Receive, Setup, Worker, direct, probe};
use crate::strategies::limits::SENDS;

pub(super) fn single(launch: &Launch<'_>) -> Result<SocketAddr, ServeError> {
    start(launch, 1, Receive::Single, SENDS, 64 * 1024)
}

pub(super) fn sharded(launch: &Launch<'_>) -> Result<SocketAddr, ServeError> {
    start(launch, launch.plan.threads.max(1), Receive::Lasting, 4096, 32 * 1024)
}

fn start(
    launch: &Launch<'_>,
    threads: u32,
    receive: Receive,
    sends: u32,
    send_bytes: u32,
) -> Result<SocketAddr, ServeError> {
    launch.no_pace("uring")?;
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
            direct: direct(&launch.policy),
            entries: 512,
            literal: false,
        };
        launch.control.spawn("uring", || Worker::new(shard, setup)?.run())?;
    }
    Ok(addr)
}

//! Two-process S-Clients as in source 1: one process establishes connections and sends their requests, another one, joined
//! to it by a socketpair, takes the established descriptors and handles the answers. Each generator thread has its own
//! partner. Counts are the same as in one process; only where the work is done differs.
//!
//! What the partner has to say comes back over a stream: frames of a kind, a length, and that many bytes.

use std::io::{Read, Write};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};

use proto::Client;
use run::{LoadPart, Phase};
use sys::{limits, pass};

use crate::LoadError;
use crate::core::Task;
use crate::drivers::Setup;
use crate::drivers::epoll::{EpollDriver, Told};
use crate::shard::{self, Order, Show};

const SHOWN: u8 = 0;
const PART: u8 = 1;
/// How often the partner shows its counts.
const SHOW_NS: u64 = 50_000_000;
/// Longest part that is believed.
const LONGEST: u64 = 64 << 20;

/// A handling process, seen from the establishing one.
#[derive(Debug)]
pub(crate) struct Partner {
    /// Goes to the establishing driver.
    pub(crate) end: OwnedFd,
    stream: UnixStream,
    child: pass::Child,
}

/// Starts the handling process of one shard; `others` are those that were started before. Must be called before any
/// connection is made, since a forked process has a copy of every descriptor.
pub(crate) fn start<C: Client>(
    client: &C,
    task: Task,
    setup: &Setup,
    others: &[Partner],
) -> Result<Partner, LoadError> {
    let failed = |errno| LoadError::System {
        what: "starting the handling process of a two-process S-Client",
        errno,
        advice: "raise the limit of processes (ulimit -u), or leave out --two-process",
    };
    let (end, theirs) = pass::pair().map_err(failed)?;
    let (stream, back) =
        UnixStream::pair().map_err(|e| failed(sys::Errno::from_io_error(&e).unwrap_or(sys::Errno::MFILE)))?;
    let setup = Setup { capacity: task.capacity(), ..setup.clone() };
    // A copy of an establishing side's end would keep that pair open for ever.
    let mut not_there: Vec<_> = others.iter().flat_map(|p| [p.end.as_fd(), p.stream.as_fd()]).collect();
    not_there.extend([end.as_fd(), stream.as_fd()]);
    let child = pass::fork(&not_there, || u8::from(handle(client, task, &setup, theirs, back).is_err()));
    Ok(Partner { end, stream, child: child.map_err(failed)? })
}

/// The handling process.
fn handle<C: Client>(
    client: &C,
    task: Task,
    setup: &Setup,
    end: OwnedFd,
    mut back: UnixStream,
) -> Result<(), LoadError> {
    let failed = |errno| LoadError::System { what: "handling connections", errno, advice: "see ulimit -n" };
    let _ = limits::exact_timers();
    let mut driver = EpollDriver::new(setup).map_err(failed)?;
    let told = driver.adopt_from(end).map_err(failed)?;
    let show = Show::default();
    let next_show = AtomicU64::new(0);
    let teller = back.try_clone().map_err(|_| failed(sys::Errno::MFILE))?;
    let order = |now: u64, current: Phase| {
        if now >= next_show.load(Ordering::Relaxed) {
            next_show.store(now + SHOW_NS, Ordering::Relaxed);
            let _ = frame(&teller, SHOWN, &show.bytes());
        }
        order_of(told.get(), now, current)
    };
    let part = shard::run(&mut driver, client, task, &show, order).map_err(failed)?;
    let text = serde_json::to_vec(&part).map_err(|_| LoadError::ThreadLost)?;
    let _ = frame(&back, PART, &text);
    let _ = back.flush();
    Ok(())
}

fn order_of(told: Told, now: u64, current: Phase) -> Order {
    let due = now >= told.at_ns;
    Order {
        phase: if due { told.phase } else { current },
        // At its own end of the drain the other side goes, and the answers that are still to come are awaited here.
        stop: told.gone && told.phase != Phase::Drain,
        next_ns: if due { u64::MAX } else { told.at_ns },
    }
}

fn frame(mut to: &UnixStream, kind: u8, bytes: &[u8]) -> std::io::Result<()> {
    let mut head = [0; 9];
    head[0] = kind;
    head[1..].copy_from_slice(&(bytes.len() as u64).to_ne_bytes());
    to.write_all(&head)?;
    to.write_all(bytes)
}

impl Partner {
    /// Splits off what the establishing driver needs, and what is heard from the partner.
    pub(crate) fn split(self) -> (OwnedFd, Listener) {
        (self.end, Listener { stream: self.stream, child: self.child })
    }
}

/// What is heard from a handling process.
#[derive(Debug)]
pub(crate) struct Listener {
    stream: UnixStream,
    child: pass::Child,
}

impl Listener {
    /// Shows what the partner shows, until it gives its part.
    pub(crate) fn listen(mut self, show: &Show) -> Result<LoadPart, LoadError> {
        loop {
            let mut head = [0; 9];
            self.stream.read_exact(&mut head).map_err(|_| LoadError::PartnerLost)?;
            let len = u64::from_ne_bytes(std::array::from_fn(|i| head[1 + i])).min(LONGEST);
            let mut bytes = vec![0; len as usize];
            self.stream.read_exact(&mut bytes).map_err(|_| LoadError::PartnerLost)?;
            if head[0] == PART {
                drop(self.child);
                return serde_json::from_slice(&bytes).map_err(|_| LoadError::PartnerLost);
            }
            show.take_bytes(&bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_holds_from_its_moment_on() {
        let told = Told { phase: Phase::Measure, at_ns: 1_000, gone: false };
        let early = order_of(told, told.at_ns - 1, Phase::WarmUp);
        assert_eq!((early.phase, early.next_ns), (Phase::WarmUp, told.at_ns));
        assert_eq!(order_of(told, told.at_ns, Phase::WarmUp).phase, Phase::Measure);
        assert!(order_of(Told { gone: true, ..told }, 0, Phase::WarmUp).stop);
        assert!(!order_of(Told { gone: true, phase: Phase::Drain, ..told }, 2_000, Phase::Drain).stop);
    }
}

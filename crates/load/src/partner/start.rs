//! The process that handles the connections of two-process S-Clients: its start and its main loop.

use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};

use proto::AnyClient;
use run::Phase;
use sys::{limits, pass};

use super::{COUNTS_FRAME, Partner, RESULT_FRAME, frame};
use crate::LoadError;
use crate::core::Task;
use crate::drivers::Setup;
use crate::drivers::epoll::{EpollDriver, PartnerMessage};
use crate::shard::{self, LiveCounts, Order};

/// Interval at which the second process sends its counts, nanoseconds.
const PUBLISH_INTERVAL_NS: u64 = 50_000_000;
/// Starts the process that handles the connections of one shard (generator thread). `others` are the second processes
/// that were started before. The second processes must start before any connection is made, because a forked process
/// gets a copy of every descriptor.
pub(crate) fn start(
    client: &dyn AnyClient,
    task: Task,
    setup: &Setup,
    others: &[Partner],
) -> Result<Partner, LoadError> {
    let failed =
        |error: std::io::Error| LoadError::no_thread("starting the handling process of a two-process S-Client", &error);
    let (end, theirs) = pass::pair().map_err(|errno| failed(errno.into()))?;
    let (stream, back) = UnixStream::pair().map_err(failed)?;
    let setup = Setup { capacity: task.capacity(), ..setup.clone() };
    // The new process must not keep copies of the socketpair ends of the first process. If the new process kept copies,
    // the socketpairs would stay open after the first process has closed its ends.
    let mut not_there: Vec<_> = others.iter().flat_map(|p| [p.end.as_fd(), p.stream.as_fd()]).collect();
    not_there.extend([end.as_fd(), stream.as_fd()]);
    let child = pass::fork(&not_there, || u8::from(handle(client, task, &setup, theirs, back).is_err()));
    Ok(Partner { end, stream, child: child.map_err(|errno| failed(errno.into()))? })
}

/// Runs the process that handles connections.
fn handle(
    client: &dyn AnyClient,
    task: Task,
    setup: &Setup,
    end: OwnedFd,
    mut back: UnixStream,
) -> Result<(), LoadError> {
    let failed = |errno| LoadError::System { what: "handling connections", errno, advice: "see ulimit -n" };
    let _ = limits::exact_timers();
    let mut driver = EpollDriver::new(setup).map_err(failed)?;
    let message = driver.adopt_from(end).map_err(failed)?;
    let show = LiveCounts::default();
    let next_show = AtomicU64::new(0);
    let teller = back.try_clone().map_err(|_| failed(sys::Errno::MFILE))?;
    let order = |now: u64, current: Phase| {
        if now >= next_show.load(Ordering::Relaxed) {
            next_show.store(now + PUBLISH_INTERVAL_NS, Ordering::Relaxed);
            let _ = frame(&teller, COUNTS_FRAME, &show.bytes());
        }
        order_of(message.get(), now, current)
    };
    let part = shard::run(&mut driver, client, task, &show, &order).map_err(failed)?;
    let text = serde_json::to_vec(&part).map_err(|_| LoadError::ThreadLost)?;
    let _ = frame(&back, RESULT_FRAME, &text);
    let _ = back.flush();
    Ok(())
}

fn order_of(message: PartnerMessage, now: u64, current: Phase) -> Order {
    let due = now >= message.at_ns;
    Order {
        phase: if due { message.phase } else { current },
        at_ns: message.at_ns,
        // If the process that establishes connections ends after its own drain, this process still waits for the
        // remaining answers.
        stop: message.gone && message.phase != Phase::Drain,
        next_ns: if due { u64::MAX } else { message.at_ns },
        factor: 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_takes_effect_at_its_time() {
        let message = PartnerMessage { phase: Phase::Measure, at_ns: 1_000, gone: false };
        let early = order_of(message, message.at_ns - 1, Phase::WarmUp);
        assert_eq!((early.phase, early.next_ns), (Phase::WarmUp, message.at_ns));
        assert_eq!(order_of(message, message.at_ns, Phase::WarmUp).phase, Phase::Measure);
        assert!(order_of(PartnerMessage { gone: true, ..message }, 0, Phase::WarmUp).stop);
        assert!(!order_of(PartnerMessage { gone: true, phase: Phase::Drain, ..message }, 2_000, Phase::Drain).stop);
    }
}

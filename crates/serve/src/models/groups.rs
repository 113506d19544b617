//! Threads with a bounded number of connections each: one thread accepts and deals connections out, and starts a further
//! thread when all are full. What the group models share.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::launch::Launch;
use crate::listener::Acceptor;
use crate::server::{Control, lock};
use crate::shard::{Inbox, Shard};
use crate::stats::Cell;
use crate::{ServeError, Service};

/// Starts the loop of one group in its new thread.
pub(super) type RunGroup = Arc<dyn Fn(Shard) -> Result<(), ServeError> + Send + Sync>;

/// One group.
struct Group {
    inbox: Arc<Inbox>,
    taken: Arc<AtomicU32>,
    /// Its thread could not serve (no descriptors for its events, say) and has ended.
    dead: Arc<AtomicBool>,
}

/// The thread that accepts.
struct Dealer {
    control: Arc<Control>,
    service: Arc<dyn Service>,
    policy: crate::strategies::Policy,
    capacity: u32,
    run: RunGroup,
    groups: Vec<Group>,
    cell: Arc<Cell>,
}

/// Resets the connections that a group which does not serve was given.
fn give_up(inbox: &Inbox) -> u64 {
    let fds = inbox.take();
    for fd in &fds {
        let _ = sys::socket::set_reset_on_close(fd);
    }
    fds.len() as u64
}

/// Accepts and deals out to groups of at most `capacity` connections.
pub(super) fn start(launch: &Launch<'_>, capacity: u32, run: RunGroup) -> Result<SocketAddr, ServeError> {
    let (mut listeners, addr) = launch.listen(1, false)?;
    let waker = launch.control.waker()?;
    let pace = crate::listener::Pace::from(launch.options)?;
    let acceptor = Acceptor::new(listeners.remove(0), pace, sys::clock::monotonic_ns());
    let mut dealer = Dealer {
        control: launch.control.clone(),
        service: launch.service.clone(),
        policy: launch.policy,
        capacity,
        run,
        groups: Vec::new(),
        cell: launch.control.cell(),
    };
    launch.control.spawn("dealer", move || {
        let (control, cell) = (dealer.control.clone(), dealer.cell.clone());
        acceptor.run(&control, &waker, &cell, |fd| dealer.deal(fd))
    })?;
    Ok(addr)
}

impl Dealer {
    /// Gives a connection to the first group that has room.
    fn deal(&mut self, fd: OwnedFd) {
        let alive = |g: &Group| !g.dead.load(Ordering::SeqCst);
        let room = |g: &Group| alive(g) && g.taken.load(Ordering::Acquire) < self.capacity;
        let at = match self.groups.iter().position(room) {
            Some(at) => at,
            None => match self.grow() {
                Ok(()) => self.groups.len() - 1,
                Err(e) => {
                    // No thread, no service: the peer is told by a reset, the user by the count and the reason.
                    self.cell.accepted.add(1);
                    self.cell.refused.add(1);
                    if self.cell.refused.get() == 1 {
                        self.control.fail(e.to_string());
                    }
                    let _ = sys::socket::set_reset_on_close(&fd);
                    return;
                }
            },
        };
        let group = &self.groups[at];
        group.taken.fetch_add(1, Ordering::AcqRel);
        lock(&group.inbox.fds).push(fd);
        group.inbox.waker.wake();
        // It may have died before it could look.
        if !alive(group) {
            self.cell.refused.add(give_up(&group.inbox));
        }
    }

    fn grow(&mut self) -> Result<(), ServeError> {
        if self.groups.iter().any(|g| g.dead.load(Ordering::SeqCst)) {
            let error = std::io::Error::other("a further group could not serve");
            return Err(ServeError::Thread { error });
        }
        let inbox = Inbox::new(self.control.waker()?);
        let taken = Arc::new(AtomicU32::new(0));
        let left = taken.clone();
        let shard = Shard {
            control: self.control.clone(),
            service: self.service.clone(),
            policy: self.policy,
            listener: None,
            pace: None,
            inbox: inbox.clone(),
            cell: self.control.cell(),
            on_close: Some(Box::new(move || {
                left.fetch_sub(1, Ordering::AcqRel);
            })),
        };
        let (run, dead, cell) = (self.run.clone(), Arc::new(AtomicBool::new(false)), shard.cell.clone());
        let (told, given) = (dead.clone(), inbox.clone());
        let serve = move || {
            let outcome = run(shard);
            if outcome.is_err() {
                told.store(true, Ordering::SeqCst);
                cell.refused.add(give_up(&given));
            }
            outcome
        };
        self.control.spawn("group", serve)?;
        self.groups.push(Group { inbox, taken, dead });
        Ok(())
    }
}

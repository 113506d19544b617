//! Common part of the group models, in which each thread serves a limited number of connections (a group). One thread
//! accepts connections and assigns each of them to a group. If all groups are full, the accepting thread starts another
//! group.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::launch::Launch;
use crate::acceptor::Acceptor;
use crate::control::{Control, lock};
use crate::shard::{Inbox, ShardSetup};
use crate::stats::Cell;
use crate::{ServeError, Service};

/// Function that runs the event loop of one group, in the group's own thread.
pub(super) type RunGroup = Arc<dyn Fn(ShardSetup) -> Result<(), ServeError> + Send + Sync>;

/// A serving thread with its inbox and its number of connections.
struct Group {
    inbox: Arc<Inbox>,
    taken: Arc<AtomicU32>,
    /// True if the thread has ended with an error, for example because descriptors for its events ran out.
    dead: Arc<AtomicBool>,
}

/// State of the accepting thread, which assigns each new connection to a group.
struct Assigner {
    control: Arc<Control>,
    service: Arc<dyn Service>,
    policy: crate::strategies::Policy,
    capacity: u32,
    run: RunGroup,
    groups: Vec<Group>,
    cell: Arc<Cell>,
}

/// Resets the connections that wait in the inbox of a failed group. Returns the number of connections that were reset.
fn reset_inbox(inbox: &Inbox) -> u64 {
    let fds = inbox.take();
    for fd in &fds {
        let _ = sys::socket::set_reset_on_close(fd);
    }
    fds.len() as u64
}

/// Accepts connections and assigns them to groups of at most `capacity` connections.
pub(super) fn start(launch: &Launch<'_>, capacity: u32, run: RunGroup) -> Result<SocketAddr, ServeError> {
    let (mut listeners, addr) = launch.listen(1, false)?;
    let waker = launch.control.waker()?;
    let pace = crate::acceptor::Pace::from(launch.options)?;
    let acceptor = Acceptor::new(listeners.remove(0), pace, sys::clock::monotonic_ns());
    let mut assigner = Assigner {
        control: launch.control.clone(),
        service: launch.service.clone(),
        policy: launch.policy,
        capacity,
        run,
        groups: Vec::new(),
        cell: launch.control.cell(),
    };
    launch.control.spawn("assigner", move || {
        let (control, cell) = (assigner.control.clone(), assigner.cell.clone());
        acceptor.run(&control, &waker, &cell, |fd| assigner.assign(fd))
    })?;
    Ok(addr)
}

impl Assigner {
    /// Assigns a connection to the first group that is not full.
    fn assign(&mut self, fd: OwnedFd) {
        let alive = |g: &Group| !g.dead.load(Ordering::SeqCst);
        let room = |g: &Group| alive(g) && g.taken.load(Ordering::Acquire) < self.capacity;
        let at = match self.groups.iter().position(room) {
            Some(at) => at,
            None => match self.grow() {
                Ok(()) => self.groups.len() - 1,
                Err(e) => {
                    // No thread could be created for another group, so the connection is reset. The counts and the
                    // reported failure tell the user that the connection was reset.
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
        // The group may have failed before it took the connection from its inbox.
        if !alive(group) {
            self.cell.refused.add(reset_inbox(&group.inbox));
        }
    }

    fn grow(&mut self) -> Result<(), ServeError> {
        if self.groups.iter().any(|g| g.dead.load(Ordering::SeqCst)) {
            return Err(ServeError::Thread { why: "a further group could not serve".into() });
        }
        let inbox = Inbox::new(self.control.waker()?);
        let taken = Arc::new(AtomicU32::new(0));
        let left = taken.clone();
        let shard = ShardSetup {
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
                cell.refused.add(reset_inbox(&given));
            }
            outcome
        };
        self.control.spawn("group", serve)?;
        self.groups.push(Group { inbox, taken, dead });
        Ok(())
    }
}

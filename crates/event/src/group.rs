//! Interest of several queues in one descriptor: process-wide interest, and wake-one interest.
//!
//! Process-wide interest applies to every present and future queue of the group, and each queue gets every event.
//! Wake-one interest is declared in one edge-triggered epoll instance, which every queue watches. Several queues may
//! wake up, but each event goes only to the queue that reads it first from the shared instance. The queues of a group
//! may have different backends.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use sys::epoll::{Epoll, Interest};
use sys::epoll_raw::{self, Slots};
use sys::wake::Waker;

use crate::backends::Mechanism;
use crate::state::state;
use crate::table::{descriptor, token};
use crate::{Event, EventError, Mask, Result, State};

/// Group of queues that share process-wide and wake-one interest. A `Group` is a handle that may be cloned and sent to
/// every thread.
#[derive(Clone, Debug)]
pub struct Group {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Number of process-wide declarations so far. A queue needs to read only `version` to find out whether there are
    /// new process-wide declarations.
    version: AtomicU64,
    state: Mutex<Declared>,
    one: Epoll,
}

#[derive(Debug, Default)]
struct Declared {
    /// Process-wide interest in each descriptor: the kinds of events, and the version number of the declaration. A
    /// forgotten descriptor has `None` instead of the kinds of events.
    everyone: BTreeMap<RawFd, (Option<Mask>, u64)>,
    /// Wake-one interest in each descriptor: the kinds of events, and the generation of the registration.
    one: BTreeMap<RawFd, (Mask, u32)>,
    /// Generation of the last wake-one registration. Each registration has a new generation, even after `forget`.
    generation: u32,
    bells: Vec<Weak<Waker>>,
}

impl Declared {
    /// Wakes the waiting queues, so that they apply new process-wide declarations.
    fn wake_queues(&mut self) {
        self.bells.retain(|bell| {
            bell.upgrade().is_some_and(|bell| {
                bell.wake();
                true
            })
        });
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Declared> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Group {
    /// Creates a group without queues. [`EventQueue::join`](crate::EventQueue::join) adds a queue.
    pub fn new() -> Result<Self> {
        let one = Epoll::new().map_err(|e| EventError::Create { backend: "group", source: e.into() })?;
        Ok(Self { shared: Arc::new(Shared { version: AtomicU64::new(0), state: Mutex::default(), one }) })
    }

    /// Declares interest in a descriptor for every present and future queue of the group. Each queue of the group gets
    /// every event of the descriptor. [`Mask::NONE`] revokes the interest in all queues. Waiting queues are woken up to
    /// apply the new declaration.
    pub fn declare_processwide_interest(&self, fd: RawFd, interest: Mask, want_state: bool) -> Result<Option<State>> {
        let now = state(fd)?;
        {
            let mut declared = self.shared.lock();
            let version = self.shared.version.load(Ordering::Relaxed) + 1;
            declared.everyone.insert(fd, (Some(interest), version));
            self.shared.version.store(version, Ordering::Release);
            declared.wake_queues();
        }
        Ok(want_state.then_some(now))
    }

    /// Declares interest of the whole group in a descriptor, usually a listening socket. Each event goes to only one
    /// queue: the first queue that checks for events. [`Mask::NONE`] revokes the interest.
    pub fn declare_wake_one(&self, fd: RawFd, interest: Mask, want_state: bool) -> Result<Option<State>> {
        let fail = |e| EventError::declare(fd, e);
        {
            let mut declared = self.shared.lock();
            if interest.is_none() {
                declared.one.remove(&fd);
                match epoll_raw::delete(&self.shared.one, fd) {
                    Err(sys::Errno::NOENT) => {}
                    outcome => outcome.map_err(fail)?,
                }
            } else {
                declared.generation = declared.generation.wrapping_add(1);
                let generation = declared.generation;
                let bits = Interest::from_bits_retain(interest.to_poll() as u16 as u32) | Interest::ET;
                let token = token(fd, generation);
                match epoll_raw::modify(&self.shared.one, fd, token, bits) {
                    Err(sys::Errno::NOENT) => epoll_raw::add(&self.shared.one, fd, token, bits).map_err(fail)?,
                    outcome => outcome.map_err(fail)?,
                }
                declared.one.insert(fd, (interest, generation));
            }
        }
        if want_state { state(fd).map(Some) } else { Ok(None) }
    }

    /// Ends the process-wide and the wake-one interest in `fd`. Call this function before `fd` is closed. The call
    /// wakes waiting queues, because the wait of some backends keeps the file open in the kernel.
    pub fn forget(&self, fd: RawFd) {
        let _ = epoll_raw::delete(&self.shared.one, fd);
        let mut declared = self.shared.lock();
        declared.one.remove(&fd);
        let version = self.shared.version.load(Ordering::Relaxed) + 1;
        let Some(entry) = declared.everyone.get_mut(&fd).filter(|(interest, _)| interest.is_some()) else { return };
        *entry = (None, version);
        self.shared.version.store(version, Ordering::Release);
        declared.wake_queues();
    }
}

/// Membership of one queue in a group.
#[derive(Debug)]
pub(crate) struct Membership {
    shared: Arc<Shared>,
    bell: Arc<Waker>,
    /// Version number of the last process-wide declaration that this queue has applied.
    version: u64,
    /// True if the shared epoll instance may have more events.
    more: bool,
    slots: Slots,
}

impl Membership {
    pub(crate) fn new(group: &Group, mechanism: &mut Mechanism) -> sys::Result<Self> {
        let bell = Arc::new(Waker::new()?);
        mechanism.declare(bell.as_raw_fd(), Mask::READ, false)?;
        mechanism.declare(group.shared.one.as_fd().as_raw_fd(), Mask::READ, false)?;
        group.shared.lock().bells.push(Arc::downgrade(&bell));
        Ok(Self { shared: group.shared.clone(), bell, version: 0, more: true, slots: Slots::default() })
    }

    pub(crate) fn leave(self, mechanism: &mut Mechanism) {
        mechanism.forget(self.bell.as_raw_fd());
        mechanism.forget(self.shared.one.as_fd().as_raw_fd());
        let list: Vec<RawFd> = self.shared.lock().everyone.keys().copied().collect();
        list.into_iter().for_each(|fd| mechanism.forget(fd));
    }

    pub(crate) fn next(
        &mut self,
        mechanism: &mut Mechanism,
        out: &mut [Event],
        timeout_ns: Option<u64>,
    ) -> sys::Result<usize> {
        loop {
            if self.shared.version.load(Ordering::Acquire) != self.version {
                self.catch_up(mechanism)?;
            }
            let taken = if self.more { self.take_one(out)? } else { 0 };
            if taken == out.len() {
                return Ok(taken);
            }
            let wait = if taken > 0 || self.more { Some(0) } else { timeout_ns };
            let arrived = mechanism.next(&mut out[taken..], wait)?;
            let own = self.keep_foreign(&mut out[taken..][..arrived]);
            // The wait returned only events of the group's own descriptors, and none of the application's. The loop
            // then checks the shared epoll instance again, and repeats the wait.
            if taken + own > 0 || arrived == 0 && !self.more {
                return Ok(taken + own);
            }
        }
    }

    /// Applies the process-wide declarations made since the last call.
    fn catch_up(&mut self, mechanism: &mut Mechanism) -> sys::Result<()> {
        let declared = self.shared.lock();
        for (&fd, &(mask, version)) in &declared.everyone {
            if version > self.version {
                // Forget the descriptor now: with a later revocation, the kernel would keep the closed file open.
                let Some(mask) = mask else {
                    mechanism.forget(fd);
                    continue;
                };
                match mechanism.declare(fd, mask, false) {
                    // The descriptor was closed after interest in it was declared. The thread that closed this
                    // descriptor must also call [`Group::forget`].
                    Err(sys::Errno::BADF) => mechanism.forget(fd),
                    outcome => outcome?,
                }
            }
        }
        self.version = self.shared.version.load(Ordering::Acquire);
        Ok(())
    }

    /// Returns true if the event belongs to the current wake-one registration of its descriptor number.
    pub(crate) fn is_current(&self, event: &Event) -> bool {
        self.shared.lock().one.get(&event.fd).is_some_and(|(_, generation)| *generation == event.generation)
    }

    /// Takes events from the shared epoll instance. No other queue gets the events that this queue takes.
    fn take_one(&mut self, out: &mut [Event]) -> sys::Result<usize> {
        let arrived = epoll_raw::wait(&self.shared.one, &mut self.slots, out.len(), Some(0))?;
        self.more = arrived == out.len();
        let mut at = 0;
        let declared = self.shared.lock();
        for event in self.slots.iter() {
            let fd = descriptor(event.token);
            let Some(&(wanted, generation)) = declared.one.get(&fd) else { continue };
            let mask = Mask::from_poll(event.flags.bits() as i16) & wanted;
            if generation == (event.token >> 32) as u32 && !mask.is_none() {
                let ended = event.flags.intersects(Interest::RDHUP | Interest::HUP | Interest::ERR);
                out[at] = Event { fd, mask, ended, generation };
                at += 1;
            }
        }
        Ok(at)
    }

    /// Moves the events of the application's descriptors to the front, and returns their number. Handles and removes
    /// the events of the group's own two descriptors (this queue's waker and the shared epoll instance).
    fn keep_foreign(&mut self, out: &mut [Event]) -> usize {
        let (bell, one) = (self.bell.as_raw_fd(), self.shared.one.as_fd().as_raw_fd());
        let mut kept = 0;
        for at in 0..out.len() {
            let event = out[at];
            if event.fd == bell {
                self.bell.clear();
            } else if event.fd == one {
                self.more = true;
            } else {
                out[kept] = event;
                kept += 1;
            }
        }
        kept
    }
}

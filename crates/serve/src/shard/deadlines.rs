//! Deadlines of a thread's connections: peers over a limit, places that nobody uses, goodbyes that take too long.

use std::os::fd::AsFd;

use sys::socket;

use super::{Common, HeadState, Marks};
use crate::strategies::Over;

/// How often deadlines are looked at while there are any.
pub(crate) const SWEEP_NS: u64 = 100_000_000;
/// How long a peer is read after our side has ended.
const LINGER_MS: u32 = 2000;

/// Connections whose time is over.
#[derive(Default)]
pub(crate) struct Overdue {
    /// To be closed, with the limit that they are over if it is one.
    pub(crate) close: Vec<(u32, Option<Over>)>,
    /// To give up their places if others wait.
    pub(crate) idle: Vec<u32>,
}

impl Common {
    /// A connection lingers, so there is a deadline.
    pub(crate) fn somebody_lingers(&mut self) {
        self.lingers = true;
        self.next_sweep_ns.get_or_insert(self.now_ns + SWEEP_NS);
    }

    pub(crate) fn sweep_due(&self) -> bool {
        self.next_sweep_ns.is_some_and(|due| due <= self.now_ns)
    }

    /// Bytes came: if the head of a request is incomplete now, it gets a deadline.
    #[inline]
    pub(crate) fn watch_head(&mut self, token: u32, marks: &mut Marks) {
        if self.shard.policy.head_ms > 0 && marks.begins_head() {
            self.heads.push(token);
            self.next_sweep_ns.get_or_insert(self.now_ns + SWEEP_NS);
        }
    }

    /// The connections whose heads are incomplete, to be given to [`Common::head_is_late`] one by one.
    pub(crate) fn heads(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.heads)
    }

    /// Whether the head of a request took too long; otherwise it is looked at again.
    pub(crate) fn head_is_late(&mut self, token: u32, marks: &mut Marks) -> bool {
        let state = marks.head(self.now_ms(), self.shard.policy.head_ms);
        if state == HeadState::Awaited {
            self.heads.push(token);
            self.next_sweep_ns.get_or_insert(self.now_ns + SWEEP_NS);
        }
        state == HeadState::Late
    }

    /// Looks at the deadlines of all connections, if a strategy or a goodbye sets any.
    pub(crate) fn overdue<'a>(&mut self, conns: impl Iterator<Item = (u32, &'a Marks)>) -> Overdue {
        let mut overdue = Overdue::default();
        if self.sweeps_all() {
            self.lingers = false;
            conns.for_each(|(token, marks)| self.look_at(token, marks, &mut overdue));
        }
        self.plan_sweep();
        overdue
    }

    fn sweeps_all(&self) -> bool {
        self.lingers || self.shard.policy.limits.is_some() || self.shard.policy.active.is_some()
    }

    fn look_at(&mut self, token: u32, marks: &Marks, overdue: &mut Overdue) {
        let (now_ms, policy) = (self.now_ms(), &self.shard.policy);
        let quiet_ms = marks.quiet_ms(now_ms);
        if marks.lingering {
            self.lingers = true;
            if quiet_ms >= LINGER_MS {
                overdue.close.push((token, None));
            }
        } else if let Some(why) = policy.limits.and_then(|l| l.over(now_ms, marks.heard_ms, marks.blocked_ms)) {
            overdue.close.push((token, Some(why)));
        } else if policy.active.is_some_and(|a| !marks.parked && quiet_ms >= a.idle_ms) {
            overdue.idle.push(token);
        }
    }

    pub(super) fn plan_sweep(&mut self) {
        self.next_sweep_ns = self.sweeps_all().then_some(self.now_ns + SWEEP_NS);
    }

    /// Whether a silent connection has to give up its place.
    pub(crate) fn anybody_waits(&self) -> bool {
        self.places.anybody_waits()
    }

    /// Counts and names a peer that a limit closes.
    pub(crate) fn give_up(&self, why: Over, fd: Option<impl AsFd + Copy>) {
        let (counter, words) = match why {
            Over::Unread => (&self.shard.cell.closed_unread, "sends and does not read"),
            Over::Silent => (&self.shard.cell.closed_silent, "is silent"),
            Over::Slow => (&self.shard.cell.closed_slow, "takes too long for a request's head"),
        };
        counter.add(1);
        self.shard.control.name_peer(format!("{} {words}", Self::name(fd)));
        if let Some(fd) = fd.filter(|_| why != Over::Slow) {
            // What it never read would otherwise stay in the kernel until its own timeout.
            let _ = socket::set_reset_on_close(fd);
        }
    }
}

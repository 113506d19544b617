//! Deadlines of a thread's connections: for the limits of the strategy `limits`, unused worker slots, peers that do not
//! close, and heads of requests.

use std::os::fd::AsFd;

use super::Shard;
use crate::connection::{Activity, HeadState};
use crate::strategies::LimitHit;

/// Time between two checks of deadlines, nanoseconds.
pub(crate) const SWEEP_NS: u64 = 100_000_000;

/// Connections whose deadline has passed.
#[derive(Default)]
pub(crate) struct Overdue {
    /// Connections that the server must close, each with the limit that the connection exceeded. `None` instead of a
    /// limit has a special meaning. The server had closed its sending side, and the peer did not close its own sending
    /// side in time.
    pub(crate) close: Vec<(u32, Option<LimitHit>)>,
    /// Idle connections with a worker slot. If other connections wait for a slot, the idle connections lose their
    /// slots.
    pub(crate) idle: Vec<u32>,
}

impl Shard {
    /// Records that the server has closed its sending side of a connection. From then on, the peer has a deadline for
    /// closing its own sending side.
    pub(crate) fn note_lingering(&mut self) {
        self.any_lingers = true;
        self.next_sweep_ns.get_or_insert(self.now_ns + SWEEP_NS);
    }

    pub(crate) fn sweep_due(&self) -> bool {
        self.next_sweep_ns.is_some_and(|due| due <= self.now_ns)
    }

    /// If the head of a request is incomplete, starts to check the deadline for receiving the complete head.
    #[inline]
    pub(crate) fn watch_head(&mut self, token: u32, activity: &mut Activity) {
        if self.setup.policy.head_ms > 0 && activity.starts_head_watch() {
            self.heads.push(token);
            self.next_sweep_ns.get_or_insert(self.now_ns + SWEEP_NS);
        }
    }

    /// Takes the list of connections with incomplete heads. The caller passes each listed connection to
    /// [`Shard::head_is_late`].
    pub(crate) fn take_heads(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.heads)
    }

    /// Returns true if the head of a request took too long. A head that is incomplete but not late is checked again
    /// later.
    pub(crate) fn head_is_late(&mut self, token: u32, activity: &mut Activity) -> bool {
        let state = activity.check_head(self.now_ms(), self.setup.policy.head_ms);
        if state == HeadState::Incomplete {
            self.heads.push(token);
            self.next_sweep_ns.get_or_insert(self.now_ns + SWEEP_NS);
        }
        state == HeadState::Late
    }

    /// Returns the connections whose deadlines have passed.
    pub(crate) fn overdue<'a>(&mut self, conns: impl Iterator<Item = (u32, &'a Activity)>) -> Overdue {
        let mut overdue = Overdue::default();
        if self.has_deadlines() {
            self.any_lingers = false;
            conns.for_each(|(token, activity)| self.check(token, activity, &mut overdue));
        }
        self.plan_sweep();
        overdue
    }

    fn has_deadlines(&self) -> bool {
        self.any_lingers || self.setup.policy.limits.is_some() || self.setup.policy.active.is_some()
    }

    fn check(&mut self, token: u32, activity: &Activity, overdue: &mut Overdue) {
        let (now_ms, policy) = (self.now_ms(), &self.setup.policy);
        if activity.lingering {
            self.any_lingers = true;
            if activity.lingered_enough(now_ms) {
                overdue.close.push((token, None));
            }
            return;
        }
        // The server does not read from a parked connection, so its peer cannot be called silent.
        if activity.parked {
            return;
        }
        if let Some(why) = policy.limits.and_then(|l| l.hit(now_ms, activity.heard_ms, activity.blocked_ms)) {
            overdue.close.push((token, Some(why)));
        } else if policy.active.is_some_and(|a| activity.quiet_ms(now_ms) >= a.idle_ms) {
            overdue.idle.push(token);
        }
    }

    pub(super) fn plan_sweep(&mut self) {
        self.next_sweep_ns = self.has_deadlines().then_some(self.now_ns + SWEEP_NS);
    }

    /// Returns true if a connection waits for a worker slot.
    pub(crate) fn any_waits(&self) -> bool {
        self.slots.any_waits()
    }

    /// Counts and reports a peer whose connection is closed because of a limit.
    pub(crate) fn close_at_limit(&self, hit: LimitHit, fd: Option<impl AsFd + Copy>) {
        self.setup.cell.limit_counter(hit).add(1);
        self.setup.control.close_at_limit(hit, fd);
    }
}

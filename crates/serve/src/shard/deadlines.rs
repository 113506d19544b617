//! Deadlines of a thread's connections: peers over a limit, places that nobody uses, goodbyes that take too long.

use std::os::fd::AsFd;

use super::Common;
use crate::connection::{Activity, HeadState};
use crate::strategies::LimitHit;

/// How often deadlines are looked at while there are any.
pub(crate) const SWEEP_NS: u64 = 100_000_000;

/// Connections whose time is over.
#[derive(Default)]
pub(crate) struct Overdue {
    /// To be closed, with the limit that they are over if it is one.
    pub(crate) close: Vec<(u32, Option<LimitHit>)>,
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
    pub(crate) fn watch_head(&mut self, token: u32, activity: &mut Activity) {
        if self.shard.policy.head_ms > 0 && activity.starts_head_watch() {
            self.heads.push(token);
            self.next_sweep_ns.get_or_insert(self.now_ns + SWEEP_NS);
        }
    }

    /// The connections whose heads are incomplete, to be given to [`Common::head_is_late`] one by one.
    pub(crate) fn heads(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.heads)
    }

    /// Whether the head of a request took too long; otherwise it is looked at again.
    pub(crate) fn head_is_late(&mut self, token: u32, activity: &mut Activity) -> bool {
        let state = activity.check_head(self.now_ms(), self.shard.policy.head_ms);
        if state == HeadState::Incomplete {
            self.heads.push(token);
            self.next_sweep_ns.get_or_insert(self.now_ns + SWEEP_NS);
        }
        state == HeadState::Late
    }

    /// Looks at the deadlines of all connections, if a strategy or a goodbye sets any.
    pub(crate) fn overdue<'a>(&mut self, conns: impl Iterator<Item = (u32, &'a Activity)>) -> Overdue {
        let mut overdue = Overdue::default();
        if self.sweeps_all() {
            self.lingers = false;
            conns.for_each(|(token, activity)| self.look_at(token, activity, &mut overdue));
        }
        self.plan_sweep();
        overdue
    }

    fn sweeps_all(&self) -> bool {
        self.lingers || self.shard.policy.limits.is_some() || self.shard.policy.active.is_some()
    }

    fn look_at(&mut self, token: u32, activity: &Activity, overdue: &mut Overdue) {
        let (now_ms, policy) = (self.now_ms(), &self.shard.policy);
        if activity.lingering {
            self.lingers = true;
            if activity.lingered_enough(now_ms) {
                overdue.close.push((token, None));
            }
        } else if let Some(why) = policy.limits.and_then(|l| l.hit(now_ms, activity.heard_ms, activity.blocked_ms)) {
            overdue.close.push((token, Some(why)));
        } else if policy.active.is_some_and(|a| !activity.parked && activity.quiet_ms(now_ms) >= a.idle_ms) {
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

    /// Counts and names a peer that is closed for a limit.
    pub(crate) fn close_at_limit(&self, hit: LimitHit, fd: Option<impl AsFd + Copy>) {
        self.shard.cell.of_limit(hit).add(1);
        self.shard.control.close_at_limit(hit, fd);
    }
}

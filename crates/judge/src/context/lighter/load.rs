//! Use of one resource, such as a thread, under one lighter load. This use shows if the resource may limit the rate
//! under the full load.
//!
//! By the utilization law, the use of a resource grows in proportion to the rate. A resource that limits the rate was
//! therefore less full under a lighter load. A resource that was just as full under the lighter load does not limit the
//! rate: it handled more requests under the higher load. Examples are threads that poll, and threads that drop the work
//! for which they have no time.

use run::Trial;

use crate::context::single::{clients, closed, good};
use crate::context::view::View;
use crate::number::{positive, ratio};
use crate::signals::Signal;
use crate::thresholds::{CLOSE, FULL_MIDDLE, FULL_WIDTH, LIKELY, LITTLE_DIFFERS, MUCH_LOWER, QUEUE_IN_FLIGHT, REACHED};

/// Returns the probability that a resource with this busy share is full.
pub(super) fn full(share: f64) -> f64 {
    Signal::new("", share, (FULL_MIDDLE, FULL_WIDTH)).chance()
}

/// Use of a resource under a lighter load.
pub(super) struct Load<'a> {
    trial: &'a Trial,
    /// Rate of the lighter load, as a share of the rate of the load that it is compared with.
    rate: f64,
    /// Probability that the resource was full under the lighter load.
    pub(super) full: f64,
}

impl<'a> Load<'a> {
    /// Makes the use of a resource with this busy share in a trial. `now` is the load that the trial is compared with.
    /// A refusal is less work than a good answer. The comparison therefore uses the rate of all answers or the rate of
    /// good answers, whichever differs less between the loads.
    pub(super) fn of(view: &View<'a>, share: f64, now: &Trial) -> Option<Self> {
        let of_all = ratio(view.trial.rates.completed_rate, now.rates.completed_rate)?;
        let of_good = ratio(good(view.trial), good(now)).unwrap_or(of_all);
        Some(Self { trial: view.trial, rate: of_all.max(of_good), full: full(share) })
    }

    /// Returns true if the rate of the lighter load was at most half of the rate that it is compared with. A full
    /// thread cannot double its rate, but it may raise its rate by less, for example by handling several requests at
    /// once.
    pub(super) fn is_much_lower(&self) -> bool {
        self.rate * REACHED <= MUCH_LOWER
    }

    /// Returns true if the trial is an open loop. Open loops follow the sweep, so the server has warmed up.
    fn is_later(&self) -> bool {
        !closed(self.trial)
    }

    /// Returns true if the resource was full although no request waited for it: with at least eight clients, less than
    /// one request waited anywhere. `r1_us` is the response time with one client, and `share` the busy share under the
    /// load that the lighter load is compared with. With too many clients, the number of waiting requests is not exact
    /// enough.
    fn is_full_without_a_queue(&self, r1_us: f64, share: f64) -> bool {
        let in_flight = clients(self.trial);
        let is_exact = in_flight >= QUEUE_IN_FLIGHT && LITTLE_DIFFERS * in_flight < 1.0;
        let waiting = in_flight - self.trial.rates.completed_rate * r1_us / 1e6;
        let is_expected = full(share * self.rate) >= LIKELY;
        closed(self.trial) && is_exact && waiting < 1.0 && !is_expected && self.full >= LIKELY
    }
}

/// Returns an upper bound of the probability that a resource with the busy share `share` had time left under every
/// lighter load. By the utilization law, a resource that limits the rate had time left. A load under which the resource
/// was full is ignored if the resource was less full at the same or a higher rate. The server may have warmed up in
/// between. If only the sweep shows a full resource under a much lower load, the result is at least `CLOSE`. A server
/// that warms up is slow at first.
pub(super) fn room_by_law(loads: &[Load<'_>], share: f64) -> f64 {
    let had_room = |rate: f64| loads.iter().any(|load| load.rate >= rate && load.full < LIKELY);
    let r1_us = r1_us(loads);
    let room = |load: &Load<'_>| {
        let is_idle = r1_us.is_some_and(|r1_us| load.is_full_without_a_queue(r1_us, share));
        match load.is_much_lower() {
            _ if had_room(load.rate) => 1.0,
            true if load.is_later() => 1.0 - load.full,
            _ if is_idle => 1.0 - load.full,
            true => (1.0 - load.full).max(CLOSE),
            false => 1.0,
        }
    };
    loads.iter().map(room).fold(1.0, f64::min)
}

/// Returns the response time with one client, microseconds.
fn r1_us(loads: &[Load<'_>]) -> Option<f64> {
    let one = loads.iter().map(|load| load.trial).find(|trial| closed(trial) && clients(trial) <= 1.0)?;
    positive(one.latency_us.mean)
}

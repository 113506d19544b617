//! The part of a response time that no device explains, such as a sleep, a wait for a worker, or the network path.

use super::curve::MOST_USERS;
use super::model::Model;
use super::solve::{arriving, plain};

impl Model {
    /// Sets `elsewhere_s` to the part of one client's response time that no device explains. If the run has a single
    /// load level, sets the value with which the queueing network gives the measured rate.
    pub(super) fn leave_elsewhere(&mut self) {
        self.elsewhere_s = 0.0;
        let busy_s: f64 = self.parts().iter().filter(|p| !p.cap).map(|p| p.station().demand_s).sum();
        self.elsewhere_s = match self.one_level {
            true => self.rest_s(busy_s),
            false => (self.unloaded_s - busy_s).max(0.0),
        };
    }

    /// Returns the time in seconds that each request must spend elsewhere for the queueing network to give the measured
    /// rate.
    fn rest_s(&self, busy_s: f64) -> f64 {
        if let Some(response_s) = self.arriving_s {
            return (response_s - arriving(self, self.rate).1).max(0.0);
        }
        let all_s = f64::from(self.users) / self.rate - self.think_s;
        if self.users > MOST_USERS {
            return (all_s - busy_s).max(0.0);
        }
        let rate = |elsewhere_s| plain(&Self { elsewhere_s, ..self.clone() }).0;
        let halved = |(low, high): (f64, f64), _| {
            let middle = f64::midpoint(low, high);
            if rate(middle) > self.rate { (middle, high) } else { (low, middle) }
        };
        let none = all_s <= 0.0 || rate(0.0) <= self.rate;
        if none { 0.0 } else { (0..30).fold((0.0, all_s), halved).1 }
    }
}

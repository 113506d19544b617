//! Contention: clients slow each other by more than waiting for the same resources, through locks, caches and coherence
//! traffic.
//!
//! The queueing network already contains the effect of queues on the throughput. If added clients raise the throughput
//! by less than the queueing network predicts, the cause is contention. The loss of throughput to contention is
//! described by the Universal Scalability Law (N. Gunther, *Guerrilla Capacity Planning*, 2007). The Universal
//! Scalability Law is fitted to the measured rate divided by the rate that the queueing network predicts. A fit to the
//! measured rate alone would take any full resource for contention.
//!
//! Contention is considered only if its interval excludes zero. Beyond [`FAR`] times the largest number of clients that
//! was tried, the loss of throughput is assumed constant.

use fastrand::Rng;
use stats::Interval;

use crate::number::{figure, percent};
use crate::thresholds::FAR;
use stats::fit::Usl;
use stats::{NORMAL_95, normal};

/// Loss of throughput with more clients, by the Universal Scalability Law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Contention {
    /// Contention coefficient of the Universal Scalability Law, with the half-width of its 95 % interval.
    sigma: (f64, f64),
    /// Coherency coefficient of the Universal Scalability Law, with the half-width of its 95 % interval.
    kappa: (f64, f64),
    /// Number of clients in the trial (load) that the queueing network describes. With more clients, a server may lose
    /// throughput. The demands of the queueing network already include the loss that occurs with `known_at` clients.
    known_at: f64,
    /// Largest number of clients that was tried.
    tried: f64,
}

impl Contention {
    /// Takes the contention from the fitted Universal Scalability Law. Returns `None` if the scalability law's
    /// coefficients sigma (contention) and kappa (coherency) may both be zero.
    pub(super) fn told(law: &Usl, known_at: f64, tried: f64) -> Option<Self> {
        let [_, sigma, kappa] = law.intervals?;
        // The lower end of the interval is cut at 0, so only the upper end shows the interval's width.
        let told = |value: f64, interval: Interval| {
            let half = interval.high - value;
            if value > half { (value, half) } else { (0.0, 0.0) }
        };
        let (sigma, kappa) = (told(law.sigma, sigma), told(law.kappa, kappa));
        (sigma.0 + kappa.0 > 0.0).then_some(Self { sigma, kappa, known_at: known_at.min(tried), tried })
    }

    /// Returns the throughput with `n` requests in flight, as a share of the queueing network's throughput without
    /// contention.
    pub(super) fn left(&self, n: f64) -> f64 {
        let lost = |n: f64| 1.0 + self.sigma.0 * (n - 1.0) + self.kappa.0 * n * (n - 1.0);
        lost(self.known_at) / lost(n.clamp(1.0, FAR * self.tried))
    }

    /// Adds contention to the throughput and the response time of the queueing network.
    ///
    /// Only requests in flight slow each other, not users who think. Slower requests lead to more requests in flight,
    /// so the result is found by iteration. The iteration converges, because the number of users is bounded.
    pub(super) fn applied(&self, (throughput, response_s): (f64, f64), users: u32) -> (f64, f64) {
        let users = f64::from(users);
        let think_s = users / throughput - response_s;
        let slower = |response: f64| response_s / self.left(users * response / (response + think_s));
        let response_s = (0..STEPS).fold(response_s, |response, _| slower(response));
        (users / (response_s + think_s), response_s)
    }

    /// Returns the response time with contention, for requests that arrive at a rate.
    pub(super) fn arriving(&self, rate: f64, response_s: f64) -> f64 {
        (0..STEPS).fold(response_s, |response, _| response_s / self.left(rate * response))
    }

    /// Returns random coefficients, drawn from their intervals.
    pub(super) fn drawn(&self, random: &mut Rng) -> Self {
        let mut draw = |(value, half): (f64, f64)| ((value + half / NORMAL_95 * normal(random)).max(0.0), half);
        Self { sigma: draw(self.sigma), kappa: draw(self.kappa), ..*self }
    }

    /// Returns the sentence about the assumption that clients slow each other.
    pub(super) fn sentence(&self) -> String {
        let most = FAR * self.tried;
        format!(
            "clients slow each other beyond queueing, as the sweep shows: twice the clients of the run keep {} of the modelled throughput (Universal Scalability Law, sigma {:.2e}, kappa {:.2e}); beyond {} clients this loss is assumed constant",
            percent(self.left(2.0 * self.known_at)),
            self.sigma.0,
            self.kappa.0,
            figure(most)
        )
    }
}

/// Number of iterations, enough for the number of requests in flight to converge.
const STEPS: usize = 64;

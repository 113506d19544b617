//! What clients cost each other beyond waiting for the same resources: locks, caches, agreeing.
//!
//! The network explains what queues; what the completed rate lacks beside it as clients are added is contention. Its form is
//! that of the Universal Scalability Law (N. Gunther, *Guerrilla Capacity Planning*, 2007), fitted to the rate over the
//! network's own: fitted to the rate alone, any full resource would read as contention. It counts where an interval is
//! told from zero, and never further than where [`FAR`] times as many clients were under way as were tried.

use fastrand::Rng;
use stats::Interval;

use crate::number::{figure, percent};
use stats::fit::Usl;
use stats::{NORMAL_95, normal};

/// More than so many times what was measured is an extrapolation that is said.
pub(super) const FAR: f64 = 4.0;

/// Share of the throughput that is lost with more clients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Contention {
    /// Contention (sigma) and coherency (kappa) of the law, each with half of its 95 % interval.
    sigma: (f64, f64),
    kappa: (f64, f64),
    /// Clients of the trial that the network is of: it knows what was lost there.
    known_at: f64,
    /// Most clients that were tried.
    tried: f64,
}

impl Contention {
    /// Of a law beside the network; `None` where neither of its two is told from nothing.
    pub(super) fn told(law: &Usl, known_at: f64, tried: f64) -> Option<Self> {
        let [_, sigma, kappa] = law.intervals?;
        // The interval's lower end is cut at 0, so it is the upper one that tells how wide it is.
        let told = |value: f64, interval: Interval| {
            let half = interval.high - value;
            if value > half { (value, half) } else { (0.0, 0.0) }
        };
        let (sigma, kappa) = (told(law.sigma, sigma), told(law.kappa, kappa));
        (sigma.0 + kappa.0 > 0.0).then_some(Self { sigma, kappa, known_at: known_at.min(tried), tried })
    }

    /// Throughput with `n` requests under way over that of the network.
    pub(super) fn left(&self, n: f64) -> f64 {
        let lost = |n: f64| 1.0 + self.sigma.0 * (n - 1.0) + self.kappa.0 * n * (n - 1.0);
        lost(self.known_at) / lost(n.clamp(1.0, FAR * self.tried))
    }

    /// Throughput and response time of the network's, with contention: each request under way is slowed by the others
    /// under way, and users who think are none of them. More under way means slower means more under way; from below that
    /// comes to rest, since users are bounded.
    pub(super) fn applied(&self, (throughput, response_s): (f64, f64), users: u32) -> (f64, f64) {
        let users = f64::from(users);
        let think_s = users / throughput - response_s;
        let slower = |response: f64| response_s / self.left(users * response / (response + think_s));
        let response_s = (0..STEPS).fold(response_s, |response, _| slower(response));
        (users / (response_s + think_s), response_s)
    }

    /// Response time where requests arrive at a rate: what is under way slows what is under way.
    pub(super) fn arriving(&self, rate: f64, response_s: f64) -> f64 {
        (0..STEPS).fold(response_s, |response, _| response_s / self.left(rate * response))
    }

    /// Another that the same intervals allow.
    pub(super) fn drawn(&self, random: &mut Rng) -> Self {
        let mut draw = |(value, half): (f64, f64)| ((value + half / NORMAL_95 * normal(random)).max(0.0), half);
        Self { sigma: draw(self.sigma), kappa: draw(self.kappa), ..*self }
    }

    /// What is taken for granted of it.
    pub(super) fn sentence(&self) -> String {
        let most = FAR * self.tried;
        format!(
            "clients slow each other beyond queueing, as the sweep shows: with twice the clients of the run {} of the \
             throughput is left (Universal Scalability Law beside the model, sigma {:.2e}, kappa {:.2e}); beyond {} clients \
             it is taken to grow no further",
            percent(self.left(2.0 * self.known_at)),
            self.sigma.0,
            self.kappa.0,
            figure(most)
        )
    }
}

/// Steps until the number under way has come to rest.
const STEPS: usize = 64;

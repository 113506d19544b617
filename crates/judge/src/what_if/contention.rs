//! What clients cost each other beyond waiting for the same resources: locks, caches, agreeing.
//!
//! The network explains what queues; what the completed rate lacks beside it as clients are added is contention. Its form is
//! that of the Universal Scalability Law (N. Gunther, *Guerrilla Capacity Planning*, 2007), fitted to the rate over the
//! network's own: fitted to the rate alone, any full resource would read as contention. It counts where an interval is
//! told from zero, and never further than where [`FAR`] times as many clients were under way as were tried.

use fastrand::Rng;

use super::change::FAR;
use super::model::Model;
use super::plain;
use crate::Facts;
use crate::fit::usl_of_shares;
use crate::number::{figure, percent};
use crate::single::{clients, good};

/// Standard deviations in half of a 95 % interval.
const HALF_95: f64 = 1.96;

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
    /// What the sweep of a run shows beside a network; `None` where that is not told from nothing.
    pub(super) fn of(facts: &Facts<'_>, now: &Model) -> Option<Self> {
        let seen: Vec<(f64, f64)> = facts.sweep.iter().map(|t| (clients(t), good(t))).collect();
        Self::beside(now, &seen)
    }

    /// The same of `(clients, requests per second)`.
    fn beside(now: &Model, seen: &[(f64, f64)]) -> Option<Self> {
        let alone = |n: f64| plain(&Model { users: n.round().clamp(1.0, 1e5) as u32, ..now.clone() }).0;
        let points: Vec<(f64, f64)> = seen.iter().map(|&(n, rate)| (n, n * rate / alone(n))).collect();
        let law = usl_of_shares(&points)?;
        let [_, sigma, kappa] = law.intervals?;
        // The interval's lower end is cut at 0, so it is the upper one that tells how wide it is.
        let told = |value: f64, interval: run::Interval| {
            let half = interval.high - value;
            if value > half { (value, half) } else { (0.0, 0.0) }
        };
        let (sigma, kappa) = (told(law.sigma, sigma), told(law.kappa, kappa));
        let tried = seen.iter().map(|(n, _)| *n).fold(1.0, f64::max);
        let known_at = f64::from(now.users).min(tried);
        (sigma.0 + kappa.0 > 0.0).then_some(Self { sigma, kappa, known_at, tried })
    }

    /// Throughput with `n` requests under way over that of the network.
    fn left(&self, n: f64) -> f64 {
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

    /// Another that the same intervals allow.
    pub(super) fn drawn(&self, random: &mut Rng) -> Self {
        let mut draw = |(value, half): (f64, f64)| ((value + half / HALF_95 * normal(random)).max(0.0), half);
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

/// A standard normal deviate: twelve uniform ones less six.
fn normal(random: &mut Rng) -> f64 {
    (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::what_if::model::ServerCpu;
    use crate::what_if::solve;

    /// 400 us on one thread and 2 ms elsewhere: full from 6 clients on.
    fn model(users: u32) -> Model {
        let cpu = ServerCpu { work_s: 400e-6, beside_s: 0.0, cpus: 2.0, threads: 1.0, quota: f64::INFINITY };
        Model { server_cpu: Some(cpu), elsewhere_s: 2e-3, users, ..Model::default() }
    }

    const STEPS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

    /// The sweep of a system: service without variance instead of the network's, kappa, noise of 2 %.
    fn sweep(kappa: f64, constant: bool, seed: u64) -> Vec<(f64, f64)> {
        let mut random = Rng::with_seed(seed);
        let point = |n: u32| {
            let queued = match constant {
                true => (f64::from(n) / 2.4e-3).min(1.0 / 400e-6),
                false => plain(&model(n)).0,
            };
            let n = f64::from(n);
            (n, queued / (1.0 + kappa * n * (n - 1.0)) * (1.0 + 0.02 * normal(&mut random)))
        };
        STEPS.map(point).to_vec()
    }

    #[test]
    fn queueing_alone_is_seldom_called_contention() {
        for constant in [false, true] {
            let seen = (0..400).filter(|&seed| Contention::beside(&model(16), &sweep(0.0, constant, seed)).is_some());
            let (seen, most) = (seen.count(), 20);
            assert!(seen <= most, "constant service {constant}: {seen} of 400");
        }
    }

    #[test]
    fn planted_coherency_is_found_and_predicts_beyond_the_sweep() {
        const KAPPA: f64 = 1e-4;
        let truth = |n: f64| plain(&model(n as u32)).0 / (1.0 + KAPPA * n * (n - 1.0));
        let now = |contention| Model { contention, ..model(16) };
        let mut covered = 0;
        for seed in 0..200 {
            let found = Contention::beside(&model(16), &sweep(KAPPA, false, seed)).expect("kappa is told from zero");
            // The network of the trial with 16 clients has its loss in its demands.
            let level = truth(16.0) / plain(&model(16)).0;
            let rate = |c| level * solve(&Model { users: 256, ..now(Some(c)) }).0;
            // Twice as many clients as were tried, from points that are 2 % off each.
            assert!((rate(found) / truth(256.0)).ln().abs() < 0.25, "seed {seed}: {} {}", rate(found), truth(256.0));
            let mut random = Rng::with_seed(seed);
            let mut drawn: Vec<f64> = (0..100).map(|_| rate(found.drawn(&mut random))).collect();
            drawn.sort_by(f64::total_cmp);
            covered += usize::from(drawn[2] <= truth(256.0) && truth(256.0) <= drawn[97]);
        }
        assert!(covered >= 180, "{covered} of 200");
    }

    #[test]
    fn users_who_think_do_not_slow_each_other() {
        let contention = Contention { sigma: (0.0, 0.0), kappa: (1e-3, 1e-4), known_at: 16.0, tried: 64.0 };
        let thinking = Model { users: 1000, think_s: 10.0, contention: Some(contention), ..model(16) };
        let (with, without) = (solve(&thinking).0, solve(&Model { contention: None, ..thinking.clone() }).0);
        assert!((with / without - 1.0).abs() < 1e-3, "{with} {without}");
        let busy = Model { think_s: 0.0, ..thinking };
        assert!(solve(&busy).0 < 0.1 * without.max(solve(&Model { contention: None, ..busy.clone() }).0));
    }
}

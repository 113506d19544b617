//! Contention in a sweep: the loss of throughput that the queueing network does not explain. The loss of throughput is
//! fitted with the formula of the Universal Scalability Law.

use super::contention::Contention;
use super::model::Model;
use super::solve::plain;
use crate::Facts;
use crate::context::single::{clients, good};
use stats::fit::usl_of_shares;

/// Fits the contention to the sweep of a run. Returns `None` if the contention may be zero. Also returns `None` for
/// clients with think times, because their number of requests in flight is unknown.
pub(super) fn contention(facts: &Facts<'_>, now: &Model) -> Option<Contention> {
    if now.think_s > 0.0 {
        return None;
    }
    let seen: Vec<(f64, f64)> = facts.sweep.iter().map(|t| (clients(t), good(t))).collect();
    beside(now, &seen)
}

/// Fits the contention to a number of clients and a rate (per second) for each step.
fn beside(now: &Model, seen: &[(f64, f64)]) -> Option<Contention> {
    let alone = |n: f64| plain(&Model { users: n.round().clamp(1.0, 1e5) as u32, ..now.clone() }).0;
    let points: Vec<(f64, f64)> = seen.iter().map(|&(n, rate)| (n, n * rate / alone(n))).collect();
    let tried = seen.iter().map(|(n, _)| *n).fold(1.0, f64::max);
    Contention::told(&usl_of_shares(&points)?, f64::from(now.users), tried)
}

#[cfg(test)]
mod tests {
    use super::super::contention::Contention;
    use super::super::model::ServerCpu;
    use super::super::solve::{most, most_with, solve};
    use super::*;
    use fastrand::Rng;
    use stats::Interval;
    use stats::fit::Usl;
    use stats::normal;

    /// A request needs 400 µs on one thread and 2 ms elsewhere, so six clients keep the thread busy.
    fn model(users: u32) -> Model {
        let cpu =
            ServerCpu { work_s: 400e-6, beside_s: 0.0, behind_s: 0.0, cpus: 2.0, threads: 1.0, quota: f64::INFINITY };
        Model { server_cpu: Some(cpu), elsewhere_s: 2e-3, users, ..Model::default() }
    }

    const STEPS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

    /// Makes a sweep with contention `kappa` and noise of 2 %. If `constant` is true, all requests have equal service
    /// times.
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
            let seen = (0..400).filter(|&seed| beside(&model(16), &sweep(0.0, constant, seed)).is_some());
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
            let found = beside(&model(16), &sweep(KAPPA, false, seed)).expect("kappa is told from zero");
            // The queueing network describes the trial with 16 clients, so its demands already include the loss at 16
            // clients.
            let level = truth(16.0) / plain(&model(16)).0;
            let rate = |c| level * solve(&Model { users: 256, ..now(Some(c)) }).0;
            // Predicts the rate of twice as many clients as were tried, from rates with an error of 2 % each.
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
        let law = Usl {
            lambda: 1.0,
            sigma: 0.0,
            kappa: 1e-3,
            intervals: Some([
                Interval { low: 0.0, high: 1e-4 },
                Interval { low: 0.0, high: 1e-4 },
                Interval { low: 9e-4, high: 1.1e-3 },
            ]),
            r2: 1.0,
            points: 8,
        };
        let contention = Contention::told(&law, 16.0, 64.0).unwrap();
        let thinking = Model { users: 1000, think_s: 10.0, contention: Some(contention), ..model(16) };
        let (with, without) = (solve(&thinking).0, solve(&Model { contention: None, ..thinking.clone() }).0);
        assert!((with / without - 1.0).abs() < 1e-3, "{with} {without}");
        let busy = Model { think_s: 0.0, ..thinking };
        assert!(solve(&busy).0 < 0.1 * without.max(solve(&Model { contention: None, ..busy.clone() }).0));
    }

    /// With four times the CPUs, more requests are in flight. Requests in flight slow each other, which also lowers the
    /// capacity.
    #[test]
    fn contention_is_in_the_capacity() {
        let found = beside(&model(16), &sweep(1e-4, false, 1)).unwrap();
        let now = Model { contention: Some(found), ..model(16) };
        let cpu = now.server_cpu.map(|cpu| ServerCpu { cpus: 16.0, threads: 16.0, ..cpu });
        let then = Model { server_cpu: cpu, ..now.clone() };
        let plain =
            most(&Model { contention: None, ..then.clone() }) / most(&Model { contention: None, ..now.clone() });
        let with = most_with(&then) / most_with(&now);
        assert!((plain - 16.0).abs() < 1e-9 && with < 0.95 * plain && with > 1.0, "{with} of {plain}");
        assert!((most_with(&Model { contention: None, ..now.clone() }) - most(&now)).abs() < 1e-9);
    }
}

//! Closed networks: a fixed number of clients that each have one request under way.

use super::{Servers, Station};

/// A closed network in equilibrium.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    /// Requests per second.
    pub throughput: f64,
    /// Time that a request spends at each station, waiting included, seconds.
    pub residence_s: Vec<f64>,
    /// Mean number of requests at each station.
    pub at_station: Vec<f64>,
}

impl Closed {
    /// Time from a request's start to its end, seconds: the sum over the stations.
    pub fn response_s(&self) -> f64 {
        self.residence_s.iter().sum()
    }

    fn empty(stations: usize) -> Self {
        Self { throughput: 0.0, residence_s: vec![0.0; stations], at_station: vec![0.0; stations] }
    }
}

/// Chances that a station of several servers holds 0, 1, … requests, as far as fewer than all servers are busy.
type Marginals = Vec<f64>;

/// Solves a network exactly for `clients` (0 gives an empty one). Time and memory grow with `clients` times stations.
pub fn closed(stations: &[Station], clients: u32) -> Closed {
    let mut solution = Closed::empty(stations.len());
    let mut marginals: Vec<Marginals> = stations.iter().map(|s| first_marginals(s.servers)).collect();
    for n in 1..=clients {
        step(stations, n, &mut solution, &mut marginals);
    }
    solution
}

/// One client more: arrival theorem, then Little's law.
fn step(stations: &[Station], n: u32, solution: &mut Closed, marginals: &mut [Marginals]) {
    for (i, station) in stations.iter().enumerate() {
        solution.residence_s[i] = residence_s(*station, solution.at_station[i], &marginals[i]);
    }
    let response = solution.response_s();
    solution.throughput = if response > 0.0 { f64::from(n) / response } else { f64::INFINITY };
    for (i, station) in stations.iter().enumerate() {
        solution.at_station[i] = solution.throughput * solution.residence_s[i];
        advance(&mut marginals[i], *station, solution.throughput);
    }
}

fn first_marginals(servers: Servers) -> Marginals {
    let Servers::Some(m) = servers else { return Vec::new() };
    let mut p = vec![0.0; m.max(1) as usize];
    p[0] = 1.0;
    p
}

/// What an arriving request meets with one client less in the network.
fn residence_s(station: Station, queue: f64, p: &[f64]) -> f64 {
    let Servers::Some(m) = station.servers else { return station.demand_s };
    let m = f64::from(m.max(1));
    let idle: f64 =
        p.iter().zip(0u32..).take(p.len().saturating_sub(1)).map(|(p, j)| (m - 1.0 - f64::from(j)) * p).sum();
    station.demand_s / m * (1.0 + queue + idle)
}

/// The marginal chances with one client more, by balance between neighbouring states.
fn advance(p: &mut [f64], station: Station, throughput: f64) {
    let Servers::Some(m) = station.servers else { return };
    let (m, work) = (f64::from(m.max(1)), throughput * station.demand_s);
    let mut busy = work;
    let mut sum = 0.0;
    for j in (1..p.len()).rev() {
        p[j] = work / j as f64 * p[j - 1];
        busy += (m - j as f64) * p[j];
        sum += p[j];
    }
    p[0] = (1.0 - busy / m).clamp(0.0, 1.0);
    debug_assert!(sum.is_finite());
}

/// d ln(throughput) / d ln(speed) of every station, by a small step to both sides. They sum to 1: twice every speed is
/// twice the throughput (the throughput is homogeneous of degree one in the speeds; Euler's theorem).
pub fn elasticities(stations: &[Station], clients: u32) -> Vec<f64> {
    const STEP: f64 = 1e-4;
    let with = |i: usize, factor: f64| {
        let mut changed = stations.to_vec();
        changed[i] = changed[i].faster(factor);
        closed(&changed, clients).throughput.ln()
    };
    let of = |i: usize| (with(i, 1.0 + STEP) - with(i, 1.0 - STEP)) / ((1.0 + STEP) / (1.0 - STEP)).ln();
    (0..stations.len()).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6 * b.abs().max(1.0)
    }

    #[test]
    fn equal_queues_have_the_closed_form() {
        // K equal stations: X(N) = N / (D (N + K - 1)).
        let solution = closed(&[Station::queue(0.01); 3], 7);
        assert!(close(solution.throughput, 7.0 / (0.01 * 9.0)), "{solution:?}");
        assert!(close(solution.at_station.iter().sum(), 7.0));
    }

    #[test]
    fn several_servers_are_the_machine_repairmen() {
        // M/M/3 with 5 clients that think 1 s, service 0.5 s: the birth and death chain written out.
        let (m, n, z, s) = (3u32, 5u32, 1.0f64, 0.5f64);
        let mut weights = vec![1.0f64];
        for k in 1..=n {
            let (birth, death) = (f64::from(n - k + 1) / z, f64::from(k.min(m)) / s);
            weights.push(weights[k as usize - 1] * birth / death);
        }
        let all: f64 = weights.iter().sum();
        let busy: f64 = weights.iter().zip(0u32..).map(|(w, k)| w / all * f64::from(k.min(m))).sum();
        let stations = [Station { demand_s: s, servers: Servers::Some(m) }, Station::delay(z)];
        assert!(close(closed(&stations, n).throughput, busy / s), "{}", closed(&stations, n).throughput);
    }

    #[test]
    fn elasticities_sum_to_one_and_are_shares_of_the_next_client() {
        let stations = [Station::queue(0.004), Station::queue(0.002), Station::delay(0.02)];
        for n in [1, 3, 10, 40] {
            let all = elasticities(&stations, n);
            assert!(close(all.iter().sum(), 1.0), "{n}: {all:?}");
            let (now, before) = (closed(&stations, n), closed(&stations, n - 1));
            for (i, e) in all.iter().enumerate() {
                assert!((e - (now.at_station[i] - before.at_station[i])).abs() < 1e-4, "{n}: {all:?}");
            }
        }
    }
}

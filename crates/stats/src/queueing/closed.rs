//! Closed queueing networks: a fixed number of clients, each with one request in flight.

use super::{Servers, Station};

/// Solution of a closed queueing network in equilibrium.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    /// Throughput in requests per second.
    pub throughput: f64,
    /// Time in seconds that a request spends at each station, including its wait.
    pub residence_s: Vec<f64>,
    /// Mean number of requests at each station.
    pub at_station: Vec<f64>,
}

impl Closed {
    /// Returns the response time in seconds, the sum of the times at all stations.
    pub fn response_s(&self) -> f64 {
        self.residence_s.iter().sum()
    }

    fn empty(stations: usize) -> Self {
        Self { throughput: 0.0, residence_s: vec![0.0; stations], at_station: vec![0.0; stations] }
    }
}

/// Solves a queueing network exactly for `clients` clients (0 gives an empty network). The computing time grows with
/// the number of clients times the number of stations. The memory grows with the number of stations and of their
/// servers. Each station with several servers doubles the computing time and the memory.
pub fn closed(stations: &[Station], clients: u32) -> Closed {
    let stations: Vec<Station> = stations.iter().map(|s| s.where_some_wait(clients)).collect();
    let mut family = Family::of(&stations);
    (1..=clients).for_each(|n| family.step(n));
    family.whole()
}

/// A queueing network, and all variants of this network that lack some of the stations with several servers. The
/// probability that a station is empty is computed from the throughput of the network without this station. With many
/// servers, the alternative (1 minus the probabilities of all other states) would lose all digits to rounding.
struct Family<'s> {
    stations: &'s [Station],
    /// Indexes of the stations that have several servers.
    several: Vec<usize>,
    /// All variants of the network that lack some of the stations with several servers. Bit `i` of a variant's index is
    /// set if the variant lacks the station `several[i]`.
    members: Vec<Member>,
}

/// One variant of the queueing network, which lacks some of the stations with several servers.
struct Member {
    solution: Closed,
    /// For each station of `several`, the probabilities of 0, 1, … requests at the station, up to one less than its
    /// number of servers.
    marginals: Vec<Vec<f64>>,
}

impl<'s> Family<'s> {
    fn of(stations: &'s [Station]) -> Self {
        let servers = |at: usize| if let Servers::Some(m) = stations[at].servers { m } else { 1 };
        let several: Vec<usize> = (0..stations.len()).filter(|at| servers(*at) > 1).collect();
        let first = |at: &usize| (0..servers(*at)).map(|j| if j == 0 { 1.0 } else { 0.0 }).collect();
        let member =
            |_| Member { solution: Closed::empty(stations.len()), marginals: several.iter().map(first).collect() };
        let members = (0..1_usize << several.len()).map(member).collect();
        Self { stations, several, members }
    }

    fn whole(mut self) -> Closed {
        self.members.swap_remove(0).solution
    }

    /// Adds one client to each variant of the queueing network. Variants that lack more stations are solved first,
    /// because the other variants need their results.
    fn step(&mut self, n: u32) {
        for lacks in (0..self.members.len()).rev() {
            let lacked = |at: usize| self.several.iter().position(|s| *s == at).filter(|bit| lacks & 1 << bit != 0);
            let there: Vec<bool> = (0..self.stations.len()).map(|at| lacked(at).is_none()).collect();
            self.members[lacks].solve(self.stations, &self.several, &there, n);
            for (bit, at) in self.several.iter().enumerate().filter(|(_, at)| there[**at]) {
                let without = self.members[lacks | 1 << bit].solution.throughput;
                self.members[lacks].advance(bit, self.stations[*at], without);
            }
        }
    }
}

impl Member {
    /// Solves a variant of the network for one more client, by the arrival theorem and Little's law.
    fn solve(&mut self, stations: &[Station], several: &[usize], there: &[bool], n: u32) {
        let solution = &mut self.solution;
        for (at, station) in stations.iter().enumerate().filter(|(at, _)| there[*at]) {
            let marginals = several.iter().position(|s| *s == at).map_or(&[][..], |bit| &self.marginals[bit]);
            solution.residence_s[at] = residence_s(*station, solution.at_station[at], marginals);
        }
        let response = solution.response_s();
        solution.throughput = if response > 0.0 { f64::from(n) / response } else { f64::INFINITY };
        for (at, queue) in solution.at_station.iter_mut().enumerate().filter(|_| response > 0.0) {
            *queue = solution.throughput * solution.residence_s[at];
        }
    }

    /// Updates the probabilities of the numbers of requests at a station after one client was added. Each probability
    /// follows from the probability of one request less: arrivals and departures between the two states balance. The
    /// probability that the station is empty follows from `without`, the throughput of the network without this
    /// station.
    fn advance(&mut self, bit: usize, station: Station, without: f64) {
        let (p, work) = (&mut self.marginals[bit], self.solution.throughput * station.demand_s);
        if !work.is_finite() {
            return;
        }
        for j in (1..p.len()).rev() {
            p[j] = work / j as f64 * p[j - 1];
        }
        p[0] *= self.solution.throughput / without;
    }
}

/// Returns the time in seconds that a request spends at a station, including its wait. `queue` is the mean number of
/// requests at the station if the network has one client less. `p` contains the probabilities of 0, 1, … requests at
/// the station in the network with one client less.
fn residence_s(station: Station, queue: f64, p: &[f64]) -> f64 {
    let Servers::Some(m) = station.servers else { return station.demand_s };
    let m = f64::from(m.max(1));
    let idle: f64 =
        p.iter().zip(0u32..).take(p.len().saturating_sub(1)).map(|(p, j)| (m - 1.0 - f64::from(j)) * p).sum();
    station.demand_s / m * (1.0 + queue + idle)
}

/// Returns the elasticity d ln(throughput) / d ln(speed) of every station, computed by making the station slightly
/// slower and slightly faster. The elasticities sum to 1, because doubling all speeds doubles the throughput (Euler's
/// theorem on homogeneous functions).
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
    fn equal_stations_have_the_closed_form() {
        // The throughput of K equal stations is X(N) = N / (D (N + K - 1)).
        let solution = closed(&[Station::queue(0.01); 3], 7);
        assert!(close(solution.throughput, 7.0 / (0.01 * 9.0)), "{solution:?}");
        assert!(close(solution.at_station.iter().sum(), 7.0));
    }

    #[test]
    fn a_station_with_several_servers_is_the_machine_repairman_model() {
        // The model is M/M/3 with 5 clients that think for 1 s, and a service time of 0.5 s. The expected result is a
        // sum over the states of the model's birth-death chain.
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

    /// The expected result is a sum over the states of the birth-death chain. The sum is computed in logarithms,
    /// because the weights of the states exceed the range of a floating-point number. This test checks that rounding
    /// errors do not grow with the number of servers.
    #[test]
    fn many_servers_and_many_clients_stay_exact() {
        for (m, n, z, s) in [(2, 40, 0.1, 0.05), (16, 64, 0.2, 0.1), (64, 256, 0.01, 0.1), (200, 800, 0.3, 0.1)] {
            let ln_weight = |k: u32| -> f64 {
                let ratio = |k: u32| (f64::from(n - k + 1) / z / (f64::from(k.min(m)) / s)).ln();
                (1..=k).map(ratio).sum()
            };
            let all: Vec<f64> = (0..=n).map(ln_weight).collect();
            let most = all.iter().fold(f64::MIN, |a, b| a.max(*b));
            let sum =
                |of: &dyn Fn(u32) -> f64| all.iter().zip(0u32..).map(|(w, k)| (w - most).exp() * of(k)).sum::<f64>();
            let exact = sum(&|k| f64::from(k.min(m))) / sum(&|_| 1.0) / s;
            let stations = [Station { demand_s: s, servers: Servers::Some(m) }, Station::delay(z)];
            let ours = closed(&stations, n);
            assert!(close(ours.throughput, exact), "{m} servers, {n} clients: {} and {exact}", ours.throughput);
            assert!(close(ours.at_station.iter().sum(), f64::from(n)), "{ours:?}");
        }
    }

    /// The expected result is the sum over all states (Gordon and Newell 1967).
    #[test]
    fn two_stations_with_several_servers_are_exact() {
        let (d, m, n) = ([0.2, 0.3], [3u32, 5u32], 12u32);
        let f = |at: usize, k: u32| (1..=k).map(|j| d[at] / f64::from(j.min(m[at]))).product::<f64>();
        let z = |k: u32| (1..=k).map(|j| 0.5 / f64::from(j)).product::<f64>();
        let all = |n: u32| -> f64 {
            (0..=n).flat_map(|a| (0..=n - a).map(move |b| (a, b))).map(|(a, b)| f(0, a) * f(1, b) * z(n - a - b)).sum()
        };
        let station = |at: usize| Station { demand_s: d[at], servers: Servers::Some(m[at]) };
        let ours = closed(&[station(0), station(1), Station::delay(0.5)], n);
        assert!(close(ours.throughput, all(n - 1) / all(n)), "{ours:?}");
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

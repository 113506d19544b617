//! Open queueing networks: requests arrive independently of one another.

use super::loss::refused_share;
use super::{Servers, Station};

/// Returns the mean response time of a network in seconds at `rate` arrivals per second. Each station is an independent
/// M/M/m queue (J. Jackson, *Networks of Waiting Lines*, 1957; the wait by Erlang's C formula). The result is infinite
/// if a station is saturated.
pub fn response_s(stations: &[Station], rate: f64) -> f64 {
    stations.iter().map(|station| residence_s(*station, rate)).sum()
}

/// Maximum number of servers of a station for which the wait is computed. With more servers, up to a utilization of
/// 99.9 %, the wait is far shorter than the service time. The limit exists because a file from a third party may name
/// billions of servers.
const MAX_SERVERS: u32 = 1_000_000;

/// Returns the sum of service time and wait at one station, seconds.
fn residence_s(station: Station, rate: f64) -> f64 {
    let Servers::Some(m) = station.servers else { return station.demand_s };
    let (m, work) = (m.max(1), rate * station.demand_s);
    if work >= f64::from(m) {
        return f64::INFINITY;
    }
    let wait = if m > MAX_SERVERS { 0.0 } else { chance_to_wait(m, work) / (f64::from(m) - work) };
    station.demand_s * (1.0 + wait)
}

/// Returns the probability that an arrival finds all `m` servers busy. `work`, below `m`, is the mean number of busy
/// servers.
fn chance_to_wait(m: u32, work: f64) -> f64 {
    let lost = (1..=m).fold(1.0, |fewer, servers| refused_share(fewer, servers, work));
    let m = f64::from(m);
    m * lost / (m - work * (1.0 - lost))
}

#[cfg(test)]
mod tests {
    use super::super::closed;
    use super::*;

    #[test]
    fn one_and_two_servers_have_their_closed_forms() {
        for rate in [1.0, 50.0, 90.0, 99.0] {
            let one = 0.01 / (1.0 - rate * 0.01);
            assert!((response_s(&[Station::queue(0.01)], rate) / one - 1.0).abs() < 1e-12);
            // The response time of M/M/2 is S / (1 - rho^2).
            let rho: f64 = rate * 0.01;
            let two = Station { demand_s: 0.02, servers: Servers::Some(2) };
            assert!((response_s(&[two], rate) / (0.02 / (1.0 - rho * rho)) - 1.0).abs() < 1e-12);
        }
        let billions = Station { demand_s: 0.02, servers: Servers::Some(u32::MAX) };
        assert_eq!(response_s(&[billions], 1e9), 0.02, "no wait is computed");
        assert_eq!(response_s(&[Station::delay(0.5), Station::queue(1e-3)], 1000.0), f64::INFINITY);
        assert_eq!(response_s(&[Station::delay(0.5)], 1e9), 0.5);
    }

    /// Arrivals from very many clients with very long think times are nearly independent.
    #[test]
    fn a_closed_network_with_many_idle_clients_approaches_an_open_one() {
        let four = Station { demand_s: 0.03, servers: Servers::Some(4) };
        let stations = [Station::queue(0.005), four, Station::delay(0.02)];
        let (rate, users) = (100.0, 20_000u32);
        let open = response_s(&stations, rate);
        let think_s = f64::from(users) / rate - open;
        let all = closed(&[stations.as_slice(), &[Station::delay(think_s)]].concat(), users);
        assert!((all.throughput / rate - 1.0).abs() < 1e-3, "{}", all.throughput);
        let response = all.response_s() - think_s;
        assert!((response / open - 1.0).abs() < 0.01, "{response} {open}");
    }
}

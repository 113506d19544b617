//! Loss systems: a request that finds all servers busy is refused at once.

/// Maximum number of servers for which the share of refused requests is computed. The limit exists because a file from
/// a third party may contain any numbers.
const MAX_SERVERS: u32 = 1_000_000;

/// Returns the share of the requests that a loss system with `servers` servers refuses. `offered` is the mean number of
/// busy servers if there were enough of them. `fewer` is the share of the requests that a system with one server fewer
/// refuses. It is 1 if no server is left. Source: Erlang's B formula (A. Erlang, *Solution of some Problems in the
/// Theory of Probabilities*, 1917). Computing the formula for 1 server, then for 2, and so on avoids overflow and loss
/// of digits.
pub(super) fn refused_share(fewer: f64, servers: u32, offered: f64) -> f64 {
    offered * fewer / (f64::from(servers) + offered * fewer)
}

/// Returns the number of servers of a loss system from two measurements. The two measurements are the mean number of
/// busy servers, and the share of the requests that the system refuses (0 to 1). Requests arrive at random. With
/// arrivals that are more regular, a system with fewer servers has the same measurements, but never with fewer servers
/// than `busy`. The result is a whole number or lies between two whole numbers. The result is infinite if even a system
/// with a million servers does not have these measurements.
pub fn servers_of_loss(busy: f64, refused: f64) -> f64 {
    let offered = busy / (1.0 - refused);
    if !(offered > 0.0 && offered.is_finite() && refused > 0.0) {
        return f64::INFINITY;
    }
    let mut before = 1.0;
    for servers in 1..=MAX_SERVERS {
        let lost = refused_share(before, servers, offered);
        if lost <= refused {
            return f64::from(servers - 1) + (before - refused) / (before - lost);
        }
        before = lost;
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One server refuses the share `a / (1 + a)` of an offered load `a`, and is busy for that share of the time. The
    /// table of Erlang's B formula gives the loads of 10 and 50 servers.
    #[test]
    fn the_number_of_servers_follows_from_what_they_refuse() {
        for (servers, offered, refused) in [(1.0, 1.0, 0.5), (1.0, 9.0, 0.9), (10.0, 4.461, 0.01), (50.0, 37.90, 0.01)]
        {
            let found = servers_of_loss(offered * (1.0 - refused), refused);
            assert!((found / servers - 1.0).abs() < 0.01, "{servers} servers: {found}");
        }
    }

    /// If nearly all requests are refused, all servers are always busy.
    #[test]
    fn under_a_heavy_load_all_servers_are_busy() {
        for servers in [0.25, 1.0, 7.0, 50.0, 2000.0] {
            let found = servers_of_loss(servers, 0.999);
            assert!((found / servers - 1.0).abs() < 0.01, "{servers} servers: {found}");
        }
    }

    #[test]
    fn impossible_measurements_have_no_number_of_servers() {
        for (busy, refused) in [(5.0, 0.0), (0.0, 0.5), (f64::NAN, 0.5), (5.0, 1.0), (5.0, f64::NAN), (1e12, 0.5)] {
            assert!(servers_of_loss(busy, refused).is_infinite(), "{busy} {refused}");
        }
    }
}

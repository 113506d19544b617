//! Number of connections of an open loop.

/// Minimum number of connections that an open loop may use, so that one late answer delays few requests.
const MIN_OPEN_LOOP_CONNECTIONS: f64 = 64.0;

/// Ratio of the connections of an open loop to the mean number that the closed loop needed at the same rate. Arrivals
/// are random, so the load sometimes needs more connections than the mean. A measurement that is shorter than the
/// longest answers overstates the rate of the closed loop. On a server where 1 % of the answers took 500 ms, 128
/// connections seemed to complete 31,300/s, but could complete only 26,000/s. An open loop with 128 connections
/// therefore failed, although the server was not at its limit.
const SPARE: f64 = 2.0;

/// Returns the number of connections that an open loop needs at a given rate, by Little's law.
///
/// The law uses the longer of two mean response times. One is the longest mean that the objective allows, and the other
/// is [`SPARE`] times the mean at the closed loop's highest rate. The closed loop's mean is longer if a few answers
/// take much longer than the median. Such slow answers may occupy most connections without exceeding a limit on the
/// median or the 99th percentile. With more connections, too many requests could queue at a slow server, which would
/// recover slowly from the queue.
pub(super) fn connections_for(rate: f64, longest_mean_s: f64, mean_at_best_s: f64) -> u32 {
    (rate * longest_mean_s.max(SPARE * mean_at_best_s)).clamp(MIN_OPEN_LOOP_CONNECTIONS, 65_536.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In this observed case, 1 % of the answers took 500 ms, and all others took 60 µs. In the closed loop, 256
    /// connections completed 41,000 requests per second. An earlier version of loadline derived only 64 connections for
    /// the open loop from the objective's median. With 64 connections, the open loop could not exceed 13,000 requests
    /// per second.
    #[test]
    fn an_open_loop_has_the_connections_with_which_the_closed_loop_was_as_fast() {
        let rare = connections_for(41_000.0, 0.000_93, 256.0 / 41_000.0);
        assert!((511..=512).contains(&rare), "{rare}");
        let usual = connections_for(41_000.0, 0.01, 8.0 / 41_000.0);
        assert_eq!(usual, 410, "the objective allows longer response times than the closed loop had");
    }
}

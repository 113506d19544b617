//! Number of connections of an open loop.

/// Minimum number of connections that an open loop may use, so that one late answer delays few requests.
const MIN_OPEN_LOOP_CONNECTIONS: f64 = 64.0;

/// Connections of an open loop, relative to the mean number that the closed loop needed at the same rate. Arrivals are
/// random, so the load sometimes needs more connections than the mean. And a window that is short beside the longest
/// answers overstates the rate of the closed loop: where 1 % of the answers take 500 ms, 128 connections seemed to
/// complete 31,300/s and can complete 26,000/s (seen live; the open loop had too few connections, and its failure
/// looked like the server's).
const SPARE: f64 = 2.0;

/// Returns the number of connections that an open loop needs at a rate, by Little's law.
///
/// Little's law is applied to the larger of two mean response times: the longest mean that the objective allows, and the
/// mean at the highest rate of the closed loop, with spare connections. More connections would let too many requests queue at a server that fell
/// behind, which would recover slowly. The second mean is the longer one if few answers take much longer than the
/// median: they occupy most connections, and break no limit on the median or the 99th percentile.
pub(super) fn connections_for(rate: f64, longest_mean_s: f64, mean_at_best_s: f64) -> u32 {
    (rate * longest_mean_s.max(SPARE * mean_at_best_s)).clamp(MIN_OPEN_LOOP_CONNECTIONS, 65_536.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seen live: 1 % of the answers took 500 ms, the others 60 us. 256 connections completed 41,000 requests per second,
    /// and the open loop could not pass 13,000 with the 64 connections that the objective's median allowed.
    #[test]
    fn an_open_loop_has_the_connections_with_which_the_closed_loop_was_as_fast() {
        let rare = connections_for(41_000.0, 0.000_93, 256.0 / 41_000.0);
        assert!((511..=512).contains(&rare), "{rare}");
        let usual = connections_for(41_000.0, 0.01, 8.0 / 41_000.0);
        assert_eq!(usual, 410, "the objective allows longer response times than the closed loop had");
    }
}

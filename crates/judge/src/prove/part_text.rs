//! Text of a share of the throughput or the response time, with its interval.

use run::Estimate;

use crate::number::figure;

/// Returns a share with its interval, such as `32 % (0 to 64 %)`.
pub(super) fn part(e: &Estimate) -> String {
    let whole = |x: f64| figure((100.0 * x).round() + 0.0);
    format!("{} % ({} to {} %)", whole(e.value), whole(e.low), whole(e.high))
}

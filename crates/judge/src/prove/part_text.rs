//! Text of a share of the throughput or the response time, with its interval.

use run::Estimate;

use crate::number::figure;

/// Returns a share with its interval, such as `32 % (0 to 64 %)`. Noise can move an end of the interval below 0. A
/// share cannot be negative, so the text says 0 instead of a negative end.
pub(super) fn part(e: &Estimate) -> String {
    let whole = |x: f64| figure((100.0 * x.max(0.0)).round());
    format!("{} % ({} to {} %)", whole(e.value), whole(e.low), whole(e.high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_never_negative() {
        assert_eq!(part(&Estimate { value: 0.325, low: -0.33, high: 1.0 }), "33 % (0 to 100 %)");
    }
}

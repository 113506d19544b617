//! Text of a share of the throughput or the response time, with its interval. A lever is a temporary change that an
//! experiment makes, such as slowing a CPU.

use run::Estimate;

use crate::number::figure;
use crate::thresholds::EXCESS;

/// Returns a share with its interval, such as `32 % (0 to 64 %)`. Because of noise, an end of the interval may be
/// negative. A share is never negative, so the text then says 0. A share far above 100 % is noise, or shows that the
/// lever slowed something else as well.
pub(super) fn part(e: &Estimate) -> String {
    if e.value > 1.0 + EXCESS {
        return "an unknown part (more than the whole)".into();
    }
    let whole = |x: f64| figure((100.0 * x.max(0.0)).round());
    if spans_whole(e) {
        return format!("an unknown part ({} to {} %)", whole(e.low), whole(e.high));
    }
    format!("{} % ({} to {} %)", whole(e.value), whole(e.low), whole(e.high))
}

/// Returns true if the interval of a share contains both nothing and the whole, so that the share is not known at all.
pub(super) fn spans_whole(e: &Estimate) -> bool {
    e.low <= 0.0 && e.high >= 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report on a real run contained such a text: "the server's CPU explains 316 % (0 to 852 %)".
    #[test]
    fn a_share_far_above_the_whole_is_unknown() {
        assert_eq!(part(&Estimate { value: 3.16, low: -0.2, high: 8.52 }), "an unknown part (more than the whole)");
        assert_eq!(part(&Estimate { value: 1.04, low: 0.98, high: 1.1 }), "104 % (98 to 110 %)");
    }

    #[test]
    fn a_share_is_never_negative() {
        assert_eq!(part(&Estimate { value: 0.325, low: -0.33, high: 1.0 }), "an unknown part (0 to 100 %)");
        assert_eq!(part(&Estimate { value: 0.325, low: -0.33, high: 0.99 }), "33 % (0 to 99 %)");
    }
}

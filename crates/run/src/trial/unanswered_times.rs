//! Times of requests without a good answer, as maps of counts. The times are stored as maps because a histogram for
//! each kind of request would be too large.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Counts by time in nanoseconds. In JSON, the map is a list of pairs, because JSON keys must be strings.
type Times = BTreeMap<u64, u64>;

/// Reads and writes [`Times`] as a list of pairs.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(times: &BTreeMap<u64, u64>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(times)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<u64, u64>, D::Error> {
        Ok(Vec::<(u64, u64)>::deserialize(deserializer)?.into_iter().collect())
    }
}

/// Times of requests without a good answer in a window. The stored time of a request without a good answer is a lower
/// bound of its response time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct UnansweredTimes {
    /// Numbers of failed requests, by the time until the failure in nanoseconds.
    #[serde(with = "pairs", skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(test, schemars(with = "Vec<(u64, u64)>"))]
    pub failed: Times,
    /// Numbers of requests in flight at the end of the window, by their age in nanoseconds.
    #[serde(with = "pairs", skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(test, schemars(with = "Vec<(u64, u64)>"))]
    pub under_way: Times,
    /// Numbers of requests in flight at the start of the window, by their age in nanoseconds. A request in flight at
    /// the start of the window either ends in the window, or is also in `under_way`.
    #[serde(with = "pairs", skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(test, schemars(with = "Vec<(u64, u64)>"))]
    pub carried_in: Times,
    /// Numbers of requests whose answer had an unexpected status, by the time until that answer in nanoseconds.
    #[serde(with = "pairs", skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(test, schemars(with = "Vec<(u64, u64)>"))]
    pub refused: Times,
}

impl UnansweredTimes {
    /// Returns true if there are no times.
    pub fn is_empty(&self) -> bool {
        [&self.failed, &self.under_way, &self.carried_in, &self.refused].iter().all(|times| times.is_empty())
    }

    /// Adds the times of another thread or agent. A sum that would overflow stays at its maximum, because counts from
    /// other hosts may be wrong.
    pub fn merge(&mut self, other: &Self) {
        for (to, from) in [
            (&mut self.failed, &other.failed),
            (&mut self.under_way, &other.under_way),
            (&mut self.carried_in, &other.carried_in),
            (&mut self.refused, &other.refused),
        ] {
            for (ns, n) in from {
                let sum = to.entry(*ns).or_default();
                *sum = sum.saturating_add(*n);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report for a test, which resembles the reports of agents. Because the field `kind` selects the variant of the
    /// report, serde first reads all keys of the report as strings.
    #[derive(Serialize, Deserialize)]
    #[serde(tag = "kind")]
    enum Report {
        Times(UnansweredTimes),
    }

    #[test]
    fn times_are_read_from_the_report_of_an_agent() {
        let times = UnansweredTimes { failed: [(115_712, 2)].into(), ..UnansweredTimes::default() };
        let text = serde_json::to_string(&Report::Times(times.clone())).unwrap();
        let Report::Times(read) = serde_json::from_str(&text).unwrap();
        assert_eq!(read, times);
    }
}

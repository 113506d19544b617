//! Completed, failed and late requests in each tenth of a second of a measured window.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// Counts per tenth of a second since the start of the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Tenths {
    /// Number of requests completed in each tenth of a second.
    pub answered: Vec<u64>,
    /// Sum of the response times of the requests that completed in each tenth of a second, microseconds. The list is
    /// empty in runs of older versions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub took_us: Vec<u64>,
    /// Number of requests that failed in each tenth of a second; empty if none failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<u64>,
    /// Numbers of late requests, one entry per limit.
    pub over: Vec<LateCounts>,
}

/// Numbers of requests that took longer than one limit on the response time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LateCounts {
    /// Limit on the response time, microseconds.
    #[serde(with = "Figure")]
    pub limit_us: f64,
    /// Number of late requests in each tenth of a second.
    pub late: Vec<u64>,
}

/// Length of one interval of [`Tenths`], seconds.
pub const TENTH_S: f64 = 0.1;

impl Tenths {
    /// Returns true if nothing was counted in any tenth of a second.
    pub fn is_empty(&self) -> bool {
        self.answered.is_empty()
    }

    /// Returns the counts for a limit; `None` if there are no counts for this limit.
    pub fn over(&self, limit_us: f64) -> Option<&LateCounts> {
        self.over.iter().find(|o| (o.limit_us / limit_us - 1.0).abs() < 1e-6)
    }

    /// Adds the counts of another agent or thread, which must have the same limits on the response time.
    pub fn merge(&mut self, other: &Self) {
        add(&mut self.answered, &other.answered);
        add(&mut self.took_us, &other.took_us);
        add(&mut self.unanswered, &other.unanswered);
        for theirs in &other.over {
            match self.over.iter_mut().find(|o| o.limit_us == theirs.limit_us) {
                Some(ours) => add(&mut ours.late, &theirs.late),
                None => self.over.push(theirs.clone()),
            }
        }
    }
}

fn add(to: &mut Vec<u64>, from: &[u64]) {
    to.resize(to.len().max(from.len()), 0);
    to.iter_mut().zip(from).for_each(|(a, b)| *a = a.saturating_add(*b));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_add_up_limit_by_limit() {
        let of = |limit_us, late: &[u64]| Tenths {
            answered: vec![10; late.len()],
            took_us: vec![500; late.len()],
            unanswered: vec![1; late.len()],
            over: vec![LateCounts { limit_us, late: late.to_vec() }],
        };
        let mut all = of(5.0, &[1, 2]);
        all.merge(&of(5.0, &[1, 0, 3]));
        all.merge(&of(7.0, &[4]));
        assert_eq!((&all.answered[..], &all.took_us[..]), (&[30, 20, 10][..], &[1500, 1000, 500][..]));
        assert_eq!((&all.over(5.0).unwrap().late[..], &all.over(7.0).unwrap().late[..]), (&[2, 2, 3][..], &[4][..]));
        assert_eq!(all.unanswered, [3, 2, 1]);
        assert!(all.over(6.0).is_none());
    }
}

//! Sets of requests: the requests, their frequency and their order.

pub(crate) mod data;
pub(crate) mod order;
pub(crate) mod recorded;
pub(crate) mod request;

use serde::{Deserialize, Serialize};

use data::DataTable;
use order::RequestOrder;
use recorded::RecordedTimes;
use request::RequestPlan;

/// Maximum number of requests per set. The limit exists because loadline stores the index of a request in 16 bits.
pub const MAX_REQUESTS: usize = 65_535;
/// Maximum number of classes with separate results. If a set of requests has more classes than this maximum, the
/// classes with the lowest weights are combined into one class.
pub const MAX_CLASSES: usize = 64;
/// Maximum number of requests that a run stores. Of a larger set, a run stores only the first requests and the total
/// number.
const MAX_STORED_REQUESTS: usize = 200;
/// Method of a request to a database, whose body is the statement.
pub const STATEMENT_METHOD: &str = "SQL";
/// Name of the request class that combines the classes with the lowest weights.
const OTHER_CLASS: &str = "other";

/// Set of requests that replaces the single request of the protocol's settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct RequestSet {
    /// Description of the file or command that the set comes from, and of its format.
    pub from: String,
    /// Order of the requests.
    pub order: RequestOrder,
    /// Requests of the set.
    pub requests: Vec<RequestPlan>,
    /// Number of requests in the set; absent if `requests` contains all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// Summary of the log that the set comes from, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub summary: Vec<String>,
    /// True if loadline replaces `{{…}}` in paths, headers and bodies by values, for each request.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub templates: bool,
    /// Data table with values for the placeholders `{{column}}`. A run stores only the names of the data table's
    /// columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<DataTable>,
    /// Recorded times at which loadline sends the requests again. A run does not store the recorded times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<RecordedTimes>,
}

impl RequestSet {
    /// Returns the names of the classes, and for each request the index of its class. Beyond [`MAX_CLASSES`], the
    /// classes with the lowest weights become one class called `other`.
    pub fn classes(&self) -> (Vec<String>, Vec<u16>) {
        let mut names: Vec<String> = Vec::new();
        let mut weights: Vec<f64> = Vec::new();
        let mut places = std::collections::HashMap::new();
        let mut of: Vec<usize> = Vec::with_capacity(self.requests.len());
        for request in &self.requests {
            let name = request.class_name();
            let at = *places.entry(name.clone()).or_insert_with(|| {
                names.push(name);
                weights.push(0.0);
                names.len() - 1
            });
            weights[at] += request.weight;
            of.push(at);
        }
        if names.len() <= MAX_CLASSES {
            return (names, of.into_iter().map(|at| at as u16).collect());
        }
        let mut by_weight: Vec<usize> = (0..names.len()).collect();
        by_weight.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]));
        by_weight.truncate(MAX_CLASSES - 1);
        by_weight.sort_unstable();
        let mut place = vec![by_weight.len() as u16; names.len()];
        (0..).zip(&by_weight).for_each(|(to, &from)| place[from] = to);
        let mut kept: Vec<String> = by_weight.iter().map(|&at| names[at].clone()).collect();
        kept.push(OTHER_CLASS.into());
        (kept, of.into_iter().map(|at| place[at]).collect())
    }

    /// Returns the part of the set that a run stores: the first requests and the number of all requests. The returned
    /// part of the set contains neither data rows nor recorded times.
    #[must_use]
    pub fn abridged(&self) -> Self {
        let requests: Vec<_> = self.requests.iter().take(MAX_STORED_REQUESTS).cloned().collect();
        let of = self.of.or((self.requests.len() > MAX_STORED_REQUESTS).then_some(self.requests.len() as u64));
        let data = self.data.clone().map(|data| DataTable { rows: Vec::new(), ..data });
        let (from, summary) = (self.from.clone(), self.summary.clone());
        Self { from, order: self.order, requests, of, summary, templates: self.templates, data, recorded: None }
    }

    /// Returns the number of requests.
    pub fn count(&self) -> u64 {
        self.of.unwrap_or(self.requests.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(classes: &[(&str, f64)]) -> RequestSet {
        let of = |(class, weight): &(&str, f64)| RequestPlan {
            class: (*class).into(),
            weight: *weight,
            ..RequestPlan::default()
        };
        RequestSet { requests: classes.iter().map(of).collect(), ..RequestSet::default() }
    }

    #[test]
    fn requests_share_a_class_and_one_without_is_its_own() {
        let mut set = set(&[("a", 1.0), ("b", 1.0), ("a", 1.0), ("", 1.0)]);
        set.requests[3].path = "/x?y=1".into();
        assert_eq!(set.classes(), (vec!["a".into(), "b".into(), "GET /x".into()], vec![0, 1, 0, 2]));
    }

    #[test]
    fn the_rarest_of_too_many_classes_share_one() {
        let names: Vec<String> = (0..100).map(|i| format!("c{i}")).collect();
        let all: Vec<_> = names.iter().map(|n| (n.as_str(), if n == "c90" { 9.0 } else { 1.0 })).collect();
        let (names, of) = set(&all).classes();
        assert_eq!((names.len(), names[63].as_str(), names[62].as_str()), (MAX_CLASSES, "other", "c90"));
        assert_eq!((of[0], of[90], of[99]), (0, 62, 63));
    }

    #[test]
    fn shares_of_recorded_times_are_all_of_them() {
        let all = RecordedTimes { gaps_us: vec![1, 2, 3, 4], items: vec![0, 1, 2, 3], speed: 1.0 };
        let of = |i| all.share(i, 3);
        assert_eq!((of(0).gaps_us, of(0).items), (vec![1, 9], vec![0, 3]));
        assert_eq!((of(1).gaps_us, of(2).items), (vec![3], vec![2]));
    }

    #[test]
    fn a_long_set_is_written_down_in_part_and_says_so() {
        let long = RequestSet { requests: vec![RequestPlan::default(); 1000], ..RequestSet::default() };
        assert_eq!((long.abridged().requests.len(), long.abridged().count()), (MAX_STORED_REQUESTS, 1000));
        assert_eq!(long.abridged().abridged(), long.abridged());
        assert_eq!(set(&[("a", 1.0)]).abridged().of, None);
    }
}

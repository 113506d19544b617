//! Sets of requests: the requests, their frequency and their order.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

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

/// Decodes a base64 text; `None` if it is invalid.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text.trim()).ok()
}

/// Encodes bytes as base64.
pub fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

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

/// Table of values for the placeholders in requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct DataTable {
    /// Names of the data columns.
    pub columns: Vec<String>,
    /// Values of the columns, one list per row. The values of the data table may be secrets, so only generators receive
    /// them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Vec<String>>,
    /// Order in which the data rows are used.
    pub order: DataOrder,
    /// Index of the first data row that this process uses. The fields `first` and `step` divide the data rows among
    /// processes without overlap.
    pub first: u64,
    /// Number of rows from one row of this process to the next row of this process; 0 means 1.
    pub step: u64,
}

/// Order of the data rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DataOrder {
    /// The data rows are used in order. After the last data row, the first data row follows again.
    #[default]
    Cycle,
    /// Each data row is used at most once.
    Unique,
    /// The data rows are used in random order.
    Random,
}

/// Recorded requests: their order and the time between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RecordedTimes {
    /// Time since the previous request, microseconds; for the first request, time since the start.
    pub gaps_us: Vec<u64>,
    /// For each recorded request, its index in `requests`; empty if only times were recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<u16>,
    /// Speed of the replay: 2 sends the requests twice as fast as recorded.
    pub speed: f64,
}

impl RecordedTimes {
    /// Returns the requests of one process: every `processes`-th request, beginning with the request at index `i`.
    #[must_use]
    pub fn share(&self, i: u32, processes: u32) -> Self {
        let (mut at, mut before) = (0, 0);
        let times: Vec<u64> = self
            .gaps_us
            .iter()
            .map(|gap| {
                at += gap;
                at
            })
            .collect();
        let mine = || (i as usize..times.len()).step_by(processes.max(1) as usize);
        let gaps_us = mine().map(|k| times[k] - std::mem::replace(&mut before, times[k])).collect();
        Self { gaps_us, items: mine().filter_map(|k| self.items.get(k).copied()).collect(), speed: self.speed }
    }

    /// Returns the time from the start to the last request at the replay speed, seconds.
    pub fn span_s(&self) -> f64 {
        self.gaps_us.iter().sum::<u64>() as f64 / 1e6 / self.speed
    }
}

/// Times at which requests are due, read from a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ArrivalTimes {
    /// Path of the file that contains the times.
    pub from: String,
    /// Number of times at which requests are due.
    pub count: u64,
    /// Recorded times of the requests; a run does not store them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<RecordedTimes>,
}

/// Order of the requests of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RequestOrder {
    /// Requests are chosen at random, according to their weights.
    #[default]
    Weighted,
    /// Each connection sends the requests in the order of the set, beginning with the first request. A request of
    /// weight 3 is sent three times in a row, and a request of weight 0 is left out.
    Sequence,
    /// All requests are sent once in random order, then again in another random order, and so on. In each round, a
    /// request of weight 3 is sent three times, and a request of weight 0 is left out.
    Shuffle,
}

/// Maximum number of requests in one round of a sequence or a shuffle.
const MAX_ROUND: usize = 1_000_000;

/// Returns the indexes of the requests in one round of a sequence or a shuffle, in the order of the set. Each request
/// occurs as often as its weight says, relative to the other weights. Returns `None` if the weights have no ratio of
/// whole numbers, or if a round would have more than [`MAX_ROUND`] requests.
pub fn round_of(weights: &[f64]) -> Option<Vec<u16>> {
    let positive = || weights.iter().copied().filter(|weight| *weight > 0.0);
    let smallest = positive().fold(f64::INFINITY, f64::min);
    let unit = match positive().all(|weight| is_whole(weight / smallest)) {
        true => smallest,
        false if positive().all(is_whole) => positive().map(|weight| weight.round() as u64).fold(0, divisor) as f64,
        false => return None,
    };
    let times = |weight: f64| if weight > 0.0 { (weight / unit).round() as usize } else { 0 };
    let total = positive().fold(0_usize, |sum, weight| sum.saturating_add(times(weight)));
    let each = (0..=u16::MAX).zip(weights).flat_map(|(item, weight)| std::iter::repeat_n(item, times(*weight)));
    (total <= MAX_ROUND).then(|| each.collect())
}

/// Returns true if a ratio of weights is a whole number, apart from rounding errors of decimal fractions.
fn is_whole(ratio: f64) -> bool {
    (ratio - ratio.round()).abs() <= 1e-9 * ratio
}

/// Returns the greatest common divisor of two numbers.
fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// One request of a set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct RequestPlan {
    /// Name; if empty, the method and the path without its query are the name.
    pub name: String,
    /// Class for separate results; if empty, the name is also the class.
    pub class: String,
    /// Relative frequency of the request. A request with frequency 0 is never sent.
    pub weight: f64,
    /// Method: `GET`, `HEAD`, `POST` or any other token.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Headers, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// True if the request has no `User-Agent`, as with `curl -H 'User-Agent:'`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub without_user_agent: bool,
    /// Body as text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// Body in base64, if the body is not text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub body_base64: String,
    /// The only right status of the answer; absent if 2xx and 3xx are right. Older versions accepted this status besides
    /// 2xx and 3xx.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect_status: Option<u16>,
    /// Status that is right besides 2xx and 3xx, because the server gave it in a log or recording; absent for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept_status: Option<u16>,
    /// Text that the body of the response must contain.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub expect_text: String,
    /// Sources of the values that replace `{{name}}` in later requests of the connection, by name. A source is a part
    /// of the response: `json:/pointer` (RFC 6901) or `header:Name`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub capture: BTreeMap<String, String>,
}

impl Default for RequestPlan {
    fn default() -> Self {
        Self {
            name: String::new(),
            class: String::new(),
            weight: 1.0,
            method: "GET".into(),
            path: "/".into(),
            headers: Vec::new(),
            without_user_agent: false,
            body: String::new(),
            body_base64: String::new(),
            expect_status: None,
            accept_status: None,
            expect_text: String::new(),
            capture: BTreeMap::new(),
        }
    }
}

impl RequestPlan {
    /// Sets the body: as text if it is valid UTF-8, otherwise in base64.
    pub fn set_body(&mut self, bytes: &[u8]) {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.body = text.into(),
            Err(_) => self.body_base64 = to_base64(bytes),
        }
    }

    /// Returns true if the request has a body.
    pub fn has_body(&self) -> bool {
        !self.body.is_empty() || !self.body_base64.is_empty()
    }

    /// Returns the request's name. For a request without a name, returns the method and the path without the query.
    pub fn called(&self) -> String {
        match self.name.is_empty() {
            false => self.name.clone(),
            true => format!("{} {}", self.method, self.path.split(['?', '#']).next().unwrap_or_default()),
        }
    }

    /// Returns the name of the class.
    pub fn class_name(&self) -> String {
        if self.class.is_empty() { self.called() } else { self.class.clone() }
    }
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

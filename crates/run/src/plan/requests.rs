//! A set of requests: what is asked of a server, how often each, and in what order.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// Most requests of a set: their places are 16-bit numbers.
pub const MOST_REQUESTS: usize = 65_535;
/// Most classes of which results are kept apart; the rarest beyond share one.
pub const MOST_CLASSES: usize = 64;
/// Requests that a run writes down; of more it says how many there were.
const KEPT: usize = 200;
/// The class of those that have no room for one of their own.
const OTHER: &str = "other";

/// The bytes that a text in base64 stands for.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text.trim()).ok()
}

/// Bytes in base64.
pub fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Requests that are made in the place of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct RequestSet {
    /// What they were read from, and its form.
    pub from: String,
    /// Which comes next.
    pub order: RequestOrder,
    /// The requests.
    pub requests: Vec<RequestPlan>,
    /// How many there were, where a run wrote down only the first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// What the log is like that they were read from, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub summary: Vec<String>,
    /// Whether `{{…}}` in paths, headers and bodies is filled anew for each request.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub templates: bool,
    /// What `{{column}}` is filled with; a run writes down the columns alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<DataTable>,
    /// When each was made, to be made at those times again; a run does not write it down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Recorded>,
}

/// Rows of values for the places of requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct DataTable {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The values, row by row; they may be secrets, so only a generator is given them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Vec<String>>,
    /// Which row comes next.
    pub order: DataOrder,
    /// The first row of this process, and how many further the next is: several processes share the rows without repeats.
    pub first: u64,
    /// See `first`; 0 is 1.
    pub step: u64,
}

/// Which row of the data comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DataOrder {
    /// One after the other, and from the first again.
    #[default]
    Cycle,
    /// Each at most once.
    Unique,
    /// At random.
    Random,
}

/// Requests as they were made: one after the other, with the gaps between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// From the request before to this one, microseconds; of the first from the begin.
    pub gaps_us: Vec<u64>,
    /// Its place in `requests`; none where only the times were recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<u16>,
    /// How many times as fast they are made.
    pub speed: f64,
}

impl Recorded {
    /// Every `of`-th of them, from the `i`-th on: what one of several processes makes.
    #[must_use]
    pub fn share(&self, i: u32, of: u32) -> Self {
        let (mut at, mut before) = (0, 0);
        let times: Vec<u64> = self
            .gaps_us
            .iter()
            .map(|gap| {
                at += gap;
                at
            })
            .collect();
        let mine = || (i as usize..times.len()).step_by(of.max(1) as usize);
        let gaps_us = mine().map(|k| times[k] - std::mem::replace(&mut before, times[k])).collect();
        Self { gaps_us, items: mine().filter_map(|k| self.items.get(k).copied()).collect(), speed: self.speed }
    }

    /// From the first to the last, seconds, at the speed asked for.
    pub fn span_s(&self) -> f64 {
        self.gaps_us.iter().sum::<u64>() as f64 / 1e6 / self.speed
    }
}

/// Times from a file at which requests are due, whichever they are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ArrivalTimes {
    /// What they were read from.
    pub from: String,
    /// How many there are.
    pub count: u64,
    /// The times; a run does not write them down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<Recorded>,
}

/// Which request of a set comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RequestOrder {
    /// Drawn at random, each as often as its weight says.
    #[default]
    Weighted,
    /// As they are written, from the first on each connection.
    Sequence,
    /// All once in a random order, then all again in another.
    Shuffle,
}

/// One request of a set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct RequestPlan {
    /// What it is called; empty: by its method and path.
    pub name: String,
    /// Results are kept by class; empty: by its name.
    pub class: String,
    /// How often it is made, against the others; 0 is never.
    pub weight: f64,
    /// `GET`, `HEAD`, `POST` or any token.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Headers, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The body, where it is text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// The body, where it is not.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub body_base64: String,
    /// Status that counts as right besides 2xx and 3xx.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect_status: Option<u16>,
    /// What the body of the response must hold.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub expect_text: String,
    /// What is taken from the response for `{{name}}` in later requests of its connection: `json:/pointer` (RFC 6901) or
    /// `header:Name`.
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
            body: String::new(),
            body_base64: String::new(),
            expect_status: None,
            expect_text: String::new(),
            capture: BTreeMap::new(),
        }
    }
}

impl RequestPlan {
    /// Sets the body: as text where it is text.
    pub fn set_body(&mut self, bytes: &[u8]) {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.body = text.into(),
            Err(_) => self.body_base64 = to_base64(bytes),
        }
    }

    /// Whether a body is sent.
    pub fn has_body(&self) -> bool {
        !self.body.is_empty() || !self.body_base64.is_empty()
    }

    /// What it is called: its name, or its method and its path without the query.
    pub fn called(&self) -> String {
        match self.name.is_empty() {
            false => self.name.clone(),
            true => format!("{} {}", self.method, self.path.split(['?', '#']).next().unwrap_or_default()),
        }
    }

    /// The name of its class.
    pub fn class_name(&self) -> String {
        if self.class.is_empty() { self.called() } else { self.class.clone() }
    }
}

impl RequestSet {
    /// The names of the classes, and the class of each request as a place among them. Where there are more than
    /// [`MOST_CLASSES`], those of the least weight are one, called `other`.
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
        if names.len() <= MOST_CLASSES {
            return (names, of.into_iter().map(|at| at as u16).collect());
        }
        let mut by_weight: Vec<usize> = (0..names.len()).collect();
        by_weight.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]));
        by_weight.truncate(MOST_CLASSES - 1);
        by_weight.sort_unstable();
        let mut place = vec![by_weight.len() as u16; names.len()];
        (0..).zip(&by_weight).for_each(|(to, &from)| place[from] = to);
        let mut kept: Vec<String> = by_weight.iter().map(|&at| names[at].clone()).collect();
        kept.push(OTHER.into());
        (kept, of.into_iter().map(|at| place[at]).collect())
    }

    /// What a run writes down of it: the first requests, and how many there were.
    #[must_use]
    pub fn abridged(&self) -> Self {
        let requests: Vec<_> = self.requests.iter().take(KEPT).cloned().collect();
        let of = self.of.or((self.requests.len() > KEPT).then_some(self.requests.len() as u64));
        let data = self.data.clone().map(|data| DataTable { rows: Vec::new(), ..data });
        let (from, summary) = (self.from.clone(), self.summary.clone());
        Self { from, order: self.order, requests, of, summary, templates: self.templates, data, recorded: None }
    }

    /// How many requests there are.
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
        assert_eq!((names.len(), names[63].as_str(), names[62].as_str()), (MOST_CLASSES, "other", "c90"));
        assert_eq!((of[0], of[90], of[99]), (0, 62, 63));
    }

    #[test]
    fn shares_of_recorded_times_are_all_of_them() {
        let all = Recorded { gaps_us: vec![1, 2, 3, 4], items: vec![0, 1, 2, 3], speed: 1.0 };
        let of = |i| all.share(i, 3);
        assert_eq!((of(0).gaps_us, of(0).items), (vec![1, 9], vec![0, 3]));
        assert_eq!((of(1).gaps_us, of(2).items), (vec![3], vec![2]));
    }

    #[test]
    fn a_long_set_is_written_down_in_part_and_says_so() {
        let long = RequestSet { requests: vec![RequestPlan::default(); 1000], ..RequestSet::default() };
        assert_eq!((long.abridged().requests.len(), long.abridged().count()), (KEPT, 1000));
        assert_eq!(long.abridged().abridged(), long.abridged());
        assert_eq!(set(&[("a", 1.0)]).abridged().of, None);
    }
}

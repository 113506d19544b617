//! Data types for the result of reading a file of requests.

use std::collections::BTreeMap;

use run::{RecordedTimes, RequestOrder, RequestPlan, UrlParts};

use crate::unfit::why_unfit;
use crate::url::{SplitUrl, origin};

/// A file of requests to read.
pub(crate) struct Source<'a> {
    /// File name as the user gave it.
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
    /// Folder for relative paths: if the read file names other files, such as files with bodies, these files are in
    /// this folder.
    pub(crate) folder: &'a std::path::Path,
}

/// A request from a file, and the server in the request's URL.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Request that the file contains.
    pub request: RequestPlan,
    /// Scheme and authority of the request's URL, such as `http://127.0.0.1:8080`; `None` if the file gives only a
    /// path.
    pub origin: Option<String>,
    /// Time at which the request was recorded, microseconds since the Unix epoch; `None` if the file has no times.
    pub recorded_us: Option<i64>,
}

impl Found {
    /// Completes a request from its URL, which gives the path of the request. If the URL has user information and the
    /// request has no `Authorization` header, adds this header.
    pub(crate) fn new(mut request: RequestPlan, url: SplitUrl) -> Self {
        let given = request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        request.headers.extend(url.authorization.filter(|_| !given).map(|value| ("Authorization".into(), value)));
        request.path = url.path;
        Self { request, origin: url.origin, recorded_us: None }
    }
}

/// Requests of a file, and remarks about reading it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// Requests in the order of the file.
    pub found: Vec<Found>,
    /// Order of the requests; `None` if the file does not state an order.
    pub order: Option<RequestOrder>,
    /// True if loadline replaces placeholders `{{…}}` and variables `$env:NAME` by their values, as in files written by
    /// hand.
    pub templates: bool,
    /// Number of requests that were left out, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// Remarks for the user, for example on settings in the file that loadline does not apply.
    pub remarks: Vec<String>,
}

impl Imported {
    /// Counts a request that is left out.
    pub(crate) fn leave_out(&mut self, why: impl Into<String>) {
        *self.left_out.entry(why.into()).or_default() += 1;
    }

    /// Leaves out the requests that HTTP cannot send as they stand.
    pub(crate) fn leave_out_unfit(&mut self) {
        let left_out = &mut self.left_out;
        self.found.retain(|found| match why_unfit(&found.request) {
            Some(why) => {
                *left_out.entry(why.into()).or_default() += 1;
                false
            }
            None => true,
        });
    }

    /// Returns scheme and authority of the first request that has them; `None` if no request has them.
    pub fn origin(&self) -> Option<&str> {
        self.found.iter().find_map(|found| found.origin.as_deref())
    }

    /// Leaves out requests to servers other than `wanted`. Keeps requests whose URL names no server.
    pub fn keep_origin(&mut self, wanted: &str) {
        let (left_out, parts) = (&mut self.left_out, UrlParts::parse(wanted));
        let wanted = origin(parts.scheme_or_http(), parts.authority);
        self.found.retain(|found| match &found.origin {
            Some(other) if *other != wanted => {
                *left_out.entry(format!("made to {other}")).or_default() += 1;
                false
            }
            _ => true,
        });
    }

    /// Keeps the requests to the server of `target`, and the requests that name no server. If no request names the
    /// target's server, keeps the requests to the server that a request names first. Returns the server whose requests
    /// are kept; `None` if no request names a server.
    pub fn aim(&mut self, target: &str) -> Option<String> {
        let first = self.origin()?.to_owned();
        let parts = UrlParts::parse(target);
        let asked = ["http", "https"].map(|scheme| origin(scheme, parts.authority));
        let origins = || self.found.iter().filter_map(|found| found.origin.as_ref());
        let same = |wanted: &String| origins().find(|origin| *origin == wanted).cloned();
        let own_scheme = origin(parts.scheme_or_http(), parts.authority);
        let origin = same(&own_scheme).or_else(|| asked.iter().find_map(same)).unwrap_or(first);
        self.keep_origin(&origin);
        Some(origin)
    }

    /// Returns the server that the first request with a full URL names, if this server differs from the target's
    /// server.
    pub fn named_elsewhere(&self, target: &str) -> Option<&str> {
        let parts = UrlParts::parse(target);
        let asked = ["http", "https", parts.scheme_or_http()].map(|scheme| origin(scheme, parts.authority));
        self.origin().filter(|named| !asked.iter().any(|one| one == named))
    }

    /// Returns the recorded requests in the order of their times, without a speed for the replay. Returns `None` if the
    /// file has no times.
    pub fn recorded_times(&self) -> Option<RecordedTimes> {
        let timed = self.found.iter().zip(0_u16..).filter_map(|(found, item)| Some((found.recorded_us?, item)));
        let mut timed: Vec<(i64, u16)> = timed.collect();
        timed.sort_by_key(|(at_us, _)| *at_us);
        let first_us = timed.first()?.0;
        let gap = |before: &mut i64, at_us: i64| Some(at_us.abs_diff(std::mem::replace(before, at_us)));
        let gaps_us = timed.iter().scan(first_us, |before, (at_us, _)| gap(before, *at_us)).collect();
        Some(RecordedTimes { gaps_us, items: timed.into_iter().map(|(_, item)| item).collect(), speed: 0.0 })
    }

    /// Returns one sentence about the requests that were left out, and the remarks; `None` if there is nothing to say.
    pub fn left_out_words(&self) -> Option<String> {
        let all: Vec<String> = left_out_words(&self.left_out).into_iter().chain(self.remarks.iter().cloned()).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

/// Returns the weight if it is valid, and otherwise an error message.
pub(crate) fn checked_weight(weight: f64) -> Result<f64, String> {
    let usable = (0.0..=1e12).contains(&weight);
    if usable { Ok(weight) } else { Err(format!("a weight of {weight}: give 0 or more, such as 3")) }
}

/// Returns one sentence about the requests that were left out, by reason; `None` if there are none.
pub fn left_out_words(left_out: &BTreeMap<String, u64>) -> Option<String> {
    let each: Vec<String> = left_out.iter().map(|(why, n)| format!("{n} {why}")).collect();
    (!each.is_empty()).then(|| format!("requests left out: {}", each.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imported(origins: &[&str]) -> Imported {
        let found = origins.iter().map(|origin| Found { origin: Some((*origin).into()), ..Found::default() });
        Imported { found: found.collect(), ..Imported::default() }
    }

    #[test]
    fn a_target_keeps_the_requests_to_its_server() {
        let mut all = imported(&["https://a", "https://b", "https://b"]);
        assert_eq!(all.aim("https://B:443/x").as_deref(), Some("https://b"));
        assert_eq!(
            (all.found.len(), all.left_out_words().as_deref()),
            (2, Some("requests left out: 1 made to https://a"))
        );
        let mut other_scheme = imported(&["https://a", "https://b"]);
        assert_eq!(other_scheme.aim("http://b/").as_deref(), Some("https://b"));
        let mut both = imported(&["https://a", "http://a"]);
        assert_eq!(both.aim("http://a:80").as_deref(), Some("http://a"));
        assert_eq!(imported(&["http://a", "http://b"]).aim("http://elsewhere").as_deref(), Some("http://a"));
        assert_eq!(Imported::default().aim("http://h"), None);
    }

    #[test]
    fn requests_that_name_another_server_than_the_target_are_told_apart() {
        let named = |origin: &str, target| imported(&[origin]).named_elsewhere(target).map(str::to_owned);
        assert_eq!(named("http://a", "http://a:80/x"), None);
        assert_eq!(named("https://a", "http://a"), None, "a scheme may change in front of a proxy");
        assert_eq!(named("http://a", "http://127.0.0.1:8080/").as_deref(), Some("http://a"));
        assert_eq!(Imported::default().named_elsewhere("http://a"), None);
    }
}

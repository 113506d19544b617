//! Result of reading a file of requests.

use std::collections::BTreeMap;

use run::{RequestOrder, RequestPlan};

/// A file to read.
pub(crate) struct Source<'a> {
    /// File name as the user gave it.
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
    /// Folder of the files that this file names.
    pub(crate) folder: &'a std::path::Path,
}

/// One request, with the server that it was recorded for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The request.
    pub request: RequestPlan,
    /// Scheme and authority of its URL, such as `http://127.0.0.1:8080`; `None` where the file gives only a path.
    pub origin: Option<String>,
}

/// All requests of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// Requests in the order of the file.
    pub found: Vec<Found>,
    /// Order in which the file wants them made.
    pub order: Option<RequestOrder>,
    /// Placeholders `{{…}}` are filled in.
    pub templates: bool,
    /// Number of requests left out, by reason.
    pub left_out: BTreeMap<String, u64>,
}

impl Imported {
    /// Counts a request that is left out.
    pub(crate) fn leave_out(&mut self, why: impl Into<String>) {
        *self.left_out.entry(why.into()).or_default() += 1;
    }

    /// Returns scheme and authority of the first request that has them.
    pub fn origin(&self) -> Option<&str> {
        self.found.iter().find_map(|found| found.origin.as_deref())
    }

    /// Leaves out requests to servers other than `origin`.
    pub fn keep_origin(&mut self, origin: &str) {
        let left_out = &mut self.left_out;
        self.found.retain(|found| match &found.origin {
            Some(other) if !other.eq_ignore_ascii_case(origin) => {
                *left_out.entry(format!("made to {other}")).or_default() += 1;
                false
            }
            _ => true,
        });
    }

    /// Returns one sentence about what was left out.
    pub fn left_out_words(&self) -> Option<String> {
        left_out_words(&self.left_out)
    }
}

/// Returns one sentence about what was left out, by reason.
pub fn left_out_words(left_out: &BTreeMap<String, u64>) -> Option<String> {
    let each: Vec<String> = left_out.iter().map(|(why, n)| format!("{n} {why}")).collect();
    (!each.is_empty()).then(|| format!("left out: {}", each.join(", ")))
}

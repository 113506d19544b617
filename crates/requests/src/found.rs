//! What a reader found.

use std::collections::BTreeMap;

use run::{RequestOrder, RequestPlan};

/// A file that is read.
pub(crate) struct Source<'a> {
    /// As it was named.
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
    /// Where files that it names are.
    pub(crate) folder: &'a std::path::Path,
}

/// One request, and where it was made to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The request.
    pub request: RequestPlan,
    /// Scheme and authority of its URL, such as `http://127.0.0.1:8080`; absent where only a path is named.
    pub origin: Option<String>,
}

/// All that was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// The requests in the file's order.
    pub found: Vec<Found>,
    /// The order that the file asks for.
    pub order: Option<RequestOrder>,
    /// Whether `{{…}}` means something in it.
    pub templates: bool,
    /// What was left out, by why, and how often.
    pub left_out: BTreeMap<String, u64>,
}

impl Imported {
    /// One more is left out.
    pub(crate) fn leave_out(&mut self, why: impl Into<String>) {
        *self.left_out.entry(why.into()).or_default() += 1;
    }

    /// Scheme and authority that the first request was made to.
    pub fn origin(&self) -> Option<&str> {
        self.found.iter().find_map(|found| found.origin.as_deref())
    }

    /// Leaves out what was made to other places than `origin`.
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

    /// What was left out, in one sentence.
    pub fn left_out_words(&self) -> Option<String> {
        left_out_words(&self.left_out)
    }
}

/// What was left out, by why, in one sentence.
pub fn left_out_words(left_out: &BTreeMap<String, u64>) -> Option<String> {
    let each: Vec<String> = left_out.iter().map(|(why, n)| format!("{n} {why}")).collect();
    (!each.is_empty()).then(|| format!("left out: {}", each.join(", ")))
}

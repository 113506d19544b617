//! A sentence about a planted run.

/// A sentence with its kind and the ID of its subject, which is empty if there is none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sentence {
    /// Kind of the sentence: `verdict`, `evidence`, `warning` and so on.
    pub kind: &'static str,
    /// ID of a bottleneck; may be empty.
    pub id: String,
    /// Text of the sentence.
    pub text: String,
}

impl Sentence {
    pub(super) fn new(kind: &'static str, id: &str, text: &str) -> Self {
        Self { kind, id: id.into(), text: text.into() }
    }
}

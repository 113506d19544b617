//! A sentence about a made-up run or experiment.

/// A sentence with its kind, and with the ID of the bottleneck that it is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sentence {
    /// Kind of the sentence: `verdict`, `evidence`, `warning` and so on.
    pub kind: &'static str,
    /// ID of the bottleneck; empty if the sentence is not about a bottleneck. For a sentence about an experiment, this
    /// field is the outcome of the experiment.
    pub id: String,
    /// Text of the sentence.
    pub text: String,
}

impl Sentence {
    pub(super) fn new(kind: &'static str, id: &str, text: &str) -> Self {
        Self { kind, id: id.into(), text: text.into() }
    }
}

//! The answer of a run in a few lines, and the warnings shown with it.

use crate::tone::Tone;

/// One line of the answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnswerLine {
    /// Name in one or two words.
    pub name: String,
    /// The answer itself.
    pub value: String,
    /// Explanation, which continues the value as one sentence.
    pub detail: String,
    /// Tone of the value, such as good or bad, which decides its colour.
    pub tone: Tone,
    /// ID of the section with more details, for forms that have links; empty for none.
    pub to: &'static str,
    /// True if a short form may leave the line out.
    pub optional: bool,
    /// Maximum number of lines in a terminal; `None` for no limit.
    pub max_lines: Option<usize>,
}

/// Reasons to trust the figures less, the most serious first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Warnings {
    /// Warnings that are shown here.
    pub shown: Vec<String>,
    /// Number of further warnings.
    pub more: usize,
    /// ID of the section with the other warnings.
    pub to: &'static str,
    /// Maximum number of lines of each warning in a terminal; `None` for no limit.
    pub max_lines: Option<usize>,
}

impl AnswerLine {
    /// Creates a line.
    pub fn new(name: &str, value: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into(), detail: detail.into(), ..Self::default() }
    }

    /// Returns the line with a link to a section.
    pub fn leading(self, to: &'static str) -> Self {
        Self { to, ..self }
    }

    /// Returns the line with a tone.
    pub fn toned(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    /// Returns the line as one that a short form may leave out.
    pub fn optional(self) -> Self {
        Self { optional: true, ..self }
    }
}

impl Warnings {
    /// Hides the last warning that is shown and counts it with the hidden ones, unless it is the only one. Returns true
    /// if a warning was hidden.
    pub fn fold_one(&mut self) -> bool {
        let folds = self.shown.len() > 1;
        if folds {
            self.shown.pop();
            self.more += 1;
        }
        folds
    }

    /// Returns the line about the warnings that are not shown; `None` if all of them are.
    pub fn rest(&self) -> Option<String> {
        let plural = if self.more == 1 { "" } else { "s" };
        let place = if self.to.is_empty() { " with -v" } else { ": see Trust" };
        (self.more > 0).then(|| format!("{} more warning{plural}{place}", self.more))
    }
}

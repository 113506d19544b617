//! Lines at the top of a report that summarize a run's result, and the warnings below these lines.

use crate::tone::Tone;

/// One line of the summary: a name, a value and an explanation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnswerLine {
    /// Name of the value, in one or two words.
    pub name: String,
    /// Value that the line shows, as text.
    pub value: String,
    /// Explanation of the value. Together, the value and the explanation read as one sentence.
    pub detail: String,
    /// Tone of the value, such as good or bad, which decides its colour.
    pub tone: Tone,
    /// ID of the report section with more details. In HTML, the line links to the section with this ID; empty for no
    /// link.
    pub to: &'static str,
    /// True if a short report may leave out the line.
    pub optional: bool,
    /// Number of terminal lines to which the line is shortened, if its first clause fits into them; `None` for no
    /// limit.
    pub max_lines: Option<usize>,
}

/// Warnings: reasons to trust the figures less, the most serious first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Warnings {
    /// Texts of the warnings that are shown.
    pub shown: Vec<String>,
    /// Number of warnings that are not shown.
    pub more: usize,
    /// ID of the report section that shows the hidden warnings; empty if the option `-v` shows them instead.
    pub to: &'static str,
    /// Number of terminal lines to which each warning is shortened, if its first clause fits; `None` for no limit.
    pub max_lines: Option<usize>,
}

impl AnswerLine {
    /// Creates a line with the default tone and without a link.
    pub fn new(name: &str, value: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into(), detail: detail.into(), ..Self::default() }
    }

    /// Returns the line with a link to the section with the ID `to`.
    pub fn leading(self, to: &'static str) -> Self {
        Self { to, ..self }
    }

    /// Returns the line with the tone `tone`.
    pub fn toned(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    /// Marks the line as optional: a short report may leave it out.
    pub fn optional(self) -> Self {
        Self { optional: true, ..self }
    }
}

impl Warnings {
    /// Hides the last shown warning and counts it as hidden, unless it is the only shown warning. Returns true if a
    /// warning was hidden.
    pub fn fold_one(&mut self) -> bool {
        self.shown.len() > 1 && self.fold_last()
    }

    /// Hides the last shown warning and counts it as hidden. Returns false if no warning is shown.
    pub fn fold_last(&mut self) -> bool {
        let folds = self.shown.pop().is_some();
        self.more += usize::from(folds);
        folds
    }

    /// Returns a text with the number of hidden warnings and the place that shows them; `None` if no warning is hidden.
    /// `is_brief` is true for a text that has no section about trust.
    pub fn rest(&self, is_brief: bool) -> Option<String> {
        let plural = if self.more == 1 { "" } else { "s" };
        let place = match (self.to.is_empty(), is_brief) {
            (true, _) => " with -v",
            (false, true) => ": see Trust in the full report",
            (false, false) => ": see Trust",
        };
        let more = if self.shown.is_empty() { "" } else { "more " };
        (self.more > 0).then(|| format!("{} {more}warning{plural}{place}", self.more))
    }
}

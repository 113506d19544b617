//! Folded stacks, the text that flame graph tools read: a stack and a weight per line. Weights are thousandths of a CPU
//! or of a waiting thread. The first frame of a stack distinguishes the two.

use run::{Run, StackSum};

use crate::{Doc, ReportError, Style};

pub(super) fn make(_: &Doc, run: &Run, _: &Style) -> Result<String, ReportError> {
    let profile = run.sampled_stacks().ok_or(ReportError::NoStacks)?;
    let text = lines("cpu", &profile.cpu) + &lines("waiting", &profile.waiting);
    if text.is_empty() { Err(ReportError::NoStacks) } else { Ok(text) }
}

fn lines(kind: &str, sums: &[StackSum]) -> String {
    let line = |sum: &StackSum| format!("{kind};{} {:.0}\n", run::visible(&sum.stack), (1000.0 * sum.weight).max(1.0));
    sums.iter().map(line).collect()
}

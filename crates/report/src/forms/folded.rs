//! Folded stacks, the text format that flame graph tools read: one line per stack, with a weight. The first frame of
//! each stack is `cpu` or `waiting`. The weight of a stack is 1000 times the number of CPUs (`cpu`) or of waiting
//! threads (`waiting`).

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

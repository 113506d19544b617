//! Fits a line of the summary into a fixed number of terminal lines, for the live view.

use super::text::wrapped_clauses;
use super::wrap::wrap;
use crate::AnswerLine;

/// Returns a line of the summary as at most `most` terminal lines of `width` columns. No sentence is cut in the middle.
/// A line that is too long is shortened to its first clauses. If this is not enough, remarks in brackets are also
/// removed. If even this is not enough, only the line's value is left.
pub fn fitted(line: &AnswerLine, width: usize, most: usize) -> Vec<String> {
    let plain = without_brackets(&line.detail);
    let shortened = [&line.detail, &plain].map(|detail| wrapped_clauses(&line.value, detail, width, Some(most)));
    let fitting = shortened.into_iter().find(|lines| lines.len() <= most);
    fitting.unwrap_or_else(|| wrap(line.value.trim_end_matches(':'), width))
}

/// Removes each remark in brackets and the space before it.
fn without_brackets(text: &str) -> String {
    let (mut rest, mut depth) = (String::new(), 0_u32);
    for mark in text.chars() {
        match mark {
            '(' => {
                depth += 1;
                rest.truncate(rest.trim_end().len());
            }
            ')' if depth > 0 => depth -= 1,
            _ if depth == 0 => rest.push(mark),
            _ => {}
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_loses_clauses_then_brackets_then_its_detail() {
        let full = "one thread of the server is full (loadline:31768/31772): more CPUs will not help";
        let line = AnswerLine::new("", "server-single-thread (sure, 95 %):", full);
        let of = |width, most| fitted(&line, width, most).join("|");
        assert_eq!(of(200, 1), format!("server-single-thread (sure, 95 %): {full}"));
        assert!(of(100, 1).ends_with("is full (loadline:31768/31772)"), "{}", of(100, 1));
        assert_eq!(of(69, 1), "server-single-thread (sure, 95 %): one thread of the server is full");
        assert_eq!(of(50, 1), "server-single-thread (sure, 95 %)");
        let two = "server-single-thread (sure, 95 %): one thread of the|server is full (loadline:31768/31772)";
        assert_eq!(of(55, 2), two);
    }

    #[test]
    fn a_capacity_keeps_its_interval() {
        let detail =
            "with median under 2.53 ms (default: 10 × unloaded; set --p50), p99 under 100 ms and errors at most 0.1 %";
        let line = AnswerLine::new("Rate", "4,600 requests/s (4,400 to 4,900)", detail);
        assert_eq!(fitted(&line, 69, 1), ["4,600 requests/s (4,400 to 4,900)"]);
        let two = "p99 under 100 ms and errors at most 0.1 %";
        assert!(fitted(&line, 69, 2)[1].ends_with(two), "{:?}", fitted(&line, 69, 2));
    }
}

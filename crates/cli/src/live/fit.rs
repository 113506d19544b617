//! Fits lines to the screen: cuts long lines with an ellipsis, and adds empty lines up to a fixed number.

use ratatui_core::text::{Line, Span};

/// Width of the labels at the left edge, in columns. All bars and texts begin to the right of the labels.
pub(super) const LABEL: usize = 11;

/// Cuts a line to a width. A cut line ends with an ellipsis.
pub(super) fn fit(line: Line<'static>, width: usize) -> Line<'static> {
    if line.width() <= width {
        return line;
    }
    let mut room = width.saturating_sub(1);
    let mut spans: Vec<Span<'static>> = Vec::new();
    for span in &line.spans {
        let text: String = span.content.chars().take(room).collect();
        room -= text.chars().count();
        spans.push(Span::styled(text, span.style));
    }
    spans.push(Span::from("…"));
    Line { spans, ..line }
}

/// Shortens or extends a list of lines to a fixed number of lines, so that the parts below do not move.
pub(super) fn filled(mut lines: Vec<Line<'static>>, number: usize) -> Vec<Line<'static>> {
    lines.resize(number, Line::default());
    lines
}

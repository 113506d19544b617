//! Text inside charts: estimates of its width, distances between labels, and escapes for SVG.

/// Estimates the width of a text at a font size of 12 px, in pixels. An estimate is usually too wide rather than too
/// narrow.
pub(super) fn width(text: &str) -> f64 {
    text.chars()
        .map(|c| match c {
            'i' | 'l' | 'j' | '.' | ',' | '\'' | '|' | ':' | ';' | '!' => 3.6,
            'f' | 't' | 'r' | ' ' | '(' | ')' | '/' | '-' => 4.6,
            'm' | 'w' | 'M' | 'W' | '%' => 10.5,
            'A'..='Z' => 8.4,
            c if (c as u32) > 0x2e80 => 12.5,
            _ => 6.9,
        })
        .sum()
}

/// Cuts a text to a width of at most `pixels`.
pub(super) fn cut(text: &str, pixels: f64) -> String {
    if width(text) <= pixels {
        return text.into();
    }
    let mut out = String::new();
    for c in text.chars() {
        out.push(c);
        if width(&out) > pixels - 10.0 {
            out.pop();
            break;
        }
    }
    format!("{}…", out.trim_end())
}

/// Moves the positions of labels until neighbours are at least `gap` apart. If there is enough space, all labels stay
/// between `from` and `to`.
pub(super) fn spread(wanted: &[f64], gap: f64, from: f64, to: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut places = wanted.to_vec();
    let mut lowest = from;
    for i in &order {
        places[*i] = places[*i].max(lowest);
        lowest = places[*i] + gap;
    }
    let mut highest = to;
    for i in order.iter().rev() {
        places[*i] = places[*i].min(highest);
        highest = places[*i] - gap;
    }
    places
}

/// Escapes a text for use in SVG content or attributes. Also makes invisible characters visible.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in run::visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_apart_and_inside() {
        assert_eq!(spread(&[50.0, 52.0, 10.0], 14.0, 0.0, 100.0), [50.0, 64.0, 10.0]);
        assert_eq!(spread(&[99.0, 98.0], 14.0, 0.0, 100.0), [100.0, 86.0]);
    }

    #[test]
    fn hostile_text_is_escaped() {
        assert_eq!(escape("<script>&\"'\u{1b}"), "&lt;script&gt;&amp;&quot;&#39; ");
    }

    #[test]
    fn long_text_is_cut_with_an_ellipsis() {
        assert_eq!(cut("short", 100.0), "short");
        assert!(cut(&"long ".repeat(40), 100.0).ends_with('…'));
    }
}

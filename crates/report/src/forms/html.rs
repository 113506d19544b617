//! HTML form: one file that contains its styles and charts. The page needs no network, and shows all contents even
//! without scripts. A short script shows the chart value nearest to the pointer, and sorts tables. Colours follow the
//! reader's choice of light or dark mode. Each chart that depends on the page's width is drawn twice: for a wide page
//! and for a phone.

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use run::Run;
use sha2::{Digest as _, Sha256};

use super::code_spans::{Piece, code_spans};
use super::html_table::TableHtml;
use crate::plot::escape;
use crate::plot::{Chain, Flame, Frame, Intervals, bars_svg, chain_svg, flame_svg, intervals_svg, plot_svg};
use crate::{Bars, Block, Doc, Plot, ReportError, Section, Style, Tone, Weight};

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    doc: &'a Doc,
    version: &'a str,
    style: &'static str,
    script: &'static str,
    /// Hash of the page's script. The page allows browsers to run only the script with this hash.
    script_hash: String,
    sections: Vec<Shown<'a>>,
}

/// A section with its rendered blocks.
struct Shown<'a> {
    section: &'a Section,
    folded: bool,
    /// True for the first section with a title, if the page has a table of contents. The table of contents comes
    /// directly before this section.
    before_is_toc: bool,
    body: String,
}

/// Minimum number of titled sections for a table of contents.
const MIN_CONTENTS: usize = 6;

#[derive(Template)]
#[template(path = "words.html")]
struct Words<'a> {
    block: &'a Block,
}

impl Words<'_> {
    /// Returns the number of list entries that are visible at first. If the page would hide only one or two entries,
    /// the page shows all entries, because the line `2 more` would save no space.
    fn shown(&self, list: &crate::List) -> usize {
        let open = list.brief.max(3) + 1;
        if list.items.len() <= open + 2 { list.items.len() } else { open }
    }
}

#[derive(Template)]
#[template(path = "figure.html")]
struct Figure<'a> {
    title: &'a str,
    caption: &'a str,
    wide: bool,
    /// Pairs of a screen size and an SVG chart. There is one pair for a wide page and one for a phone, or a single pair
    /// for both.
    charts: Vec<(&'static str, String)>,
}

pub(super) fn make(doc: &Doc, run: &Run, _: &Style) -> Result<String, ReportError> {
    let mut sections = Vec::with_capacity(doc.sections.len());
    let titled: Vec<&str> = doc.sections.iter().filter(|s| !s.title.is_empty()).map(|s| s.id.as_str()).collect();
    let first = titled.first().filter(|_| titled.len() >= MIN_CONTENTS);
    for section in &doc.sections {
        let folded = section.weight == Weight::Detail;
        let before_is_toc = first == Some(&section.id.as_str());
        sections.push(Shown { section, folded, before_is_toc, body: body(&section.blocks)? });
    }
    let style = include_str!("../../templates/style.css");
    let script = include_str!("../../templates/page.js");
    let script_hash = format!("sha256-{}", STANDARD.encode(Sha256::digest(script)));
    let page = filled(&Page { doc, version: &run.version, style, script, script_hash, sections })?;
    // Names may come from a server, so the page escapes characters that could hide or reorder text.
    let lines: Vec<_> = page.split('\n').map(run::visible).collect();
    Ok(lines.join("\n") + "\n")
}

fn filled(template: &impl Template) -> Result<String, ReportError> {
    template.render().map_err(|e| ReportError::Broken { form: "html", message: e.to_string() })
}

/// Renders the blocks of a section. Places consecutive charts in one grid.
fn body(blocks: &[Block]) -> Result<String, ReportError> {
    let mut out = String::new();
    let mut in_grid = false;
    for block in blocks {
        if matches!(block, Block::Bars(bars) if bars.terminal_only) {
            continue;
        }
        let chart =
            matches!(block, Block::Plot(_) | Block::Bars(_) | Block::Intervals(_) | Block::Chain(_) | Block::Flame(_));
        if chart != in_grid {
            out.push_str(if chart { "<div class=\"charts\">" } else { "</div>" });
            in_grid = chart;
        }
        out.push_str(&self::block(block)?);
    }
    if in_grid {
        out.push_str("</div>");
    }
    Ok(out)
}

fn block(block: &Block) -> Result<String, ReportError> {
    match block {
        Block::Table(table) => filled(&TableHtml::new(table)),
        Block::Plot(plot) => figure(plot),
        Block::Bars(bars) => bar_figure(bars),
        Block::Intervals(chart) => interval_figure(chart),
        Block::Chain(chain) => chain_figure(chain),
        Block::Flame(flame) => flame_figure(flame),
        Block::Multiples(plots) => multiples(plots),
        _ => filled(&Words { block }),
    }
}

fn figure(plot: &Plot) -> Result<String, ReportError> {
    let frame = match (plot.wide, plot.low) {
        (true, true) => Frame::LOW,
        (true, false) => Frame::WIDE,
        (false, _) => Frame::HALF,
    };
    let charts = vec![("page", plot_svg(plot, frame)), ("phone", plot_svg(plot, Frame::NARROW))];
    filled(&Figure { title: &plot.title, caption: &plot.caption, wide: plot.wide, charts })
}

fn bar_figure(bars: &Bars) -> Result<String, ReportError> {
    let frame = if bars.wide { Frame::WIDE } else { Frame::HALF };
    let charts = vec![("page", bars_svg(bars, frame)), ("phone", bars_svg(bars, Frame::NARROW))];
    filled(&Figure { title: &bars.title, caption: &bars.caption, wide: bars.wide, charts })
}

fn interval_figure(chart: &Intervals) -> Result<String, ReportError> {
    let charts = vec![("page", intervals_svg(chart, Frame::HALF)), ("phone", intervals_svg(chart, Frame::NARROW))];
    filled(&Figure { title: &chart.title, caption: &chart.caption, wide: false, charts })
}

fn chain_figure(chain: &Chain) -> Result<String, ReportError> {
    let charts = vec![("page", chain_svg(chain, Frame::WIDE)), ("phone", chain_svg(chain, Frame::NARROW))];
    filled(&Figure { title: &chain.title, caption: &chain.caption, wide: true, charts })
}

fn flame_figure(flame: &Flame) -> Result<String, ReportError> {
    let charts = vec![("page", flame_svg(flame, Frame::WIDE)), ("phone", flame_svg(flame, Frame::NARROW))];
    filled(&Figure { title: &flame.title, caption: &flame.caption, wide: true, charts })
}

fn multiples(plots: &[Plot]) -> Result<String, ReportError> {
    let mut out = String::from("<div class=\"multiples\">");
    for plot in plots {
        let charts = vec![("both", plot_svg(plot, Frame::SMALL))];
        out.push_str(&filled(&Figure { title: &plot.title, caption: &plot.caption, wide: false, charts })?);
    }
    out.push_str("</div>");
    Ok(out)
}

/// Returns the CSS class of a tone.
pub(super) fn tone(tone: &Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Good => "good",
        Tone::Warn => "warn",
        Tone::Bad => "bad",
        Tone::Quiet => "quiet",
    }
}

/// Returns the length of an evidence bar, percent of the full length.
fn percent(share: &f64) -> String {
    format!("{:.0}", (share * 100.0).clamp(0.0, 100.0))
}

/// Returns a sentence as HTML: escaped, with code between backticks as `<code>`, and with no-break spaces between
/// numbers and units.
pub(super) fn prose(text: &str) -> String {
    html(text, glue)
}

/// Maximum length of a part of a subtitle that does not break, characters. A line on a phone has space for it.
const MAX_UNBROKEN: usize = 24;

/// Returns a subtitle as HTML. Short parts after the first one, such as a date, do not break at the end of a line.
pub(super) fn subtitle(text: &str) -> String {
    let part = |(at, part): (usize, &str)| match part.chars().count() {
        _ if at == 0 => prose(part),
        MAX_UNBROKEN.. => format!(" · {}", prose(part)),
        _ => format!(" · <span class=\"piece\">{}</span>", prose(part)),
    };
    text.split(" · ").enumerate().map(part).collect()
}

/// Returns the text of a cell as HTML: escaped, with code between backticks as `<code>`.
pub(super) fn cell(text: &str) -> String {
    html(text, str::to_owned)
}

fn html(text: &str, words: impl Fn(&str) -> String) -> String {
    let piece = |piece| match piece {
        Piece::Words(text) => whole_flags(&escape(&words(text))),
        Piece::Code(text) => format!("<code>{}</code>", escape(text)),
    };
    code_spans(text).into_iter().map(piece).collect()
}

/// Puts each flag of a text, such as `--p50`, into an HTML element that does not break at the end of a line. The given
/// text must already be escaped for HTML.
fn whole_flags(escaped: &str) -> String {
    let is_of_flag = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let mut parts = escaped.split("--");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c| !is_of_flag(c)).unwrap_or(part.len());
        let begins = end > 0 && out.chars().next_back().is_none_or(|before| matches!(before, ' ' | '('));
        out += &match begins {
            true => format!("<span class=\"flag\">--{}</span>{}", &part[..end], &part[end..]),
            false => format!("--{part}"),
        };
    }
    out
}

/// Removes the backticks around code from a text, for output forms without markup.
pub(super) fn unmarked(text: &str) -> String {
    let bare = |piece| match piece {
        Piece::Words(text) | Piece::Code(text) => text,
    };
    code_spans(text).into_iter().map(bare).collect()
}

/// Puts a no-break space between each number and its unit.
pub(super) fn glue(text: &str) -> String {
    const UNITS: &[&str] = &["%", "s", "ms", "us", "µs", "ns", "B", "kB", "MB", "GB", "KiB", "MiB", "cpu"];
    let mut out = String::with_capacity(text.len());
    let mut after_figure = false;
    for (i, word) in text.split(' ').enumerate() {
        let bare = word.trim_end_matches([',', ';', '.', ':', ')']);
        let unit = UNITS.contains(&bare) || bare.ends_with("/s");
        if i > 0 {
            out.push(if after_figure && unit { '\u{a0}' } else { ' ' });
        }
        out.push_str(word);
        after_figure = word.contains(|c: char| c.is_ascii_digit())
            && word.chars().all(|c| c.is_ascii_digit() || ".,−-+(×≥≤".contains(c));
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_number_with_a_sign_keeps_its_unit() {
        let glued = super::glue("Worse: +27.2 % (-3 % to +4 ms) since - s");
        assert_eq!(glued, "Worse: +27.2\u{a0}% (-3\u{a0}% to +4\u{a0}ms) since - s");
    }

    #[test]
    fn a_date_in_a_subtitle_does_not_break() {
        let html = super::subtitle("find http://h/ · 5 trials · 2026-12-01 01:39 UTC");
        assert!(html.starts_with("find http://h/ · "), "{html}");
        assert!(html.ends_with(" · <span class=\"piece\">2026-12-01 01:39 UTC</span>"), "{html}");
    }

    /// A rule for all spans in a card also put the flag of a sentence, which is a span, on a line of its own.
    #[test]
    fn a_rule_for_a_block_of_text_leaves_flags_in_their_line() {
        let style = include_str!("../../templates/style.css");
        let blocks = style.split('}').filter(|rule| rule.contains("display:block"));
        let all_spans = blocks.filter(|rule| rule.split(['{', ',']).any(|selector| selector.ends_with(" span")));
        assert_eq!(all_spans.collect::<Vec<_>>(), Vec::<&str>::new());
    }

    #[test]
    fn a_flag_does_not_break_and_its_value_may() {
        let html = super::prose("10 × unloaded; set --p50) and --max-connections 8 <b> (--budget, a--b --)");
        let flags = ["<span class=\"flag\">--p50</span>)", "<span class=\"flag\">--max-connections</span> 8"];
        assert!(flags.iter().all(|flag| html.contains(flag)) && !html.contains("<b>"), "{html}");
        assert!(html.ends_with("(<span class=\"flag\">--budget</span>, a--b --)"), "{html}");
    }
}

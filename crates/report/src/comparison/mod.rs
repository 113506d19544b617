//! Document of a comparison: the verdict, differences between the conditions of both servers, and one table of all
//! figures.

mod brief;
mod change;

use run::{
    ComparedFigure, Comparison, ComparisonOutcome, ComparisonResult, CurvePoint, FigureRole, NeededData, SideDeath,
    WindowOrder,
};

pub use brief::brief_comparison;

use crate::plot::{Axis, Hue, IntervalRow, Intervals, Look, Plot, Scale, Series};
use crate::{Block, Cell, Col, Doc, KeyFigure, Note, ReportError, Section, Style, Table, Tone, Unit, Weight};
use change::{TIMES, change};
use run::number::{count, number, quantity, significant};

/// Renders a comparison of old and new runs. `form` is `text`, `markdown`, `html` or `json`.
pub fn render_comparison(form: &str, comparison: &Comparison, style: &Style) -> Result<String, ReportError> {
    crate::answer::render(form, comparison, &document(comparison), style)
}

fn names(comparison: &Comparison) -> String {
    format!("old: {} · new: {}", comparison.old, comparison.new)
}

fn document(comparison: &Comparison) -> Doc {
    let mut blocks: Vec<Block> =
        comparison.differences.iter().map(|d| Note::block(Tone::Warn, format!("Differs: {d}"))).collect();
    blocks.extend(comparison.notes.iter().map(|note| Note::block(Tone::Warn, crate::words::capital(note))));
    let old_died = comparison.deaths.iter().filter(|death| !death.new);
    blocks.extend(old_died.map(|death| Note::block(Tone::Bad, crate::words::capital(&describe(death)))));
    blocks.push(Block::KeyFigures(vec![KeyFigure {
        name: "Verdict".into(),
        value: word(comparison.verdict).into(),
        detail: decided(comparison),
        tone: tone(comparison.verdict),
    }]));
    blocks.extend(comparison.tls.iter().map(|tls| Note::block(Tone::Plain, tls.sentence.clone())));
    blocks.extend(smallest_change(comparison).map(|sentence| Note::block(Tone::Plain, sentence)));
    blocks.extend(comparison.turns.as_ref().map(|turns| in_turns(turns, comparison.decided_after_s)));
    blocks.push(Block::Table(table(comparison)));
    blocks.extend(intervals(comparison));
    blocks.extend(curves(comparison));
    Doc {
        title: sentence(comparison),
        subtitle: names(comparison),
        sections: vec![Section::new("compare", "", Weight::First, blocks)],
        ..Doc::default()
    }
}

/// Returns a note about the random order in which loadline measured the servers. The note contains the seed of the
/// order, the number of pairs of measurements, and the measured time until the decision.
fn in_turns(turns: &WindowOrder, decided_after_s: Option<f64>) -> Block {
    let pairs = turns.new_first.len();
    let plural = if pairs == 1 { "" } else { "s" };
    let decided = decided_after_s.map_or(String::new(), |s| format!(" Decided after {}.", length(s)));
    let how = if turns.at_once { ", at once on CPUs that both servers swapped" } else { "" };
    let text = format!("{pairs} pair{plural} of windows{how}, in the order of --seed {}.{decided}", turns.seed);
    Note::block(Tone::Plain, text)
}

/// Returns a sentence with the smallest change that the comparison would have detected. The sentence also contains the
/// amount of data that would detect a change of 1 %, if this amount is known.
fn smallest_change(comparison: &Comparison) -> Option<String> {
    let (change, figure) = (comparison.smallest_change?, comparison.smallest_change_of.as_ref()?);
    let change = if change >= 1.0 {
        format!("×{}", number(1.0 + change))
    } else {
        format!("{} %", significant(100.0 * change))
    };
    let needs = match (comparison.one_percent_s, comparison.one_percent_runs) {
        (Some(seconds), _) => format!("; 1 % needs about {}", length(seconds)),
        (None, Some(runs)) => format!("; 1 % needs about {} runs of each side", number(runs)),
        (None, None) => String::new(),
    };
    Some(format!("Smallest change that this comparison shows in 19 of 20 cases: {change} of {figure}{needs}."))
}

/// Returns the conclusion, with the figure that decided it. If no single figure decided, returns the longer [`title`].
fn sentence(comparison: &Comparison) -> String {
    let decided = comparison.decided_by.as_ref().filter(|_| !comparison.deaths.iter().any(|death| death.new));
    let figure = decided.and_then(|name| comparison.comparisons.iter().find(|c| c.figure == *name));
    figure.map_or_else(|| title(comparison), |figure| format!("{}: {}", head(comparison), clause(figure)))
}

/// Returns the conclusion of the comparison, with all figures on which the conclusion is based. If the new server's
/// process ended early, returns a sentence about the early end instead of the conclusion.
fn title(comparison: &Comparison) -> String {
    if let Some(death) = comparison.deaths.iter().find(|death| death.new) {
        return format!("Regression: {}", describe(death));
    }
    let allowed = format!("{} %", significant(100.0 * comparison.threshold));
    let [worse, better, same] = [ComparisonResult::Slower, ComparisonResult::Faster, ComparisonResult::Same]
        .map(|word| deciding(comparison).filter(|c| c.word == word).map(clause).collect::<Vec<_>>());
    let undecided = comparison.outcome == ComparisonOutcome::Undecided;
    let open = (!comparison.open.is_empty()).then(|| comparison.open.join(", "));
    let (first, last) = if undecided { (open, None) } else { (None, open.map(|open| format!("undecided: {open}"))) };
    let same = (!same.is_empty()).then(|| format!("the same within {allowed}: {}", same.join(", ")));
    let head = head(comparison);
    let told = [worse, better].concat().into_iter().chain(same);
    let parts: Vec<String> = first.into_iter().chain(told).chain(last).collect();
    match (parts.is_empty(), comparison.no_common_load) {
        (false, _) => format!("{head}: {}", parts.join("; ")),
        (true, true) => format!("{head}: the two sides have no load in common"),
        (true, false) => format!("{head}: too little data"),
    }
}

/// Returns the conclusion of a comparison in a few words.
fn head(comparison: &Comparison) -> &'static str {
    match (comparison.outcome, comparison.verdict) {
        (ComparisonOutcome::Regressed, _) => "Regression",
        (ComparisonOutcome::Undecided, _) => "Undecided",
        (ComparisonOutcome::Passed, ComparisonResult::Slower) => "Worse, but within what is allowed",
        (ComparisonOutcome::Passed, ComparisonResult::Faster) => "Better",
        (ComparisonOutcome::Passed, ComparisonResult::Same) => "No difference",
        (ComparisonOutcome::Passed, ComparisonResult::NotEnough) => "Not worse",
    }
}

fn deciding(comparison: &Comparison) -> impl Iterator<Item = &ComparedFigure> {
    comparison.comparisons.iter().filter(|c| c.role != FigureRole::Listed)
}

/// Returns a deciding figure with its change in words, such as `p50 12 % higher`. For an unchanged figure, returns only
/// its name.
fn clause(c: &ComparedFigure) -> String {
    if c.word == ComparisonResult::Same {
        return c.figure.clone();
    }
    if let Some(apart) = c.difference {
        let points = quantity(apart.value.abs(), Unit::Share).replace(" %", "");
        return format!("{} {points} points {}", c.figure, if apart.value > 0.0 { "higher" } else { "lower" });
    }
    match (c.ratio, &c.said) {
        (ratio, Some(said)) if !ratio.is_finite() => format!("{}: {said}", c.figure),
        (ratio, _) if ratio >= TIMES => format!("{} {} times as high", c.figure, significant(ratio)),
        (ratio, _) if ratio > 1.0 => format!("{} {} % higher", c.figure, significant(100.0 * (ratio - 1.0))),
        (ratio, _) => format!("{} {} % lower", c.figure, significant(100.0 * (1.0 - ratio))),
    }
}

/// Returns advice on measurements that would decide the undecided figures. If even an hour of measurement would leave a
/// figure undecided, the advice names the smallest change that an hour of measurement would detect.
fn advice(comparison: &Comparison) -> String {
    let open: Vec<&ComparedFigure> =
        comparison.comparisons.iter().filter(|c| comparison.open.contains(&c.figure)).collect();
    let untold: Vec<String> = open.iter().filter_map(|c| untold(c)).collect();
    let minutes = open.iter().filter_map(|c| needed_s(c, comparison)).reduce(f64::max);
    match (untold.is_empty(), minutes) {
        (false, _) => format!("on this machine, an hour would not show a difference of under {}", untold.join(", ")),
        (true, Some(seconds)) => format!("{} of measurement would decide it", length(seconds)),
        (true, None) if comparison.no_common_load && open.is_empty() => {
            "a longer measurement would not help: measure both sides with the same load (--rate, --connections)".into()
        }
        (true, None) => "measure longer, or repeat".into(),
    }
}

/// Returns the length of a measurement that would decide a figure, seconds. Returns `None` if the needed length of the
/// measurement is unknown, or if a longer measurement would not help.
fn needed_s(c: &ComparedFigure, comparison: &Comparison) -> Option<f64> {
    let by_time = c.resolution.is_none() && c.more_of != Some(NeededData::Runs) && comparison.measured_s > 0.0;
    c.more.filter(|_| by_time).map(|more| more * comparison.measured_s)
}

/// Minimum length of a measurement that is written in hours instead of minutes, seconds.
const HOURS_S: f64 = 2.0 * 3600.0;

/// Formats the length of a measurement in seconds, minutes or hours, rounded up to a whole number.
fn length(seconds: f64) -> String {
    if seconds < 100.0 {
        format!("{} s", number(seconds.ceil()))
    } else if seconds >= HOURS_S {
        format!("{} h", number((seconds / 3600.0).ceil()))
    } else {
        format!("{} min", number((seconds / 60.0).ceil()))
    }
}

/// Returns the smallest change of a figure that an hour of measurement would detect, with the figure's name. Returns
/// `None` if an hour suffices to decide the figure, or if the change is unknown.
fn untold(c: &ComparedFigure) -> Option<String> {
    let least = c.resolution?;
    let name = if least >= 1.0 {
        format!("a factor of {}", significant(1.0 + least))
    } else {
        format!("{} %", significant(100.0 * least))
    };
    Some(format!("{name} ({})", name_of(c)))
}

/// Returns the name of a figure: its title, or its ID for a figure without a title. Only costs of the server have
/// titles.
fn name_of(c: &ComparedFigure) -> &str {
    if c.title.is_empty() { &c.figure } else { &c.title }
}

fn describe(death: &SideDeath) -> String {
    let rest = death.text.strip_prefix("the ").unwrap_or(&death.text);
    format!("the {} {rest}", if death.new { "new" } else { "old" })
}

fn decided(comparison: &Comparison) -> String {
    let Some(figure) = &comparison.decided_by else {
        return if comparison.deaths.iter().any(|death| death.new) {
            "a server that dies under the load of the other one has regressed".into()
        } else {
            advice(comparison)
        };
    };
    let ratio = comparison.comparisons.iter().find(|c| c.figure == *figure).map(change).unwrap_or_default();
    format!("decided by {figure}: {ratio}")
}

/// Returns the word that the screen shows for a result. In files, an undecided result has the ID `not-enough`.
fn word(word: ComparisonResult) -> &'static str {
    if word == ComparisonResult::NotEnough { "undecided" } else { word.name() }
}

fn tone(word: ComparisonResult) -> Tone {
    match word {
        ComparisonResult::Faster | ComparisonResult::Same => Tone::Good,
        ComparisonResult::Slower => Tone::Bad,
        ComparisonResult::NotEnough => Tone::Warn,
    }
}

/// Returns the chart of the ratios (new over old) with their intervals. The chart leaves out figures without an
/// interval, but the table contains them.
fn intervals(comparison: &Comparison) -> Option<Block> {
    let row = |c: &ComparedFigure| {
        let (low, high) = c.low.zip(c.high)?;
        let hue = match c.word {
            ComparisonResult::Slower => Hue::Alarm,
            ComparisonResult::Faster => Hue::Main,
            ComparisonResult::Same | ComparisonResult::NotEnough => Hue::Quiet,
        };
        Some(IntervalRow { label: name_of(c).into(), value: c.ratio, low, high, hue })
    };
    let rows: Vec<IntervalRow> = shown(comparison).filter_map(row).collect();
    (!rows.is_empty()).then(|| {
        Block::Intervals(Intervals {
            title: "New over old".into(),
            caption: "Ratio of each figure with its interval. An interval that contains 1 shows no difference.".into(),
            unit: Unit::Plain,
            against: 1.0,
            rows,
        })
    })
}

/// Returns charts that show both servers: one of throughput by number of clients, and one of all percentiles of the
/// response time.
fn curves(comparison: &Comparison) -> Vec<Block> {
    let both = |points: &[CurvePoint]| {
        let of = |side: fn(&CurvePoint) -> f64| points.iter().map(|p| (p.at, side(p))).collect();
        vec![
            Series::new("old", Look::LineDots, Hue::Second, of(|p| p.old)),
            Series::new("new", Look::LineDots, Hue::Main, of(|p| p.new)),
        ]
    };
    let (rates, responses) = (&comparison.curves.rates, &comparison.curves.response_us);
    let throughput = || Plot {
        title: "Throughput against clients".into(),
        caption: "Good answers per second, the mean of the windows of each.".into(),
        x: Axis::new("clients", Unit::Plain, Scale::Log2),
        y: Axis::new("requests per second", Unit::Plain, Scale::Linear),
        series: both(rates),
        ..Plot::default()
    };
    let response = || Plot {
        title: "Response time at every percentile".into(),
        caption: "All windows of one load level together.".into(),
        x: Axis::new("share of requests", Unit::Share, Scale::Nines),
        y: Axis::new("response time", Unit::Micros, Scale::Log),
        series: both(responses),
        ..Plot::default()
    };
    let plots = [(rates.len() > 1).then(throughput), (responses.len() > 1).then(response)];
    plots.into_iter().flatten().map(|plot| Block::Plot(Box::new(plot))).collect()
}

/// Returns the compared figures that the report shows. A secondary figure (`beside`, such as a cost) is shown only if
/// it changed.
fn shown(comparison: &Comparison) -> impl Iterator<Item = &ComparedFigure> {
    let differs = |c: &ComparedFigure| matches!(c.word, ComparisonResult::Faster | ComparisonResult::Slower);
    comparison.comparisons.iter().filter(move |c| !c.beside || differs(c))
}

fn table(comparison: &Comparison) -> Table {
    let rows: Vec<Vec<Cell>> = shown(comparison).map(|c| row(c, comparison)).collect();
    let mut table = Table { columns: columns().into(), rows, notes: notes(comparison), ..Table::default() };
    if table.rows.iter().all(|row| row[NEEDS].text.is_empty()) {
        table.columns.remove(NEEDS);
        table.rows.iter_mut().for_each(|row| drop(row.remove(NEEDS)));
    }
    table
}

/// Index of the table column that shows how much data would decide an undecided figure.
const NEEDS: usize = 5;

/// Returns the columns of the table of compared figures. A terminal that is 80 characters wide has no space for the
/// last two columns.
fn columns() -> [Col; 7] {
    [
        Col::words("figure", 0),
        Col::figures("old", 0),
        Col::figures("new", 0),
        Col::figures("change (interval)", 0),
        Col::words("result", 0),
        Col::words("needs", 1),
        Col::figures("p-value", 2),
    ]
}

/// Returns the notes below the table: the risk of a wrong result, advice for the undecided figures, and remarks on
/// single figures.
fn notes(comparison: &Comparison) -> Vec<String> {
    let open = |of: NeededData| {
        let needs = |c: &ComparedFigure| c.more.is_some() && c.resolution.is_none();
        shown(comparison).any(|c| needs(c) && c.more_of.unwrap_or(NeededData::Windows) == of)
    };
    let level = "the result follows from the interval; \"slower\" and \"faster\" of equal servers, and \"same\" of servers \
                 that differ by more, are wrong in at most 5 of 100 comparisons";
    let windows = "needs: a measurement of about this length decides (--budget, or --duration of a load)";
    let runs = "needs ×N runs: more time will not help; use about N times as many runs or repeats of each side (--repeat N, \
                --old RUN… --new RUN…)";
    let open = [(NeededData::Windows, windows), (NeededData::Runs, runs)].into_iter().filter(|(of, _)| open(*of));
    let untold: Vec<String> = shown(comparison).filter_map(untold).collect();
    let untold = (!untold.is_empty())
        .then(|| format!("not even an hour on this machine shows a difference of under {}", untold.join(", ")));
    let said = shown(comparison).filter_map(remark);
    let level = std::iter::once(level).filter(|_| !comparison.comparisons.is_empty());
    level
        .chain(open.map(|(_, note)| note))
        .map(str::to_string)
        .chain(untold)
        .chain(said)
        .chain(shown(comparison).filter_map(still_open))
        .collect()
}

/// Returns the name of a figure and the remark on it; `None` for a figure without a remark.
fn remark(c: &ComparedFigure) -> Option<String> {
    Some(format!("{}: {}", name_of(c), c.said.as_ref()?))
}

/// Formats the value of a figure of the old server (`side` 0) or the new server (`side` 1). Formats a figure that is a
/// share in percent. If requests had no response when the measurement ended, marks the share of failed requests as a
/// lower bound.
fn value(c: &ComparedFigure, side: usize) -> String {
    let value = [c.old, c.new][side];
    if c.difference.is_none() {
        return quantity(value, c.unit);
    }
    format!("{}{}", if c.open[side] > 0 { "≥" } else { "" }, quantity(value, Unit::Share))
}

/// Returns a sentence with the number of requests that had no response when the measurement ended. The share of failed
/// requests does not include the requests without a response, although some of them may have failed.
fn still_open(c: &ComparedFigure) -> Option<String> {
    let side = |at: usize| format!("{} of the {} server", count(c.open[at]), ["old", "new"][at]);
    let sides: Vec<String> = [0, 1].into_iter().filter(|at| c.open[*at] > 0).map(side).collect();
    let note =
        format!("{}: requests without an answer at the end may have failed, too: {}", c.figure, sides.join(", "));
    (!sides.is_empty()).then_some(note)
}

fn row(c: &ComparedFigure, comparison: &Comparison) -> Vec<Cell> {
    let p = c.p.map_or_else(String::new, |p| if p < 1e-4 { "<0.0001".into() } else { significant(p) });
    vec![
        Cell { hint: if c.title.is_empty() { String::new() } else { c.figure.clone() }, ..Cell::new(name_of(c)) },
        value(c, 0).into(),
        value(c, 1).into(),
        change(c).into(),
        Cell { text: word(c.word).into(), ..Cell::default() }.toned(tone(c.word)),
        needs(c, comparison).into(),
        p.into(),
    ]
}

/// Returns the length of the measurement that would decide a figure. If the needed length of the measurement is
/// unknown, returns the factor by which the measured time or the number of runs must grow. Returns an empty text for a
/// decided figure.
fn needs(c: &ComparedFigure, comparison: &Comparison) -> String {
    let of = if c.more_of == Some(NeededData::Runs) { "runs" } else { "the time" };
    let times = c.more.filter(|more| *more > 1.0 && c.resolution.is_none());
    let times = || times.map(|times| format!("×{} {of}", significant(times.ceil())));
    needed_s(c, comparison).map(length).or_else(times).unwrap_or_default()
}

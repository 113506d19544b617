//! Stacks of the server's threads: a flame graph of the functions that used CPU time, and a flame graph of the
//! functions that waited.

use run::{Findings, HotFunction, Run, StackProfile, StackSum, WaitingFunction};

use crate::plot::{Flame, Hue};
use crate::{Block, Col, Section, Table, Unit, Weight};
use run::number::prose::counted;
use run::number::{number, quantity};

/// Maximum number of functions in a table of functions.
const ROWS: usize = 12;
/// Maximum number of functions that a terminal shows in a table.
const BRIEF_ROWS: usize = 5;

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let Some(profile) = run.sampled_stacks() else { return Vec::new() };
    let blocks = blocks(&profile, &run.findings);
    if blocks.is_empty() {
        return Vec::new();
    }
    vec![Section::new("stacks", "Functions of the server", Weight::Full, blocks)]
}

/// Returns the blocks about sampled stacks: tables of functions, and flame graphs.
pub(crate) fn blocks(profile: &StackProfile, findings: &Findings) -> Vec<Block> {
    let (hot, functions) = (&findings.hot, &findings.waiting);
    let mut blocks = Vec::new();
    if !hot.is_empty() {
        blocks.push(Block::Table(hottest(profile, hot)));
    }
    if !functions.is_empty() {
        blocks.push(Block::Table(waiting_in(functions)));
    }
    let on_cpu = "CPU time of user code by function. Each box is as wide as its share; the boxes below it are functions \
                  that it called. Outer functions that all stacks share are left out.";
    let waiting = "Mean number of threads that waited in each function, without idle threads.";
    let largest = hot.iter().find(|function| function.inclusive.is_some()).or(hot.first());
    // A share of few samples is inexact, so the title states the number of samples.
    let samples = counted(profile.cpu_samples as f64, "sample");
    let title =
        largest.map_or_else(|| "CPU time by function".into(), |function| format!("{} ({samples})", title(function)));
    let cpu = Flame { unit: Unit::Cpus, hue: Hue::Second, has_table: !hot.is_empty(), ..flame(title, on_cpu) };
    blocks.extend(with_stacks(cpu, &profile.cpu));
    let waiting = Flame { has_table: !functions.is_empty(), ..flame("Waiting threads by function".into(), waiting) };
    blocks.extend(with_stacks(waiting, &profile.waiting));
    blocks
}

fn title(largest: &HotFunction) -> String {
    let called = if largest.inclusive.is_some() { " and what it calls" } else { "" };
    let share = quantity(largest.inclusive.unwrap_or(largest.share), Unit::Share);
    format!("{share} of the CPU time is in {}{called}", largest.function)
}

fn flame(title: String, caption: &str) -> Flame {
    Flame { title, caption: caption.into(), ..Flame::default() }
}

/// Returns a block with the flame graph `flame`, filled with the stacks in `sums`. Returns `None` if `sums` is empty.
fn with_stacks(flame: Flame, sums: &[StackSum]) -> Option<Block> {
    let stacks: Vec<(String, f64)> = sums.iter().map(|sum| (sum.stack.clone(), sum.weight)).collect();
    (!stacks.is_empty()).then_some(Block::Flame(Flame { stacks, ..flame }))
}

/// Returns the table of the functions in which threads wait.
fn waiting_in(functions: &[WaitingFunction]) -> Table {
    let row = |function: &WaitingFunction| {
        vec![
            number(function.threads).into(),
            quantity(function.share, Unit::Share).into(),
            function.function.clone().into(),
            function.process.clone().into(),
        ]
    };
    let note = "Threads without idle ones. The function is the first one of the program itself; the flame graph has the \
                functions of libraries, too.";
    Table {
        columns: vec![
            Col::figures("waiting threads", 0),
            Col::figures("share", 1),
            Col::words("function", 0),
            Col::words("process", 2),
        ],
        rows: functions.iter().take(ROWS).map(row).collect(),
        notes: vec![note.into()],
        brief: Some(BRIEF_ROWS),
        ..Table::default()
    }
}

fn hottest(profile: &StackProfile, hot: &[HotFunction]) -> Table {
    let row = |function: &HotFunction| {
        vec![
            quantity(function.share, Unit::Share).into(),
            function.function.clone().into(),
            function.process.clone().into(),
        ]
    };
    let samples = counted(profile.cpu_samples as f64, "sample");
    let note = format!("{samples} of user code. The share excludes the functions that it calls.");
    let inclusive =
        hot.iter().find(|function| function.inclusive.is_some()).map(|caller| format!("{}.", title(caller)));
    Table {
        columns: vec![Col::figures("CPU time", 0), Col::words("function", 0), Col::words("process", 1)],
        rows: hot.iter().filter(|function| function.share > 0.0).take(ROWS).map(row).collect(),
        notes: inclusive.into_iter().chain([note]).collect(),
        brief: Some(BRIEF_ROWS),
        ..Table::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Side, Trial, WaitProfile};

    fn run_with(profile: StackProfile) -> Run {
        let waits = WaitProfile { stacks: Some(profile), ..WaitProfile::default() };
        let server = Some(Side { waits: Some(Box::new(waits)), ..Side::default() });
        Run { trials: vec![Trial { server, ..Trial::default() }], ..Run::default() }
    }

    #[test]
    fn the_page_has_both_graphs_and_the_table() {
        let sum = |stack: &str, weight| StackSum { stack: stack.into(), weight };
        let (cpu, waiting) = (vec![sum("nginx;main;deflate", 0.6)], vec![sum("app;handler;<lock>", 3.0)]);
        let mut run = run_with(StackProfile { cpu_samples: 60, cpu, waiting });
        let hot = HotFunction { process: "nginx".into(), function: "deflate".into(), share: 0.62, inclusive: None };
        run.findings.hot.push(hot.clone());
        let html = crate::render("html", &run, &crate::Style::default()).unwrap();
        assert!(html.contains("62 % of the CPU time is in deflate") && html.contains("&lt;lock&gt;"), "{html}");
        let waiting = WaitingFunction { process: "app".into(), function: "handler".into(), threads: 3.0, share: 0.952 };
        run.findings.waiting.push(waiting);
        let text = crate::render_waits(&run, "A lock.", "with --json", &crate::Style::default());
        let row = text.lines().find(|line| line.contains("handler")).unwrap_or_default();
        assert!(row.contains('3') && row.contains("95.2") && !text.contains("100 % <lock>"), "{text}");
        assert!(!html.contains("and what it calls"));
        run.findings.hot.push(HotFunction { function: "main".into(), share: 0.0, inclusive: Some(0.9), ..hot });
        let html = crate::render("html", &run, &crate::Style::default()).unwrap();
        assert!(html.contains("90 % of the CPU time is in main and what it calls"), "{html}");
        assert!(!html.contains("<lock>"));
        assert!(sections(&run_with(StackProfile::default())).is_empty());
    }
}

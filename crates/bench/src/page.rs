//! Writes the tables of a stored benchmark into a page. Each table is between two HTML comments, the marks. People
//! write the text outside the marks, and this module does not change it.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::groups::GROUPS;
use crate::show::{duration, figure};
use crate::stored::{RowResult, StoredBench, StoredRow};

/// Beginning of the mark before a generated part of the page. In the mark, the name of the part follows: `machine`, or
/// the name of a group of rows.
const BEGIN: &str = "<!-- bench: ";
/// Mark after a generated part.
const END: &str = "<!-- bench end -->";
/// Name of the part about the benchmark itself and its machine.
const MACHINE: &str = "machine";

/// Reads a stored benchmark from the file `stored`, and writes its tables into the Markdown file `page`.
pub(crate) fn write(stored: &Path, page: &Path) -> Result<()> {
    let bench = StoredBench::read(stored)?;
    let old = std::fs::read_to_string(page).with_context(|| page.display().to_string())?;
    let new = rendered(&old, Some(&bench)).with_context(|| page.display().to_string())?;
    std::fs::write(page, new).with_context(|| page.display().to_string())
}

/// Returns the page with the tables of a benchmark. If `bench` is `None`, each part states that no benchmark is stored.
fn rendered(page: &str, bench: Option<&StoredBench>) -> Result<String> {
    let (mut text, mut lines, mut names) = (String::new(), page.lines(), Vec::new());
    while let Some(line) = lines.next() {
        let _ = writeln!(text, "{line}");
        let Some(name) = line.strip_prefix(BEGIN).and_then(|rest| rest.split([' ', ';']).next()) else { continue };
        ensure!(lines.any(|line| line == END), "the part {name} has no end: {END}");
        let _ = writeln!(text, "\n{}\n\n{END}", part(name, bench)?);
        names.push(name);
    }
    let missing: Vec<_> = GROUPS.iter().map(|group| group.id).filter(|id| !names.contains(id)).collect();
    ensure!(missing.is_empty() && names.contains(&MACHINE), "the page lacks parts: {MACHINE} or {missing:?}");
    Ok(text)
}

/// Returns the text of a generated part, without a line break at its end.
fn part(name: &str, bench: Option<&StoredBench>) -> Result<String> {
    ensure!(name == MACHINE || GROUPS.iter().any(|group| group.id == name), "there is no group of rows {name:?}");
    let Some(bench) = bench else { return Ok("No run of `make bench` is stored yet.".into()) };
    if name == MACHINE {
        return Ok(machine(bench));
    }
    let rows: Vec<&StoredRow> = bench.rows.iter().filter(|row| row.group == name).collect();
    Ok(if rows.is_empty() { "The stored run measured no row of this group.".into() } else { table(&rows) })
}

fn machine(bench: &StoredBench) -> String {
    let m = &bench.machine;
    let kind = if m.virtual_machine.is_some() { ", a virtual machine" } else { "" };
    let count = |results: &[RowResult]| bench.rows.iter().filter(|row| results.contains(&row.result)).count();
    let reached = count(&[RowResult::Reached, RowResult::AimReached]);
    let not_measured = count(&[RowResult::Skipped, RowResult::Failed]);
    format!(
        "- Machine: {}, {} CPUs, {} GB{kind}, Linux {}\n- Measured: {}, commit {}, {} in {}\n\
         - Goals: {reached} reached, {} missed, {not_measured} not measured",
        m.cpu,
        m.cpus,
        figure(m.memory_gb),
        m.kernel,
        bench.date,
        if bench.commit.is_empty() { "unknown" } else { &bench.commit },
        bench.set,
        duration(Duration::from_secs_f64(bench.took_s.max(0.0))),
        count(&[RowResult::Missed]),
    )
}

fn table(rows: &[&StoredRow]) -> String {
    let mut text = "| row | measurement | figure | spread | goal | result |\n|---|---|---|---|---|---|".to_owned();
    for row in rows {
        let _ = write!(text, "\n| {} |", cells(row).map(|cell| cell.replace('|', "/").replace('\n', " ")).join(" | "));
    }
    text
}

fn cells(row: &StoredRow) -> [String; 6] {
    let (shown, spread) = row.figures.as_ref().map_or_else(Default::default, |f| {
        let unit = if f.unit.is_empty() { String::new() } else { format!(" {}", f.unit) };
        let shown = match f.peer {
            Some(peer) => format!("{} ({} over {}{unit})", figure(f.ratio), figure(f.ours), figure(peer)),
            None => format!("{}{unit}", figure(f.ratio)),
        };
        (shown, format!("{} to {}", figure(f.low), figure(f.high)))
    });
    let result = match (row.result, &row.aim) {
        (RowResult::Missed, _) => "**missed**".into(),
        (RowResult::Reached, Some(aim)) => format!("reached; in the long run {aim}"),
        (result, _) => result.words().into(),
    };
    let what = if row.note.is_empty() { row.what.clone() } else { format!("{}. {}", row.what, row.note) };
    [format!("`{}`", row.id), what, shown, spread, row.goal.clone(), result]
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::compare::Compared;
    use crate::groups;

    fn docs(file: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(file)
    }

    /// Fails if a table of the page was changed by hand, or is older than the stored benchmark. `make speed-page`
    /// writes the tables.
    #[test]
    fn the_page_about_speed_shows_the_stored_benchmark() {
        let (page, stored) = (docs("explanation/speed.md"), docs("speed/run.json"));
        let bench = stored.exists().then(|| StoredBench::read(&stored).unwrap());
        let text = std::fs::read_to_string(&page).unwrap();
        assert!(rendered(&text, bench.as_ref()).unwrap() == text, "{} is not current: make speed-page", page.display());
    }

    fn page() -> String {
        let parts = std::iter::once(MACHINE).chain(GROUPS.iter().map(|group| group.id));
        parts.fold("# Speed\n".into(), |text, part| format!("{text}\nBy hand.\n\n{BEGIN}{part} -->\nold\n{END}\n"))
    }

    fn bench() -> StoredBench {
        let row = |id: &str, ours: &[f64], peer: &[f64]| {
            let (group, row) = groups::rows().find(|(_, row)| row.id == id).unwrap();
            let compared = Compared { ours: ours.into(), peer: peer.into(), unit: "us", note: "a|b".into() };
            StoredRow::new(group, row, row.all, &Ok(compared), 2.0)
        };
        let rows = vec![row("generator-cpu", &[6.0], &[10.0]), row("start-error", &[12.0, 13.0, 15.0], &[])];
        StoredBench { rows, took_s: 600.0, ..StoredBench::new("default set") }
    }

    #[test]
    fn tables_are_replaced_and_other_text_stays() {
        let text = rendered(&page(), Some(&bench())).unwrap();
        assert!(text.matches("By hand.").count() == GROUPS.len() + 1 && !text.contains("old"), "{text}");
        assert!(text.contains("| 0.6 (6 over 10 us) | 0.6 to 0.6 | <= 0.5 | **missed** |"), "{text}");
        assert!(text.contains("a/b | 13 us | 12 to 15 | <= 100 | aim reached |"), "{text}");
        assert!(text.contains("default set in 10 min\n- Goals: 1 reached, 1 missed, 0 not measured"), "{text}");
        assert_eq!(rendered(&text, Some(&bench())).unwrap(), text);
        assert_eq!(rendered(&text, None).unwrap(), rendered(&page(), None).unwrap());
    }

    #[test]
    fn a_page_without_a_part_or_with_a_wrong_mark_is_an_error() {
        let page = page();
        for wrong in [page.replace("bench: hosts", "bench: nosuch"), page.replace(END, ""), "# Speed\n".into()] {
            assert!(rendered(&wrong, None).is_err(), "{wrong}");
        }
    }
}

//! Cost of one request on both sides (client and server): CPU time split into its parts, and a table of all other
//! costs. The table `COSTS` in the crate `judge` defines the IDs of all costs. A cost whose ID begins with `cpu_`
//! includes all programs on the host. A cost whose ID begins with `process_` includes only the processes of one side
//! (client or server). The decisive trial of a run is the load that represents the run.

use std::collections::{BTreeMap, BTreeSet};

use run::{Cost, Reading, Run, Side, Trial};

use super::pick;
use crate::{BarRow, Bars, Block, Cell, Col, Hue, Section, Segment, Table, Unit, Weight};
use run::number::quantity;

/// Name of the server in rows and columns of this page.
const SERVER: &str = "server";
/// Maximum number of rows of the table of costs in a terminal.
const BRIEF: usize = 8;

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let Some(loaded) = run.picked(|p| p.decisive) else { return Vec::new() };
    let shown: Vec<&Trial> = match run.picked(|p| p.unloaded) {
        Some(first) if !std::ptr::eq(first, loaded) => vec![first, loaded],
        _ => vec![loaded],
    };
    let mut sections = Vec::new();
    let bars = bars(&shown);
    if bars.rows.iter().any(|r| r.sum() > 0.0) {
        sections.push(Section::new("cpu", "CPU time per request", Weight::Full, vec![Block::Bars(bars)]));
    }
    let names = &run.findings.cost_names;
    let (first, rest) = (table(&shown, names, true), table(&shown, names, false));
    if !first.rows.is_empty() {
        sections.push(Section::new("costs", "Costs per request", Weight::Main, vec![Block::Table(first)]));
    }
    if !rest.rows.is_empty() {
        sections.push(Section::new(
            "all-costs",
            "All other costs per request",
            Weight::Detail,
            vec![Block::Table(rest)],
        ));
    }
    sections
}

type Part = (&'static str, &'static str, Hue);

/// Parts of a host's CPU time.
const HOST: &[Part] = &[
    ("cpu_user_us", "user", Hue::Main),
    ("cpu_system_us", "system", Hue::Second),
    ("cpu_softirq_us", "softirq", Hue::Third),
    ("cpu_irq_us", "irq", Hue::Fourth),
];
/// Parts of the CPU time of a side's processes. The kernel counts user time and system time in clock ticks, so both
/// times are inexact. Only the sum of the user and system parts is known exactly ([`PROCESS_SUM`]).
const PROCESS: &[Part] = &[("process_user_us", "user", Hue::Main), ("process_system_us", "system", Hue::Second)];
/// Total CPU time of a side's processes, which is known exactly.
const PROCESS_SUM: Part = ("process_cpu_us", "user and system", Hue::Quiet);

fn bars(shown: &[&Trial]) -> Bars {
    let (mut rows, mut of_server) = (Vec::new(), None);
    for trial in shown {
        let load = pick::name(trial);
        let one_host = trial.one_host();
        for (name, side) in sides(trial) {
            let bars = [
                of_processes(format!("{name} processes, {load}"), side),
                (!one_host).then(|| bar(format!("{name} host, {load}"), side, HOST)).flatten(),
            ];
            if name == SERVER {
                of_server = bars.iter().flatten().next_back().map(BarRow::sum).map(|us| (us, load.clone()));
            }
            rows.extend(bars.into_iter().flatten());
        }
        if one_host {
            rows.extend(bar(format!("whole host, {load}"), &trial.client, HOST));
        }
    }
    let title = match of_server {
        Some((us, load)) => format!("A request costs the server {} of CPU time at {load}", quantity(us, Unit::Micros)),
        None => "CPU time of one request".into(),
    };
    let caption = "CPU time per completed request, by where it is spent. Interrupts count for the host; for a process only where the kernel cannot separate them.";
    Bars { title, caption: caption.into(), unit: Unit::Micros, rows, full: None, wide: true, terminal_only: false }
}

/// Returns the bar of a side's processes. The length of the bar is the exact CPU time of the processes. The inexact
/// clock ticks are used only to divide the bar into user time and system time.
fn of_processes(label: String, side: &Side) -> Option<BarRow> {
    let parts = bar(label.clone(), side, PROCESS).filter(|parts| parts.sum() > 0.0);
    let Some(exact) = bar(label, side, &[PROCESS_SUM]) else { return parts };
    let Some(mut parts) = parts else { return Some(exact) };
    let scale = exact.sum() / parts.sum();
    parts.segments.iter_mut().for_each(|part| part.value *= scale);
    Some(parts)
}

fn bar(label: String, side: &Side, parts: &[Part]) -> Option<BarRow> {
    let value = |id: &str| side.costs.get(id)?.per_request.value().filter(|v| v.is_finite());
    let segment = |(id, label, hue): &Part| Some(Segment { label: (*label).into(), value: value(id)?, hue: *hue });
    let segments: Vec<Segment> = parts.iter().filter_map(segment).collect();
    (!segments.is_empty()).then_some(BarRow { label, segments, strong: false })
}

fn sides(trial: &Trial) -> Vec<(&'static str, &Side)> {
    let server = trial.server.as_ref().map(|s| (SERVER, s));
    server.into_iter().chain([("client", &trial.client)]).collect()
}

/// Description of each cost, by the ID of the cost.
type Names = BTreeMap<String, &'static str>;

/// Returns a table of costs. With `first`, the table contains the costs on which most verdicts depend. Without `first`,
/// the table contains all other costs.
fn table(shown: &[&Trial], names: &Names, first: bool) -> Table {
    let mut columns = vec![Col::words("cost", 0)];
    let mut sources: Vec<&Side> = Vec::new();
    // The columns begin with the decisive trial (the last trial in `shown`), because the verdict is about this trial.
    for (i, trial) in shown.iter().rev().enumerate() {
        for (name, side) in sides(trial).into_iter().filter(|(_, s)| !s.costs.is_empty()) {
            let rank = if i == 0 { 0 } else { 5 };
            columns.push(Col::figures(&format!("{name}, {}", pick::name(trial)), rank));
            sources.push(side);
        }
    }
    let ids: BTreeSet<&str> = sources.iter().flat_map(|s| s.costs.keys()).map(String::as_str).collect();
    let ids: Vec<&str> = if first {
        FIRST.iter().copied().filter(|id| ids.contains(id)).collect()
    } else {
        ids.into_iter().filter(|id| !FIRST.contains(id)).collect()
    };
    let rows = ids.into_iter().filter_map(|id| row(id, names, &sources)).collect();
    let mut table = Table { columns, rows, brief: Some(BRIEF), ..Table::default() };
    table.explain_absent();
    table
}

/// IDs of the costs on which most verdicts depend, in the order of the table.
const FIRST: &[&str] = &[
    "process_cpu_us",
    "cpu_us",
    "cpu_user_us",
    "cpu_system_us",
    "cpu_softirq_us",
    "context_switches",
    "segments_out",
    "bytes_out",
    "bytes_in",
    "interrupts",
    "softirqs_net_rx",
    "voluntary_switches",
    "involuntary_switches",
    "packets_in",
    "packets_out",
    "segments_in",
    "segments_again",
];

/// Returns the table row of a cost; `None` if no side has a value.
fn row(id: &str, names: &Names, sources: &[&Side]) -> Option<Vec<Cell>> {
    let known = |s: &&Side| s.costs.get(id).is_some_and(|c| c.per_request.value().is_some());
    if !sources.iter().any(known) {
        return None;
    }
    let name = names.get(id).copied().unwrap_or(id);
    let mut cells = vec![Cell { hint: id.into(), ..Cell::new(name) }];
    cells.extend(sources.iter().map(|s| s.costs.get(id).map_or_else(|| Cell::absent("not computed"), cell)));
    Some(cells)
}

fn cell(cost: &Cost) -> Cell {
    match &cost.per_request {
        Reading::Value(v) => Cell::new(quantity(*v, cost.unit)),
        Reading::Absent { absent } => Cell::absent(absent.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_cpu_time_is_divided_by_the_ticks() {
        let bar = |user: Option<f64>| {
            let mut side = Side::default();
            let ticks = [("process_user_us", user), ("process_system_us", user.map(|us| 3.0 * us))];
            for (id, us) in [("process_cpu_us", Some(40.0))].into_iter().chain(ticks) {
                let per_request = us.map_or_else(|| Reading::absent("few ticks"), Reading::Value);
                side.costs.insert(id.into(), Cost { per_request, unit: run::FigureUnit::Micros });
            }
            let bar = of_processes("server".into(), &side).unwrap();
            bar.segments.iter().map(|part| (part.label.clone(), part.value)).collect::<Vec<_>>()
        };
        assert_eq!(bar(Some(5.0)), [("user".into(), 10.0), ("system".into(), 30.0)]);
        assert_eq!(bar(None), [("user and system".into(), 40.0)]);
        assert_eq!(bar(Some(0.0)), [("user and system".into(), 40.0)]);
    }
}

//! The chain: the client, the server, and what stands behind the server, each with how busy it was and how much of
//! throughput followed its CPU.

use run::{BehindLimit, BehindLoad, Estimate, Run, Side};

use super::pick;
use crate::{Block, Cell, Col, Note, Section, Table, Tone, Unit, Weight};
use run::number::{number, quantity};

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let behind = &run.findings.behind;
    let (Some(trial), false) = (run.picked(|p| p.shown), behind.is_empty()) else { return Vec::new() };
    let columns = vec![
        Col::words("at", 0),
        Col::words("process", 0),
        Col::words("connected from", 2),
        Col::figures("connections", 1),
        Col::figures("CPUs used", 0),
        Col::figures("CPUs allowed", 3),
        Col::figures("busiest thread", 1),
        Col::figures("elasticity", 1),
        Col::words("full", 0),
    ];
    let mut rows = vec![end(run, "client", &trial.client, "client-cpu")];
    rows.extend(trial.server.as_ref().map(|server| end(run, "server", server, "server-cpu")));
    rows.extend(behind.iter().map(|load| stop(run, load)));
    let caption = format!(
        "From the client to what stands behind the server, at {}. The elasticity is how much of a change of its speed throughput followed: \
         of its CPU, or of what of it is full.",
        pick::name(trial)
    );
    let mut table = Table { caption, columns, rows, ..Table::default() };
    table.explain_absent();
    let unwatched = behind.iter().any(|load| load.cpu_used.is_none()).then(|| {
        Note::block(
            Tone::Plain,
            "What answers at an address without a process is on another host, or belongs to another user: what it does is not \
             known here."
                .to_string(),
        )
    });
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(unwatched);
    vec![Section::new("behind", "Behind the server", Weight::Full, blocks)]
}

/// A row of one of the two ends of the load.
fn end(run: &Run, name: &str, side: &Side, lever: &str) -> Vec<Cell> {
    let per_cpu = |id: &str| side.counters.get(&run::CounterId(id.to_string().into())).and_then(run::Reading::value);
    let span_s = run.picked(|p| p.shown).map(|t| side.recording.span_s(t.measured.window)).filter(|s| *s > 0.0);
    let used = per_cpu("process.cpu").zip(span_s).map(|(us, s)| us / 1e6 / s);
    vec![
        name.into(),
        first_of(&side.processes),
        Cell::from(""),
        Cell::from(""),
        figure(used),
        figure(per_cpu("cpu.online")),
        Cell::from(""),
        elasticity(run, lever),
        Cell::from(""),
    ]
}

/// A row of what stands behind.
fn stop(run: &Run, load: &BehindLoad) -> Vec<Cell> {
    let waited_for = run.findings.bottleneck.waits_for.as_ref().is_some_and(|w| w.address == load.behind.address);
    let from = if load.behind.from.is_empty() { "server" } else { load.behind.from.as_str() };
    let full = match load.limit {
        Some(BehindLimit::Quota) => Cell::from("its CPU quota").toned(Tone::Bad),
        Some(BehindLimit::Disk) => Cell::from("its host's disk").toned(Tone::Bad),
        Some(BehindLimit::Cpu) => Cell::from("its CPUs").toned(Tone::Bad),
        Some(BehindLimit::Lock) => Cell::from("one thread at a time").toned(Tone::Bad),
        Some(BehindLimit::Thread) => Cell::from("one thread").toned(Tone::Bad),
        None => Cell::from("no"),
    };
    let lever = match load.limit {
        Some(BehindLimit::Quota) => "behind-quota",
        Some(BehindLimit::Disk) => "disk",
        _ => "behind-cpu",
    };
    let elasticity = if waited_for { elasticity(run, lever) } else { Cell::absent("not tried") };
    vec![
        load.behind.address.clone().into(),
        first_of(&load.behind.processes),
        from.to_string().into(),
        figure(load.connections),
        figure(load.cpu_used),
        figure(load.cpu_allowed),
        load.busiest_thread.map_or_else(|| Cell::absent("not known"), |share| quantity(share, Unit::Share).into()),
        elasticity,
        full,
    ]
}

fn figure(value: Option<f64>) -> Cell {
    value.map_or_else(|| Cell::absent("not known"), |value| number(value).into())
}

/// The first process and how many more there are.
fn first_of(processes: &[String]) -> Cell {
    match processes {
        [] => Cell::absent("not known"),
        [one] => one.clone().into(),
        [one, more @ ..] => format!("{one} and {} more", more.len()).into(),
    }
}

/// What an experiment said of a lever.
fn elasticity(run: &Run, lever: &str) -> Cell {
    let all = run.findings.proof.iter().flat_map(|proof| &proof.elasticities);
    let found: Option<Estimate> = all.filter(|e| e.lever == lever).map(|e| e.estimate).next_back();
    found
        .map_or_else(|| Cell::absent("not tried"), |e| format!("{:.2} ({:.2} to {:.2})", e.value, e.low, e.high).into())
}

#[cfg(test)]
mod tests {
    use run::{Behind, BehindLimit, BehindLoad, Elasticity, Estimate, Proof, Run, Trial, WaitsFor};

    #[test]
    fn the_chain_is_drawn_with_what_is_full_and_what_throughput_followed() {
        let mut run = Run { trials: vec![Trial::default()], ..Run::default() };
        let load = |address: &str, process: &[&str], limit| BehindLoad {
            behind: Behind {
                address: address.into(),
                depth: 1,
                processes: process.iter().map(|p| (*p).to_string()).collect(),
                ..Behind::default()
            },
            connections: Some(8.0),
            limit,
            ..BehindLoad::default()
        };
        let found = &mut run.findings;
        found.picks.shown = Some(0);
        found.behind =
            vec![load("127.0.0.1:8001", &["<app>:812"], Some(BehindLimit::Thread)), load("10.0.0.9:5432", &[], None)];
        found.bottleneck.waits_for = Some(WaitsFor { address: "127.0.0.1:8001".into(), ..WaitsFor::default() });
        let elasticity =
            Elasticity { lever: "behind-cpu".into(), estimate: Estimate::around(0.97, 0.05), ..Default::default() };
        found.proof = Some(Proof { elasticities: vec![elasticity], ..Proof::default() });
        let html = crate::render("html", &run, &crate::Style::default()).unwrap();
        for said in ["Behind the server", "&#60;app&#62;:812", "one thread", "0.97 (0.92 to 1.02)", "10.0.0.9:5432"] {
            assert!(html.contains(said), "{said} is not in {html}");
        }
        assert!(html.contains("is on another host, or belongs to another user"), "{html}");
    }
}

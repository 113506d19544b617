//! Chain from the client through the server to its upstream services. The chain shows the utilization of each service,
//! and the share by which the service explains the throughput.

mod drawn;
mod stop;

use run::{Estimate, Run};

use self::stop::{Stop, figure, stops};
use super::pick;
use crate::{Block, Cell, Col, Note, Section, Table, Tone, Unit, Weight};
use run::number::{number, quantity};

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let (Some(trial), false) = (run.picked(|p| p.shown), run.findings.behind.is_empty()) else { return Vec::new() };
    let stops = stops(run);
    let what = match figure(run) {
        "share" => "Share: its part in the growth of the response time when everything slows down.",
        _ => "Elasticity: the share of throughput that its CPU, or its full resource, explains.",
    };
    let caption = format!(
        "Client and server at {}; upstreams at the highest rate, with the most connections. {what}",
        pick::name(trial)
    );
    let mut blocks =
        vec![Block::Chain(drawn::chain(&stops, figure(run), caption)), Block::Table(table(&stops, figure(run)))];
    blocks.extend(unwatched(run));
    vec![Section::new("behind", "Upstreams", Weight::Main, blocks)]
}

fn unwatched(run: &Run) -> Option<Block> {
    let some = run.findings.behind.iter().any(|load| load.cpu_used.is_none());
    let text =
        "An address without a process is on another host or belongs to another user, so loadline cannot watch it.";
    some.then(|| Note::block(Tone::Plain, text))
}

/// Returns the table of all services in the chain. A terminal hides this table, because the chain above the table shows
/// the same figures.
fn table(stops: &[Stop], figure: &str) -> Table {
    let columns = vec![
        Col::words("at", 0),
        Col::words("process", 0),
        Col::words("connected from", 2),
        Col::figures("connections", 1),
        Col::figures("CPUs used", 0),
        Col::figures("CPUs allowed", 3),
        Col::figures("busiest thread", 1),
        Col::figures(figure, 1),
        Col::words("full", 0),
    ];
    let rows = stops.iter().map(|stop| row(stops, stop)).collect();
    let mut table = Table { columns, rows, brief: Some(0), ..Table::default() };
    table.explain_absent();
    table
}

fn row(stops: &[Stop], stop: &Stop) -> Vec<Cell> {
    let known = |text: String| if text.is_empty() { Cell::absent("not known") } else { Cell::new(text) };
    let cpus = |value: Option<f64>| known(value.map_or_else(String::new, number));
    let full = if stop.full.is_empty() { Cell::from("no") } else { Cell::from(stop.full).toned(Tone::Bad) };
    let from = stop.from.map(|from| stops[from].at.clone());
    vec![
        stop.at.clone().into(),
        known(drawn::who(&stop.processes)),
        from.clone().unwrap_or_default().into(),
        if from.is_none() { Cell::default() } else { known(stop.connections[0].clone()) },
        cpus(stop.cpu_used),
        cpus(stop.cpu_allowed),
        known(stop.busiest_thread.map_or_else(String::new, |share| quantity(share, Unit::Share))),
        stop.follows.map_or_else(|| Cell::absent("not tried"), |e| told(&e).into()),
        full,
    ]
}

fn told(e: &Estimate) -> String {
    format!("{:.2} ({:.2} to {:.2})", e.value, e.low, e.high)
}

#[cfg(test)]
mod tests {
    use run::{Elasticity, Estimate, Proof, Run, Trial, Upstream, UpstreamLimit, UpstreamLoad, WaitsFor};

    #[test]
    fn the_chain_shows_the_full_service_and_the_explained_share() {
        let mut run = Run { trials: vec![Trial::default()], ..Run::default() };
        let load = |address: &str, process: &[&str], limit| UpstreamLoad {
            behind: Upstream {
                address: address.into(),
                depth: 1,
                processes: process.iter().map(|p| (*p).to_string()).collect(),
                ..Upstream::default()
            },
            connections: Some(8.0),
            limit,
            ..UpstreamLoad::default()
        };
        let found = &mut run.findings;
        found.picks.shown = Some(0);
        found.behind =
            vec![load("127.0.0.1:8001", &["<app>:812"], Some(UpstreamLimit::Thread)), load("10.0.0.9:5432", &[], None)];
        found.bottleneck.waits_for = Some(WaitsFor { address: "127.0.0.1:8001".into(), ..WaitsFor::default() });
        let elasticity =
            Elasticity { lever: "behind-cpu".into(), estimate: Estimate::around(0.97, 0.05), ..Default::default() };
        found.proof = Some(Proof { elasticities: vec![elasticity], ..Proof::default() });
        let html = crate::render("html", &run, &crate::Style::default()).unwrap();
        for said in ["Upstreams", "&lt;app&gt;:812", "one thread", "0.97 (0.92 to 1.02)", "10.0.0.9:5432"] {
            assert!(html.contains(said), "{said} is not in {html}");
        }
        assert!(html.contains("is on another host or belongs to another user"), "{html}");
    }
}

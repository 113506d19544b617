//! Hosts that generate the load, one row per host: share of the load, CPU utilization and retransmissions.

use run::{HostFinding, HostLoad, Run, Trial};

use super::pick;
use crate::{Block, Cell, Col, Note, Section, Table, Tone, Unit, Weight};
use run::number::{number, quantity};

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let Some(trial) = run.picked(|p| p.several_hosts) else { return Vec::new() };
    let found = &run.findings.hosts;
    let mut blocks = vec![Block::Table(table(trial, found))];
    blocks.extend(found.iter().find(|f| f.busiest).map(busiest));
    vec![Section::new("hosts", "Generator hosts", Weight::Main, blocks)]
}

fn table(trial: &Trial, found: &[HostFinding]) -> Table {
    let mut table = Table {
        caption: format!("Each host's part of the load at {}.", pick::name(trial)),
        columns: vec![
            Col::words("host", 0),
            Col::figures("agents", 4),
            Col::figures("planned share", 2),
            Col::figures("completed/s", 0),
            Col::figures("its CPUs", 0),
            Col::figures("retransmitted", 1),
        ],
        rows: trial.host_loads.iter().zip(found).map(|(load, found)| row(load, found)).collect(),
        ..Table::default()
    };
    table.explain_absent();
    table
}

fn row(load: &HostLoad, found: &HostFinding) -> Vec<Cell> {
    let or = |share: Option<f64>| {
        share.map_or_else(|| Cell::absent("its counters are missing"), |share| quantity(share, Unit::Share).into())
    };
    let rate = found.completed_rate;
    vec![
        load.host.clone().into(),
        f64::from(load.agents).to_string().into(),
        quantity(load.share, Unit::Share).into(),
        rate.map_or_else(|| Cell::absent("nothing was measured"), |rate| number(rate).into()),
        or(found.cpus_busy),
        or(found.segments_again),
    ]
}

fn busiest(found: &HostFinding) -> Block {
    let share = quantity(found.cpus_busy.unwrap_or(f64::NAN), Unit::Share);
    Note::block(Tone::Plain, format!("The busiest host is {}: {share} of its CPU used.", found.host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_has_a_row_and_the_busiest_is_named() {
        let load = |host: &str| HostLoad { host: host.into(), agents: 1, share: 0.5, ..HostLoad::default() };
        let found = |host: &str, busy: f64| HostFinding {
            host: host.into(),
            completed_rate: Some(50.0),
            cpus_busy: Some(busy),
            busiest: busy > 0.5,
            ..HostFinding::default()
        };
        let trial = Trial { host_loads: ["a", "b", "lost"].map(load).into(), ..Trial::default() };
        let mut run = Run { trials: vec![trial], ..Run::default() };
        assert!(sections(&run).is_empty());
        run.findings.picks.several_hosts = Some(0);
        run.findings.hosts =
            vec![found("a", 0.2), found("b", 0.9), HostFinding { host: "lost".into(), ..HostFinding::default() }];
        let text = crate::render("text", &run, &crate::Style::default()).unwrap();
        assert!(text.contains("The busiest host is b: 90") && text.contains("lost"), "{text}");
    }
}

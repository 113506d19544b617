//! Hosts of the clients beside one another: what each made of the load, how busy it was, and what its packets lost.

use run::{CpuTimes, HostLoad, Run, Side, Trial};

use super::pick;
use crate::number::{number, quantity};
use crate::{Block, Cell, Col, Note, Section, Table, Tone, Unit, Weight};

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let picks = &run.findings.picks;
    let picked = picks.at_capacity.or(picks.shown).or(picks.decisive).and_then(|at| run.trials.get(at));
    let several = |trial: &&Trial| trial.host_loads.len() > 1;
    let Some(trial) = picked.filter(several).or_else(|| run.trials.iter().rfind(several)) else { return Vec::new() };
    let mut blocks = vec![Block::Table(table(trial))];
    blocks.extend(busiest(trial).map(|sentence| Note::block(Tone::Plain, sentence)));
    vec![Section::new("hosts", "Hosts of the clients", Weight::Main, blocks)]
}

fn table(trial: &Trial) -> Table {
    let mut table = Table {
        caption: format!("What each host made of the load at {}.", pick::name(trial)),
        columns: vec![
            Col::words("host", 0),
            Col::figures("agents", 4),
            Col::figures("share asked", 2),
            Col::figures("completed/s", 0),
            Col::figures("its CPUs", 0),
            Col::figures("sent again", 1),
        ],
        rows: trial.host_loads.iter().map(|load| row(trial, load)).collect(),
        ..Table::default()
    };
    table.explain_absent();
    table
}

fn row(trial: &Trial, load: &HostLoad) -> Vec<Cell> {
    let side = side(trial, &load.host);
    let or = |share: Option<f64>| {
        share.map_or_else(|| Cell::absent("its counters are missing"), |share| quantity(share, Unit::Share).into())
    };
    let length_s = trial.measured.length_s;
    let rate = (length_s > 0.0).then(|| load.completed as f64 / length_s);
    vec![
        load.host.clone().into(),
        f64::from(load.agents).to_string().into(),
        quantity(load.share, Unit::Share).into(),
        rate.map_or_else(|| Cell::absent("nothing was measured"), |rate| number(rate).into()),
        or(side.and_then(busy)),
        or(side.and_then(sent_again)),
    ]
}

fn side<'a>(trial: &'a Trial, host: &str) -> Option<&'a Side> {
    std::iter::once(&trial.client).chain(&trial.client_hosts).find(|side| side.host == host)
}

fn of(side: &Side, counter: &str) -> Option<f64> {
    let reading = side.counters.iter().find(|(id, _)| id.as_str() == counter);
    reading.and_then(|(_, reading)| reading.value()).filter(|value| value.is_finite())
}

/// Share of a host's CPUs that was used in the window, by whomever.
fn busy(side: &Side) -> Option<f64> {
    CpuTimes::of(|id| of(side, id))?.busy()
}

/// Share of the segments that a host sent again.
fn sent_again(side: &Side) -> Option<f64> {
    let (again, sent) = (of(side, "tcp.retrans_segs")?, of(side, "tcp.out_segs")?);
    (sent > 0.0).then(|| again / sent)
}

/// The busiest of them, which judge made the client of the trial, in a sentence.
fn busiest(trial: &Trial) -> Option<String> {
    let share = busy(&trial.client).filter(|_| !trial.client_hosts.is_empty())?;
    let share = quantity(share, Unit::Share);
    Some(format!("The busiest is {}: {share} of its CPUs were in use.", trial.client.host))
}

#[cfg(test)]
mod tests {
    use run::{CounterId, Reading};

    use super::*;

    fn side(host: &str, busy_us: f64, again: f64) -> Side {
        let mut side = Side { host: host.into(), ..Side::default() };
        for (id, value) in
            [("cpu.user", busy_us), ("cpu.idle", 1e6 - busy_us), ("tcp.retrans_segs", again), ("tcp.out_segs", 100.0)]
        {
            side.counters.insert(CounterId::new(id), Reading::Value(value));
        }
        side
    }

    #[test]
    fn each_host_is_a_row_and_the_busiest_is_named() {
        let load =
            |host: &str, completed| HostLoad { host: host.into(), agents: 1, completed, share: 0.5, clock_us: 0.0 };
        let mut trial = Trial {
            client: side("b", 9e5, 5.0),
            client_hosts: vec![side("a", 2e5, 0.0)],
            host_loads: vec![load("a", 100), load("b", 40), load("lost", 0)],
            ..Trial::default()
        };
        trial.measured.length_s = 2.0;
        assert_eq!((busy(&trial.client_hosts[0]), sent_again(&trial.client)), (Some(0.2), Some(0.05)));
        assert!(busiest(&trial).unwrap().starts_with("The busiest is b: 90"));
        let run = Run { trials: vec![trial], ..Run::default() };
        let text = crate::render("text", &run, &crate::Style::default()).unwrap();
        assert!(text.contains("The busiest is b") && text.contains("lost"), "{text}");
        assert!(sections(&Run::default()).is_empty());
    }
}

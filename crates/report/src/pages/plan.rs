//! Plan, hosts and notes of a run.

use run::{HostInfo, Objective, Run};
use serde_json::Value;

use super::answered;
use crate::{Block, Cell, Col, Note, Section, Table, Tone, Unit, Weight};
use run::number::prose::counted;
use run::number::quantity;

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let mut sections = Vec::new();
    let log = run.plan.load.requests.iter().flat_map(|set| std::iter::once(&set.from).chain(&set.summary));
    let requests: Vec<Block> = log.map(|line| Note::block(Tone::Plain, line.clone())).collect();
    if !requests.is_empty() {
        sections.push(Section::new("requests", "Requests", Weight::Main, requests));
    }
    let notes: Vec<Block> = notes(run).iter().map(|n| Note::block(Tone::Plain, crate::words::capital(n))).collect();
    if !notes.is_empty() {
        sections.push(Section::new("notes", "Notes", Weight::Main, notes));
    }
    let mut blocks = vec![Block::Table(pairs("The plan.", plan(run).into_iter().chain(driver(run)).collect()))];
    blocks.extend(run.hosts.iter().map(|h| Block::Table(host(h))));
    sections.push(Section::new("plan", "Plan and hosts", Weight::Detail, blocks));
    sections
}

/// Returns the notes of the run and of its trials. Each note appears once, with the names of its trials.
fn notes(run: &Run) -> Vec<String> {
    // Leaves out warnings, because other sections show them.
    let notes = run.notes.iter().filter(|note| !note.is_warning);
    let mut told: Vec<(String, Vec<String>)> = notes.map(|n| (n.text.clone(), Vec::new())).collect();
    for trial in &run.trials {
        for note in &trial.notes {
            match told.iter_mut().find(|(text, _)| text == note) {
                Some((_, trials)) => trials.push(super::pick::name(trial)),
                None => told.push((note.clone(), vec![super::pick::name(trial)])),
            }
        }
    }
    told.into_iter().map(|(text, trials)| say(&text, &trials, run.trials.len())).collect()
}

fn say(text: &str, trials: &[String], all: usize) -> String {
    match trials {
        [] => text.into(),
        _ if trials.len() >= all && all > 1 => format!("{text} (every trial)"),
        [one] if all > 1 => format!("{text} ({one})"),
        [first, rest @ ..] if all > 1 => {
            format!("{text} ({first} and {})", counted(rest.len() as f64, "more trial"))
        }
        _ => text.into(),
    }
}

/// Returns the plan as pairs of a dotted name and a value, as in a TOML file. For a load that the user chose, leaves
/// out the settings of searches. Also leaves out the objective, unless the user gave one.
fn plan(run: &Run) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut plan = run.plan.clone();
    plan.load.stages.clear();
    // The request set is too long for the table of the plan. Another section shows a summary of the request set.
    if let Some(set) = plan.load.requests.take() {
        out.push(("load.requests".into(), format!("{} from {}", set.count(), set.from)));
    }
    let said = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let unused: &[&str] = match (answered::asked(run), run.plan.objective == Objective::default()) {
        (true, true) => &["search.", "objective."],
        (true, false) => &["search."],
        (false, _) => &[],
    };
    let used = plan.keys().into_iter().filter(|(key, _)| !unused.iter().any(|start| key.starts_with(start)));
    out.extend(used.map(|(key, value)| (key, said(value))));
    out
}

/// Returns the driver that sent the requests. The driver comes from the trials, because the plan may name no driver
/// (`--io auto`). The load generator then chooses one.
fn driver(run: &Run) -> Option<(String, String)> {
    let loads = run.trials.iter().filter(|trial| !trial.kind.is_auxiliary());
    let mut names: Vec<&str> = loads.flat_map(|trial| &trial.drivers).map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    (!names.is_empty()).then(|| ("driver in use".into(), names.join(", ")))
}

fn host(host: &HostInfo) -> Table {
    let mut facts = vec![
        ("role".to_string(), host.role.clone()),
        ("kernel".into(), host.kernel.clone()),
        ("CPUs".into(), format!("{} × {}", host.cpus, host.cpu_model)),
        ("memory".into(), quantity(host.memory_bytes as f64, Unit::Size)),
    ];
    facts.extend(host.facts.iter().map(|(k, v)| (k.clone(), v.clone())));
    pairs(&format!("Host {}", host.name), facts)
}

fn pairs(caption: &str, pairs: Vec<(String, String)>) -> Table {
    let rows = pairs.into_iter().map(|(k, v)| vec![Cell::new(k), Cell::new(v)]).collect();
    Table {
        caption: caption.into(),
        columns: vec![Col::words("what", 0), Col::words("value", 0)],
        rows,
        ..Table::default()
    }
}

#[cfg(test)]
mod tests {
    use run::{Trial, TrialKind};

    use super::*;

    #[test]
    fn the_driver_that_sent_the_requests_is_named() {
        let trial = |kind, names: &[&str]| Trial {
            kind,
            drivers: names.iter().map(|name| (*name).into()).collect(),
            ..Trial::default()
        };
        let trials = vec![
            trial(TrialKind::Sweep, &["uring"]),
            trial(TrialKind::Search, &["epoll", "uring"]),
            trial(TrialKind::Proof, &["null"]),
        ];
        let run = Run { trials, ..Run::default() };
        assert_eq!(driver(&run), Some(("driver in use".into(), "epoll, uring".into())));
        assert_eq!(driver(&Run::default()), None, "an old run");
    }
}

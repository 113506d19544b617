//! Converts collected counters to a [`Run`], so that the rules can judge them. Each case becomes a trial with a closed
//! loop that lasts one second, with the counters on the server's side.

use run::{Column, CounterId, Intensity, Measured, Rates, Recording, Run, Side, ThinkTime, Trial, TrialKind, Window};

use super::{Case, Values};
use crate::number::positive;

/// Name that the converted run gives to the server's process, if the file contains the process's CPU use.
const PROCESS: &str = "server:1";
/// Instance name of the network link in the converted run's counters.
const LINK: &str = "link";

/// Converts the cases to a run. Leaves out cases without a rate. The mean response time follows from Little's law: N /
/// X, the number of clients divided by the rate. The mean is the only known figure of the response time.
pub fn as_run(cases: &[Case]) -> Run {
    let mut run = Run { format: run::FORMAT.into(), command: "judge (collected counters)".into(), ..Run::default() };
    run.plan.target.url = "collected".into();
    run.trials = cases.iter().filter_map(trial).collect();
    run
}

fn trial(case: &Case) -> Option<Trial> {
    let value = |name: &str| case.values.get(name).copied().and_then(positive);
    let clients = value("clients").unwrap_or(1.0);
    let x = super::rate(&case.values)?;
    let mut measured = Measured { window: Window { begin_s: 0.0, end_s: 1.0 }, length_s: 1.0, ..Measured::default() };
    measured.tally.completed = x as u64;
    Some(Trial {
        label: case.name.clone(),
        kind: TrialKind::Experiment,
        intensity: Intensity::Closed { connections: clients as u32, pipeline: 1, think: ThinkTime::default() },
        rates: Rates { offered_rate: x, sent_rate: x, completed_rate: x, goodput: x, concurrency: clients },
        measured,
        client: Side { host: "client".into(), ..Side::default() },
        server: Some(server(&case.values, x)),
        notes: vec!["collected elsewhere: no response times, no errors".into()],
        ..Trial::default()
    })
}

fn server(values: &Values, x: f64) -> Side {
    let mut columns = Vec::new();
    let mut put = |id: &'static str, instance: &str, first: f64, last: f64| {
        let values = vec![Some(first), Some(last)];
        columns.push(Column { counter: CounterId::new(id), instance: instance.into(), values });
    };
    let value = |name: &str| values.get(name).copied();
    if let Some(cpu) = value("cpu_percent") {
        put("cpu.online", "", 1.0, 1.0);
        put("cpu.system", "total", 0.0, cpu * 1e4);
        put("cpu.idle", "total", 0.0, (100.0 - cpu).max(0.0) * 1e4);
    }
    if let Some(process) = value("process_percent") {
        put("process.cpu", PROCESS, 0.0, process * 1e4);
    }
    if let Some(interrupts) = value("interrupts_per_s") {
        put("system.interrupts", "", 0.0, interrupts);
    }
    if let (Some(bytes), Some(rate)) = (value("wire_bytes_per_read"), value("link_bytes_per_s")) {
        put("medium.rate", LINK, rate, rate);
        put("medium.bytes", LINK, 0.0, bytes * x);
    }
    let recording = Recording { t_s: vec![0.0, 1.0], columns, ..Recording::default() };
    Side { host: "server".into(), processes: vec![PROCESS.into()], recording, ..Side::default() }
}

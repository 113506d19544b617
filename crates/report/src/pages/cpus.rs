//! CPU time that the generator and the server used during a load.

use run::{CounterId, Reading, Run, Side, Trial};

use crate::{AnswerLine, Unit};
use run::number::quantity;

/// Returns the summary line with the CPUs used and available on both sides, and with the utilisation of each side's
/// busiest thread.
pub(super) fn line(run: &Run, trial: &Trial) -> Option<AnswerLine> {
    let client = told(run, "client", &trial.client, trial).map(|told| format!("generator {told}"));
    let server = match &trial.server {
        Some(side) => told(run, "server", side, trial).map(|told| format!("server {told}")),
        None => Some("the server was not observed".into()),
    };
    let both: Vec<String> = client.into_iter().chain(server).collect();
    (!both.is_empty()).then(|| AnswerLine::new("CPU", "", both.join("; ")).leading("utilisation"))
}

/// Describes the CPUs that a side used and the CPUs of its host; `None` if its counters do not show this.
fn told(run: &Run, name: &str, side: &Side, trial: &Trial) -> Option<String> {
    let (used, online) = cpus(side, trial);
    let cpus = |used| match online.filter(|n| *n > 0.0) {
        Some(n) => format!("{} of {}", quantity(used / n, Unit::Share), quantity(n, Unit::Cpus)),
        None => quantity(used, Unit::Cpus),
    };
    let thread = busiest_thread(run, name)
        .map_or(String::new(), |share| format!(", busiest thread {}", quantity(share, Unit::Share)));
    Some(format!("{}{thread}", cpus(used?)))
}

/// Returns the CPU time that a side's processes used in the measured window, in CPUs, and the number of CPUs of its
/// host.
pub(super) fn cpus(side: &Side, trial: &Trial) -> (Option<f64>, Option<f64>) {
    let read = |id: &str| side.counters.get(&CounterId(id.to_string().into())).and_then(Reading::value);
    let span_s = Some(side.recording.span_s(trial.measured.window)).filter(|s| *s > 0.0);
    (read("process.cpu").zip(span_s).map(|(us, s)| us / 1e6 / s), read("cpu.online"))
}

/// Returns the utilisation of a side's busiest thread, in the trial that the pages show.
fn busiest_thread(run: &Run, side: &str) -> Option<f64> {
    let devices = run.findings.devices.get(run.findings.picks.shown?)?;
    devices.iter().find(|device| device.side == side && device.kind == "thread").map(|device| device.busy)
}

//! CPU time that the generator and the server used during a load.

use run::{CounterId, Reading, Run, Side, Trial};

use crate::{AnswerLine, Unit};
use run::number::quantity;

/// Returns the summary line about CPUs: for each side, CPU time used, CPUs available, and utilization of the busiest
/// thread.
pub(super) fn line(run: &Run, trial: &Trial) -> Option<AnswerLine> {
    let client = told(run, "client", &trial.client, trial).map(|told| format!("generator {told}"));
    let server = match &trial.server {
        Some(side) => told(run, "server", side, trial).map(|told| format!("server {told}")),
        None => Some("the server was not observed".into()),
    };
    let both: Vec<String> = client.into_iter().chain(server).collect();
    (!both.is_empty()).then(|| AnswerLine::new("CPU", "", both.join("; ")).leading("utilisation"))
}

/// Describes how many CPUs the processes of a side (client or server) used, and how many CPUs the side's host has.
/// Returns `None` if the counters of this side (client or server) do not contain the numbers of CPUs.
fn told(run: &Run, name: &str, side: &Side, trial: &Trial) -> Option<String> {
    let (used, online) = cpus(side, trial);
    let cpus = |used| match online.filter(|n| *n > 0.0) {
        Some(n) => format!("{} of {}", quantity(used / n, Unit::Share), quantity(n, Unit::Cpus)),
        None => quantity(used, Unit::Cpus),
    };
    let is_busiest = |busy: &f64| used.is_none_or(|used| *busy >= used - read_threads(side, trial));
    let thread = busiest_thread(run, name)
        .filter(is_busiest)
        .map_or(String::new(), |share| format!(", busiest thread {}", quantity(share, Unit::Share)));
    Some(format!("{}{thread}", cpus(used?)))
}

/// Returns two numbers of CPUs. The first is the mean number that the processes of a side (client or server) used in
/// the measured window. The second is the number that their host has.
pub(super) fn cpus(side: &Side, trial: &Trial) -> (Option<f64>, Option<f64>) {
    let read = |id: &str| side.counters.get(&CounterId(id.to_string().into())).and_then(Reading::value);
    let span_s = Some(side.recording.span_s(trial.measured.window)).filter(|s| *s > 0.0);
    (read("process.cpu").zip(span_s).map(|(us, s)| us / 1e6 / s), read("cpu.online"))
}

/// Returns the sum of the CPU use of a side's threads, in CPUs. The sum lacks threads whose counters were not read, and
/// such a thread may be the busiest one. Counters of threads may be missing if a process has too many threads, or if
/// its threads end after one request.
fn read_threads(side: &Side, trial: &Trial) -> f64 {
    let (recording, window) = (&side.recording, trial.measured.window);
    let us = |column| recording.over(column, window).value();
    recording.columns_of("thread.cpu").filter_map(us).sum::<f64>() / 1e6 / recording.span_s(window)
}

/// Returns the utilization of a side's busiest thread, in the trial that the pages show.
fn busiest_thread(run: &Run, side: &str) -> Option<f64> {
    let devices = run.findings.devices.get(run.findings.picks.shown?)?;
    devices.iter().find(|device| device.side == side && device.kind == "thread").map(|device| device.busy)
}

#[cfg(test)]
mod tests {
    use run::{Column, Device, Window};

    use super::*;

    /// In both cases, the server used 0.9 CPUs. In the first case, the threads whose counters were read used 0.5 and
    /// 0.1 CPUs. In the second case, the threads whose counters were read used 0.2 and 0.1 CPUs, so another thread may
    /// have used up to 0.6 CPUs.
    #[test]
    fn a_thread_is_the_busiest_only_if_no_unread_thread_can_be_busier() {
        let told_of = |busy: f64| {
            let column = |id: &str, instance: &str, cpus: f64| Column {
                counter: CounterId(id.to_string().into()),
                instance: instance.into(),
                values: vec![Some(0.0), Some(cpus * 1e6)],
            };
            let mut side = Side::default();
            side.recording.t_s = vec![0.0, 1.0];
            side.recording.columns = vec![column("thread.cpu", "a:1/1", busy), column("thread.cpu", "a:1/2", 0.1)];
            side.counters.insert(CounterId("process.cpu".to_string().into()), Reading::Value(0.9e6));
            let mut trial = Trial::default();
            trial.measured.window = Window { begin_s: 0.0, end_s: 1.0 };
            let mut run = Run::default();
            run.findings.picks.shown = Some(0);
            let device = Device { side: "server", kind: "thread", instance: "a:1/1".into(), busy, full: false };
            run.findings.devices = vec![vec![device]];
            told(&run, "server", &side, &trial).unwrap()
        };
        assert_eq!(told_of(0.5), "0.9 CPUs, busiest thread 50 %");
        assert_eq!(told_of(0.2), "0.9 CPUs");
    }
}

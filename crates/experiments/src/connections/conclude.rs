//! Checks and conclusions of `lab connections`, mostly about the trial with all connections.

use run::Relation::{AtLeast, AtMost, Equals};
use run::{Check, Run, SummaryFigure, TimeFigure, Trial};

use super::values::{CLIENT_MEMORY_PER_CONNECTION_BYTES, OPENED_S};
use crate::Parameters;
use crate::values::{CONNECTIONS, HELD, KERNEL_MEMORY_PER_CONNECTION_BYTES, MEMORY_PER_CONNECTION_BYTES, PROCESSES};

/// Maximum resident memory per connection on each side (generator or server), bytes. If the memory per connection
/// exceeds the maximum, a check of the experiment fails.
const USER_BYTES: f64 = 200.0;
/// Minimum rate of answered messages in the measured window, as a share of the planned rate.
const ANSWERED: f64 = 0.95;

pub(super) fn conclude(run: &mut Run, parameters: &Parameters) {
    let Some(trial) = run.trials.last() else { return };
    let wanted = f64::from(trial.key.get(CONNECTIONS).unwrap_or(0));
    let rate = parameters.number("rate", 10_000.0);
    let results = &trial.results;
    let memory = |who: &str, bytes: Option<f64>| {
        let name = format!("user memory of a connection, {who}, bytes");
        Check::new(name, bytes.unwrap_or(f64::NAN), AtMost, USER_BYTES)
    };
    let within_s = parameters.number("open_within_s", 60.0);
    run.findings.checks = vec![
        Check::new("connections held at once", results.get(HELD).unwrap_or(0.0), AtLeast, wanted),
        Check::new(
            "sockets in the kernel while messages are sent, over both ends",
            sockets(trial) / (2.0 * wanted),
            AtLeast,
            1.0,
        ),
        Check::new("connections that failed or were lost", failed(trial), Equals, 0.0),
        Check::new("seconds until all were up", results.get(OPENED_S).unwrap_or(f64::NAN), AtMost, within_s),
        memory("generator", results.get(CLIENT_MEMORY_PER_CONNECTION_BYTES)),
        memory("server", results.get(MEMORY_PER_CONNECTION_BYTES)),
        Check::new("messages a second over those to be sent", trial.rates.completed_rate / rate, AtLeast, ANSWERED),
    ];
    run.findings.conclusions = vec![words(trial), beside(run).unwrap_or_default()];
    run.findings.conclusions.retain(|sentence| !sentence.is_empty());
}

/// Returns the mean number of TCP sockets in the experiment's network namespace during the measured window. The number
/// of sockets includes a few listening sockets.
fn sockets(trial: &Trial) -> f64 {
    let recording = trial.server.as_ref().map(|server| &server.recording);
    let mean = recording.and_then(|r| r.sum("socket.tcp_in_use", trial.measured.window, |_| true).value());
    mean.unwrap_or(f64::NAN)
}

fn failed(trial: &Trial) -> f64 {
    (trial.tally.error_count() + trial.tally.closed_by_server) as f64
}

/// Formats a response time in whole microseconds. If only a lower bound is known, the text contains `at least`; if the
/// time is unknown, words replace the number.
fn whole_us(trial: &Trial, figure: SummaryFigure) -> String {
    match trial.latency_us.figure(figure) {
        TimeFigure::Exact(us) => format!("{us:.0} us"),
        TimeFigure::AtLeast(us) => format!("at least {us:.0} us"),
        TimeFigure::Unknown => "an unknown time".into(),
    }
}

fn words(trial: &Trial) -> String {
    let r = &trial.results;
    let bytes = |of: Option<f64>| of.map_or_else(|| "an unknown number of".into(), |n| format!("{n:.0}"));
    let held = r.get(HELD).unwrap_or(0.0);
    format!(
        "{held:.0} connections were held by {0} processes on each side, opened in {1:.1} s: {2} bytes of user memory each at \
         the generator, {3} at the server, {4} in the kernel for both ends; {5:.0} messages/s on random ones of them took \
         {6} at the median, {7} at p99.",
        trial.key.get(PROCESSES).unwrap_or(0),
        r.get(OPENED_S).unwrap_or(0.0),
        bytes(r.get(CLIENT_MEMORY_PER_CONNECTION_BYTES)),
        bytes(r.get(MEMORY_PER_CONNECTION_BYTES)),
        bytes(r.get(KERNEL_MEMORY_PER_CONNECTION_BYTES)),
        trial.rates.completed_rate,
        whole_us(trial, SummaryFigure::P50),
        whole_us(trial, SummaryFigure::P99),
    )
}

/// Returns a sentence that compares the trial with few connections and the trial with all connections. The sentence
/// names the response times of the small trial, and the CPU time per message of both.
fn beside(run: &Run) -> Option<String> {
    let (few, all) = (run.trials.first()?, run.trials.last()?);
    let cpu = |t: &Trial| t.server.as_ref()?.costs.get("process_cpu_us")?.per_request.value();
    let connections = few.key.get(CONNECTIONS).filter(|n| Some(*n) != all.key.get(CONNECTIONS))?;
    Some(format!(
        "With {connections} connections the same messages took {} at the median, {} at p99, and the server {:.1} us \
         of CPU time each, with all of them {:.1} us.",
        whole_us(few, SummaryFigure::P50),
        whole_us(few, SummaryFigure::P99),
        cpu(few)?,
        cpu(all)?
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{ErrorKind, Key, Results};

    fn run(held: f64, client: f64) -> Run {
        let trial = |connections: u32, held: f64| Trial {
            key: Key::default().with(CONNECTIONS, connections).with(PROCESSES, 2),
            results: Results::default()
                .with(HELD, held)
                .with(OPENED_S, 2.0)
                .with(CLIENT_MEMORY_PER_CONNECTION_BYTES, client)
                .with(MEMORY_PER_CONNECTION_BYTES, 120.0),
            ..Trial::default()
        };
        Run { trials: vec![trial(10, 10.0), trial(100, held)], ..Run::default() }
    }

    fn failing(mut run: Run) -> Vec<String> {
        conclude(&mut run, &Parameters::default());
        run.findings.checks.iter().filter(|c| !c.pass).map(|c| c.name.clone()).collect()
    }

    #[test]
    fn missing_connections_and_too_much_memory_fail_the_checks() {
        let missing = |of: Run, name: &str| failing(of).iter().any(|n| n.starts_with(name));
        assert!(!missing(run(100.0, 150.0), "connections held") && !missing(run(100.0, 150.0), "user memory"));
        assert!(missing(run(99.0, 150.0), "connections held"));
        assert!(missing(run(100.0, 250.0), "user memory of a connection, generator"));
        assert!(missing(run(100.0, f64::NAN), "user memory of a connection, generator"), "not known is not held");
        let mut lost = run(100.0, 150.0);
        lost.trials[1].tally.errors.0.insert(ErrorKind::Reset, 3);
        assert!(missing(lost, "connections that failed"));
    }

    #[test]
    fn the_conclusion_names_both_sides() {
        let mut run = run(100.0, 150.0);
        conclude(&mut run, &Parameters::default());
        let said = &run.findings.conclusions[0];
        assert!(
            said.starts_with("100 connections were held by 2 processes on each side, opened in 2.0 s: 150 bytes"),
            "{said}"
        );
    }
}

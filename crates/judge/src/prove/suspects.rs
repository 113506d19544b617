//! Levers that test verdicts, and the effect that each verdict predicts.

use run::{Bottleneck, Run, SOURCES_LEVER, Trial, UpstreamLimit};

use crate::single::good;
use crate::thresholds::MAX_PREDICTED_FACTOR;

/// A bottleneck, the lever that tests it, and the prediction.
#[derive(Clone, Copy, Debug)]
pub struct Suspect {
    /// Bottleneck, a row of `BOTTLENECKS`.
    pub bottleneck: &'static str,
    /// Lever that tests the bottleneck, a row of `LEVERS`.
    pub lever: &'static str,
    /// Limit of the upstream that the server waits for, according to the verdict; `None` if the verdict is about the
    /// server, the client or the link.
    pub behind: Option<UpstreamLimit>,
    /// True if requests take turns on the CPU.
    pub serial: bool,
    /// True if the bottleneck is refuted when throughput stays the same. False for a rate limit, since it may apply to
    /// all addresses together.
    pub refutes: bool,
    /// Predicts the throughput with a lever of the given dose, divided by the throughput without it.
    pub ratio: fn(&Run, f64) -> f64,
}

/// Levers that test each bottleneck. The other bottlenecks belong to the remainder, which no lever touches: a sleep, a
/// lock, a service on an unobserved host, network distance, or a deliberate limit. Bottlenecks of the remainder are
/// tested by levers that are predicted to have no effect.
pub const SUSPECTS: &[Suspect] = &[
    suspect("server-cpu", "server-cpu", what_is_left),
    suspect("server-single-thread", "server-cpu", what_is_left),
    suspect("client-cpu", "client-cpu", what_is_left),
    suspect("server-cpu-quota", "quota", what_is_left),
    suspect("server-disk", "disk", what_is_left),
    suspect("network-medium", "link", what_is_left),
    suspect("network-medium", "request-bytes", what_is_left),
    Suspect { serial: true, ..suspect("server-concurrency", "server-cpu", what_is_left) },
    behind(UpstreamLimit::Cpu, "behind-cpu"),
    behind(UpstreamLimit::Thread, "behind-cpu"),
    behind(UpstreamLimit::Lock, "behind-cpu"),
    behind(UpstreamLimit::Quota, "behind-quota"),
    behind(UpstreamLimit::Disk, "disk"),
    Suspect { refutes: false, ..suspect("server-rate-limit", SOURCES_LEVER, what_is_left) },
    suspect("client-ports", SOURCES_LEVER, what_is_left),
    suspect("tcp-window", "window", what_is_left),
    suspect("tcp-delayed-ack", "quick-ack", without_the_timer),
    suspect("accept-queue", "keep-alive", without_connects),
    suspect("server-fds", "descriptors", what_is_left),
];

const fn suspect(bottleneck: &'static str, lever: &'static str, ratio: fn(&Run, f64) -> f64) -> Suspect {
    Suspect { bottleneck, lever, behind: None, serial: false, refutes: true, ratio }
}

const fn behind(limit: UpstreamLimit, lever: &'static str) -> Suspect {
    Suspect { behind: Some(limit), ..suspect("server-concurrency", lever, what_is_left) }
}

/// Returns the rows that test a verdict. The first lever that can be used is used.
pub fn suspects_of(verdict: &Bottleneck) -> impl Iterator<Item = &'static Suspect> {
    // Older runs do not record which limit of the upstream was reached, because only its CPUs were read.
    let behind = verdict.waits_for.as_ref().map(|waits_for| waits_for.limit.unwrap_or(UpstreamLimit::Cpu));
    let (id, serial) = (verdict.id.clone(), verdict.serial && behind.is_none());
    SUSPECTS.iter().filter(move |suspect| {
        suspect.behind == behind && suspect.serial == serial && (behind.is_some() || suspect.bottleneck == id)
    })
}

/// Returns the bottlenecks that a lever tests, except those of upstreams and of requests that take turns.
pub(super) fn ids_of(lever: &str) -> impl Iterator<Item = &'static str> {
    let of_lever = move |suspect: &&Suspect| suspect.lever == lever && suspect.behind.is_none() && !suspect.serial;
    SUSPECTS.iter().filter(of_lever).map(|suspect| suspect.bottleneck)
}

/// Returns true if a lever acts on the full resource of an upstream.
pub(super) fn acts_on(lever: &str, limit: Option<UpstreamLimit>) -> bool {
    SUSPECTS.iter().any(|suspect| suspect.lever == lever && suspect.behind.is_some() && suspect.behind == limit)
}

/// Returns the bottleneck that is found if throughput follows a lever.
pub(super) fn bottleneck_of(lever: &str) -> &'static str {
    ids_of(lever).next().unwrap_or("server-concurrency")
}

/// Returns the row that tests a verdict with this lever; if there is none, the first row.
pub(super) fn suspect_of(verdict: &Bottleneck, lever: Option<&str>) -> Option<&'static Suspect> {
    suspects_of(verdict).find(|suspect| Some(suspect.lever) == lever).or_else(|| suspects_of(verdict).next())
}

/// Predicts that throughput follows the resource.
fn what_is_left(_: &Run, dose: f64) -> f64 {
    1.0 - dose
}

/// Delay of Linux before a delayed acknowledgement (TCP_DELACK_MIN), microseconds.
const TIMER_US: f64 = 40_000.0;

/// Predicts the throughput if requests do not wait for the delayed-acknowledgement timer.
fn without_the_timer(run: &Run, _: f64) -> f64 {
    let half_us = decisive(run).map_or(0.0, |trial| trial.latency_us.p50);
    times(half_us, half_us - TIMER_US)
}

/// Predicts the throughput if clients no longer wait for connections to be made and accepted, but only for answers.
/// Little's law gives the time from a connect to its answer: requests in flight divided by answers per second. The
/// measured response time would also include clients whose connects failed.
fn without_connects(run: &Run, _: f64) -> f64 {
    let Some(trial) = decisive(run).filter(|trial| good(trial) > 0.0) else { return 1.0 };
    let answered_us = trial.rates.concurrency / good(trial) * 1e6;
    times(trial.connect_us.mean + answered_us, answered_us - accepted_us(trial))
}

/// Returns the time that a connection waits to be accepted, microseconds, by Little's law: waiting connections divided
/// by accepted ones per second. The kernel completes a connect before it is accepted, so this wait is part of the first
/// answer's time.
fn accepted_us(trial: &Trial) -> f64 {
    let Some(server) = &trial.server else { return 0.0 };
    let waiting = server.recording.sum("listen.queue", trial.measured.window, |_| true).value();
    waiting.map_or(0.0, |waiting| waiting / good(trial) * 1e6)
}

fn times(whole: f64, left: f64) -> f64 {
    if left.is_finite() && whole > left.max(0.0) { whole / left.max(whole / MAX_PREDICTED_FACTOR) } else { 1.0 }
}

fn decisive(run: &Run) -> Option<&Trial> {
    run.trials.get(run.findings.picks.decisive?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unmeasured_resources_get_no_prediction() {
        assert_eq!((without_the_timer(&Run::default(), 1.0), without_connects(&Run::default(), 1.0)), (1.0, 1.0));
        assert_eq!((times(44.0, 4.0), times(44.0, 22.0), times(44.0, 44.0)), (MAX_PREDICTED_FACTOR, 2.0, 1.0));
        assert_eq!(what_is_left(&Run::default(), -1.0), 2.0);
    }

    /// The server accepts four connections every 50 ms. Five connections waited for acceptance, 80 arrived per second,
    /// and an answer took 62.5 ms, none of which was the server's work. An earlier version predicted that kept
    /// connections change nothing. Another version used the mean response time, which was 140 ms too long: it included
    /// eleven clients that still waited for a connection.
    #[test]
    fn the_wait_to_be_accepted_is_no_part_of_an_answer_on_a_kept_connection() {
        let column = |waiting| run::Column {
            counter: run::CounterId::new("listen.queue"),
            instance: "127.0.0.1:80".into(),
            values: vec![Some(waiting); 3],
        };
        let kept = |waiting, in_flight| {
            let mut trial = Trial::default();
            (trial.rates.completed_rate, trial.rates.concurrency) = (80.0, in_flight);
            (trial.connect_us.mean, trial.latency_us.mean, trial.measured.window) =
                (100.0, 200_000.0, run::Window::ALL);
            let recording = run::Recording {
                t_s: vec![0.0, 0.1, 0.2],
                columns: vec![column(waiting)],
                ..run::Recording::default()
            };
            trial.server = Some(run::Side { recording, ..run::Side::default() });
            let mut run = Run { trials: vec![trial], ..Run::default() };
            run.findings.picks.decisive = Some(0);
            without_connects(&run, 1.0)
        };
        assert_eq!(kept(5.0, 5.0), MAX_PREDICTED_FACTOR);
        assert!((kept(5.0, 10.0) - 125_100.0 / 62_500.0).abs() < 1e-9, "{}", kept(5.0, 10.0));
        assert!((kept(0.0, 5.0) - 62_600.0 / 62_500.0).abs() < 1e-9, "nothing waits");
    }
}

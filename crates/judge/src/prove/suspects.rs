//! Levers (changes of a resource or of the load) that test verdicts, and the effect that each verdict predicts for its
//! lever.

use run::{Bottleneck, Run, SOURCES_LEVER, Trial, UpstreamLimit};

use super::watched::WatchedShare;
use crate::context::single::good;
use crate::thresholds::MAX_PREDICTED_FACTOR;

/// A bottleneck, a lever that tests it, and the predicted effect of the lever.
#[derive(Clone, Copy, Debug)]
pub struct Suspect {
    /// ID of the bottleneck, from `BOTTLENECKS`.
    pub bottleneck: &'static str,
    /// ID of the lever, from `LEVERS`.
    pub lever: &'static str,
    /// Limit that an upstream reached, if the verdict says that the server waits for this upstream. `None` if the
    /// verdict is about the server, the client or the link.
    pub behind: Option<UpstreamLimit>,
    /// True if the verdict says that only one request at a time runs on the server's CPUs.
    pub serial: bool,
    /// True if a lever that does not change throughput refutes the bottleneck. False for a rate limit, because a rate
    /// limit may apply to all addresses together, so that more addresses change nothing.
    pub refutes: bool,
    /// True if the bottleneck is a full resource with parallel parts, such as CPUs, threads or a disk. Throughput
    /// follows the speed of such a resource even before the resource is full. The experiment therefore needs a sign
    /// that a larger load would not raise throughput.
    pub needs_saturation: bool,
    /// Function that predicts throughput with the lever, divided by throughput without the lever. The function's second
    /// argument is the dose: the share of the resource that the lever takes.
    pub ratio: fn(&Run, f64) -> f64,
}

/// All bottlenecks that a lever tests, each with its lever. No lever acts on a sleep, a lock, an upstream on an
/// unobserved host, or network distance. The share of throughput that such causes explain is part of the remainder.
/// Bottlenecks without a lever are tested indirectly: no lever should have an effect.
pub const SUSPECTS: &[Suspect] = &[
    of_server("server-cpu", "server-cpu"),
    of_server("server-single-thread", "server-cpu"),
    full("client-cpu", "client-cpu"),
    suspect("server-cpu-quota", "quota", of_watched_server),
    of_server("server-disk", "disk"),
    suspect("network-medium", "link", what_is_left),
    suspect("network-medium", "request-bytes", what_is_left),
    Suspect { serial: true, ..of_server("server-concurrency", "server-cpu") },
    behind(UpstreamLimit::Cpu, "behind-cpu"),
    behind(UpstreamLimit::Thread, "behind-cpu"),
    behind(UpstreamLimit::Lock, "behind-cpu"),
    Suspect { needs_saturation: false, ..behind(UpstreamLimit::Quota, "behind-quota") },
    behind(UpstreamLimit::Disk, "disk"),
    Suspect { refutes: false, ..suspect("server-rate-limit", SOURCES_LEVER, what_is_left) },
    suspect("client-ports", SOURCES_LEVER, what_is_left),
    suspect("tcp-window", "window", what_is_left),
    suspect("tcp-delayed-ack", "quick-ack", without_the_timer),
    suspect("accept-queue", "keep-alive", without_connects),
    suspect("server-fds", "descriptors", of_watched_server),
];

const fn suspect(bottleneck: &'static str, lever: &'static str, ratio: fn(&Run, f64) -> f64) -> Suspect {
    Suspect { bottleneck, lever, behind: None, serial: false, refutes: true, needs_saturation: false, ratio }
}

const fn full(bottleneck: &'static str, lever: &'static str) -> Suspect {
    Suspect { needs_saturation: true, ..suspect(bottleneck, lever, what_is_left) }
}

const fn of_server(bottleneck: &'static str, lever: &'static str) -> Suspect {
    Suspect { ratio: of_watched_server, ..full(bottleneck, lever) }
}

const fn behind(limit: UpstreamLimit, lever: &'static str) -> Suspect {
    Suspect { behind: Some(limit), ..of_server("server-concurrency", lever) }
}

/// Returns the rows of [`SUSPECTS`] that test a verdict. The experiment uses the first row whose lever is usable.
pub fn suspects_of(verdict: &Bottleneck) -> impl Iterator<Item = &'static Suspect> {
    // Runs of older versions contain only the CPU use of upstreams, so they do not record which limit an upstream
    // reached.
    let behind = verdict.waits_for.as_ref().map(|waits_for| waits_for.limit.unwrap_or(UpstreamLimit::Cpu));
    let (id, serial) = (verdict.id.clone(), verdict.serial && behind.is_none());
    SUSPECTS.iter().filter(move |suspect| {
        suspect.behind == behind && suspect.serial == serial && (behind.is_some() || suspect.bottleneck == id)
    })
}

/// Returns the IDs of the bottlenecks that a lever (a change of a resource or of the load) tests. Leaves out
/// bottlenecks of upstreams, and servers that run only one request at a time.
pub(super) fn ids_of(lever: &str) -> impl Iterator<Item = &'static str> {
    let of_lever = move |suspect: &&Suspect| suspect.lever == lever && suspect.behind.is_none() && !suspect.serial;
    SUSPECTS.iter().filter(of_lever).map(|suspect| suspect.bottleneck)
}

/// Returns true if a lever acts on the resource `limit`, which limits an upstream.
pub(super) fn acts_on(lever: &str, limit: Option<UpstreamLimit>) -> bool {
    SUSPECTS.iter().any(|suspect| suspect.lever == lever && suspect.behind.is_some() && suspect.behind == limit)
}

/// Returns the ID of the bottleneck that is found if the lever `lever` changes throughput.
pub(super) fn bottleneck_of(lever: &str) -> &'static str {
    ids_of(lever).next().unwrap_or("server-concurrency")
}

/// Returns the row of [`SUSPECTS`] that tests a verdict with this lever. If `lever` does not test the verdict, returns
/// the first row that tests the verdict.
pub(super) fn suspect_of(verdict: &Bottleneck, lever: Option<&str>) -> Option<&'static Suspect> {
    suspects_of(verdict).find(|suspect| Some(suspect.lever) == lever).or_else(|| suspects_of(verdict).next())
}

/// Predicts that throughput changes in proportion to the part of the resource that the lever leaves.
fn what_is_left(_: &Run, dose: f64) -> f64 {
    1.0 - dose
}

/// Predicts the throughput of all servers, divided by their present throughput. The watched server's throughput falls
/// by the share of the resource that the lever takes.
fn of_watched_server(run: &Run, dose: f64) -> f64 {
    WatchedShare::of(decisive(run)).left(dose)
}

/// Time for which Linux delays an acknowledgement (TCP_DELACK_MIN), microseconds.
const TIMER_US: f64 = 40_000.0;

/// Predicts throughput if no request waits for the delayed-acknowledgement timer, divided by the present throughput.
fn without_the_timer(run: &Run, _: f64) -> f64 {
    let half_us = decisive(run).map_or(0.0, |trial| trial.latency_us.p50);
    times(half_us, half_us - TIMER_US)
}

/// Predicts throughput if clients keep their connections and wait only for answers, divided by the present throughput.
/// Little's law gives the mean time from a connect to its answer: requests in flight divided by answers per second. The
/// measured mean response time is not used, because it includes clients that still wait for a connection.
fn without_connects(run: &Run, _: f64) -> f64 {
    let Some(trial) = decisive(run).filter(|trial| good(trial) > 0.0) else { return 1.0 };
    let answered_us = trial.rates.concurrency / good(trial) * 1e6;
    times(trial.connect_us.mean + answered_us, answered_us - accepted_us(trial))
}

/// Returns the mean time for which a connection waits to be accepted, microseconds. By Little's law, the mean wait is
/// the number of waiting connections divided by the accepted connections per second. The kernel completes a connect
/// before the server accepts the connection, so the wait is part of the first request's response time.
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

    /// The server accepts four connections every 50 ms. Five connections wait to be accepted, 80 arrive per second, and
    /// an answer takes 62.5 ms, all of which is the wait to be accepted. Earlier versions of loadline predicted that
    /// kept connections change nothing, or used the mean response time. The mean response time was 140 ms too long,
    /// because it included eleven clients that still waited to be accepted.
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

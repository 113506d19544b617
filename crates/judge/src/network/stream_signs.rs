//! Signs in streams of events, such as server-sent events. Either something collects events before it passes them on,
//! or gaps between events grow with the load.

use run::{Bottleneck, StreamFinding, StreamSign, SummaryFigure, Trial, WaitCause, WaitFinding};

use crate::Facts;
use crate::context::view::program;
use crate::number::{counted, duration};
use crate::thresholds::NOTICED_US;

/// Recorded gap between two events that arrived in one read, microseconds. The true gap is 0, but a histogram stores it
/// as one nanosecond.
const NO_GAP_US: f64 = 1.0 / NS_PER_US as f64;
const NS_PER_US: u32 = 1000;

/// IDs of verdicts that do not explain why streams stall.
const NO_CAUSE: [&str; 4] = ["", "unknown", "not-saturated", "server-rate-limit"];

/// Returns the signs (buffered events, stalls) in the streams of a run. The verdict `bottleneck` and the causes of
/// waiting, `waits`, explain why streams stall.
pub(crate) fn signs(facts: &Facts<'_>, bottleneck: &Bottleneck, waits: &[WaitFinding]) -> Vec<StreamFinding> {
    let decisive = facts.decisive.filter(|_| facts.run.plan.load.stream.is_some());
    let found = |id, sentence: Option<String>| sentence.map(|sentence| StreamFinding { id, sentence });
    let light = facts.unloaded.or(decisive).filter(|_| decisive.is_some());
    let all = facts.sweep.iter().chain(&facts.search).copied().chain(decisive);
    let loaded = all.max_by(|a, b| a.streams_open.total_cmp(&b.streams_open));
    let buffered = found(StreamSign::Buffered, light.and_then(buffered));
    let stalls = light.zip(loaded).and_then(|(light, loaded)| stalls(light, loaded, &cause(bottleneck, waits)));
    buffered.into_iter().chain(found(StreamSign::Stalls, stalls)).collect()
}

/// Describes streams whose events arrive together, after a wait that a person notices. The lightest load decides
/// whether events are collected, because an overloaded server also sends late events together.
fn buffered(trial: &Trial) -> Option<String> {
    let first_us = trial.first_event_us.exact(SummaryFigure::P50)?;
    let rest_us = trial.latency_us.exact(SummaryFigure::P50)? - first_us;
    let is_together = trial.gap_us.exact(SummaryFigure::P90)? <= NO_GAP_US && rest_us < first_us;
    (is_together && first_us >= NOTICED_US).then(|| {
        format!(
            "the events of a stream arrive together, {} after the request, so something collects them: {}",
            duration(first_us),
            collector(trial)
        )
    })
}

/// Names the program that may collect the events: a proxy that passes requests on to an upstream, if such a proxy is
/// known.
fn collector(trial: &Trial) -> String {
    let hop = trial.server.as_ref().and_then(|side| {
        let behind = side.behind.iter().find(|behind| behind.from.is_empty())?;
        Some((program(side.processes.first()?), &behind.address))
    });
    match hop {
        Some(("nginx", to)) => format!("probably nginx, which passes requests on to {to} (try `proxy_buffering off`)"),
        Some((hop, to)) => format!("probably {hop}, which passes requests on to {to}; switch off its buffering"),
        None => "the server, or a proxy before it".into(),
    }
}

/// Describes gaps between events, if a person would notice their 99th percentile under load, and if this percentile
/// exceeds every gap of the lightest load.
fn stalls(light: &Trial, loaded: &Trial, cause: &str) -> Option<String> {
    let [before_us, longest_us] = [SummaryFigure::P99, SummaryFigure::Max].map(|figure| light.gap_us.exact(figure));
    let after_us = loaded.gap_us.exact(SummaryFigure::P99)?;
    (after_us > longest_us? && after_us >= NOTICED_US).then(|| {
        let open = |trial: &Trial| counted(trial.streams_open.round(), "open stream");
        format!(
            "p99 of the gaps between events grew from {} with {} to {} with {}: streams stall under load, {cause}",
            duration(before_us.unwrap_or(0.0)),
            open(light),
            duration(after_us),
            open(loaded)
        )
    })
}

/// Returns text about the probable cause of stalls. The cause is a wait that stops several requests at once, such as
/// garbage collection or an interpreter's lock. Without a wait that stops several requests, the cause is the resource
/// that the verdict names. If the verdict names no resource, the text lists the usual causes.
fn cause(bottleneck: &Bottleneck, waits: &[WaitFinding]) -> String {
    let stops = |wait: &&WaitFinding| {
        matches!(wait.cause, WaitCause::Lock | WaitCause::SerialCpu | WaitCause::BlockingCall)
            && !wait.sentence.is_empty()
    };
    let wait = waits.iter().find(stops).map(|wait| wait.sentence.as_str());
    let full = run::bottleneck(&bottleneck.id).filter(|row| !NO_CAUSE.contains(&row.id)).map(|row| row.meaning);
    wait.or(full).map_or_else(
        || "by an unknown cause (often a full CPU, a lock or garbage collection)".into(),
        |cause| format!("probably because {cause}"),
    )
}

#[cfg(test)]
mod tests {
    use run::{Intensity, Run, Side, StreamPlan, Summary, TrialKind, Upstream};

    use super::*;

    fn times(p50: f64, p99: f64, max: f64) -> Summary {
        Summary { count: 1000, p50, p90: p50, p99, p99_9: max, max, mean: p50, ..Summary::default() }
    }

    /// Makes a step of a sweep with `connections` open streams. Each stream lasts 2.3 s and has its first event after
    /// `first_us` microseconds.
    fn step(connections: u32, first_us: f64, gap_us: Summary) -> Trial {
        let mut trial = Trial {
            kind: TrialKind::Sweep,
            intensity: Intensity::Closed { connections, pipeline: 1, think: Default::default() },
            latency_us: times(2.3e6, 2.3e6, 2.3e6),
            first_event_us: times(first_us, first_us, first_us),
            gap_us,
            streams_open: f64::from(connections),
            ..Trial::default()
        };
        (trial.rates.completed_rate, trial.measured.tally.completed) = (f64::from(connections), 100);
        trial
    }

    fn found(trials: Vec<Trial>) -> Vec<StreamFinding> {
        let mut run = Run { trials, ..Run::default() };
        run.plan.load.stream = Some(StreamPlan::default());
        crate::judge(&mut run);
        run.findings.streams
    }

    #[test]
    fn a_proxy_that_collects_events_is_named_and_a_stream_that_flows_is_not() {
        let mut together = step(1, 2.29e6, times(NO_GAP_US, NO_GAP_US, 9e3));
        assert!(found(vec![step(1, 0.3e6, times(20e3, 21e3, 22e3))]).is_empty(), "events come one after the other");
        assert!(found(vec![step(1, 50e3, times(0.0, 0.0, 0.0))]).is_empty(), "the first event comes early");
        let signs = found(vec![together.clone()]);
        assert_eq!(signs[0].id, StreamSign::Buffered);
        assert!(signs[0].sentence.ends_with("the server, or a proxy before it"), "{signs:?}");
        let behind = Upstream { address: "127.0.0.1:9000".into(), depth: 1, ..Upstream::default() };
        together.server = Some(Side { processes: vec!["nginx:7".into()], behind: vec![behind], ..Side::default() });
        let signs = found(vec![together]);
        assert!(signs[0].sentence.contains("nginx, which passes requests on to 127.0.0.1:9000"), "{signs:?}");
    }

    #[test]
    fn stalls_have_the_cause_that_the_same_run_found() {
        let wait = |cause, sentence: &str| WaitFinding { cause, sentence: sentence.into(), ..WaitFinding::default() };
        let lock = wait(WaitCause::Lock, "13 of 16 threads of app:7 wait for Python's interpreter lock (GIL)");
        let collector = "garbage collection takes 72 % of the CPU time of app:7 while requests wait";
        let collector = wait(WaitCause::SerialCpu, collector);
        let sleep = wait(WaitCause::Sleep, "8 of 8 threads of app:7 sleep");
        let with = |id: &str, waits: &[WaitFinding]| {
            let bottleneck = Bottleneck { id: id.into(), ..Bottleneck::default() };
            stalls(
                &step(1, 3e5, times(2e4, 2e4, 3e4)),
                &step(64, 3e5, times(2e4, 4e5, 5e5)),
                &cause(&bottleneck, waits),
            )
            .unwrap()
        };
        let full = with("server-cpu", std::slice::from_ref(&sleep));
        assert!(
            full.ends_with("stall under load, probably because all CPUs that the server may use are full"),
            "{full}"
        );
        assert!(with("server-cpu", &[sleep.clone(), lock]).ends_with("interpreter lock (GIL)"));
        assert!(with("unknown", &[collector]).contains("because garbage collection takes 72 %"));
        let unknown = with("unknown", &[sleep]);
        assert!(unknown.contains("unknown cause"), "{unknown}");
    }

    #[test]
    fn gaps_that_grow_with_the_load_are_named() {
        let light = || step(1, 0.3e6, times(20e3, 21e3, 30e3));
        let loaded = |p99| step(64, 0.3e6, times(20e3, p99, 2.0 * p99));
        assert!(found(vec![light(), loaded(29e3)]).is_empty(), "not longer than without load");
        assert!(found(vec![light(), loaded(90e3)]).is_empty(), "nobody notices");
        let signs = found(vec![light(), loaded(340e3)]);
        assert_eq!(signs[0].id, StreamSign::Stalls);
        assert!(
            signs[0].sentence.contains("from 21 ms with 1 open stream to 340 ms with 64 open streams"),
            "{signs:?}"
        );
    }
}

//! Signs in streams of events, such as server-sent events. The signs show that something collects events before it
//! passes them on, or that gaps between events grow with the load.

use run::{StreamFinding, StreamSign, SummaryFigure, Trial};

use crate::Facts;
use crate::number::{counted, duration};
use crate::thresholds::NOTICED_US;
use crate::view::program;

/// Recorded gap between events that arrived in one read, microseconds. The true gap is 0, which a histogram stores as
/// one nanosecond.
const NO_GAP_US: f64 = 1.0 / NS_PER_US as f64;
const NS_PER_US: u32 = 1000;

/// Returns the signs in the streams of a run.
pub(crate) fn signs(facts: &Facts<'_>) -> Vec<StreamFinding> {
    let decisive = facts.decisive.filter(|_| facts.run.plan.load.stream.is_some());
    let found = |id, sentence: Option<String>| sentence.map(|sentence| StreamFinding { id, sentence });
    let light = facts.unloaded.or(decisive).filter(|_| decisive.is_some());
    let all = facts.sweep.iter().chain(&facts.search).copied().chain(decisive);
    let loaded = all.max_by(|a, b| a.streams_open.total_cmp(&b.streams_open));
    let buffered = found(StreamSign::Buffered, light.and_then(buffered));
    let stalls = light.zip(loaded).and_then(|(light, loaded)| stalls(light, loaded));
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
fn stalls(light: &Trial, loaded: &Trial) -> Option<String> {
    let [before_us, longest_us] = [SummaryFigure::P99, SummaryFigure::Max].map(|figure| light.gap_us.exact(figure));
    let after_us = loaded.gap_us.exact(SummaryFigure::P99)?;
    (after_us > longest_us? && after_us >= NOTICED_US).then(|| {
        let open = |trial: &Trial| counted(trial.streams_open.round(), "open stream");
        format!(
            "p99 of the gaps between events grew from {} with {} to {} with {}: streams stall under load (by a full CPU, \
             a lock or garbage collection)",
            duration(before_us.unwrap_or(0.0)),
            open(light),
            duration(after_us),
            open(loaded)
        )
    })
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

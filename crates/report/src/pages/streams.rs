//! Answers that are streams of events: time to the first event, gaps between events, rates, and streams that stalled or
//! broke.

use run::number::{number, prose::counted, quantity};
use run::{Run, StreamPlan, SummaryFigure, Trial};

use super::times::percentiles;
use crate::{AnswerLine, Tone, Unit};

/// Word for one client in the result of a search for the maximum number of users, unless the client is an open stream.
pub(super) const USER: &str = "user";

/// Returns the word for one client, in the result of a search for the maximum number of users. A streaming client
/// without think time always has one open stream, so the report calls this client an "open stream".
pub(super) fn user_word(run: &Run) -> &'static str {
    let thinks = run.findings.users.as_ref().is_some_and(|users| users.think.mean_ms > 0.0);
    if run.plan.load.stream.is_some() && !thinks { "open stream" } else { USER }
}

/// Returns the summary lines about the streams of a load; empty if the load's answers are not streams.
pub(super) fn lines(run: &Run, trial: &Trial) -> Vec<AnswerLine> {
    let Some(stream) = &run.plan.load.stream else { return Vec::new() };
    if trial.events == 0 {
        let why = format!("no answer had an event in the format {}", stream.format.name());
        return vec![AnswerLine::new("Streams", "no events:", why).toned(Tone::Bad)];
    }
    use SummaryFigure::{Max, P50, P99, P999};
    let first = ("First event", &trial.first_event_us, &[P50, P99, Max][..], "(from the same moment as the latency)");
    let gap = ("Gap", &trial.gap_us, &[P50, P99, P999, Max][..], "(between events of a stream)");
    let times = [first, gap].into_iter().filter(|(_, times, ..)| times.count > 0);
    let times = times.map(|(name, times, figures, what)| AnswerLine::new(name, percentiles(times, figures), what));
    times.chain([counts(stream, trial)]).chain(signs(run)).collect()
}

/// Returns the summary lines about the streams of the load at capacity. If no load was at capacity, the lines are about
/// the load that the verdict describes.
pub(super) fn of_search(run: &Run) -> Vec<AnswerLine> {
    let (picks, trials) = (&run.findings.picks, &run.trials);
    let users = run.findings.users.as_ref().and_then(|users| users.held);
    let of_users = |trial: &&Trial| trial.intensity.in_flight().is_some_and(|n| Some(n) == users.map(f64::from));
    let held = trials.iter().rfind(of_users);
    let chosen = held.or_else(|| trials.get(picks.at_capacity.or(picks.decisive)?));
    chosen.map(|trial| lines(run, trial)).unwrap_or_default()
}

/// Returns the summary lines about problems that the crate `judge` found in the streams of a run.
fn signs(run: &Run) -> impl Iterator<Item = AnswerLine> {
    run.findings.streams.iter().map(|sign| AnswerLine::new("Streams", "", sign.sentence.clone()).toned(Tone::Warn))
}

fn counts(stream: &StreamPlan, trial: &Trial) -> AnswerLine {
    let rate = format!("{} events/s", number(trial.events as f64 / trial.measured.length_s));
    let open = format!("in {} open streams", number(trial.streams_open));
    let longest = quantity(stream.stall_s * 1e6, Unit::Micros);
    let bad = [
        (trial.streams_stalled, format!("stalled for more than {longest} (--stall)")),
        (trial.streams_broken, "broke".into()),
        (trial.first_event_us.unanswered, "had no event".into()),
    ];
    let bad = bad.into_iter().filter(|(n, _)| *n > 0);
    let bad: Vec<String> = bad.map(|(n, what)| format!("{} {what}", counted(n as f64, "stream"))).collect();
    let tone = if bad.is_empty() { Tone::Plain } else { Tone::Bad };
    AnswerLine::new("Streams", rate, [vec![open], bad].concat().join("; ")).toned(tone)
}

#[cfg(test)]
mod tests {
    use run::{StreamFormat, Summary};

    use super::*;

    fn shown(trial: &Trial) -> Vec<String> {
        let mut run = Run::default();
        run.plan.load.stream = Some(StreamPlan { format: StreamFormat::Ndjson, ..StreamPlan::default() });
        lines(&run, trial).iter().map(|line| format!("{}: {} {}", line.name, line.value, line.detail)).collect()
    }

    #[test]
    fn stalled_and_broken_streams_are_named_with_their_number() {
        let mut trial = Trial { events: 5_000, streams_open: 12.0, ..Trial::default() };
        trial.measured.length_s = 10.0;
        assert_eq!(shown(&trial), ["Streams: 500 events/s in 12 open streams"]);
        (trial.streams_stalled, trial.streams_broken, trial.first_event_us.unanswered) = (1, 7, 2);
        trial.gap_us =
            Summary { count: 4_900, p50: 20_000.0, p99: 25_000.0, p99_9: 2e6, max: 2e6, ..Summary::default() };
        let told = shown(&trial);
        assert_eq!(told[0], "Gap: p50 20 ms, p99 25 ms, p99.9 2 s, max 2 s (between events of a stream)");
        assert_eq!(
            told[1],
            "Streams: 500 events/s in 12 open streams; 1 stream stalled for more than 1 s (--stall); 7 streams broke; \
             2 streams had no event"
        );
    }

    #[test]
    fn answers_without_events_are_named() {
        assert_eq!(shown(&Trial::default()), ["Streams: no events: no answer had an event in the format ndjson"]);
        assert_eq!(lines(&Run::default(), &Trial::default()), []);
    }
}

//! Result of `loadline load`: the main figures of a load that the user chose. The page of a single load shows no
//! capacity, because loadline tried no other load.

use run::{Breach, BreachKind, Intensity, Objective, Outcome, Run, SummaryFigure, Tally, Trial};

use super::answered::{asked, of_load, single};
use super::times::percentiles;
use super::{course, cpus, first_failures, limited, next_command, parts, quic, rate, server_acts};
use super::{spread, statuses, streams};
use crate::{AnswerLine, Block, KeyFigure, Note, Section, Tone, Unit, Weight};
use run::number::{count, number, prose::counted, quantity};

/// Returns the section with the counts of a single load. The summary of a single load already contains the main
/// figures.
pub(super) fn sections(run: &Run) -> Vec<Section> {
    let Some((trial, _)) = single(run) else { return Vec::new() };
    vec![Section::new("load", "", Weight::First, vec![Block::KeyFigures(vec![counts(trial)])])]
}

/// Returns the summary of a single load: percentiles, rate, errors, CPU time of both sides, and the verdict. If the
/// rate changed, the highest good rate comes first.
pub(super) fn answer(run: &Run) -> Option<Vec<Block>> {
    let (trial, outcome) = single(run)?;
    let changed = run.findings.course.as_ref();
    let times = [latency(trial, run.plan.load.new_connections)].into_iter().chain(first_byte(trial));
    // Percentiles over all rates of a load describe no single rate, so the highest good rate comes first.
    let times = changed
        .map(course::line)
        .into_iter()
        .chain(times)
        .chain(parts::line(run, trial))
        .chain(quic::line(trial))
        .chain(streams::lines(run, trial));
    let mut blocks = vec![Block::Answer(times.collect())];
    blocks.extend(spread::histogram(trial).map(Block::Bars));
    let rate = changed.is_none().then(|| completed(run, trial, outcome));
    let lines = [
        rate,
        sent(trial),
        Some(errors(trial, outcome)),
        cpus::line(run, trial),
        objective(run, outcome),
        acts(run, trial),
    ];
    let lines = lines.into_iter().chain([stream_limit(trial)]);
    // The answer section usually contains advice. The answer section contains no advice if the cause is unknown, the
    // server was observed, some requests succeeded, and the limit on errors was met. For a load without advice,
    // `end_of_answer` recommends a command.
    let is_advised = is_known(run) || trial.server.is_none() || outcome.good_rate.is_none_or(|rate| rate <= 0.0);
    let is_advised = is_advised || outcome.breach.is_some_and(|breach| breach.kind == BreachKind::Errors);
    let verdict = [limited::limited_by(run), limited::advice(run).filter(|_| is_advised)];
    blocks.push(Block::Answer(lines.chain(verdict).flatten().collect()));
    Some(blocks)
}

/// Returns the end of the answer section for a run with a single load: a table of the load's stages, if there are
/// several, and the command that finds the cause, if the verdict names none.
pub(super) fn end_of_answer(run: &Run) -> Vec<Block> {
    let stages = run.findings.course.as_ref().map(|changed| Block::Table(course::table(changed)));
    let next = (!is_known(run)).then(|| Note::block(Tone::Plain, next_command::sentence(run)));
    if single(run).is_some() { stages.into_iter().chain(next).collect() } else { Vec::new() }
}

/// Returns true if the verdict names a cause.
fn is_known(run: &Run) -> bool {
    !matches!(run.findings.bottleneck.id.as_str(), "unknown" | "not-saturated" | "")
}

/// Returns the headline of a load that the user chose; `None` for a search. If no answer was good, the headline states
/// this fact and its reason. If some answers were good and a limit was exceeded, the headline begins with the exceeded
/// limit. The headline of a load with good answers also states the rates that met the objective (if the rate changed),
/// or the percentiles and the rate of good answers.
pub(super) fn title(run: &Run) -> Option<String> {
    let all: Vec<(&Trial, Outcome)> = of_load(run).filter(|_| asked(run)).collect();
    let (trial, first) = all.first()?;
    if all.iter().all(|(_, outcome)| outcome.good_rate.is_none_or(|rate| rate <= 0.0)) {
        let words = first_failures::first_words(trial).map(str::to_owned);
        let why: Vec<String> = statuses::main(&trial.tally).into_iter().chain(words).collect();
        return Some(format!("No answer was good{}{}", if why.is_empty() { "" } else { ": " }, why.join(", ")));
    }
    let times = |figure| {
        let lowest = all.iter().map(|(trial, _)| trial.latency_us.figure(figure).lowest().unwrap_or(0.0));
        let text = range(lowest, |us| quantity(us, Unit::Micros));
        let known = all.iter().all(|(trial, _)| trial.latency_us.figure(figure).exact().is_some());
        if known { text } else { format!("at least {text}") }
    };
    let times = format!("p50 {}, p99 {}", times(SummaryFigure::P50), times(SummaryFigure::P99));
    let repeats = if all.len() > 1 { format!(" in {} repeats", all.len()) } else { String::new() };
    let rest = match &run.findings.course {
        // If the offered rate changed, percentiles over the whole load would describe no single rate.
        Some(changed) => course::headline(changed),
        None => {
            let rates = range(all.iter().filter_map(|(_, outcome)| outcome.good_rate), number);
            let failed = all.iter().any(|(_, outcome)| outcome.failed_share.is_some_and(|share| share > 0.0));
            format!("{times} at {rates} {}/s{repeats}", if failed { "good answers" } else { "requests" })
        }
    };
    let breach = first.breach.as_ref();
    Some(match breach.and_then(|breach| broken(breach, trial, run.findings.course.is_some())) {
        Some(why) => format!("{why}; {rest}"),
        None => crate::words::capital(&rest),
    })
}

/// Formats the smallest and the largest value as a range, or as one value if both look equal after rounding.
fn range(values: impl Iterator<Item = f64> + Clone, write: impl Fn(f64) -> String) -> String {
    let [least, most] = [values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max)].map(write);
    if least == most { least } else { format!("{least} to {most}") }
}

/// Describes an exceeded limit, for the beginning of a headline. Returns `None` for an exceeded limit on a time. If the
/// offered rate changes, also returns `None` for a server that did not keep up, because another sentence of the report
/// already states this fact.
fn broken(breach: &Breach, trial: &Trial, changed: bool) -> Option<String> {
    let value = breach.value.map(|value| quantity(value, Unit::Share))?;
    match breach.kind {
        BreachKind::Errors => {
            let status =
                statuses::main(&trial.tally).map_or(String::new(), |status| format!(", most with status {status}"));
            Some(format!("{value} of the requests failed{status}"))
        }
        BreachKind::Unanswered => Some(format!("{value} of the requests were never answered")),
        BreachKind::Behind if !changed => Some(format!("Only {value} of the offered load completed")),
        _ => None,
    }
}

/// Returns the summary line with the user's limits on times, which also states whether the load met these limits. The
/// line always contains an exceeded limit on failed, unanswered or late requests, because this limit decides the exit
/// status. If the user gave no limits, the exceeded limit is loadline's default, and the line does not call it an
/// objective.
fn objective(run: &Run, outcome: Outcome) -> Option<AnswerLine> {
    let asked = &run.plan.objective;
    let limits = [("p50", asked.p50_us), ("mean", asked.mean_us), ("p99", asked.p99_us), ("p99.9", asked.p99_9_us)];
    let times =
        limits.into_iter().filter_map(|(name, us)| Some(format!("{name} at most {}", quantity(us?, Unit::Micros))));
    let others = asked.timed().into_iter().flat_map(|(time, limits)| {
        let limit = move |(figure, us)| format!("{} at most {}", time.figure_name(figure), quantity(us, Unit::Micros));
        limits.each().map(limit).collect::<Vec<_>>()
    });
    let share = |limit| quantity(limit, Unit::Share);
    let untimed = outcome.breach.and_then(|breach| match breach.kind {
        BreachKind::Errors => Some(format!("errors at most {} (--errors)", share(asked.errors))),
        BreachKind::Behind => Some(format!("at least {} of the offered load completed", share(breach.limit?))),
        BreachKind::Unanswered => Some(format!("at most {} of the requests unanswered", share(breach.limit?))),
        _ => None,
    });
    let named: Vec<String> = times.chain(others).chain(untimed).collect();
    let (value, tone) = if outcome.held { ("met:", Tone::Good) } else { ("not met:", Tone::Bad) };
    let name = if *asked == Objective::default() { "Limit" } else { "Objective" };
    (!named.is_empty()).then(|| AnswerLine::new(name, value, named.join(", ")).toned(tone))
}

fn completed(run: &Run, trial: &Trial, outcome: Outcome) -> AnswerLine {
    let rates = &trial.rates;
    let good = outcome.good_rate.filter(|_| trial.measured.tally.unexpected_status > 0);
    let good = good.map_or_else(String::new, |good| format!("; good answers: {}/s", number(good)));
    let in_flight = match waiting_for_streams(trial) {
        Some((in_flight, waiting)) => {
            format!("{} in flight and {} more waiting for a stream{good}", number(in_flight), number(waiting))
        }
        None => format!("{} in flight{good}", number(rates.concurrency)),
    };
    let closed = matches!(trial.intensity, Intensity::Closed { .. });
    let detail = match closed {
        true => format!("with {in_flight}"),
        false => format!(
            "of {} offered, {} sent; {in_flight}",
            quantity(rates.offered_rate, Unit::PerSecond),
            quantity(rates.sent_rate, Unit::PerSecond)
        ),
    };
    AnswerLine::new("Completed", format!("{} {}", number(rates.completed_rate), rate::unit(run)), detail)
}

/// Returns the summary line with the share of the offered rate that was sent, and with the delays until requests were
/// sent. Returns `None` for a load without a rate. The line is optional, because the line with the completed rate also
/// has the sent rate.
fn sent(trial: &Trial) -> Option<AnswerLine> {
    use SummaryFigure::{Max, P50, P99};
    let share = quantity(trial.rate_ratio?, Unit::Share);
    let lag = Some(&trial.schedule_lag_us).filter(|lag| lag.count > 0);
    let lag = lag.map_or(String::new(), |lag| format!("; schedule lag: {}", percentiles(lag, &[P50, P99, Max])));
    Some(AnswerLine::new("Sent", share, format!("of the offered rate{lag}")).optional())
}

/// Returns the mean number of requests in flight at the server, and the mean number of requests that waited in the
/// generator for a free stream (HTTP/2, HTTP/3). Returns `None` for an open loop, or if no request had to wait because
/// of the server's limit on streams.
fn waiting_for_streams(trial: &Trial) -> Option<(f64, f64)> {
    let Intensity::Closed { connections, pipeline, .. } = trial.intensity else { return None };
    let limit = trial.stream_limit.filter(|limit| *limit < pipeline)?;
    let (concurrency, most) = (trial.rates.concurrency, f64::from(connections) * f64::from(limit));
    (concurrency > most).then_some((most, concurrency - most))
}

/// Returns the summary line about a server that allows fewer streams on a connection than the load needs.
fn stream_limit(trial: &Trial) -> Option<AnswerLine> {
    let asked = trial.intensity.pipeline();
    let limit = trial.stream_limit.filter(|limit| *limit < asked)?;
    let told = format!(
        "the server allows {} at once on a connection, fewer than --streams {asked}: further ones wait in the generator; \
         service times begin when a request leaves",
        counted(f64::from(limit), "request")
    );
    Some(AnswerLine::new("Note", "", told))
}

/// Returns the summary line with percentiles of the response time. The line also states when the measurement of a
/// response time starts.
fn latency(trial: &Trial, new_connections: bool) -> AnswerLine {
    let response = &trial.latency_us;
    if response.count == 0 {
        let nothing = match (trial.measured.tally.completed, trial.tally.completed) {
            (0, 0) => "nothing completed".into(),
            (0, n) => {
                format!("nothing completed in the measured window ({} before or after it)", counted(n as f64, "answer"))
            }
            (n, _) => format!("none of {} in the measured window was good", counted(n as f64, "answer")),
        };
        return AnswerLine::new("Latency", "unknown:", nothing).toned(Tone::Bad);
    }
    let open = matches!(trial.intensity, Intensity::Open { .. } | Intensity::SClients { .. });
    let since = match (open, new_connections) {
        (true, false) => "from the intended start",
        (true, true) => "from the intended start, with the connect",
        (false, true) => "from the connect",
        (false, false) if waiting_for_streams(trial).is_some() => "with the wait for a stream",
        (false, false) => "from the send",
    };
    use SummaryFigure::{Max, P50, P90, P99, P999};
    let told = percentiles(response, &[P50, P90, P99, P999, Max]);
    AnswerLine::new("Latency", told, format!("({since})")).leading("latency")
}

/// Returns the summary line with percentiles of the time to the first byte, and of the time from the first byte to the
/// last byte. Returns `None` if the times to the first byte are unknown, or if they hardly differ from the response
/// times because the answers are short.
fn first_byte(trial: &Trial) -> Option<AnswerLine> {
    let (first, last) = (&trial.first_byte_us, &trial.latency_us);
    let told = |times| percentiles(times, &[SummaryFigure::P50, SummaryFigure::P99, SummaryFigure::P999]);
    if first.count == 0 || told(first) == told(last) || parts::is_transfer_negligible(trial) {
        return None;
    }
    Some(AnswerLine::new("First byte", told(first), parts::transfer(trial)))
}

/// Returns the main figure with two counts: the requests and the connections of the load.
fn counts(trial: &Trial) -> KeyFigure {
    let tally = &trial.tally;
    let detail = format!(
        "{} sent{}, {} of {} established",
        count(tally.sent),
        test_requests(trial),
        count(tally.connected),
        counted(tally.attempted as f64, "connection")
    );
    KeyFigure { name: "Requests".into(), value: count(tally.completed), detail, tone: Tone::Plain }
}

/// Returns a remark about the requests that loadline sent before or after the load to test the server; empty if there
/// were none. Without the remark, a replay of 800 requests would show a count of 801 without a reason.
fn test_requests(trial: &Trial) -> String {
    match trial.test_requests {
        0 => String::new(),
        1 => " (1 of them a test request)".into(),
        n => format!(" ({} of them test requests)", count(n)),
    }
}

/// Returns the summary line about actions that the server took without a request, such as closing connections.
fn acts(run: &Run, trial: &Trial) -> Option<AnswerLine> {
    let told = server_acts::sentences(&run.plan.load.protocol, trial).join("; ");
    (!told.is_empty()).then(|| AnswerLine::new("Note", "", told))
}

/// Returns the summary line about errors: the share of failed requests in the measured window, and the number of
/// failures in the whole load.
fn errors(trial: &Trial, outcome: Outcome) -> AnswerLine {
    let tally = &trial.tally;
    let never_sent = trial.never_sent();
    let unanswered = trial.failures(tally).saturating_add(tally.unanswered).saturating_add(never_sent);
    let (bad, all) = (unanswered.saturating_add(tally.unexpected_status), unanswered.saturating_add(tally.completed));
    let failures = Some(failures(trial)).filter(|text| !text.is_empty());
    if bad == 0 {
        let of_all = format!("of {}{}", counted(all as f64, "request"), test_requests(trial));
        let detail = [Some(of_all), failures].into_iter().flatten();
        return AnswerLine::new("Errors", "none", detail.collect::<Vec<_>>().join("; "));
    }
    let (share, of_which) = match outcome.failed_share {
        Some(share) => (share, format!("of the measured requests ({} of {} in all)", count(bad), count(all))),
        None => (bad as f64 / all as f64, format!("of {}", counted(all as f64, "request"))),
    };
    let refused = trial.histograms.get("refused").filter(|hist| !hist.is_empty());
    let refused =
        refused.map(|hist| format!("refusals took {} (median)", quantity(hist.quantile_us(0.5), Unit::Micros)));
    let first = first_failures::sentences(trial);
    // A terminal may cut the end of the line, so the server's own words come early.
    let detail: Vec<String> = [of_which].into_iter().chain(first).chain(failures).chain(refused).collect();
    AnswerLine::new("Errors", quantity(share, Unit::Share), detail.join("; ")).toned(Tone::Bad)
}

/// Lists the kinds of failures with their counts. If failed connects do not count as failed requests, each kind of
/// failed connects is listed with the number of all connects.
fn failures(trial: &Trial) -> String {
    let tally = &trial.tally;
    if !trial.counts_connects_apart() {
        return super::trials::failures(tally);
    }
    let (connects, others) = tally.errors.0.iter().partition(|(kind, _)| kind.is_of_connect());
    let requests = super::trials::failures(&Tally { errors: run::Errors(others), ..tally.clone() });
    let requests = Some(requests).filter(|text| !text.is_empty());
    let never_sent = Some(trial.never_sent()).filter(|n| *n > 0).map(|n| format!("{} never sent", count(n)));
    let connects: std::collections::BTreeMap<run::ErrorKind, u64> = connects;
    let all = count(tally.attempted);
    let connects = connects.iter().map(|(kind, n)| format!("{} of {all} {}", count(*n), kind.words()));
    requests.into_iter().chain(never_sent).chain(connects).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use run::{ErrorKind, Hist};

    use super::*;

    /// In a real replay of 800 recorded requests, an earlier version of loadline printed "801 sent" without a reason.
    #[test]
    fn the_test_request_is_named_beside_the_counts() {
        let mut trial = Trial::default();
        (trial.tally.sent, trial.tally.completed, trial.test_requests) = (801, 801, 1);
        assert!(counts(&trial).detail.starts_with("801 sent (1 of them a test request), "), "{:?}", counts(&trial));
        let line = errors(&trial, Outcome::default());
        assert_eq!(line.detail, "of 801 requests (1 of them a test request)");
        trial.test_requests = 2;
        assert!(counts(&trial).detail.starts_with("801 sent (2 of them test requests), "), "{:?}", counts(&trial));
    }

    /// The number of failures covers the whole load, but the share of failures covers only the measured window. The
    /// text about errors must name the period of each figure.
    #[test]
    fn the_share_of_errors_and_their_number_name_their_bases() {
        let mut trial = Trial::default();
        trial.tally.completed = 400;
        trial.tally.errors.0.insert(ErrorKind::Reset, 373);
        let outcome = Outcome { failed_share: Some(0.541), ..Outcome::default() };
        let figure = errors(&trial, outcome);
        assert_eq!(figure.value, "54.1 %");
        assert!(figure.detail.starts_with("of the measured requests (373 of 773 in all)"), "{figure:?}");
        let unmeasured = errors(&trial, Outcome::default());
        assert!(unmeasured.value == "48.3 %" && unmeasured.detail.starts_with("of 773 requests"), "{unmeasured:?}");
        let mut refused = Hist::new();
        refused.record_ns(3_800_000);
        trial.histograms.insert("refused".into(), refused);
        assert!(errors(&trial, outcome).detail.contains("refusals took 3.8"), "{:?}", errors(&trial, outcome));
        assert_eq!(errors(&Trial::default(), Outcome::default()).value, "none");
    }

    #[test]
    fn refused_connects_beside_answered_requests_are_told_apart() {
        let mut trial = Trial { intensity: open_loop(), ..Trial::default() };
        trial.tally = Tally { attempted: 34, connected: 8, due: 350, sent: 350, completed: 350, ..Tally::default() };
        trial.tally.errors.0.insert(ErrorKind::ConnectRefused, 26);
        let line = errors(&trial, Outcome { failed_share: Some(0.0), ..Outcome::default() });
        assert_eq!((&*line.value, &*line.detail), ("none", "of 350 requests; 26 of 34 connects refused"));
        trial.tally.due = 400;
        let line = errors(&trial, Outcome { failed_share: Some(0.125), ..Outcome::default() });
        assert!(line.detail.contains("(50 of 400 in all)"), "{line:?}");
        assert!(line.detail.ends_with("; 50 never sent, 26 of 34 connects refused"), "{line:?}");
    }

    #[test]
    fn a_search_for_the_cause_is_advised_only_if_no_cause_is_named() {
        let mut run = Run { trials: vec![Trial::default()], ..Run::default() };
        run.plan.command = "load".into();
        run.findings.outcomes = vec![Outcome::default()];
        let advised = |id: &str| {
            let mut run = run.clone();
            run.findings.bottleneck.id = id.into();
            !end_of_answer(&run).is_empty()
        };
        assert_eq!(["", "unknown", "not-saturated", "server-cpu"].map(advised), [true, true, true, false]);
    }

    fn open_loop() -> Intensity {
        Intensity::Open { rate: 100.0, arrival: run::Arrival::Constant, max_connections: 64, pipeline: 1 }
    }

    #[test]
    fn a_load_with_a_rate_names_the_share_that_was_sent_and_the_lag() {
        assert_eq!(sent(&Trial::default()), None);
        let schedule_lag_us = run::Summary { count: 9, p50: 12.0, p99: 85.0, max: 1200.0, ..run::Summary::default() };
        let trial = Trial { rate_ratio: Some(0.987), schedule_lag_us, ..Trial::default() };
        let line = sent(&trial).unwrap();
        assert_eq!((line.name.as_str(), line.value.as_str()), ("Sent", "98.7 %"));
        assert!(line.detail.starts_with("of the offered rate; schedule lag: p50 12"), "{line:?}");
        assert!(line.detail.contains("max 1.2"), "{line:?}");
    }

    #[test]
    fn a_limit_of_streams_is_told_with_the_requests_that_wait_for_one() {
        let intensity = Intensity::Closed { connections: 2, pipeline: 16, think: run::ThinkTime::default() };
        let mut trial = Trial { intensity, stream_limit: Some(3), ..Trial::default() };
        trial.rates.concurrency = 32.0;
        let line = completed(&Run::default(), &trial, Outcome::default());
        assert_eq!(line.detail, "with 6 in flight and 26 more waiting for a stream");
        let limit = stream_limit(&trial).unwrap().detail;
        assert!(limit.contains("3 requests at once on a connection") && limit.contains("16"), "{limit}");
        trial.stream_limit = Some(100);
        assert_eq!(completed(&Run::default(), &trial, Outcome::default()).detail, "with 32 in flight");
        assert_eq!(stream_limit(&trial), None);
    }

    /// In this test, every answer in the measured window has an unexpected status.
    #[test]
    fn refusals_are_no_completion_and_their_words_come_before_the_counts() {
        let mut trial = Trial::default();
        (trial.tally.completed, trial.tally.unexpected_status) = (3000, 2990);
        (trial.measured.tally.completed, trial.measured.tally.unexpected_status) = (1585, 1585);
        let kind = run::FailureKind::Status(String::new());
        trial.first_failures = vec![run::FirstFailure { kind, at_s: 0.0263, reason: "\"-NOAUTH\"".into() }];
        assert_eq!(latency(&trial, false).detail, "none of 1,585 answers in the measured window was good");
        let outcome = Outcome { good_rate: Some(0.0), failed_share: Some(1.0), ..Outcome::default() };
        let line = completed(&Run::default(), &trial, outcome);
        assert!(line.detail.ends_with("good answers: 0/s"), "{line:?}");
        let detail = errors(&trial, outcome).detail;
        let words = detail.find("first error answer at 26.3 ms: \"-NOAUTH\"").unwrap();
        assert!(words < 60, "{detail}");
    }

    #[test]
    fn a_broken_limit_of_errors_is_named_although_nobody_gave_it() {
        let mut run = Run::default();
        assert_eq!(objective(&run, Outcome { held: true, ..Outcome::default() }), None);
        run.plan.objective.errors = 0.001;
        let breach = Breach { kind: BreachKind::Errors, value: Some(0.03), limit: Some(0.001), at_least: false };
        let figure = objective(&run, Outcome { breach: Some(breach), ..Outcome::default() }).unwrap();
        assert_eq!((figure.value.as_str(), figure.detail.as_str()), ("not met:", "errors at most 0.1 % (--errors)"));
        assert_eq!(figure.name, "Limit", "nobody gave an objective");
        let breach = Breach { kind: BreachKind::Behind, value: Some(0.8999), limit: Some(0.9), at_least: false };
        let figure = objective(&run, Outcome { breach: Some(breach), ..Outcome::default() }).unwrap();
        assert_eq!(figure.detail, "at least 90 % of the offered load completed");
        run.plan.objective.p99_us = Some(20_000.0);
        assert_eq!(objective(&run, Outcome::default()).unwrap().name, "Objective");
    }
}

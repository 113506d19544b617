//! Assigns each span of the server to the load test in whose measurement it began.

use std::ops::Range;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use run::{Run, Trial};

use crate::Watch;

/// Maximum time to wait for the last spans, seconds. By default, senders send their spans every 5 s (OpenTelemetry,
/// OTEL_BSP_SCHEDULE_DELAY).
const LAST_SPANS_S: f64 = 6.0;
/// Length of the last part of the last measurement, nanoseconds. A span that began in the last part of the measurement
/// shows that the sender has sent all spans of the measurement.
const LAST_SPAN_NS: u64 = 100_000_000;

/// Returns the time of day, seconds since 1970.
pub(super) fn unix_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Adds to each load test the spans that began in its measurement.
pub(super) fn add(run: &mut Run, receiver: &spans::Receiver, watch: &mut dyn Watch) {
    let Some(last) = run.trials.iter().rev().find_map(window_ns) else { return };
    watch.phase("waiting for the last spans", LAST_SPANS_S);
    let until_ns = last.end.saturating_sub(LAST_SPAN_NS);
    receiver.settle(until_ns, Duration::from_secs_f64(LAST_SPANS_S), &|| watch.stop());
    for trial in &mut run.trials {
        let profile = window_ns(trial).map(|times_ns| receiver.profile(&times_ns));
        trial.spans = profile.filter(|profile| profile.traces > 0).map(Box::new);
    }
    if run.trials.iter().all(|trial| trial.spans.is_none()) {
        let addr = receiver.addr();
        let text = format!(
            "no spans arrived: start the server with OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://{addr}/v1/traces, and send \
             trace contexts with --traceparent if it samples only requests that have one"
        );
        run.notes.push(run::Note { text, is_warning: true });
    }
}

/// Returns start and end of a load test's measurement, nanoseconds since 1970.
fn window_ns(trial: &Trial) -> Option<Range<u64>> {
    let began_s = trial.measured.load_began_unix_s?;
    let window = &trial.measured.window;
    let ns = |at_s: f64| ((began_s + at_s) * 1e9).max(0.0) as u64;
    Some(ns(window.begin_s)..ns(window.end_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Nobody;
    use run::{Measured, Window};
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    #[test]
    fn spans_belong_to_the_trial_in_whose_window_they_began() {
        let receiver = spans::Receiver::start("127.0.0.1:0".parse().unwrap()).unwrap();
        let trial = |begin_s: f64| {
            let window = Window { begin_s, end_s: begin_s + 1.0 };
            let measured = Measured { load_began_unix_s: Some(1000.0), window, ..Measured::default() };
            Trial { measured, ..Trial::default() }
        };
        let span = |trace: u32, at_ns: u64| {
            format!(
                r#"{{"traceId":"{trace:032x}","spanId":"{trace:016x}","name":"GET /","startTimeUnixNano":"{at_ns}","endTimeUnixNano":"{}"}}"#,
                at_ns + 5000
            )
        };
        let all = [span(1, 1_000_500_000_000), span(2, 1_000_600_000_000), span(3, 1_005_990_000_000)].join(",");
        let body = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{all}]}}]}}]}}"#);
        let mut stream = TcpStream::connect(receiver.addr()).unwrap();
        let head = "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json";
        write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        assert!(stream.read(&mut [0; 512]).unwrap() > 0);
        let mut run = Run { trials: vec![trial(0.0), trial(2.0), trial(5.0)], ..Run::default() };
        add(&mut run, &receiver, &mut Nobody);
        let traces: Vec<u64> = run.trials.iter().map(|t| t.spans.as_ref().map_or(0, |spans| spans.traces)).collect();
        assert_eq!((traces, run.notes.len()), (vec![2, 0, 1], 0));
    }
}

//! Parts of a response time: connect, handshake, wait and transfer. Each part is its own distribution, so percentiles
//! of parts do not add up to a percentile of the response time.

use run::number::quantity;
use run::{Run, Summary, SummaryFigure, Trial};

use super::times::percentiles;
use crate::{AnswerLine, Unit};

/// Maximum share for which the report leaves out the transfer (the time from the first byte to the last). The share is
/// the transfer's 99th percentile, divided by that of the response time.
const MIN_TRANSFER_SHARE: f64 = 0.01;

/// Returns true if the report leaves out the time from the first byte of an answer to its last byte, because it is
/// known and very short.
pub(super) fn is_transfer_negligible(trial: &Trial) -> bool {
    let (transfer, response) = (&trial.transfer_us, &trial.latency_us);
    transfer.count > 0 && transfer.p99 <= MIN_TRANSFER_SHARE * response.p99
}

/// Returns the summary line with the parts of the response time. Connect and handshake are parts only if each request
/// has its own connection. Leaves out the transfer (the time from the first byte to the last) if the transfer is
/// negligible. Returns `None` if the lines about the response time and about the first byte already contain all
/// figures.
pub(super) fn line(run: &Run, trial: &Trial) -> Option<AnswerLine> {
    let new_connections = run.plan.load.new_connections;
    let opening = [("connect", &trial.connect_us), (handshake(run), &trial.handshake_us)];
    let has_transfer = !is_transfer_negligible(trial);
    let transfer = Some(("transfer", &trial.transfer_us)).filter(|_| has_transfer);
    let answering = [("wait", &trial.wait_us)].into_iter().chain(transfer);
    let all = opening.into_iter().filter(|_| new_connections).chain(answering);
    let known: Vec<(&str, &Summary)> = all.filter(|(_, times)| times.count > 0).collect();
    // Without a transfer, the wait is the whole service time.
    let is_known = has_transfer && !trial.transfer_us.is_empty() || known.iter().any(|(name, _)| *name != "wait");
    let is_told = !new_connections && figures(&trial.wait_us) == figures(&trial.first_byte_us);
    let text: Vec<String> = known.iter().map(|(name, times)| format!("{name} {}", figures(times))).collect();
    let line = || AnswerLine::new("Parts", text.join("; "), "").leading("latency").optional();
    (is_known && !is_told).then(line)
}

/// Returns the end of the line about the first byte, which states the time from the first byte to the last byte.
pub(super) fn transfer(trial: &Trial) -> String {
    match trial.transfer_us.count {
        // A run of an earlier version of loadline contains only the mean time to the last byte.
        0 => format!("(then {} on average to the last byte)", mean_transfer(trial)),
        _ => format!("(then {} to the last byte)", figures(&trial.transfer_us)),
    }
}

fn mean_transfer(trial: &Trial) -> String {
    quantity(trial.latency_us.mean - trial.first_byte_us.mean, Unit::Micros)
}

fn figures(times: &Summary) -> String {
    percentiles(times, &[SummaryFigure::P50, SummaryFigure::P99])
}

/// Returns the name of the handshake: `TLS` if the handshake consists only of TLS. The wait for the answer to a request
/// in early data begins with the handshake.
fn handshake(run: &Run) -> &'static str {
    match &run.plan.load.tls {
        Some(tls) if tls.early_data => "handshake (part of the wait with early data)",
        Some(_) if run.plan.load.protocol.name() == "http1" => "TLS",
        _ => "handshake",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Protocol, TlsPlan};

    fn times(p50: f64) -> Summary {
        Summary { count: 9, p50, p99: 3.0 * p50, ..Summary::default() }
    }

    #[test]
    fn a_line_names_each_part_that_is_known() {
        let mut run = Run::default();
        run.plan.load.protocol = Protocol::default();
        let mut trial = Trial { wait_us: times(200.0), latency_us: times(200.0), ..Trial::default() };
        (trial.connect_us, trial.handshake_us) = (times(50.0), times(900.0));
        assert_eq!(line(&run, &trial), None, "only the wait is a part of such response times");
        (trial.first_byte_us, trial.transfer_us) = (times(200.0), times(10.0));
        assert_eq!(line(&run, &trial), None, "the line \"First byte\" has the wait and the transfer");
        assert_eq!(transfer(&trial), "(then p50 10 µs, p99 30 µs to the last byte)");
        trial.first_byte_us = times(700.0);
        let quick = Trial { transfer_us: times(1.0), ..trial.clone() };
        assert!(is_transfer_negligible(&quick) && line(&run, &quick).is_none(), "{:?}", line(&run, &quick));
        let told = line(&run, &trial).unwrap().value;
        assert_eq!(told, "wait p50 200 µs, p99 600 µs; transfer p50 10 µs, p99 30 µs");
        (run.plan.load.new_connections, trial.transfer_us) = (true, Summary::default());
        assert!(line(&run, &trial).unwrap().value.contains("; handshake p50 900 µs"), "{:?}", line(&run, &trial));
        (run.plan.load.tls, trial.transfer_us) = (Some(TlsPlan::default()), times(10.0));
        let told = line(&run, &trial).unwrap().value;
        let expected = "connect p50 50 µs, p99 150 µs; TLS p50 900 µs, p99 2.7 ms; wait p50 200 µs, p99 600 µs; \
                        transfer p50 10 µs, p99 30 µs";
        assert_eq!(told, expected);
    }
}

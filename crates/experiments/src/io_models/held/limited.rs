//! Bottleneck of a trial with many connections. If the server held (accepted and kept) fewer connections than
//! attempted, the bottleneck is the cause of the difference. If the server handled the whole offered load, there is no
//! bottleneck. In all other cases, the bottleneck is the judge's verdict on the trial.

use run::{Bottleneck, LimitedBy, Run, Trial};

use super::ended::Ended;
use crate::values::BYTES_PER_S;

/// Minimum share of the offered load that a server must handle, to count as handling all of it. The minimum is below 1,
/// because the number of messages in the measured window varies a little. A server that handles more than 1 / `SERVED`
/// of the offered load works off an earlier backlog, so it was at its limit before.
const SERVED: f64 = 0.95;
/// Minimum confidence of a verdict that counts as sure.
const SURE: f64 = 0.6;

/// Judges a trial as if its run had no other trial, and stores the bottleneck in the trial's results.
pub(crate) fn put_limited(trial: &mut Trial, offered_bytes_per_s: Option<f64>, ended: Option<&Ended>) {
    let mut alone = Run { trials: vec![trial.clone()], ..Run::default() };
    judge::judge(&mut alone);
    let (limited_by, why) = limited_by(trial, &alone.findings.bottleneck, offered_bytes_per_s, ended);
    trial.notes.push(format!("what limited it: {limited_by} ({why})"));
    trial.results.limited_by = Some(limited_by);
}

/// Returns the bottleneck of a trial, and the reason. `found` is the verdict on the trial. `offered` is the maximum
/// load of the trial's connections, bytes per second. `offered` is `None` if each connection sends again as soon as it
/// gets a response.
fn limited_by(trial: &Trial, found: &Bottleneck, offered: Option<f64>, ended: Option<&Ended>) -> (LimitedBy, String) {
    if let Some((id, ended)) = ended.and_then(|e| Some((e.id?, e))) {
        return (surely(id), ended.words.clone());
    }
    let sent = trial.results.get(BYTES_PER_S).unwrap_or(0.0);
    match offered.filter(|offered| ended.is_none() && (SERVED..=1.0 / SERVED).contains(&(sent / offered))) {
        Some(offered) => (surely("not-saturated"), not_saturated(offered, found)),
        None => said(found, offered.filter(|offered| sent * SERVED > *offered)),
    }
}

fn surely(id: &str) -> LimitedBy {
    LimitedBy { id: id.into(), sure: true }
}

/// Describes a server that holds all connections and handles their whole load. The text also mentions a bottleneck that
/// the verdict found. Some I/O models, for example, search all connections at every wait, and therefore use all CPU
/// time at any load.
fn not_saturated(offered: f64, beside: &Bottleneck) -> String {
    let beside = match beside.id.as_str() {
        "unknown" | "not-saturated" => String::new(),
        _ => format!("; yet {}", beside.sentence),
    };
    format!("all are held, and the {:.2} MB/s that they offer are served{beside}", offered / 1e6)
}

/// Returns the trial's bottleneck according to the verdict `found`, with a description of the bottleneck. `piled_up` is
/// the offered load in bytes per second if the server handled more than this load, because it worked off a backlog.
fn said(found: &Bottleneck, piled_up: Option<f64>) -> (LimitedBy, String) {
    let sure = found.id == "unknown" || found.confidence >= SURE;
    let more = piled_up.map_or_else(String::new, |offered| {
        format!("; what had piled up is served, more than the {:.2} MB/s that are offered", offered / 1e6)
    });
    (LimitedBy { id: found.id.clone(), sure }, format!("{}{more}", found.sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(id: &str, confidence: f64) -> Bottleneck {
        Bottleneck { id: id.into(), confidence, ..Bottleneck::default() }
    }

    #[test]
    fn nothing_limits_a_server_that_handles_all_offered_load() {
        let of = |sent: f64, ended: Option<&Ended>| {
            let mut trial = Trial::default();
            trial.results.put(BYTES_PER_S, sent);
            limited_by(&trial, &found("unknown", 0.0), Some(200_000.0), ended)
        };
        let served = |share: f64| of(share * 200_000.0, None).0 == surely("not-saturated");
        assert_eq!([0.9, 1.0, 1.04, 2.0].map(served), [false, true, true, false]);
        assert!(of(400_000.0, None).1.contains("piled up"), "{:?}", of(400_000.0, None));
        let descriptors = Ended { id: Some("server-fds"), words: "descriptors".into() };
        assert_eq!(of(200_000.0, Some(&descriptors)).0, surely("server-fds"), "what ended them comes first");
        let time = Ended { id: None, words: "time".into() };
        assert!(of(200_000.0, Some(&time)).0 == surely("unknown"), "not all are held");
    }

    #[test]
    fn a_guess_has_a_question_mark() {
        assert_eq!(said(&found("client-cpu", 0.5), None).0.to_string(), "client-cpu?");
        assert_eq!(said(&found("client-cpu", 0.95), None).0.to_string(), "client-cpu");
        assert_eq!(said(&found("unknown", 0.0), None).0.to_string(), "unknown");
    }
}

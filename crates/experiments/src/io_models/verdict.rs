//! What limited a row, and why: what ended its connections; else nothing, where all that its blocks offer
//! is served; else what judge says of the row alone.

use run::{Bottleneck, LimitedBy, LoadPlan, Protocol, Run, Trial};

use super::held::Ended;

/// Share of what the blocks offer from which all of it is served: a window begins and ends between two messages. As much
/// beyond the whole, what had piled up is served, and then something else limits.
const SERVED: f64 = 0.95;
/// A verdict that is less sure is a guess.
const SURE: f64 = 0.6;

/// Puts what limited a row among its results, and the reason in a note.
pub(super) fn put(trial: &mut Trial, plans: &[LoadPlan], ended: Option<&Ended>) {
    let (limited_by, why) = verdict(trial, plans, ended);
    trial.notes.push(format!("what limited it: {limited_by} ({why})"));
    trial.results.limited_by = Some(limited_by);
}

fn surely(id: &str) -> LimitedBy {
    LimitedBy { id: id.into(), sure: true }
}

fn verdict(trial: &Trial, plans: &[LoadPlan], ended: Option<&Ended>) -> (LimitedBy, String) {
    if let Some((id, ended)) = ended.and_then(|e| Some((e.id?, e))) {
        return (surely(id), ended.words.clone());
    }
    let mut alone = Run { trials: vec![trial.clone()], ..Run::default() };
    judge::judge(&mut alone);
    let found = alone.findings.bottleneck;
    let offered: Option<f64> = plans.iter().map(offered_bytes_per_s).sum();
    let sent = trial.results.bytes_per_s.unwrap_or(0.0);
    match offered.filter(|offered| ended.is_none() && (SERVED..=1.0 / SERVED).contains(&(sent / offered))) {
        Some(offered) => (surely("not-saturated"), not_saturated(offered, &found)),
        None => said(&found, offered.filter(|offered| sent * SERVED > *offered)),
    }
}

/// All connections are held, and all that they offer is served. A processor that is full nevertheless is said: models that
/// search all their connections at every wait take what there is of it, whatever the load.
fn not_saturated(offered: f64, beside: &Bottleneck) -> String {
    let beside = match beside.id.as_str() {
        "unknown" | "not-saturated" => String::new(),
        _ => format!("; yet {}", beside.sentence),
    };
    format!("all are held, and the {:.2} MB/s that they offer are served{beside}", offered / 1e6)
}

/// What judge says; `piled_up` is what the blocks offer where more than that is served.
fn said(found: &Bottleneck, piled_up: Option<f64>) -> (LimitedBy, String) {
    let sure = found.id == "unknown" || found.confidence >= SURE;
    let more = piled_up.map_or_else(String::new, |offered| {
        format!("; what had piled up is served, more than the {:.2} MB/s that are offered", offered / 1e6)
    });
    (LimitedBy { id: found.id.clone(), sure }, format!("{}{more}", found.sentence))
}

/// What a load sends at most; nothing where only its answers limit it.
fn offered_bytes_per_s(plan: &LoadPlan) -> Option<f64> {
    let Protocol::Echo { message_bytes } = plan.protocol else { return None };
    let pause_ns = plan.blocks.as_ref()?.pause_ns(message_bytes);
    (pause_ns > 0).then(|| message_bytes as f64 / pause_ns as f64 * 1e9)
}

#[cfg(test)]
mod tests {
    use run::Blocks;

    use super::super::loads::plan;
    use super::*;
    use crate::Parameters;

    fn block(block_rate_bytes_per_s: f64) -> LoadPlan {
        plan(&Parameters::default(), 1000, Blocks { block_rate_bytes_per_s, ..Blocks::default() }, &[])
    }

    #[test]
    fn blocks_that_are_not_limited_offer_without_bound() {
        assert_eq!(offered_bytes_per_s(&block(0.0)), None);
        assert!(offered_bytes_per_s(&block(200_000.0)).is_some_and(|v| (v - 200_000.0).abs() < 1.0));
    }

    #[test]
    fn nothing_limits_a_row_that_holds_all_and_serves_what_they_offer() {
        let plans = [block(200_000.0)];
        let of = |sent: f64, ended: Option<&Ended>| {
            let mut trial = Trial::default();
            trial.results.bytes_per_s = Some(sent);
            verdict(&trial, &plans, ended)
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
        let found = |id: &str, confidence| Bottleneck { id: id.into(), confidence, ..Bottleneck::default() };
        assert_eq!(said(&found("client-cpu", 0.5), None).0.to_string(), "client-cpu?");
        assert_eq!(said(&found("client-cpu", 0.95), None).0.to_string(), "client-cpu");
        assert_eq!(said(&found("unknown", 0.0), None).0.to_string(), "unknown");
    }
}

//! Load tests in which the server sent answers without requests. In some protocols, only the order of the answers shows
//! to which request each answer belongs. If only the order of answers matters, one answer without a request assigns all
//! later answers on the connection to wrong requests.

use run::Trial;
use run::number::{count, prose::counted};

use super::conduct::Load;

/// Maximum share of answers that may belong to no request. With a larger share, answers without a request alone may
/// determine the 99th percentile.
const MAX_DOUBTFUL_SHARE: f64 = 0.01;
/// Name of the flag that makes answers without a request recognizable, in protocols that support the flag.
const TELLING_FLAG: &str = "answer-message";

/// Returns the reason, with advice, why the rate and the response time of the load test are unknown; `None` if they are
/// known.
pub(super) fn refusal(trial: &Trial, loads: &[Load<'_>]) -> Option<String> {
    let tally = &trial.tally;
    if tally.doubtful_share() <= MAX_DOUBTFUL_SHARE {
        return None;
    }
    let mut flags = loads.iter().flat_map(|load| proto::spec(&load.plan.protocol).flags);
    let advice = match flags.any(|flag| flag.name == TELLING_FLAG) {
        true => "say how answers are told: --expect-text, --id-pointer or --answer-message",
        false => "correct the server, which may answer requests twice",
    };
    Some(format!(
        "it sent answers that no request asked for, on connections with {} of its {}. Which of these answer \
         requests is unknown, so there is no rate and no response time; {advice}",
        count(tally.doubtful_answers),
        counted(tally.completed as f64, "answer")
    ))
}

#[cfg(test)]
mod tests {
    use run::{LoadPlan, Protocol, Tally};

    use super::*;
    use crate::Local;

    #[test]
    fn a_trial_with_answers_of_no_request_has_no_figure() {
        let said = |protocol: Protocol, doubtful_answers| {
            let plan = LoadPlan { protocol, ..LoadPlan::default() };
            let here = Local::default();
            let load = Load { host: &here, addr: run::Address::Unix("/s".into()), plan };
            let tally = Tally { completed: 1000, unasked_messages: 8, doubtful_answers, ..Tally::default() };
            refusal(&Trial { tally, ..Trial::default() }, &[load])
        };
        assert_eq!(said(Protocol::default(), 10), None);
        let twice = said(Protocol::default(), 900).unwrap();
        assert!(
            twice.starts_with("it sent answers that no request asked for, on connections with 900 of its 1,000"),
            "{twice}"
        );
        assert!(twice.ends_with("answer requests twice"), "{twice}");
        let pushes = said((proto::by_url("ws://h").unwrap().0.defaults)(), 900).unwrap();
        assert!(pushes.contains("--expect-text"), "{pushes}");
    }
}

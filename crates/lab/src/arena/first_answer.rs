//! Sends requests of a load to a server before the load starts, so that their answers can be checked.

use run::{ArenaAnswer, LoadPlan, Plan, TlsPlan};

use crate::preflight;
use crate::trial::authorized::check_authorized;
use crate::trial::target;

/// Maximum number of requests of a set whose answers are checked. The number is limited because the state of the
/// comparison stores the text of each checked answer.
pub(super) const MAX_CHECKED_REQUESTS: usize = 1000;
/// Maximum number of requests of a set whose answers are checked again in each turn. With at most 64 requests per turn,
/// the checks take only milliseconds.
const MAX_CHECKED_PER_TURN: usize = 64;

/// Returns the indexes of the requests of a load. Requests that are never sent are left out.
fn sent_requests(load: &LoadPlan) -> Vec<u16> {
    let Some(set) = &load.requests else { return vec![0] };
    let sent = (0..=u16::MAX).zip(&set.requests).filter(|(_, request)| request.weight > 0.0);
    sent.map(|(item, _)| item).collect()
}

/// Returns the indexes of the requests whose answers are checked.
pub(super) fn checked_requests(load: &LoadPlan) -> Vec<u16> {
    sent_requests(load).into_iter().take(MAX_CHECKED_REQUESTS).collect()
}

/// Returns the number of requests whose answers are not checked, because the set has too many requests.
pub(super) fn unchecked_requests(load: &LoadPlan) -> usize {
    sent_requests(load).len().saturating_sub(MAX_CHECKED_REQUESTS)
}

/// Returns the indexes of the requests whose answers are checked again in a turn. Turns of different rounds check
/// different parts of the set. If requests depend on each other or on a data table, every turn checks the beginning of
/// the set. If only a later part of the set were sent, its answers would differ.
pub(super) fn checked_in_turn(load: &LoadPlan, round: u64) -> Vec<u16> {
    let all = checked_requests(load);
    let depends = load.requests.as_ref().is_some_and(|set| set.templates || set.order == run::RequestOrder::Sequence);
    let parts = all.len().div_ceil(MAX_CHECKED_PER_TURN).max(1) as u64;
    let part = if depends { 0 } else { (round % parts) as usize };
    all.into_iter().skip(part * MAX_CHECKED_PER_TURN).take(MAX_CHECKED_PER_TURN).collect()
}

/// Sends the requests with the indexes `items` of the plan's load, and returns the answers in the order of `items`. If
/// an answer is missing, the error gives the reason.
pub(super) fn answers(plan: &Plan, items: &[u16]) -> Result<Vec<ArenaAnswer>, String> {
    let url = &plan.target.url;
    let found = target::resolve(url, &plan.load.protocol).map_err(|e| e.to_string())?;
    check_authorized(url, &found.addr, plan.target.authorized).map_err(|e| e.to_string())?;
    let tls = found.tls_name.map(|server_name| TlsPlan { server_name, ..plan.load.tls.clone().unwrap_or_default() });
    let load = LoadPlan { protocol: found.protocol, tls, ..plan.load.clone() };
    let responses = preflight::responses(&found.addr, &load, items)?;
    let answer = |(item, response): (&u16, run::TestResponse)| ArenaAnswer {
        request: *item,
        status: response.status,
        body_bytes: response.body_bytes,
        text: response.body,
    };
    Ok(items.iter().zip(responses).map(answer).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{RequestOrder, RequestPlan, RequestSet};

    fn load(weights: &[f64]) -> LoadPlan {
        let request = |weight: &f64| RequestPlan { weight: *weight, ..RequestPlan::default() };
        let set = RequestSet { requests: weights.iter().map(request).collect(), ..RequestSet::default() };
        LoadPlan { requests: Some(set), ..LoadPlan::default() }
    }

    #[test]
    fn every_request_that_is_sent_is_checked_and_again_in_the_turns() {
        assert_eq!(
            (checked_requests(&LoadPlan::default()), checked_requests(&load(&[1.0, 0.0, 2.0]))),
            (vec![0], vec![0, 2])
        );
        let mut many = load(&[1.0; 150]);
        let turns = [0, 1, 2, 3].map(|round| checked_in_turn(&many, round));
        assert_eq!(turns[..3].concat(), checked_requests(&many));
        assert_eq!((turns[3].clone(), unchecked_requests(&many)), (turns[0].clone(), 0));
        many.requests.as_mut().unwrap().order = RequestOrder::Sequence;
        assert_eq!(checked_in_turn(&many, 1), turns[0]);
        assert_eq!(unchecked_requests(&load(&[1.0; 1001])), 1);
    }
}

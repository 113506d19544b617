//! Turns the counted requests of a log into the requests to replay.

use std::collections::{BTreeMap, HashMap};

use run::{MAX_REQUESTS, RequestPlan};

use super::collected::CollectedLog;
use super::summary::Summary;
use crate::error::ReadError;
use crate::found::left_out_words;

/// Requests read from a log.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// Distinct requests, most frequent first. The weight of a request is its number of occurrences in the log.
    pub requests: Vec<RequestPlan>,
    /// Every request with a time, in order of time: microseconds since the first time in the log, and the index of the
    /// request in `requests`.
    pub times: Vec<(u64, u16)>,
    /// Number of requests left out, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// Description of the log.
    pub summary: Summary,
}

impl Replay {
    /// Builds the requests and their times. Fails if the log has no request to make.
    pub(super) fn new(mut log: CollectedLog, file: &str) -> Result<Self, ReadError> {
        if log.counts.is_empty() {
            return Err(no_request(log, file));
        }
        log.leave_out_early_times();
        let (requests, items) = most_frequent(&mut log);
        let whole = log.times.len() > 1 && log.times.iter().all(|(at, _)| at.fract() == 0.0);
        let times = since_first(log.times, whole, &items);
        let bad = log.first_bad.map(|(line, column, why)| format!("first at line {line}, column {column}: {why}"));
        log.summary.whole_seconds = whole;
        log.summary.fill(log.lines, &requests, &times, bad);
        log.summary.first_timeless = log.first_timeless;
        Ok(Self { requests, times, left_out: log.left_out, summary: log.summary })
    }
}

/// Returns the error about a log that has no request to replay.
fn no_request(log: CollectedLog, file: &str) -> ReadError {
    let (place, why) = match log.first_bad {
        Some((line, column, why)) => (Some((line, column)), format!("no line is a request to make: {why}")),
        None => (None, "no line is a request to make".to_owned()),
    };
    let message = left_out_words(&log.left_out).map_or(why.clone(), |words| format!("{why} ({words})"));
    ReadError { file: file.into(), place, message }
}

/// Returns the most frequent requests, at most [`MAX_REQUESTS`]. Also returns, for each request in `log.counts`, its
/// index in the list of most frequent requests, or `None` if the request is left out.
fn most_frequent(log: &mut CollectedLog) -> (Vec<RequestPlan>, Vec<Option<u16>>) {
    let mut different: Vec<((String, String), u32)> = std::mem::take(&mut log.indexes).into_iter().collect();
    let count = |place: u32| log.counts[place as usize].0;
    different.sort_by(|a, b| count(b.1).cmp(&count(a.1)).then_with(|| a.0.cmp(&b.0)));
    let rare: u64 = different.iter().skip(MAX_REQUESTS).map(|(_, place)| count(*place)).sum();
    if rare > 0 {
        log.left_out.insert("of the rarest beyond 65,535 different ones".into(), rare);
    }
    different.truncate(MAX_REQUESTS);
    let mut items = vec![None; log.counts.len()];
    (0..).zip(&different).for_each(|(item, (_, place)): (u16, _)| items[*place as usize] = Some(item));
    let requests = different.into_iter().map(|((method, path), place)| {
        let (made, bad) = &log.counts[place as usize];
        request(method, path, *made, bad)
    });
    (requests.collect(), items)
}

/// Returns each request's time in microseconds since the first request, and the request's index in the replay. If
/// `whole` (the log has only whole seconds), spreads the requests of each second over that second.
fn since_first(mut times: Vec<(f64, u32)>, whole: bool, items: &[Option<u16>]) -> Vec<(u64, u16)> {
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    if whole {
        spread(&mut times);
    }
    let first = times.first().map_or(0.0, |(at, _)| *at);
    times.iter().filter_map(|(at, place)| Some((((at - first) * 1e6) as u64, items[*place as usize]?))).collect()
}

/// Spreads the requests of each second evenly over that second, for a log that records only whole seconds.
fn spread(times: &mut [(f64, u32)]) {
    for second in times.chunk_by_mut(|a, b| a.0 == b.0) {
        let n = second.len() as f64;
        (0..).zip(second).for_each(|(i, (at, _))| *at += f64::from(i) / n);
    }
}

/// Returns the plan of a request that the log contains `made` times. `bad` contains, for each error status, the number
/// of the request's responses with that status.
fn request(method: String, path: String, made: u64, bad: &HashMap<u16, u64>) -> RequestPlan {
    let first = path.split(['/', '?']).nth(1).unwrap_or_default();
    let folder = path[1..].contains('/');
    let class = if folder { format!("{method} /{first}/") } else { format!("{method} /{first}") };
    // If more than half of a request's responses had the same error status, the replay accepts this status, too.
    let usual = bad.iter().max_by_key(|(status, n)| (**n, **status)).filter(|(_, n)| **n * 2 > made);
    RequestPlan {
        method,
        path,
        class,
        weight: made as f64,
        accept_status: usual.map(|(s, _)| *s),
        ..RequestPlan::default()
    }
}

//! Comparison of many servers under the same loads. Ranks the servers, and puts servers without significant differences
//! into one group.
//!
//! Servers are compared by their CPU time per request, at one common rate per load. In each round, every server is
//! measured once (a turn). Two servers without a significant difference are in one group. If A does not differ
//! significantly from B, nor B from C, all three are in one group (`stats::pairwise`). A server gets no group if its
//! capacity search or its turns were limited by a cause outside the server.

mod answers;
mod figures;
mod ranking;
mod rate;
mod search;
mod turn;

use std::collections::BTreeMap;

use run::{ArenaNoise, ArenaProfileResult, ArenaResult, ArenaState};

use crate::number::{counted, percent};

pub use answers::{ExpectedAnswers, wrong_turn};
pub use rate::{common_rate, takes_turns};
pub use search::searched;
pub(crate) use search::searched_through_stalls;
pub use turn::measured;

/// Returns the result of a finished or unfinished comparison.
pub fn result(state: &ArenaState) -> ArenaResult {
    let mut result = ArenaResult {
        format: state.format.clone(),
        file: state.file.clone(),
        started: state.started.clone(),
        seed: state.seed,
        budget_s: state.budget_s,
        used_s: state.used_s,
        interrupted: !state.done,
        notes: state.notes.clone(),
        ..ArenaResult::default()
    };
    for profile in 0..state.plan.profiles.len() {
        let cells = ranking::cells(state, profile);
        let noise = figures::noise(state, profile);
        result.notes.extend(noise.as_ref().and_then(warning));
        result.notes.extend(closed_loops(state, profile));
        result.profiles.push(profile_result(state, profile, cells.iter().filter_map(|cell| cell.group).max()));
        result.cells.extend(cells);
        result.noise.extend(noise);
    }
    result
}

fn profile_result(state: &ArenaState, profile: usize, groups: Option<u32>) -> ArenaProfileResult {
    let plan = &state.plan.profiles[profile];
    let turns = || state.turns.iter().filter(|turn| turn.place.profile == profile);
    ArenaProfileResult {
        profile: plan.name.clone(),
        load: words(plan),
        common_rate: turns().next().map(|turn| turn.rate),
        rounds: turns().map(|turn| turn.round + 1).max().unwrap_or(0),
        groups: groups.unwrap_or(0),
    }
}

/// Returns a load profile in words.
fn words(plan: &run::ArenaProfile) -> String {
    let what = plan.requests.as_ref().map_or_else(|| plan.path.clone(), |file| format!("the requests of {file}"));
    let scheme = if plan.https { "https" } else { "http" };
    let version = if plan.http2 { ", HTTP/2" } else { "" };
    let connections = match (plan.new_connections, plan.pipeline) {
        (true, _) => "a new connection per request".into(),
        (false, 1) => format!("up to {}", counted(f64::from(plan.connections), "connection")),
        (false, n) => {
            let connections = counted(f64::from(plan.connections), "connection");
            format!("up to {connections} with {} in flight each", counted(f64::from(n), "request"))
        }
    };
    format!("{scheme} {what}{version}, {connections}")
}

/// Returns notes that name the servers whose capacity comes from closed-loop clients, one note for each reason. A
/// capacity from closed-loop clients cannot be compared with open-loop capacities of other servers, if there are any.
fn closed_loops(state: &ArenaState, profile: usize) -> Vec<String> {
    let mut by_reason: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for search in state.searches.iter().filter(|search| search.place.profile == profile) {
        if let Some((entry, source)) = state.plan.entries.get(search.place.entry).zip(search.closed_loop) {
            by_reason.entry(source.words()).or_default().push(&entry.name);
        }
    }
    let is_open = |search: &run::ArenaSearch| search.capacity.is_some() && search.closed_loop.is_none();
    let has_open = state.searches.iter().any(|search| search.place.profile == profile && is_open(search));
    let note = |(reason, names): (String, Vec<&str>)| {
        let (whose, verb) = match names.as_slice() {
            [most @ .., last] if !most.is_empty() => {
                (format!("the capacities of {} and {last}", most.join(", ")), "are")
            }
            one => (format!("the capacity of {}", one.concat()), "is"),
        };
        match has_open {
            true => format!("{whose} {verb} not comparable with the others ({reason})"),
            false => format!("{whose} {verb} only known for a {reason}"),
        }
    };
    by_reason.into_iter().map(note).collect()
}

/// Returns a warning if two starts of one server give significantly different CPU times.
fn warning(noise: &ArenaNoise) -> Option<String> {
    let ratio = noise.ratio.filter(|_| !noise.tied)?;
    Some(format!(
        "two starts of {} under {} differ by {} in CPU time per request: do not trust smaller differences here",
        noise.entry,
        noise.profile,
        percent((ratio.value - 1.0).abs())
    ))
}

#[cfg(test)]
mod tests;

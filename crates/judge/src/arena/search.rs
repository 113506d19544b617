//! Results of the capacity search of one server: its capacity, its verdict, and any reason not to rank it.

use run::{
    ArenaCapacity, ArenaRefusal, ArenaRefusalKind, ArenaSearch, BreachKind, Capacity, Failure, IncidentKind, Run,
    TrialKind,
};

use crate::capacity::early_end;

/// IDs of verdicts that name the generator as the bottleneck.
const GENERATOR: [&str; 4] = ["client-cpu", "client-ports", "client-fds", "client-connects"];
/// IDs of verdicts that name the network as the bottleneck.
const MEDIUM: [&str; 2] = ["network-medium", "network-loss"];
/// ID of the verdict that a server refuses requests on purpose.
const REFUSES: &str = "server-rate-limit";
/// ID of the verdict that nothing was saturated.
const NOT_FULL: &str = "not-saturated";

/// Extracts from the run of a search the server's capacity, its verdict, and any reason not to rank it.
pub fn searched(run: &Run) -> ArenaSearch {
    searched_with(run, refused(run))
}

/// Extracts the result like [`searched`], but accepts a search in which the server gave no answers for some time. All
/// other reasons to refuse the result still count.
pub(crate) fn searched_through_stalls(run: &Run) -> ArenaSearch {
    searched_with(run, refused_otherwise(run))
}

fn searched_with(run: &Run, refused: Option<ArenaRefusal>) -> ArenaSearch {
    let found = run.findings.capacity.as_ref().filter(|capacity| capacity.held);
    // If the capacity is only a lower bound, its interval has no upper end.
    let at_least = refused.as_ref().is_some_and(|refused| refused.kind.is_lower_bound());
    let capacity = found.map(|capacity| ArenaCapacity {
        rate: capacity.rate,
        low: capacity.low.or(capacity.at_least.then_some(capacity.rate)).unwrap_or(f64::NAN),
        high: capacity.high.filter(|_| !at_least).unwrap_or(f64::NAN),
    });
    let bottleneck = Some(run.findings.bottleneck.id.clone());
    let closed_loop = found.and_then(|capacity| capacity.closed_loop);
    ArenaSearch { capacity, closed_loop, bottleneck, refused, ..ArenaSearch::default() }
}

fn refused(run: &Run) -> Option<ArenaRefusal> {
    let stall = stalled(run).filter(|_| ended(run).is_none());
    stall.map(|(kind, text)| ArenaRefusal { kind, text }).or_else(|| refused_otherwise(run))
}

/// Returns the reason not to rank the server, other than a time without answers.
fn refused_otherwise(run: &Run) -> Option<ArenaRefusal> {
    let found = ended(run).or_else(|| elsewhere(run)).or_else(|| missed(run)).or_else(|| bounded(run));
    found.map(|(kind, text)| ArenaRefusal { kind, text })
}

fn ended(run: &Run) -> Option<(ArenaRefusalKind, String)> {
    if run.findings.failure != Some(Failure::Died) {
        return None;
    }
    let incident = run.ended_by().map(|(_, incident)| incident);
    let by_generator =
        incident.is_some_and(|i| matches!(i.kind, IncidentKind::GeneratorStopped | IncidentKind::GeneratorEnded));
    let kind = if by_generator { ArenaRefusalKind::Stall } else { ArenaRefusalKind::Failed };
    Some((kind, incident.map_or("the search broke off".into(), |incident| incident.text.clone())))
}

/// Returns the first incident in which a server stopped answering, in any load of the sweep or of the search.
fn stalled(run: &Run) -> Option<(ArenaRefusalKind, String)> {
    let searched = run.trials.iter().filter(|t| matches!(t.kind, TrialKind::Sweep | TrialKind::Search));
    let mut incidents = searched.flat_map(|trial| &trial.incidents);
    let silence = incidents.find(|incident| incident.kind == IncidentKind::Silence)?;
    Some((ArenaRefusalKind::Stall, silence.text.clone()))
}

/// Returns the reason not to rank the server. The server refuses requests on purpose, no request completed, or the
/// server met the objective at none of the tested rates.
fn missed(run: &Run) -> Option<(ArenaRefusalKind, String)> {
    let sentence = || run.findings.bottleneck.sentence.clone();
    match run.findings.capacity.as_ref() {
        _ if run.findings.bottleneck.id == REFUSES => Some((ArenaRefusalKind::Errors, sentence())),
        None => Some((ArenaRefusalKind::Errors, "no request completed".into())),
        Some(capacity) if !capacity.held => {
            let why = capacity.failed_why.as_ref().map_or(String::new(), |why| format!(": {why}"));
            let text = format!("no rate that was tried held {}{why}", capacity.objective);
            Some((kind_of_miss(run, capacity), text))
        }
        Some(_) => None,
    }
}

/// Returns the kind of reason for which a server met the objective at no rate. The kind belongs to the limit that the
/// server exceeded at the rate that the reason names.
fn kind_of_miss(run: &Run, capacity: &Capacity) -> ArenaRefusalKind {
    let failed = run.outcomes().find(|(trial, _)| Some(trial.rates.offered_rate) == capacity.failed_at);
    match failed.and_then(|(_, outcome)| outcome.breach).map(|breach| breach.kind) {
        Some(BreachKind::Errors | BreachKind::NothingCompleted | BreachKind::Unanswered) => ArenaRefusalKind::Errors,
        _ => ArenaRefusalKind::Objective,
    }
}

/// Returns the reason not to rank the server if the generator or the network was the bottleneck. If the generator or
/// the network was the bottleneck, late requests are not the server's fault.
fn elsewhere(run: &Run) -> Option<(ArenaRefusalKind, String)> {
    let verdict = &run.findings.bottleneck;
    let sentence = |otherwise: &str| {
        if verdict.sentence.is_empty() { otherwise.to_owned() } else { verdict.sentence.clone() }
    };
    run.findings.capacity.as_ref()?;
    match verdict.id.as_str() {
        id if GENERATOR.contains(&id) => Some((ArenaRefusalKind::Generator, sentence("the generator was the limit"))),
        id if MEDIUM.contains(&id) => Some((ArenaRefusalKind::Medium, sentence("the network was the limit"))),
        _ => None,
    }
}

/// Returns the reason not to rank the server if its capacity is only a lower bound. The capacity is only a lower bound
/// if the generator limited the load, if no load of the search overloaded the server, or if the server still started
/// processes.
fn bounded(run: &Run) -> Option<(ArenaRefusalKind, String)> {
    let capacity = run.findings.capacity.as_ref()?;
    let generator = |text: &str| Some((ArenaRefusalKind::Generator, text.to_owned()));
    if run.findings.trust.generator_limited {
        return generator("the generator was at its own limit");
    }
    if capacity.own_limit.is_some() {
        return generator("the connections of the load were the limit: raise connections");
    }
    // A server that missed the objective at some rate was overloaded at this rate, so it can be ranked.
    let not_overloaded = capacity.at_least && capacity.failed_at.is_none();
    let is_bound = not_overloaded || capacity.growing.is_some() || run.findings.bottleneck.id == NOT_FULL;
    is_bound.then(|| (ArenaRefusalKind::NotOverloaded, early_end::words(capacity)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Bottleneck, Breach, Incident, Outcome, Trial};

    fn run_of(bottleneck: &str, capacity: Capacity) -> Run {
        let mut run = Run::default();
        run.findings.capacity = Some(capacity);
        run.findings.bottleneck = Bottleneck { id: bottleneck.into(), ..Bottleneck::default() };
        run
    }

    fn held() -> Capacity {
        Capacity { rate: 1000.0, held: true, low: Some(950.0), high: Some(1050.0), ..Capacity::default() }
    }

    #[test]
    fn what_was_bounded_by_something_else_than_the_server_gets_no_rank() {
        let kind = |run: &Run| searched(run).refused.map(|refused| refused.kind);
        assert_eq!(kind(&run_of("server-cpu", held())), None);
        assert_eq!(kind(&run_of("unknown", held())), None);
        for id in GENERATOR {
            assert_eq!(kind(&run_of(id, held())), Some(ArenaRefusalKind::Generator), "{id}");
        }
        // A generator that lacks CPU time sends requests late at every rate.
        let late = searched(&run_of(GENERATOR[0], Capacity { held: false, ..held() }));
        assert_eq!((late.refused.map(|r| r.kind), late.capacity), (Some(ArenaRefusalKind::Generator), None));
        for id in MEDIUM {
            assert_eq!(kind(&run_of(id, held())), Some(ArenaRefusalKind::Medium), "{id}");
        }
        assert_eq!(kind(&run_of(REFUSES, held())), Some(ArenaRefusalKind::Errors));
        let at_least = Capacity { at_least: true, ..held() };
        assert_eq!(kind(&run_of("unknown", at_least)), Some(ArenaRefusalKind::NotOverloaded));
        let failed = run_of("unknown", Capacity { held: false, ..held() });
        assert_eq!((kind(&failed), searched(&failed).capacity), (Some(ArenaRefusalKind::Objective), None));
        let mut limited = run_of("server-cpu", held());
        limited.findings.trust.generator_limited = true;
        assert_eq!(kind(&limited), Some(ArenaRefusalKind::Generator));
        let mut silent = run_of("server-cpu", held());
        let incident = Incident { kind: IncidentKind::Silence, begin_s: 0.0, end_s: None, text: "silent".into() };
        silent.trials = vec![Trial { kind: TrialKind::Search, incidents: vec![incident], ..Trial::default() }];
        assert_eq!(kind(&silent), Some(ArenaRefusalKind::Stall));
        silent.trials[0].kind = TrialKind::Overload;
        assert_eq!(kind(&silent), None, "an overloaded server may be silent");
    }

    #[test]
    fn a_server_that_was_only_too_slow_had_no_errors() {
        let kind = |broken| {
            let mut run = run_of("unknown", Capacity { held: false, failed_at: Some(50.0), ..held() });
            let mut trial = Trial { kind: TrialKind::Search, ..Trial::default() };
            trial.rates.offered_rate = 50.0;
            run.trials.push(trial);
            let breach = Some(Breach { kind: broken, value: None, limit: None, at_least: false });
            run.findings.outcomes.push(Outcome { breach, ..Outcome::default() });
            searched(&run).refused.map(|refused| refused.kind)
        };
        assert_eq!(kind(BreachKind::P50), Some(ArenaRefusalKind::Objective));
        assert_eq!(kind(BreachKind::Behind), Some(ArenaRefusalKind::Objective));
        assert_eq!(kind(BreachKind::Errors), Some(ArenaRefusalKind::Errors));
        assert_eq!(kind(BreachKind::NothingCompleted), Some(ArenaRefusalKind::Errors));
    }

    #[test]
    fn a_capacity_of_a_closed_loop_is_marked() {
        let source = Some(run::ClosedLoopSource { open_held: None });
        let found = searched(&run_of("server-cpu", Capacity { closed_loop: source, ..held() }));
        assert_eq!((found.closed_loop, found.refused), (source, None));
    }

    /// With a very small time budget, the search ends before any load overloads the server.
    #[test]
    fn a_server_that_no_load_overloaded_has_a_lower_bound_and_no_rank() {
        let mut few = crate::planted::PlantedRun::new(20_000.0, 1000.0).steps(&[1]).rates(&[0.05, 0.1]).run();
        crate::judge(&mut few);
        let found = searched(&few);
        let refused = found.refused.unwrap();
        assert_eq!(refused.kind, ArenaRefusalKind::NotOverloaded, "{refused:?}");
        assert!(refused.text.contains("at least 100/s"), "{refused:?}");
        assert!(found.capacity.is_some_and(|capacity| capacity.rate > 0.0 && !capacity.high.is_finite()));
        let found = searched(&run_of(NOT_FULL, held()));
        assert_eq!(found.refused.map(|refused| refused.kind), Some(ArenaRefusalKind::NotOverloaded));
        assert!(found.capacity.is_some_and(|capacity| capacity.low == 950.0 && capacity.high.is_nan()));
    }

    #[test]
    fn every_named_verdict_exists() {
        for id in GENERATOR.iter().chain(&MEDIUM).chain([&REFUSES, &NOT_FULL]) {
            assert!(run::bottleneck(id).is_some(), "{id}");
        }
    }
}

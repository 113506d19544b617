//! Compares the number of a server's threads with the number that its I/O model should have. The numbers of threads are
//! compared at a moment at which connections neither arrive nor end.

use run::Trial;

use super::held::Levels;
use super::values::{HELD_THEN, THREADS_BY_RULE, THREADS_THEN};

/// Returns the number of threads that an I/O model should add if one process holds `held` connections. Returns `None`
/// for a model without a rule for the number of threads.
fn rule(model: &str, held: f64) -> Option<f64> {
    match model {
        "event-groups" => Some((held / 63.0).ceil()),
        "uring-groups" => Some((held / 62.0).ceil()),
        "blocking" => Some(2.0 * held),
        _ => None,
    }
}

/// Stores the expected and the observed number of threads, each summed over all processes. Stores nothing if the I/O
/// model has no rule. `still` contains the gauges of each process at a moment at which its numbers of connections and
/// threads did not change. If the numbers of connections and threads changed all the time (`still` is `None`), the
/// function adds a note instead.
pub(super) fn put(trial: &mut Trial, model: &str, still: Option<Vec<Levels>>) {
    if rule(model, 0.0).is_none() {
        return;
    }
    let Some(still) = still else {
        trial.notes.push("its threads are not held against the rule: connections came all the time".into());
        return;
    };
    let sum = |of: &dyn Fn(&Levels) -> f64| still.iter().map(of).sum::<f64>();
    trial.results.put(THREADS_BY_RULE, sum(&|s| rule(model, s.accepted).unwrap_or(0.0)));
    trial.results.put(THREADS_THEN, sum(&|s| s.threads));
    trial.results.put(HELD_THEN, sum(&|s| s.accepted));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_compared_with_the_rule_per_process() {
        let level = |accepted, threads| Levels { accepted, threads, ..Levels::default() };
        let still = || Some(vec![level(126.0, 4.0), level(1.0, 3.0)]);
        let mut trial = Trial::default();
        put(&mut trial, "epoll", still());
        assert_eq!(trial.results.get(THREADS_BY_RULE), None);
        put(&mut trial, "event-groups", still());
        let r = &trial.results;
        assert_eq!(
            (r.get(THREADS_BY_RULE), r.get(THREADS_THEN), r.get(HELD_THEN)),
            (Some(3.0), Some(7.0), Some(127.0))
        );
        put(&mut trial, "blocking", None);
        assert!(trial.notes[0].contains("came all the time"));
    }
}

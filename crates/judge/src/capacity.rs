//! Capacity: the highest completed rate that holds the objective.

use run::{Capacity, Trial};

use crate::Facts;
use crate::facts::{SIZE, clients, good, good_bytes, several_sizes};
use crate::number::{finite, positive, rate};
use crate::objective::holds;

/// The capacity, by the open-loop search and the sweep; by whatever was tried if there is neither. A step of the sweep
/// counts only below the offered rate at which the search failed: closed-loop clients wait politely, others do not.
pub(crate) fn capacity(facts: &Facts<'_>) -> Option<Capacity> {
    let held = |t: &Trial| holds(t, &facts.limits).is_ok();
    let open = facts.search.iter().copied().filter(|t| held(t)).map(good).reduce(f64::max);
    let failed_at = facts.failing.map(|t| t.rates.offered_rate).filter(|r| r.is_finite());
    let failed_why = facts.failing.and_then(|t| holds(t, &facts.limits).err());
    let below = |rate: &f64| failed_at.is_none_or(|f| *rate < f);
    let closed = facts.sweep.iter().copied().filter(|t| held(t)).map(good).filter(below).reduce(f64::max);
    let lone = lone(facts);
    let one = lone.iter().copied().filter(|t| held(t)).map(good).reduce(f64::max);
    let candidates = [open, closed, one];
    let found = candidates.into_iter().flatten().reduce(f64::max).and_then(positive);
    let objective = facts.limits.text.clone();
    match found {
        Some(rate) => Some(Capacity {
            rate: finite(rate)?,
            failed_at,
            failed_why,
            objective,
            method: method(facts, open, closed),
            held: true,
        }),
        None => {
            let tried = facts.search.iter().chain(&facts.sweep).chain(&lone).copied();
            let least = tried.min_by(|a, b| a.rates.offered_rate.total_cmp(&b.rates.offered_rate)).or(facts.decisive)?;
            Some(Capacity {
                rate: finite(good(least))?,
                failed_at,
                failed_why,
                objective,
                method: format!(
                    "even the lowest load that was tried, {} offered, broke the objective; this is what it completed",
                    rate(least.rates.offered_rate)
                ),
                held: false,
            })
        }
    }
}

/// Trials that belong to neither a search nor a sweep, where there is nothing else: loads that an experiment or the user
/// chose. Of requests of several sizes the decisive one stands for all, since their rates do not compare.
fn lone<'a>(facts: &Facts<'a>) -> Vec<&'a Trial> {
    match facts.search.is_empty() && facts.sweep.is_empty() {
        false => Vec::new(),
        true if several_sizes(facts.run) => facts.decisive.into_iter().collect(),
        true => facts.run.trials.iter().filter(|t| positive(t.rates.completed_rate).is_some()).collect(),
    }
}

fn method(facts: &Facts<'_>, open: Option<f64>, closed: Option<f64>) -> String {
    let at = |r: f64| facts.sweep.iter().find(|t| good(t) == r).map_or(0.0, |t| clients(t));
    match (open, closed) {
        (Some(o), Some(c)) if c > o => {
            format!("closed loop with {} clients; an open loop held {}", crate::number::figure(at(c)), rate(o))
        }
        (Some(_), _) => format!("open loop, bracketed in {} steps", facts.search.len()),
        (None, Some(c)) => {
            format!("closed loop with {} clients; no open loop held the objective", crate::number::figure(at(c)))
        }
        (None, None) if several_sizes(facts.run) => {
            let bytes = facts.decisive.and_then(|t| t.axes.get(SIZE)).copied().unwrap_or(0.0);
            let per_s = facts.decisive.map_or(0.0, good_bytes);
            format!(
                "the trial with the most bytes a second, {} kB/s in answers of {} bytes",
                crate::number::figure(per_s / 1e3),
                crate::number::figure(bytes)
            )
        }
        (None, None) => match facts.run.trials.len() {
            0 | 1 => "one trial at one intensity: the capacity is at least this".into(),
            all => format!(
                "the best of {all} trials of chosen loads that held the objective: the capacity is at least this"
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use crate::planted::Scene;

    fn capacity(scene: &Scene) -> run::Capacity {
        let mut run = scene.run();
        crate::judge(&mut run);
        run.findings.capacity.unwrap()
    }

    #[test]
    fn the_highest_rate_that_holds_counts_with_the_lowest_that_fails() {
        let c = capacity(&Scene::new(20_000.0, 200.0).rates(&[0.5, 0.93, 1.15]));
        assert!(c.held && (c.rate - 200.0).abs() < 1e-9 && c.method.contains("closed loop"), "{c:?}");
        assert!((c.failed_at.unwrap() - 230.0).abs() < 1e-9);
        assert!(c.failed_why.unwrap().contains("of the offered load was completed"));
    }

    #[test]
    fn a_sweep_does_not_outdo_an_open_loop_that_failed_below_it() {
        let fails = |t: &mut run::Trial, p: &crate::planted::Point| {
            if t.kind == run::TrialKind::Search && p.offered > 150.0 {
                t.latency_us.p99 = 1e9;
            }
        };
        let c = capacity(&Scene::new(20_000.0, 200.0).rates(&[0.5, 0.7, 0.8]).change(fails));
        assert!((c.rate - 140.0).abs() < 1e-9 && c.failed_at == Some(160.0), "{c:?}");
    }

    /// An experiment that goes past the capacity completes most where it no longer holds the objective.
    #[test]
    fn of_chosen_loads_the_best_that_held_counts() {
        let mut run = Scene::new(1000.0, 4000.0).rates(&[]).run();
        for (i, t) in run.trials.iter_mut().enumerate() {
            t.kind = run::TrialKind::Experiment;
            t.axes.insert("delay_ms".into(), i as f64);
        }
        let best = run.trials.iter().map(|t| t.rates.completed_rate).fold(0.0, f64::max);
        let most = run.trials.iter().map(|t| t.rates.completed_rate * 1.01).fold(0.0, f64::max);
        let last = run.trials.last_mut().unwrap();
        (last.rates.completed_rate, last.latency_us.p99) = (most, 1e9);
        crate::judge(&mut run);
        let c = run.findings.capacity.unwrap();
        assert!(c.held && c.rate <= best && c.rate > best / 2.0 && c.method.contains("the best of"), "{c:?}");
    }

    #[test]
    fn when_nothing_holds_that_is_said() {
        let c = capacity(&Scene::new(20_000.0, 200.0).change(|t, _| t.measured.tally.unanswered = 1000));
        assert!(!c.held, "{c:?}");
    }
}

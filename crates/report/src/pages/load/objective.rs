//! Summary line with the limits of a single load, met or not met.

use run::{BreachKind, Objective, Outcome, Run};

use crate::{AnswerLine, Tone, Unit};
use run::number::quantity;

/// Returns the summary line with the user's limits on times, which also states whether the load met these limits. The
/// line always contains an exceeded limit on failed, unanswered or late requests, because this limit decides the exit
/// status. If the user gave no limits, the exceeded limit is loadline's default, and the line does not call it an
/// objective.
pub(super) fn objective(run: &Run, outcome: Outcome) -> Option<AnswerLine> {
    let asked = &run.plan.objective;
    let limits = [("p50", asked.p50_us), ("mean", asked.mean_us), ("p99", asked.p99_us), ("p99.9", asked.p99_9_us)];
    let times =
        limits.into_iter().filter_map(|(name, us)| Some(format!("{name} at most {}", quantity(us?, Unit::Micros))));
    let others = asked.timed().into_iter().flat_map(|(time, limits)| {
        let limit = move |(figure, us)| format!("{} at most {}", time.figure_name(figure), quantity(us, Unit::Micros));
        limits.each().map(limit).collect::<Vec<_>>()
    });
    let share = |limit| quantity(limit, Unit::Share);
    let untimed = outcome.breach.and_then(|breach| match breach.kind {
        BreachKind::Errors => Some(format!("errors at most {} (--errors)", share(asked.errors))),
        BreachKind::Behind => Some(format!("at least {} of the offered load completed", share(breach.limit?))),
        BreachKind::Unanswered => Some(format!("at most {} of the requests unanswered", share(breach.limit?))),
        _ => None,
    });
    let named: Vec<String> = times.chain(others).chain(untimed).collect();
    let (value, tone) = if outcome.held { ("met:", Tone::Good) } else { ("not met:", Tone::Bad) };
    let name = if *asked == Objective::default() { "Limit" } else { "Objective" };
    (!named.is_empty()).then(|| AnswerLine::new(name, value, named.join(", ")).toned(tone))
}

#[cfg(test)]
mod tests {
    use run::Breach;

    use super::*;

    #[test]
    fn a_broken_limit_of_errors_is_named_although_nobody_gave_it() {
        let mut run = Run::default();
        assert_eq!(objective(&run, Outcome { held: true, ..Outcome::default() }), None);
        run.plan.objective.errors = 0.001;
        let breach = Breach { kind: BreachKind::Errors, value: Some(0.03), limit: Some(0.001), at_least: false };
        let figure = objective(&run, Outcome { breach: Some(breach), ..Outcome::default() }).unwrap();
        assert_eq!((figure.value.as_str(), figure.detail.as_str()), ("not met:", "errors at most 0.1 % (--errors)"));
        assert_eq!(figure.name, "Limit", "nobody gave an objective");
        let breach = Breach { kind: BreachKind::Behind, value: Some(0.8999), limit: Some(0.9), at_least: false };
        let figure = objective(&run, Outcome { breach: Some(breach), ..Outcome::default() }).unwrap();
        assert_eq!(figure.detail, "at least 90 % of the offered load completed");
        run.plan.objective.p99_us = Some(20_000.0);
        assert_eq!(objective(&run, Outcome::default()).unwrap().name, "Objective");
    }
}

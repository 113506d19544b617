//! The server refuses on purpose: answers of class 4xx or 5xx come back quickly while the good ones stay at one rate.

use run::Trial;

use super::{Rule, Verdict, measured};
use crate::Facts;
use crate::facts::{good, server_of};
use crate::number::{figure, percent, rate, ratio};
use crate::view::View;

pub(super) const RULE: Rule = Rule {
    id: "server-rate-limit",
    needs: &["status"],
    judge,
    advice: &[
        "Look for a limit in the server's configuration (limit_req, limit_conn, rate-limiting middleware, an upstream quota).",
        "To measure the server behind the limit, raise it or except the generator's address.",
    ],
    explain: "Refusals (429, 503 or the like) are cheap, so a server that limits on purpose completes ever more answers while \
              the good ones stay at the same rate, and it is not busy. Told apart from a server that fails under load: that one \
              is busy, and its good rate falls. Told apart from a wrong path: there no answer is good.",
};

/// Share of refusals from which they count.
const REFUSED: f64 = 0.01;

fn refused(trial: &Trial) -> f64 {
    let t = &trial.measured.tally;
    ratio(t.unexpected_status as f64, t.completed as f64).unwrap_or(0.0).clamp(0.0, 1.0)
}

fn judge(facts: &Facts<'_>) -> Verdict {
    let trials: Vec<&Trial> = facts.sweep.iter().chain(&facts.search).chain(&facts.decisive).copied().collect();
    let Some(worst) = trials.iter().copied().max_by(|a, b| refused(a).total_cmp(&refused(b))) else {
        return Verdict::CannotSay(vec!["no trial completed anything".into()]);
    };
    if refused(worst) < REFUSED {
        return Verdict::RuledOut(format!("{} of the answers had an unexpected status", percent(refused(worst))));
    }
    if trials.iter().all(|t| refused(t) > 0.999) {
        return Verdict::RuledOut(
            "no answer at all had the expected status: check path and method before the load".into(),
        );
    }
    let limited: Vec<&Trial> = trials.into_iter().filter(|t| refused(t) >= REFUSED).collect();
    let mut rates: Vec<f64> = limited.iter().map(|t| good(t)).collect();
    rates.sort_by(f64::total_cmp);
    let middle = rates.get(rates.len() / 2).copied().unwrap_or(0.0);
    // A trial that was itself held up passes less than the limit; none passes more.
    let near = rates.iter().filter(|r| (*r / middle - 1.0).abs() <= 0.15).count();
    let constant = middle > 0.0 && 3 * near >= 2 * rates.len() && rates.last().is_some_and(|r| *r <= 1.3 * middle);
    let (low, high) = (rates.first().copied().unwrap_or(0.0), rates.last().copied().unwrap_or(0.0));
    let offered: Vec<f64> = limited.iter().map(|t| t.rates.completed_rate).collect();
    let spread = offered.iter().fold(0.0_f64, |h, r| h.max(*r)) / offered.iter().fold(f64::MAX, |l, r| l.min(*r));
    let idle = limited.iter().any(|t| server_of(t).and_then(|v| used_share(&v)).is_some_and(|u| u < 0.8));
    let confidence = match (constant && spread >= 1.5, idle) {
        (true, true) => 0.95,
        (true, false) => 0.85,
        (false, true) if constant => 0.7,
        _ => {
            return Verdict::RuledOut(format!(
                "{} of the answers were refusals, but the good ones did not stay at one rate ({} to {}) or the server was busy: failing, not limiting",
                percent(refused(worst)),
                rate(low),
                rate(high)
            ));
        }
    };
    bind(worst, confidence, middle, limited.len())
}

fn used_share(view: &View<'_>) -> Option<f64> {
    ratio(view.cpu_used()?, view.cpu_allowed()?)
}

fn bind(worst: &Trial, confidence: f64, limit: f64, trials: usize) -> Verdict {
    let view = server_of(worst).unwrap_or_else(|| View::new("client", worst, &worst.client));
    let classes =
        worst.measured.tally.status.iter().filter(|(class, n)| **n > 0 && !class.starts_with(['1', '2', '3']));
    let classes: Vec<String> = classes.map(|(class, n)| format!("{} of {class}", figure(*n as f64))).collect();
    let share = refused(worst);
    let mut evidence = vec![
        measured(
            &view,
            ("unexpected_status", ""),
            (share, ""),
            Some(REFUSED),
            format!("{} of the answers were refusals ({})", percent(share), classes.join(", ")),
        ),
        measured(
            &view,
            ("goodput", ""),
            (limit, "1/s"),
            None,
            format!("the good ones stayed near {} in {trials} trials", rate(limit)),
        ),
    ];
    if let Some(used) = view.cpu_used().filter(|_| view.role == "server") {
        let text = format!("the server used {} processors meanwhile", figure(used));
        evidence.push(measured(&view, ("process.cpu", ""), (used, "processors"), view.cpu_allowed(), text));
    }
    let sentence = format!("the server lets {} through and refuses the rest on purpose", rate(limit));
    Verdict::Binds { confidence, sentence, evidence }
}

//! Nothing reached its limit in the range that was tried.

use run::{FigureUnit, Intensity};

use super::network_medium::medium_use;
use super::rule::{Rule, Verdict};
use crate::Facts;
use crate::evidence::{line, measured};
use crate::number::{figure, percent, rate, ratio};
use crate::single::{clients, failed_share, failed_share_of_all, sides_of};
use crate::sweep::Plateau;
use crate::thresholds::{ALL_ANSWERED, MAYBE_FULL};
use crate::view::View;

pub(super) const RULE: Rule = Rule {
    id: "not-saturated",
    needs: &["cpu.idle", "thread.cpu", "process.cpu", "interface.speed"],
    waits: false,
    judge,
    advice: &["Try more: more connections, a higher rate, a larger --budget."],
    explain: "The rate still grew with the last step, or the one rate that was offered was completed. The objective \
              held, and no known device was above 85 %. The server takes at least the load that was tried; how much \
              more is not known.",
};

fn judge(facts: &Facts<'_>) -> Verdict {
    let Some(trial) = facts.decisive else { return Verdict::CannotSay(vec!["no trial completed anything".into()]) };
    if let Plateau::Flat { from, to, .. } = facts.plateau {
        return Verdict::RuledOut(format!("from {} to {} clients the rate no longer grew", figure(from), figure(to)));
    }
    if let Some(failing) = facts.failing {
        return Verdict::RuledOut(format!("the objective broke at {}", rate(failing.rates.offered_rate)));
    }
    let kept = match &trial.intensity {
        Intensity::Closed { .. } => facts.plateau == Plateau::Grows || clients(trial) <= 1.0,
        _ => trial.rates.completed_rate >= ALL_ANSWERED * trial.rates.offered_rate,
    };
    if !kept {
        return match &trial.intensity {
            Intensity::Closed { .. } => Verdict::CannotSay(vec![
                "a second intensity: one closed loop does not tell a limit from a choice (loadline find)".into(),
            ]),
            _ => Verdict::RuledOut(format!(
                "{} of {} came back",
                rate(trial.rates.completed_rate),
                rate(trial.rates.offered_rate)
            )),
        };
    }
    // Failures before the window count, too.
    let shares = facts.focus().into_iter().flat_map(|t| [failed_share(t), failed_share_of_all(t)]).flatten();
    let failed = shares.reduce(f64::max).unwrap_or(1.0);
    if failed > facts.limits.errors {
        return Verdict::RuledOut(format!("{} of the requests failed", percent(failed)));
    }
    quiet(facts, trial)
}

fn quiet(facts: &Facts<'_>, trial: &run::Trial) -> Verdict {
    let views = sides_of(trial);
    let hosts = views.iter().filter_map(|v| v.host().and_then(|h| ratio(h.busy, h.online)));
    let threads = views.iter().filter_map(|v| v.workers().first().map(|t| t.busy));
    let busiest = hosts.chain(threads).chain(medium_use(trial).map(|m| m.share)).reduce(f64::max);
    let Some(busiest) = busiest else {
        return Verdict::CannotSay(vec!["use of any device (cpu.idle, thread.cpu)".into()]);
    };
    if busiest > MAYBE_FULL {
        return Verdict::RuledOut(format!("a device was busy {} of the time", percent(busiest)));
    }
    let what = if facts.plateau == Plateau::Grows {
        format!(
            "the rate still grew at {} clients, {}",
            figure(facts.sweep.last().map_or(0.0, |t| clients(t))),
            rate(trial.rates.completed_rate)
        )
    } else {
        format!("all of {} was completed", rate(trial.rates.completed_rate))
    };
    let text = format!("no device that is known was busier than {}", percent(busiest));
    let busiest = (busiest, FigureUnit::Plain);
    let Some(client) = views.first() else { return Verdict::CannotSay(Vec::new()) };
    let mut evidence = vec![
        line(client, "completed_rate", "", what.clone()),
        measured(client, ("cpu.idle", ""), busiest, Some(MAYBE_FULL), text),
    ];
    // A limit of streams per connection is no limit of the server: more connections would carry the requests.
    evidence.extend(super::streams::waits(&View::new("client", trial, &trial.client)));
    let confidence = if trial.server.is_some() { 0.8 } else { 0.6 };
    Verdict::Binds { confidence, sentence: format!("nothing was at its limit: {what}"), evidence }
}

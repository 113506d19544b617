//! Rule for a burst of connects that the generator caused: answers were late, so an open loop opened more connections
//! than it needed.

use run::{BreachKind, FigureUnit, Intensity, Limits, Trial};

use super::rule::{PLAIN, Rule, Tier, Verdict};
use crate::Facts;
use crate::context::evidence::measured;
use crate::context::single::good;
use crate::context::view::View;
use crate::estimate::objective::breach;
use crate::number::{counted, figure, percent, ratio};
use crate::signals::Signal;
use crate::thresholds::{KEEPS_UP, STORM_CONNECTS, STORM_SHARE, WEAK_SIGN};

pub(super) const RULE: Rule = Rule {
    id: "client-connects",
    needs: &["connects_past_need"],
    tier: Tier::Broken,
    explains: &["client-fds", "client-ports", "server-fds"],
    is_counted: |_| true,
    signals,
    judge,
    advice: &[
        "Limit the pool with --max-connections: twice the rate times the response time is enough (Little's law).",
        "Look for pauses of the server first: without pauses, the pool does not grow past its need.",
    ],
    explain: "A server that pauses for a moment leaves requests of an open loop waiting. A generator that opens a connection \
              for each of them keeps the server busy accepting instead of answering, so it stays slow. The generator \
              causes this storm, and a smaller pool carries the same rate. loadline's pool grows no faster than its need \
              by Little's law. It counts the connections that it opened without need and those that it held back. A \
              server that closes its connections looks similar, but there each connect carries a request.",
    ..PLAIN
};

/// Returns the open-loop trial with the most connects that the load did not need.
fn most<'a>(facts: &Facts<'a>) -> Option<&'a Trial> {
    let open = facts.focus().into_iter().filter(|t| matches!(t.intensity, Intensity::Open { .. }));
    open.max_by_key(|t| t.tally.connects_past_need)
}

fn signals(facts: &Facts<'_>) -> Vec<Signal> {
    let past = most(facts).map(|t| t.tally.connects_past_need as f64);
    past.map(|past| Signal::count("connects that the load did not need", past, STORM_CONNECTS)).into_iter().collect()
}

fn judge(facts: &Facts<'_>) -> Verdict {
    let Some(trial) = most(facts) else {
        return match facts.run.only_watched() {
            true => Verdict::CannotSay(vec!["the connects of a load: loadline only watched".into()]),
            false => Verdict::RuledOut("only closed-loop clients ran, and they connect once".into()),
        };
    };
    let (past, all) = (trial.tally.connects_past_need as f64, trial.tally.attempted as f64);
    let share = ratio(past, all).unwrap_or(0.0);
    let text = match past > 0.0 {
        true => format!("{} of {} were not needed for this load", figure(past), counted(all, "connect")),
        false => format!("none of {} was unnecessary for this load", counted(all, "connect")),
    };
    if past < STORM_CONNECTS || share < STORM_SHARE || kept_up(trial) && !is_slow(trial, &facts.limits) {
        return Verdict::RuledOut(text);
    }
    if costs_no_rate(facts, trial) {
        return Verdict::RuledOut(format!("{text}, but fewer connections carried no higher rate"));
    }
    if kept_up(trial) && facts.sweep.iter().any(|step| is_slow(step, &facts.limits)) {
        return Verdict::RuledOut(format!("{text}, but answers were as late with a fixed number of connections"));
    }
    let view = View::new("client", trial, &trial.client);
    let evidence =
        vec![measured(&view, ("connects_past_need", ""), (past, FigureUnit::Plain), Some(STORM_CONNECTS), text)];
    let sentence =
        format!("the generator opened too many connections: {} of its connects were not needed", percent(share));
    Verdict::Binds { confidence: WEAK_SIGN, sentence, evidence }
}

/// Returns true if a trial completed as many requests per second as the best step of the sweep. The sweep opens only
/// the connections that it needs. If a trial reached the sweep's best rate, its connects did not reduce the throughput.
fn costs_no_rate(facts: &Facts<'_>, trial: &Trial) -> bool {
    let most = facts.x_max().filter(|_| !facts.sweep.is_empty());
    most.is_some_and(|most| good(trial) >= KEEPS_UP * most)
}

/// Returns true if a trial missed the objective, and not only because of errors. Exceeded limits on failed requests are
/// ignored, because refusals are no sign of a burst of connects.
fn is_slow(trial: &Trial, limits: &Limits) -> bool {
    breach(trial, limits).is_some_and(|breach| breach.kind != BreachKind::Errors)
}

fn kept_up(trial: &Trial) -> bool {
    trial.rates.completed_rate >= KEEPS_UP * trial.rates.offered_rate
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Point};

    /// This test repeats a situation that was observed with a server that answers 1 % of the requests after 500 ms. The
    /// two CPUs were full, so the open loop opened connections that it did not need. The open loop still completed as
    /// many requests per second as the best closed loop.
    #[test]
    fn connects_that_cost_no_rate_are_no_storm() {
        // The open loop offers `offers` and completes `completes`, both as a share of the best closed loop's rate.
        let verdict = |offers: f64, completes: f64, sweep_is_slow: bool| {
            let storm = move |t: &mut run::Trial, p: &Point| {
                if sweep_is_slow && p.n == 2.0 && t.kind == run::TrialKind::Sweep {
                    t.latency_us.p99 = 2e6;
                }
                if p.offered >= offers * p.capacity {
                    (t.tally.attempted, t.tally.connected, t.tally.connects_past_need) = (8200, 8100, 7900);
                    t.rates.completed_rate = completes * p.capacity;
                    t.latency_us.p99 = 2e6;
                }
            };
            let mut run = PlantedRun::new(1000.0, 4000.0).rates(&[0.5, offers]).change(storm).run();
            crate::judge(&mut run);
            run.findings.bottleneck.id
        };
        assert_ne!(verdict(1.2, 1.0, false), "client-connects");
        assert_eq!(verdict(1.2, 0.1, false), "client-connects");
        // The window of the sweep was short, so the rate measured in it was too high. The open loop completed the rate
        // that it offered.
        assert_ne!(verdict(0.9, 0.88, true), "client-connects");
        assert_eq!(verdict(0.9, 0.1, true), "client-connects");
    }
}

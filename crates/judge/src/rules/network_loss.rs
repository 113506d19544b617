//! Packets are lost and sent again.

use run::{Intensity, Trial};

use super::{Rule, Verdict, measured};
use crate::Facts;
use crate::facts::{Plateau, sides_of};
use crate::number::{figure, percent, rate, ratio};
use crate::objective::holds;
use crate::view::View;

pub(super) const RULE: Rule = Rule {
    id: "network-loss",
    needs: &["tcp.retrans_segs", "tcp.out_segs"],
    judge,
    advice: &[
        "Find where packets are dropped: error and drop counters of the interfaces on the way, of the queueing discipline, of softnet.",
    ],
    explain: "One segment in a hundred that is sent again already costs much: a lost one stops its connection for a round trip, a \
              lost last one for a timer of 200 ms or more. SYNs that are sent again because a full listener dropped them are \
              not loss in the network and are taken off. If the link is full, loss is its symptom: what a medium's own full queue \
              dropped is not looked for elsewhere.",
};

/// Share of segments sent again from which loss counts.
const LOST: f64 = 0.01;

fn judge(facts: &Facts<'_>) -> Verdict {
    let seen = facts.focus().into_iter().flat_map(again);
    let Some((view, lost, sent)) = seen.max_by(|a, b| (a.1 / a.2).total_cmp(&(b.1 / b.2))) else {
        return Verdict::CannotSay(vec!["tcp.retrans_segs and tcp.out_segs of either side".into()]);
    };
    let share = lost / sent;
    let text = format!("{} of {} segments were sent again ({})", figure(lost), figure(sent), percent(share));
    if share < LOST || lost < 10.0 {
        return Verdict::RuledOut(text);
    }
    if let Some(full) = super::network_medium::overflow(view.trial) {
        return Verdict::RuledOut(format!("{text}, but {}", full.text));
    }
    if let Some(all) = all_came_back(facts) {
        return Verdict::RuledOut(format!("{text}, but all of {} was completed", rate(all)));
    }
    let mut evidence = vec![measured(&view, ("tcp.retrans_segs", ""), (lost, ""), Some(LOST * sent), text)];
    for id in [
        "tcp.timeouts",
        "tcp.lost_retransmits",
        "interface.rx_drops",
        "interface.tx_drops",
        "softnet.dropped",
        "qdisc.drops",
        "medium.drops",
    ] {
        for v in sides_of(view.trial) {
            if let Some(n) = v.value(id).filter(|n| *n >= 1.0) {
                evidence.push(measured(&v, (id, ""), (n, ""), Some(0.0), format!("{id} grew by {}", figure(n))));
            }
        }
    }
    Verdict::Binds {
        confidence: if share >= 0.03 || evidence.len() > 1 { 0.85 } else { 0.65 },
        sentence: format!("packets are lost: {} of the segments had to be sent again", percent(share)),
        evidence,
    }
}

/// The rate of a paced load of which nothing was left undone: losses made it slower, they did not stop it.
fn all_came_back(facts: &Facts<'_>) -> Option<f64> {
    let trial = facts.decisive.filter(|t| !matches!(t.intensity, Intensity::Closed { .. }))?;
    let (completed, offered) = (trial.rates.completed_rate, trial.rates.offered_rate);
    let kept = facts.plateau == Plateau::NotTried && facts.failing.is_none() && holds(trial, &facts.limits).is_ok();
    (kept && completed >= 0.98 * offered).then_some(completed)
}

/// Segments sent again without SYNs, and all segments sent, a side.
fn again(trial: &Trial) -> Vec<(View<'_>, f64, f64)> {
    let count = |view: View<'_>| {
        let syn = view.value("tcp.syn_retrans").unwrap_or(0.0);
        let lost = (view.value("tcp.retrans_segs")? - syn).max(0.0);
        let sent = view.value("tcp.out_segs")? + lost;
        ratio(lost, sent).map(|_| (lost, sent))
    };
    sides_of(trial).into_iter().filter_map(|v| count(v).map(|(lost, sent)| (v, lost, sent))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{Scene, Who};

    fn verdict(completed_share: f64) -> Verdict {
        let scene = Scene::new(3000.0, 2000.0).steps(&[]).rates(&[0.5]);
        let mut run = scene.per_s(Who::Server, "tcp.retrans_segs", "", |p| p.x * 0.07).run();
        // Fills the derived figures in.
        crate::judge(&mut run);
        run.trials.iter_mut().for_each(|t| t.rates.completed_rate = t.rates.offered_rate * completed_share);
        judge(&Facts::of(&run))
    }

    #[test]
    fn losses_that_cost_no_request_stop_nothing() {
        assert!(matches!(verdict(1.0), Verdict::RuledOut(_)), "{:?}", verdict(1.0));
        assert!(matches!(verdict(0.8), Verdict::Binds { .. }), "{:?}", verdict(0.8));
    }
}

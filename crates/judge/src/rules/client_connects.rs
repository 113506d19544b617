//! The generator's own connect storm: an open loop's pool that grew past its need while answers were late.

use run::{FigureUnit, Intensity, Trial};

use super::rule::{Rule, Verdict};
use crate::Facts;
use crate::evidence::measured;
use crate::number::{figure, percent, ratio};
use crate::objective::holds;
use crate::thresholds::{KEEPS_UP, STORM_CONNECTS, STORM_SHARE};
use crate::view::View;

pub(super) const RULE: Rule = Rule {
    id: "client-connects",
    needs: &["connects_past_need"],
    waits: false,
    judge,
    advice: &[
        "Limit the pool: --max-connections, at twice the rate times the response time (Little's law).",
        "If the server itself pauses, look for that first: without pauses no pool grows past its need.",
    ],
    explain: "When a server pauses for a moment, requests of an open loop wait. A generator that opens a connection \
              for each waiting request makes the server accept instead of answer, and the server stays slow. That \
              storm is the generator's own: fewer connections carry the same rate. loadline opens connections no \
              faster than Little's law asks for. It counts the connections that it opened and did not need, and those \
              that it held back. A server that closes its connections is another case: there each connect carries a \
              request.",
};

fn judge(facts: &Facts<'_>) -> Verdict {
    let open = facts.focus().into_iter().filter(|t| matches!(t.intensity, Intensity::Open { .. }));
    let Some(trial) = open.max_by_key(|t| t.tally.connects_past_need) else {
        return Verdict::RuledOut("no open loop ran, and clients of a closed loop connect once".into());
    };
    let (past, all) = (trial.tally.connects_past_need as f64, trial.tally.attempted as f64);
    let share = ratio(past, all).unwrap_or(0.0);
    let text = format!("{} of {} connects were for connections that the load did not need", figure(past), figure(all));
    if past < STORM_CONNECTS || share < STORM_SHARE || holds(trial, &facts.limits) && kept_up(trial) {
        return Verdict::RuledOut(text);
    }
    let view = View::new("client", trial, &trial.client);
    let evidence =
        vec![measured(&view, ("connects_past_need", ""), (past, FigureUnit::Plain), Some(STORM_CONNECTS), text)];
    let sentence = format!(
        "the generator's own connect storm: {} of its connects were for connections that the load did not need",
        percent(share)
    );
    Verdict::Binds { confidence: 0.7, sentence, evidence }
}

fn kept_up(trial: &Trial) -> bool {
    trial.rates.completed_rate >= KEEPS_UP * trial.rates.offered_rate
}

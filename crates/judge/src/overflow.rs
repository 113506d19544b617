//! Share of the connects that met a full accept queue, because they came faster than the server accepts.

use run::Trial;

use crate::Facts;
use crate::number::ratio;
use crate::single::{clients, server_of};
use crate::sweep::Plateau;
use crate::thresholds::{CONNECTS_DROPPED, FAR_BEYOND, FEW_DROPS};
use crate::view::View;

/// Overflow in one trial.
pub(crate) struct Overflow<'a> {
    pub(crate) view: View<'a>,
    /// Counter that shows it.
    pub(crate) counter: &'static str,
    pub(crate) drops: f64,
    /// Share of all connects that came in, 0 to 1.
    pub(crate) share: f64,
}

impl<'a> Overflow<'a> {
    /// Returns the trial with the largest share.
    pub(crate) fn worst(facts: &Facts<'a>) -> Option<Self> {
        trials(facts).into_iter().filter_map(Self::of).max_by(|a, b| a.share.total_cmp(&b.share))
    }

    /// Returns whether the overflow is more than an accident.
    pub(crate) fn counts(&self) -> bool {
        self.share >= CONNECTS_DROPPED && self.drops >= FEW_DROPS
    }

    fn of(trial: &'a Trial) -> Option<Self> {
        let view = server_of(trial)?;
        let host =
            ["tcp.listen_overflows", "tcp.listen_drops"].into_iter().filter_map(|id| Some((id, view.value(id)?)));
        // The listener's own counter includes segments of connections that are not up yet, where packets are lost.
        let own = || view.value("listen.drops").map(|n| ("listen.drops", n));
        let (counter, drops) = host.max_by(|a, b| a.1.total_cmp(&b.1)).or_else(own)?;
        let tried = view.value("tcp.passive_opens").unwrap_or(trial.measured.tally.connected as f64) + drops;
        Some(Self { view, counter, drops, share: ratio(drops, tried).unwrap_or(0.0) })
    }
}

/// Returns the trials around the limit. Far beyond it any server's queue overflows.
fn trials<'a>(facts: &Facts<'a>) -> Vec<&'a Trial> {
    let Plateau::Flat { from, .. } = facts.plateau else { return facts.focus() };
    facts.sweep.iter().copied().filter(|t| clients(t) >= from && clients(t) <= FAR_BEYOND * from).collect()
}

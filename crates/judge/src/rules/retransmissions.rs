//! Retransmitted segments of a trial, and their growth with the load. A lost segment delays one connection only. Losses
//! that are as frequent under a light load as at a plateau therefore do not stop throughput from growing.

use run::Trial;

use crate::Facts;
use crate::context::single::{clients, sides_of};
use crate::context::view::View;
use crate::in_flight::server_queue;
use crate::number::{percent, ratio};
use crate::signals::Signal;
use crate::thresholds::{LOST, MUCH_LOWER, WIDE};

/// Returns, for each side, the retransmitted segments (without SYNs) and all sent segments of the whole trial. Segments
/// of the whole trial are counted, because the measured window may be shorter than the retransmission timer.
pub(super) fn again(trial: &Trial) -> Vec<(View<'_>, f64, f64)> {
    let count = |view: View<'_>| {
        let syn = view.whole_trial("tcp.syn_retrans").unwrap_or(0.0);
        let lost = (view.whole_trial("tcp.retrans_segs")? - syn).max(0.0);
        let sent = view.whole_trial("tcp.out_segs")? + lost;
        ratio(lost, sent).map(|_| (lost, sent))
    };
    sides_of(trial).into_iter().filter_map(|v| count(v).map(|(lost, sent)| (v, lost, sent))).collect()
}

/// Returns the number of TCP segments that one side (client or server) sent again on the connections of the load.
/// Returns `None` if the counters of the connections were not read. Also returns `None` if connections ended during the
/// trial, because the counters of a connection vanish when the connection ends.
pub(super) fn of_own_connections(facts: &Facts<'_>, view: &View<'_>) -> Option<f64> {
    let trial = view.trial;
    let lasting = !facts.run.plan.load.new_connections && trial.tally.connected as f64 <= WIDE * clients(trial);
    view.whole_trial("connection.retrans").filter(|_| lasting).map(|each| each * clients(trial))
}

/// Returns a signal: how much larger the share of lost segments is at a plateau than under light loads, for one side.
/// Counts the load's own connections if possible (losses per answer), because other programs of the host may lose
/// segments whatever the load. Returns `None` if losses of single connections may limit the rate: throughput still
/// grew, the load did not add connections, or the server's workers wait until their answers are sent.
pub(super) fn growth(facts: &Facts<'_>, view: &View<'_>) -> Option<Signal> {
    if !facts.is_rate_limited() || !server_queue::adds_connections(facts) || server_queue::workers_wait_to_send(facts) {
        return None;
    }
    let unloaded = facts.unloaded?;
    let is_light = |trial: &Trial| {
        std::ptr::eq(trial, unloaded) || trial.rates.completed_rate <= MUCH_LOWER * facts.x_max().unwrap_or(0.0)
    };
    let light = facts.sweep.iter().copied().filter(|trial| is_light(trial));
    let side = |trial| sides_of(trial).into_iter().find(|side| side.role == view.role);
    let own = |view: &View<'_>| Some((of_own_connections(facts, view)?, view.trial.tally.completed as f64));
    let all =
        |view: &View<'_>| again(view.trial).into_iter().find(|(v, ..)| v.role == view.role).map(|(_, l, s)| (l, s));
    let (now, before) = match own(view) {
        Some(now) => (now, sum(light.filter_map(side).filter_map(|view| own(&view)))),
        None => (all(view)?, sum(light.filter_map(side).filter_map(|view| all(&view)))),
    };
    grew(now, before)
}

fn sum(counts: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    counts.fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1))
}

/// Returns a signal: the growth of the share of lost segments from `before` to `now`. `before` and `now` are pairs of
/// lost and sent segments. The signal's width is the statistical error of the growth.
fn grew((lost, sent): (f64, f64), (lost_before, sent_before): (f64, f64)) -> Option<Signal> {
    let before = ratio(lost_before, sent_before)?;
    let error = (lost.max(1.0).sqrt() / sent).hypot(lost_before.max(1.0).sqrt() / sent_before);
    Some(Signal::new(
        "share of the segments that were sent again beyond that of light loads",
        lost / sent - before,
        (LOST, error),
    ))
}

/// Returns the reason why losses do not stop throughput from growing: see [`growth`].
pub(super) fn caps_no_rate(growth: &Signal) -> Option<String> {
    (growth.log_odds() < 0.0).then(|| {
        format!(
            "at the plateau only {} more of them than under light loads: a lost segment delays one connection, so more \
             connections would complete more requests",
            percent(growth.value.max(0.0))
        )
    })
}

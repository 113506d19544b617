//! Lost TCP segments or QUIC packets of a trial, and their growth with the load. A lost segment or packet delays one
//! connection only. Losses that are as frequent under a light load as at a plateau therefore do not stop throughput
//! from growing.

use run::Trial;

use crate::Facts;
use crate::context::single::{clients, sides_of};
use crate::context::view::View;
use crate::in_flight::server_queue;
use crate::network::quic;
use crate::number::{percent, ratio};
use crate::signals::Signal;
use crate::thresholds::{LOST, MUCH_LOWER, WIDE};

/// Losses of one side (client or server) in a whole trial.
#[derive(Clone, Copy)]
pub(super) struct Losses<'a> {
    pub(super) view: View<'a>,
    /// Number of lost segments or packets, whose content was sent again.
    pub(super) lost: f64,
    /// Number of all segments or packets that the side sent.
    pub(super) sent: f64,
    /// Kind of the counted units: segments or packets.
    pub(super) unit: &'static Unit,
}

/// Words for the kind of units that are lost and sent again.
pub(super) struct Unit {
    /// Name of the figure in `run.json`.
    pub(super) counter: &'static str,
    pub(super) noun: &'static str,
    /// Word for the lost units, such as "retransmitted".
    pub(super) lost: &'static str,
    /// Words for the sentence of the verdict.
    pub(super) sentence: &'static str,
}

/// TCP segments, which the kernel of a host counts.
const SEGMENTS: Unit = Unit {
    counter: "tcp.retrans_segs",
    noun: "segment",
    lost: "retransmitted",
    sentence: "of the segments were retransmitted",
};
/// QUIC packets, which the generator counts.
const PACKETS: Unit = Unit {
    counter: "quic.lost_packets",
    noun: "QUIC packet",
    lost: "of the generator lost",
    sentence: "of the generator's QUIC packets were lost",
};

impl Losses<'_> {
    /// Returns the lost share, 0 to 1.
    pub(super) fn share(&self) -> f64 {
        self.lost / self.sent
    }
}

/// Returns the losses of each side. For TCP, losses are retransmitted segments without SYNs. Losses of the whole trial
/// are counted, because the measured window may be shorter than the retransmission timer. Over QUIC, only the
/// generator's losses are known, and all TCP segments belong to other connections.
pub(super) fn again<'a>(facts: &Facts<'_>, trial: &'a Trial) -> Vec<Losses<'a>> {
    if quic::is_used(facts.run) {
        let of = |(lost, sent)| Losses { view: quic::client(trial), lost, sent, unit: &PACKETS };
        return quic::lost(trial).map(of).into_iter().collect();
    }
    let count = |view: View<'a>| {
        let syn = view.whole_trial("tcp.syn_retrans").unwrap_or(0.0);
        let lost = (view.whole_trial("tcp.retrans_segs")? - syn).max(0.0);
        let sent = view.whole_trial("tcp.out_segs")? + lost;
        ratio(lost, sent).map(|_| Losses { view, lost, sent, unit: &SEGMENTS })
    };
    sides_of(trial).into_iter().filter_map(count).collect()
}

/// Returns the number of TCP segments or QUIC packets that one side (client or server) sent again on the connections of
/// the load. Returns `None` if the counters of the connections were not read. Also returns `None` if TCP connections
/// ended during the trial, because the kernel's counters of a connection vanish when the connection ends.
pub(super) fn of_own_connections(facts: &Facts<'_>, view: &View<'_>) -> Option<f64> {
    let trial = view.trial;
    if quic::is_used(facts.run) {
        return quic::lost(trial).map(|(lost, _)| lost);
    }
    let lasting = !facts.run.plan.load.new_connections && trial.tally.connected as f64 <= WIDE * clients(trial);
    view.whole_trial("connection.retrans").filter(|_| lasting).map(|each| each * clients(trial))
}

/// Returns a signal for one side: by how much the share of lost segments or packets at a plateau exceeds the share
/// under light loads. If possible, counts only losses on the load's own connections, per answer. Other programs of the
/// host may lose segments whatever the load. Returns `None` if throughput still grew, if the load did not add
/// connections, or if the server's workers wait until their answers are sent. In these cases, losses of single
/// connections may limit the rate.
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
    let all = |view: &View<'_>| {
        again(facts, view.trial).into_iter().find(|of| of.view.role == view.role).map(|of| (of.lost, of.sent))
    };
    let (now, before) = match own(view) {
        Some(now) => (now, sum(light.filter_map(side).filter_map(|view| own(&view)))),
        None => (all(view)?, sum(light.filter_map(side).filter_map(|view| all(&view)))),
    };
    grew(now, before)
}

fn sum(counts: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    counts.fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1))
}

/// Returns the growth of the share of lost segments from `before` to `now`, as a signal. `before` and `now` are pairs
/// of lost and sent segments. The signal's width is the statistical error of the growth.
fn grew((lost, sent): (f64, f64), (lost_before, sent_before): (f64, f64)) -> Option<Signal> {
    let before = ratio(lost_before, sent_before)?;
    let error = (lost.max(1.0).sqrt() / sent).hypot(lost_before.max(1.0).sqrt() / sent_before);
    Some(Signal::new(
        "share of the segments or packets that were sent again beyond that of light loads",
        lost / sent - before,
        (LOST, error),
    ))
}

/// Returns the reason why losses do not keep throughput from growing: see [`growth`].
pub(super) fn caps_no_rate(growth: &Signal) -> Option<String> {
    (growth.log_odds() < 0.0).then(|| {
        format!(
            "at the plateau only {} more of them than under light loads: a lost one delays one connection, so more \
             connections would complete more requests",
            percent(growth.value.max(0.0))
        )
    })
}

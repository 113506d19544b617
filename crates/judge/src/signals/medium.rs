//! Signals of full links: the used share of the rate of a wire or an interface, and the frames that a full queue
//! dropped.

use run::{Evidence, FigureUnit, Trial};

use super::Signal;
use crate::context::evidence::measured;
use crate::context::single::sides_of;
use crate::context::view::View;
use crate::network::link_speed::{self, BITS};
use crate::number::{figure, percent, positive, ratio};
use crate::thresholds::{DROPS_EXPLAIN, FRAMES_COUNT, FRAMING, FULL_MIDDLE, FULL_WIDTH, LIKELY, WIRE_BUSY};

/// Use of a medium (a wire or an interface) in a trial.
pub(crate) struct MediumUse {
    /// Used share of the link's maximum rate, 0 to 1.
    pub(crate) share: f64,
    /// Bytes per second on the link, framing included.
    pub(crate) per_s: f64,
    /// Line of evidence about the use of the medium.
    pub(crate) evidence: Evidence,
}

/// Returns the use of the medium with the largest used share, out of the client's and the server's media whose maximum
/// rate is known.
pub(crate) fn medium_use(trial: &Trial) -> Option<MediumUse> {
    media_uses(trial).into_iter().max_by(|a, b| a.share.total_cmp(&b.share))
}

/// Returns the use of each medium of the client and the server whose maximum rate is known.
pub(crate) fn media_uses(trial: &Trial) -> Vec<MediumUse> {
    sides_of(trial).into_iter().flat_map(|v| of_media(&v).into_iter().chain(of_interfaces(&v))).collect()
}

fn of_media(view: &View<'_>) -> Vec<MediumUse> {
    let of = |(name, bytes): (String, f64)| {
        let rate = view.side.recording.reading("medium.rate", &name, view.window).value().and_then(positive)?;
        let used = ratio(bytes, view.span_s?)?;
        Some(entry(view, "medium.bytes", &name, used, rate))
    };
    view.instances("medium.bytes").into_iter().filter_map(of).collect()
}

fn of_interfaces(view: &View<'_>) -> Vec<MediumUse> {
    let of = |(name, speed): (String, f64)| {
        let speed = positive(speed)?;
        let (counter, used) = used_way(view, &name)?;
        Some(entry(view, counter, &name, used, speed))
    };
    let is_enforced = |name: &str| !run::is_loopback(name) && !link_speed::is_nominal(&view.side.recording, name);
    view.instances("interface.speed").into_iter().filter(|(name, _)| is_enforced(name)).filter_map(of).collect()
}

/// Returns the counter of the busier direction of an interface, and the bytes per second in this direction, framing
/// included.
fn used_way(view: &View<'_>, name: &str) -> Option<(&'static str, f64)> {
    match both_ways(view, name) {
        (Some(o), Some(b)) if b > o => Some(("interface.rx_bytes", b)),
        (Some(o), _) => Some(("interface.tx_bytes", o)),
        (None, b) => Some(("interface.rx_bytes", b?)),
    }
}

/// Returns the bytes per second that leave an interface, and the bytes per second that enter it, framing included.
fn both_ways(view: &View<'_>, name: &str) -> (Option<f64>, Option<f64>) {
    let grown = |id| view.side.recording.reading(id, name, view.window).value();
    let way = |bytes, packets| ratio(grown(bytes)? + FRAMING * grown(packets).unwrap_or(0.0), view.span_s?);
    (way("interface.tx_bytes", "interface.tx_packets"), way("interface.rx_bytes", "interface.rx_packets"))
}

/// Returns the bytes per second of a side's busiest interface: the bytes that leave the interface and the bytes that
/// enter it, framing included.
pub(crate) fn ways(view: &View<'_>) -> Option<(f64, f64)> {
    let interfaces = view.instances("interface.tx_bytes").into_iter().filter(|(name, _)| name != "lo");
    let both = interfaces.filter_map(|(name, _)| {
        let (out, back) = both_ways(view, &name);
        out.zip(back)
    });
    both.max_by(|a, b| (a.0 + a.1).total_cmp(&(b.0 + b.1)))
}

/// Returns the bytes per second on the busiest wire of a medium, framing included.
pub(crate) fn medium_bytes(view: &View<'_>) -> Option<f64> {
    let wires = view.instances("medium.bytes").into_iter();
    wires.filter_map(|(_, bytes)| ratio(bytes, view.span_s?)).reduce(f64::max)
}

/// Returns the bytes per second in the busier direction of the busiest interface of a trial. The interface's maximum
/// rate need not be known. Leaves out loopback interfaces.
pub(crate) fn carried(trial: &Trial) -> Option<f64> {
    let of = |view: &View<'_>| -> Vec<f64> {
        let interfaces = view.instances("interface.tx_bytes").into_iter().filter(|(name, _)| !run::is_loopback(name));
        interfaces.filter_map(|(name, _)| Some(used_way(view, &name)?.1)).collect()
    };
    sides_of(trial).iter().flat_map(of).reduce(f64::max).and_then(positive)
}

fn entry(view: &View<'_>, counter: &'static str, name: &str, used: f64, rate: f64) -> MediumUse {
    let share = used / rate;
    let text = format!(
        "{name} carried {} of {} Mbit/s, framing included ({})",
        figure(used * BITS / 1e6),
        figure(rate * BITS / 1e6),
        percent(share)
    );
    MediumUse {
        share,
        per_s: used,
        evidence: measured(view, (counter, name), (used, FigureUnit::BytesPerSecond), Some(rate), text),
    }
}

/// Makes a signal that a link is full from its used share. The caller passes a lower `threshold` if counters of
/// collisions, deferrals, drops or retransmissions rise.
pub(crate) fn full_above(threshold: f64, share: f64) -> Signal {
    Signal::new("used share of the link", share, (threshold, FULL_WIDTH))
}

/// Returns true if a link is probably full, given the used share `share` of its maximum rate.
pub(crate) fn is_full_link(share: f64) -> bool {
    full_above(FULL_MIDDLE, share).chance() >= LIKELY
}

/// Returns the frames that the queue of a busy medium dropped, if these dropped frames explain most of the
/// retransmissions. Drops in the whole recording are included, because a frame that was dropped before the measured
/// window may be sent again inside it.
pub(crate) fn overflow(trial: &Trial) -> Option<Evidence> {
    medium_use(trial).filter(|m| m.share >= WIRE_BUSY)?;
    let views = sides_of(trial);
    let grown = |v: &View<'_>, id| v.whole_trial(id).unwrap_or(0.0);
    let most = |id: &'static str| views.iter().map(|v| grown(v, id)).fold(0.0, f64::max);
    let again = most("tcp.retrans_segs") - most("tcp.syn_retrans");
    let view = views.iter().find(|v| grown(v, "medium.drops") >= FRAMES_COUNT)?;
    let dropped = grown(view, "medium.drops");
    let text = format!(
        "the medium's full queue dropped {} frames; {} segments were retransmitted",
        figure(dropped),
        figure(again)
    );
    (again >= FRAMES_COUNT && dropped >= DROPS_EXPLAIN * again)
        .then(|| measured(view, ("medium.drops", ""), (dropped, FigureUnit::Plain), Some(0.0), text))
}

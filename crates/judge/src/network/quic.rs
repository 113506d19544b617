//! Signs on the network path of QUIC connections (HTTP/3). The kernel counts neither the packets nor the round trips of
//! QUIC. All figures therefore come from the generator, which is one end of each connection. Source: RFC 9002.
//!
//! Two facts limit these figures. First, the generator notices only the loss of packets that it sent itself, not the
//! loss of answers. Second, a program acknowledges the packets, not the kernel. A packet that waits in the socket of a
//! busy server is acknowledged late. A long round trip may therefore mean a queue at the server, but a short one shows
//! that packets wait nowhere.

use run::{Evidence, FigureUnit, Protocol, QuicPaths, Run, Trial};

use crate::context::evidence::measured;
use crate::context::single::sides_of;
use crate::context::view::View;
use crate::number::{counted, duration, figure, positive};
use crate::thresholds::{FRAMES_COUNT, TRIP_GREW, TRIP_QUEUE_US};

/// Counters of datagrams that the kernel dropped because the receive buffer of a UDP socket was full.
const FULL_BUFFERS: &[&str] = &["udp.rcvbuf_errors", "udp6.rcvbuf_errors"];

/// Returns true if the load of a run uses QUIC.
pub(crate) const fn is_used(run: &Run) -> bool {
    matches!(run.plan.load.protocol, Protocol::Http3(_))
}

/// Returns the number of packets that the generator lost, and the number of packets that it sent. Both numbers include
/// packets with nothing but acknowledgements, as the server's acknowledgements name these packets, too. Returns `None`
/// if the generator sent no packet.
pub(crate) fn lost(trial: &Trial) -> Option<(f64, f64)> {
    let paths = trial.quic.as_ref()?;
    let sent = positive(paths.sent_packets as f64)?;
    Some((paths.lost_packets as f64, sent))
}

/// Returns the smoothed round-trip time in microseconds. Returns `None` if it is unknown.
pub(crate) fn rtt_us(trial: &Trial) -> Option<f64> {
    trial.quic.as_ref().and_then(|paths| positive(paths.rtt_us))
}

/// Returns evidence of the round trips and of the congestion window.
pub(crate) fn path_line(trial: &Trial) -> Option<Evidence> {
    let QuicPaths { min_rtt_us, congestion_window_bytes, .. } = *trial.quic.as_ref()?;
    let rtt_us = rtt_us(trial)?;
    let text = format!(
        "a round trip of the generator's QUIC connections took {} (least {}), and their congestion window was {} B",
        duration(rtt_us),
        duration(min_rtt_us),
        figure(congestion_window_bytes)
    );
    Some(measured(&client(trial), ("quic.rtt_us", ""), (rtt_us, FigureUnit::Micros), positive(min_rtt_us), text))
}

/// Returns the reason why packets of a trial wait neither on the network path nor in the server's socket. The reason is
/// that the round trips are hardly longer than the shortest one. Returns `None` if the round trips are longer, or
/// unknown.
fn waits_nowhere(trial: &Trial) -> Option<String> {
    let paths = trial.quic.as_ref()?;
    let (rtt_us, least_us) = (rtt_us(trial)?, positive(paths.min_rtt_us)?);
    (rtt_us < TRIP_GREW * least_us || rtt_us - least_us < TRIP_QUEUE_US).then(|| {
        format!(
            "a round trip of the generator's QUIC connections took {}, hardly more than the least ({}): no packets queue",
            duration(rtt_us),
            duration(least_us)
        )
    })
}

/// Returns the reason why packets wait nowhere in any of the trials. Returns `None` if packets may wait in one of the
/// trials.
pub(crate) fn wait_nowhere(trials: &[&Trial]) -> Option<String> {
    let all: Option<Vec<String>> = trials.iter().map(|trial| waits_nowhere(trial)).collect();
    all?.into_iter().next()
}

/// Returns evidence of the round trips if packets may wait, on the way or in the server's socket.
pub(crate) fn waiting_line(trial: &Trial) -> Vec<Evidence> {
    path_line(trial).filter(|_| waits_nowhere(trial).is_none()).into_iter().collect()
}

/// Returns evidence of the lost packets if several were lost.
pub(crate) fn losses_line(trial: &Trial) -> Option<Evidence> {
    let (lost, sent) = lost(trial).filter(|(lost, _)| *lost >= FRAMES_COUNT)?;
    let text = format!("the generator lost {} of {}", figure(lost), counted(sent, "QUIC packet"));
    Some(measured(&client(trial), ("quic.lost_packets", ""), (lost, FigureUnit::Plain), Some(0.0), text))
}

/// Returns the number of datagrams that full receive buffers dropped on the hosts of a trial, in the whole trial.
pub(crate) fn dropped_by_full_buffers(trial: &Trial) -> f64 {
    let drops = |view: &View<'_>| FULL_BUFFERS.iter().filter_map(|id| view.whole_trial(id)).sum::<f64>();
    sides_of(trial).iter().map(drops).sum()
}

/// Returns the generator's side of a trial.
pub(crate) fn client(trial: &Trial) -> View<'_> {
    View::new("client", trial, &trial.client)
}

#[cfg(test)]
mod tests;

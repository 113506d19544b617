//! Bytes per exchange on the link in the direction of the requests. The experiment's lever `request-bytes` adds bytes
//! in the direction of the requests. A lever is a temporary change that an experiment makes, such as slowing a CPU. The
//! decisive trial of a run is the load that represents the run.
//!
//! On a half-duplex link, both directions share one wire, so the bytes of both directions are added up. On a
//! full-duplex link, longer requests fill only the direction of the requests, so this direction must be the fuller one.
//! Full duplex is assumed, as on switched Ethernet, unless the run says that the wire is shared. If the link is
//! half-duplex after all, the effect is smaller than predicted.

use run::Run;

use crate::context::view::View;
use crate::number::{positive, ratio};
use crate::signals::medium::{medium_bytes, ways};

/// Bytes per exchange that the link carries in the direction of the requests. On a shared wire, the bytes of both
/// directions are added up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum RequestWay {
    /// The number of bytes per exchange that the link carries in this direction is unknown.
    #[default]
    NotSeen,
    /// The answers load their direction of the link more than the requests load theirs, so longer requests do not test
    /// the link.
    OfAnswers,
    /// Bytes per exchange in the direction of the requests, including the framing of packets.
    Bytes(f64),
}

/// Returns the bytes per exchange in the direction of the requests, in the decisive trial (which represents the run).
pub fn request_way(run: &Run) -> RequestWay {
    let trial = run.findings.picks.decisive.and_then(|at| run.trials.get(at));
    let Some(trial) = trial else { return RequestWay::NotSeen };
    let of_each = |bytes_per_s: f64| ratio(bytes_per_s, trial.rates.completed_rate).and_then(positive);
    if run.medium.as_ref().is_some_and(|medium| medium.shared_wire) {
        let bytes = trial.server.as_ref().and_then(|side| medium_bytes(&View::new("server", trial, side)));
        return bytes.and_then(of_each).map_or(RequestWay::NotSeen, RequestWay::Bytes);
    }
    match ways(&View::new("client", trial, &trial.client)) {
        Some((out, back)) if out >= back => of_each(out).map_or(RequestWay::NotSeen, RequestWay::Bytes),
        Some(_) => RequestWay::OfAnswers,
        None => RequestWay::NotSeen,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{PlantedRun, Who};

    fn way(out: f64, back: f64, shared: Option<bool>) -> RequestWay {
        let mut run = PlantedRun::new(1000.0, 200.0)
            .per_s(Who::Client, "interface.tx_bytes", "eth0", move |p| p.x * out)
            .per_s(Who::Client, "interface.rx_bytes", "eth0", move |p| p.x * back)
            .per_s(Who::Server, "medium.bytes", "hub", move |p| p.x * (out + back))
            .run();
        run.medium = shared.map(|shared_wire| run::MediumInfo { shared_wire, ..run::MediumInfo::default() });
        crate::judge(&mut run);
        request_way(&run)
    }

    fn bytes(way: RequestWay) -> f64 {
        if let RequestWay::Bytes(bytes) = way { bytes.round() } else { f64::NAN }
    }

    #[test]
    fn request_bytes_count_on_their_own_direction_or_on_a_shared_wire() {
        // Each exchange has two packets in the direction of the requests, each with 24 B of framing.
        assert_eq!(bytes(way(9000.0, 300.0, None)), 9048.0);
        assert_eq!(way(300.0, 9000.0, None), RequestWay::OfAnswers);
        assert_eq!(way(300.0, 9000.0, Some(false)), RequestWay::OfAnswers);
        assert_eq!(bytes(way(300.0, 9000.0, Some(true))), 9300.0);
        assert_eq!(request_way(&Run::default()), RequestWay::NotSeen);
    }
}

//! A lever (temporary change that an experiment makes) that gives the generator's connections a small receive buffer.
//! The lever requests a buffer for a quarter of the bytes in flight. Linux doubles the requested size, so the TCP
//! window becomes at most half of the bytes in flight.

use run::{CounterId, Io, LoadPlan, Prove, Reading, Run};

use super::lever::{Lever, LeverHost, LeverTargets, LoadPair, Pull};

pub(super) const ROW: Lever = Lever {
    id: "window",
    help: "halves the receive window of the generator's connections (SO_RCVBUF)",
    tests: &["tcp-window"],
    needs: Prove::Default,
    always: false,
    slot_s: 0.0,
    planned: DOSE,
    rights: "none",
    intrusion: "none at the server",
    dose: "half of the bytes in flight, or more: the window is half to nine tenths of the buffer",
    undo: "the connections end with their load",
    place: LeverHost::Load,
    pull: Pull::Turns(load_pair),
};

/// Minimum share by which the smaller buffer reduces the bytes in flight.
const DOSE: f64 = 0.5;
/// Size of the requested buffer as a share of the bytes in flight. Linux doubles the requested size (SO_RCVBUF). At
/// first, the kernel uses half of the doubled size for the window, and up to nine tenths after large packets arrive
/// (tcp_win_from_space).
const BUFFER_SHARE: f64 = 0.25;
/// Minimum number of bytes in flight with which an experiment with this lever makes sense. With fewer bytes in flight,
/// a smaller window would act only through delayed acknowledgements.
const MIN_IN_FLIGHT_BYTES: f64 = 16_384.0;

/// Estimates the mean number of bytes in flight per connection while the server sends, in the load test on which the
/// verdict relies. The estimate is the delivery rate times the round-trip time. If the peer's receive window is smaller
/// than the estimate, or is the only known value, returns the size of this window. `connection.unacked` is not used,
/// because its mean includes the pauses between answers.
pub(crate) fn in_flight(run: &Run) -> Option<f64> {
    let side = run.trials.get(run.findings.picks.decisive?)?.server.as_ref()?;
    let value =
        |id| side.counters.get(&CounterId::new(id)).and_then(Reading::value).filter(|v| v.is_finite() && *v > 0.0);
    let carried =
        value("connection.delivery_rate").zip(value("connection.rtt")).map(|(rate, rtt_us)| rate * rtt_us / 1e6);
    match (carried, value("connection.peer_window")) {
        (Some(carried), Some(window)) => Some(carried.min(window)),
        (one, other) => one.or(other),
    }
}

/// Returns the loads without and with the smaller receive buffer. Both loads use the epoll driver, because only this
/// driver sets the receive buffer.
fn load_pair(targets: &LeverTargets, load: &LoadPlan) -> Result<LoadPair, String> {
    let bytes =
        targets.in_flight.ok_or("the bytes in flight are unknown: the server's connections were not visible")?;
    if bytes < MIN_IN_FLIGHT_BYTES {
        return Err(format!("{bytes:.0} bytes in flight are too few to take half of them away"));
    }
    let off = LoadPlan { io: Io::Epoll, receive_buffer: None, ..load.clone() };
    let receive_buffer = Some((BUFFER_SHARE * bytes) as u32);
    Ok(LoadPair { on: LoadPlan { receive_buffer, ..off.clone() }, off, dose: DOSE, change: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_of_what_is_in_flight_is_asked_for() {
        let targets = |bytes| LeverTargets { in_flight: bytes, ..LeverTargets::default() };
        let found = load_pair(&targets(Some(65_536.0)), &LoadPlan::default()).unwrap();
        assert_eq!((found.off.receive_buffer, found.on.receive_buffer, found.dose), (None, Some(16_384), 0.5));
        assert!(load_pair(&targets(Some(3000.0)), &LoadPlan::default()).unwrap_err().contains("too few"));
        assert!(load_pair(&targets(None), &LoadPlan::default()).unwrap_err().contains("are unknown"));
    }
}

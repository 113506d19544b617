//! Stated speeds of network interfaces that nothing enforces. A bridge of containers, an emulated network card and the
//! card of a virtual machine state a speed. Such interfaces can carry as many bytes as the CPUs can copy.

use run::{Recording, Side, Window};

use crate::number::{figure, positive, ratio};
use crate::thresholds::FULL_WIDTH;

/// Number of bits in a byte.
pub(crate) const BITS: f64 = u8::BITS as f64;

/// Returns true if an interface carried clearly more than its stated speed over the whole recording, so nothing
/// enforces this speed. The whole recording is used because some drivers update their counters only once per second. In
/// a short window, a counter that is updated once per second may grow by more bytes than the link carried in the
/// window.
pub(crate) fn is_nominal(recording: &Recording, interface: &str) -> bool {
    carried_and_stated(recording, interface).is_some_and(|(carried, stated)| carried / stated > 1.0 + FULL_WIDTH)
}

/// Returns a sentence about an interface of a side whose stated speed nothing enforces. Returns `None` if no interface
/// of the side carried clearly more than its stated speed.
pub(crate) fn nominal(side: &Side) -> Option<String> {
    let interfaces = side.recording.columns_of("interface.speed").map(|column| column.instance.as_str());
    let name = interfaces.into_iter().find(|name| is_nominal(&side.recording, name))?;
    let (carried, stated) = carried_and_stated(&side.recording, name)?;
    let mbit_s = |bytes_per_s: f64| figure(bytes_per_s * BITS / 1e6);
    Some(format!(
        "{name} carried {} Mbit/s, more than the {} Mbit/s that it states: nothing enforces this speed",
        mbit_s(carried),
        mbit_s(stated)
    ))
}

/// Returns the bytes per second in the fuller direction of an interface over the whole recording, and the interface's
/// stated speed in bytes per second.
fn carried_and_stated(recording: &Recording, interface: &str) -> Option<(f64, f64)> {
    let whole = |id| recording.reading(id, interface, Window::ALL).value();
    let ways = ["interface.tx_bytes", "interface.rx_bytes"].into_iter().filter_map(whole);
    let carried = ratio(ways.reduce(f64::max)?, recording.span_s(Window::ALL))?;
    Some((carried, whole("interface.speed").and_then(positive)?))
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Who};

    /// Four workers of a server send answers of 1.5 MB through an interface with a stated speed of `speed` bytes per
    /// second. The answers need 309 MB/s.
    fn large_answers(speed: f64) -> PlantedRun {
        let mut planted = PlantedRun::new(20_000.0, 200.0)
            .level(Who::Server, "connection.receive_queue", "", 90.0)
            .per_s(Who::Server, "interface.tx_bytes", "eth0", |p| p.x * 1.545e6)
            .per_s(Who::Client, "interface.rx_bytes", "eth0", |p| p.x * 1.545e6)
            .change(|t, _| {
                let tally = &mut t.measured.tally;
                (tally.bytes_sent, tally.bytes_received) = (100 * tally.sent, 1_500_000 * tally.completed);
            });
        for who in [Who::Client, Who::Server] {
            planted = planted.level(who, "interface.speed", "eth0", speed);
        }
        planted
    }

    /// The bridge of Docker (stated speed 10 Gbit/s), the emulated card e1000 and VMware's vmxnet3 behave like the
    /// interface in this test. An earlier version of loadline reported a link that was 251 % full.
    #[test]
    fn a_link_that_carries_more_than_it_states_is_not_full() {
        let nominal = large_answers(1.25e8);
        let verdict = nominal.verdict();
        assert!(verdict.id == "server-concurrency" && verdict.confidence >= 0.9, "{verdict:#?}");
        let why = verdict.ruled_out.iter().find(|out| out.id == "network-medium").map(|out| out.why.as_str());
        assert!(why.is_some_and(|why| why.contains("nothing enforces this speed")), "{verdict:#?}");
        let devices: Vec<_> = nominal.run().trials.iter().flat_map(crate::devices).collect();
        assert!(devices.iter().all(|device| device.kind != "interface" || !device.full), "{devices:#?}");
        let real = large_answers(3.2e8).verdict();
        assert!(real.id == "network-medium" && real.confidence >= 0.8, "{real:#?}");
    }
}

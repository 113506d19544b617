//! Checks the throughput of the media with iperf3: with one client and with five, in one direction and in both. The
//! throughput must equal the medium's rate minus the protocol overhead.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use common::{again_without_root, await_listener, bed, iperf_client, iperf_server};
use loadline_testbed::Spec;
use run::{Recording, Window};
use sys::hiccups::HiccupMeter;
use testkit::has;

/// Payload as a share of all traffic of a TCP bulk transfer on a shared Ethernet. Two segments of 1448 bytes (1538 on
/// the wire) cause one acknowledgement (90 bytes on the wire).
const TCP_SHARE: f64 = 2.0 * 1448.0 / (2.0 * 1538.0 + 90.0);

fn near(what: &str, value: f64, limit: f64) {
    within(what, value, limit, 0.03);
}

fn within(what: &str, value: f64, limit: f64, share: f64) {
    let off = value / limit - 1.0;
    println!("{what}: {value:.4} of {limit:.4}, {:+.2} %", off * 100.0);
    assert!(off.abs() <= share, "{what}: {value} is {:.1} % off {limit}", off * 100.0);
}

/// Payload as a share of all traffic of a TCP bulk transfer on a full-duplex wire. The acknowledgements use the other
/// direction's wire.
const TCP_SHARE_DUPLEX: f64 = 1448.0 / 1538.0;

/// A medium and the throughput that it must have.
struct Claim {
    medium: &'static str,
    /// Rate of the wire that the test keeps full, Mbit/s.
    rate: f64,
    /// Name of the wire that the test keeps full; empty if the medium has only one wire.
    wire: &'static str,
    /// Payload as a share of the traffic on the wire.
    share: f64,
}

const fn one_wire(medium: &'static str, rate: f64) -> Claim {
    Claim { medium, rate, wire: "", share: TCP_SHARE }
}

/// Expected throughput of a switch as the medium between the hosts. All clients send to the server, so they share the
/// rate of the wire to the server.
const SWITCH: Claim = Claim { medium: "switch:50M", rate: 50.0, wire: "switch to server", share: TCP_SHARE_DUPLEX };

/// Lock that lets only one test run at a time. Each test fills a wire, so tests that run at the same time would compete
/// for CPUs.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Length of each period of the measurement, seconds.
const STRETCH_S: f64 = 0.25;
/// Number of periods of the measurement. If the machine stalls, the wire is idle in one or two periods, which does not
/// change the median.
const STRETCHES: usize = 12;

fn middle(mut list: Vec<f64>) -> f64 {
    list.sort_by(f64::total_cmp);
    list[list.len() / 2]
}

/// Keeps a wire full with the traffic of `clients` clients, in one direction or in both. Compares the rate, the
/// utilisation and the payload of the wire with calculated values.
fn shared(test: &str, claim: &Claim, clients: usize, both: bool) {
    if !has(test, "iperf3") {
        return;
    }
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(bed) = bed(test, &Spec::server_and_clients(clients, claim.medium)) else { return };
    println!("{test}: {}", bed.made_of());
    let ports: Vec<u16> = (0..clients as u16).map(|n| 5201 + n).collect();
    let servers: Vec<_> = ports.iter().map(|port| iperf_server(&bed, "server", *port)).collect();
    ports.iter().for_each(|port| await_listener(&bed, "server", *port));
    // The TCP windows are so small that all of them together fit into the queue, so no segment is lost. If a segment
    // were lost, its bytes would arrive later, and iperf3 would count them in a later period.
    let window = if both { "12K" } else { "24K" };
    let extra: &[&str] = if both { &["-t", "6", "-w", window, "--bidir"] } else { &["-t", "6", "-w", window] };
    let started: Vec<_> =
        (0..clients).map(|n| iperf_client(&bed, &format!("client{}", n + 1), "server", ports[n], extra)).collect();
    std::thread::sleep(Duration::from_millis(2000));
    let meter = HiccupMeter::start().unwrap();
    let (gauge, mut recording, begin) = (bed.gauge(), Recording::default(), Instant::now());
    let mut edges = Vec::new();
    for at in 0..=STRETCHES {
        let due = Duration::from_secs_f64(at as f64 * STRETCH_S);
        std::thread::sleep(due.saturating_sub(begin.elapsed()));
        edges.push(begin.elapsed().as_secs_f64());
        gauge.sample(edges[at], &mut recording);
    }
    let end = begin + Duration::from_secs_f64(edges[STRETCHES]);
    let (there, back) = if both { ("RX-S", "RX-C") } else { ("", "nothing") };
    let user_bytes: f64 = started.into_iter().map(|c| c.bytes(begin, end, back)).sum::<f64>()
        + servers.into_iter().map(|s| s.bytes(begin, end, there)).sum::<f64>();
    let ours = |wire: &str| claim.wire.is_empty() || wire == claim.wire;
    let grown = |id: &str, window| recording.sum(id, window, ours).value().unwrap();
    let a_second = |id: &str| {
        let stretch = |edge: &[f64]| grown(id, Window { begin_s: edge[0], end_s: edge[1] }) / (edge[1] - edge[0]);
        middle(edges.windows(2).map(stretch).collect())
    };
    near(&format!("{test} wire Mbit/s"), a_second("medium.bytes") * 8.0 / 1e6, claim.rate);
    near(&format!("{test} busy share"), a_second("medium.busy") / 1e6, 1.0);
    // iperf3 reports the bytes of each quarter of a second, or of a longer interval if the machine stalls. If only a
    // part of an interval is inside the measurement, the test counts the same part of its bytes. A stall of the machine
    // makes the counted bytes inexact, so the tolerance grows with the longest stall.
    let stood_s = meter.end().iter().map(|pause| pause.ns() as f64 / 1e9).fold(0.0, f64::max);
    let share = 0.03 + stood_s / (STRETCHES as f64 * STRETCH_S);
    within(&format!("{test} user's share"), user_bytes / grown("medium.bytes", Window::ALL), claim.share, share);
}

#[test]
fn ethernet10_one_host() {
    shared("ethernet10_one_host", &one_wire("ethernet10", 10.0), 1, false);
}

#[test]
fn ethernet10_five_hosts() {
    shared("ethernet10_five_hosts", &one_wire("ethernet10", 10.0), 5, false);
}

#[test]
fn ethernet10_five_hosts_both_ways() {
    shared("ethernet10_five_hosts_both_ways", &one_wire("ethernet10", 10.0), 5, true);
}

#[test]
fn the_hub_in_user_space_has_the_same_throughput() {
    shared("hub_in_user_space", &one_wire("ethernet10:user", 10.0), 5, false);
}

#[test]
fn hub100_one_host() {
    shared("hub100_one_host", &one_wire("hub100", 100.0), 1, false);
}

#[test]
fn switch_one_host() {
    shared("switch_one_host", &SWITCH, 1, false);
}

#[test]
fn switch_five_hosts() {
    shared("switch_five_hosts", &SWITCH, 5, false);
}

#[test]
fn the_wire_has_the_same_throughput_without_root() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    again_without_root("the_wire_has_the_same_throughput_without_root", "ethernet10_five_hosts_both_ways");
}

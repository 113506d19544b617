//! Proof of the media: what iperf3 sees is what the framing allows, with one host and with five, one way and both.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::time::{Duration, Instant};

use common::{again_without_root, await_listener, bed, has, iperf_client, iperf_server};
use loadline_testbed::Spec;
use run::{Recording, Window};

/// Bulk TCP on a shared Ethernet: two segments of 1448 bytes (1538 on the wire) share it with one acknowledgement (90).
const TCP_SHARE: f64 = 2.0 * 1448.0 / (2.0 * 1538.0 + 90.0);

fn near(what: &str, value: f64, limit: f64) {
    let off = value / limit - 1.0;
    println!("{what}: {value:.4} of {limit:.4}, {:+.2} %", off * 100.0);
    assert!(off.abs() <= 0.03, "{what}: {value} is {:.1} % off {limit}", off * 100.0);
}

/// The same where acknowledgements have a wire of their own.
const TCP_SHARE_DUPLEX: f64 = 1448.0 / 1538.0;

/// What a medium is held to.
struct Claim {
    medium: &'static str,
    /// Mbit/s of the wire that fills.
    rate: f64,
    /// Which wire that is; empty where there is only one.
    wire: &'static str,
    /// Share of it that is the user's bytes.
    share: f64,
}

const fn one_wire(medium: &'static str, rate: f64) -> Claim {
    Claim { medium, rate, wire: "", share: TCP_SHARE }
}

/// A switch whose port to the server is what all clients share.
const SWITCH: Claim = Claim { medium: "switch:50M", rate: 50.0, wire: "switch to server", share: TCP_SHARE_DUPLEX };

/// Loads a shared wire with clients and holds goodput and wire use of two common seconds against arithmetic.
fn shared(test: &str, claim: &Claim, clients: usize, both: bool) {
    if !has(test, "iperf3") {
        return;
    }
    let Some(bed) = bed(test, &Spec::server_and_clients(clients, claim.medium)) else { return };
    println!("{test}: {}", bed.made_of());
    let ports: Vec<u16> = (0..clients as u16).map(|n| 5201 + n).collect();
    let servers: Vec<_> = ports.iter().map(|port| iperf_server(&bed, "server", *port)).collect();
    ports.iter().for_each(|port| await_listener(&bed, "server", *port));
    // Windows that fit into the queue together: a lost segment would hold back bytes and give them to iperf3 later.
    let window = if both { "12K" } else { "24K" };
    let extra: &[&str] = if both { &["-t", "5", "-w", window, "--bidir"] } else { &["-t", "5", "-w", window] };
    let started: Vec<_> =
        (0..clients).map(|n| iperf_client(&bed, &format!("client{}", n + 1), "server", ports[n], extra)).collect();
    std::thread::sleep(Duration::from_millis(2000));
    let (gauge, mut recording, begin) = (bed.gauge(), Recording::default(), Instant::now());
    gauge.sample(0.0, &mut recording);
    std::thread::sleep(Duration::from_millis(2500));
    let end = Instant::now();
    gauge.sample((end - begin).as_secs_f64(), &mut recording);
    let (there, back) = if both { ("RX-S", "RX-C") } else { ("", "nothing") };
    let sum: f64 = started.into_iter().map(|c| c.bytes(begin, end, back)).sum::<f64>()
        + servers.into_iter().map(|s| s.bytes(begin, end, there)).sum::<f64>();
    let grown =
        |id: &str| recording.sum(id, Window::ALL, |wire| claim.wire.is_empty() || wire == claim.wire).value().unwrap();
    let span = recording.span_s(Window::ALL);
    near(&format!("{test} wire Mbit/s"), grown("medium.bytes") * 8.0 / span / 1e6, claim.rate);
    near(&format!("{test} busy share"), grown("medium.busy") / 1e6 / span, 1.0);
    near(&format!("{test} goodput Mbit/s"), sum * 8.0 / span / 1e6, claim.rate * claim.share);
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
fn the_hub_in_user_space_is_the_same_medium() {
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
fn the_wire_is_the_same_without_root() {
    again_without_root("the_wire_is_the_same_without_root", "ethernet10_five_hosts_both_ways");
}

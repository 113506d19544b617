//! Checks that a host receives its packets on the CPU that the spec names, with root rights and without. The kernel
//! counts the packets that each CPU receives.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::net::UdpSocket;
use std::time::Duration;

use common::{again_without_root, bed};
use loadline_testbed::Spec;
use sys::netns::OpenSpec;
use testkit::skip;

/// Number of packets to send, far more than the other packets that a CPU receives during the test.
const PACKETS: u64 = 20_000;
/// Number of packets between two pauses, so few that they all fit into a CPU's queue.
const PACKETS_PER_TURN: u64 = 200;

/// Returns the number of packets that a CPU has received since boot, from `/proc/net/softnet_stat`. In
/// `/proc/net/softnet_stat`, column 1 has the processed packets, column 2 the packets that a full queue dropped, and
/// column 13 the CPU's number.
fn taken_in(cpu: u32) -> u64 {
    let text = std::fs::read_to_string("/proc/net/softnet_stat").unwrap();
    let rows = text.lines().map(|line| line.split_whitespace().map(|v| u64::from_str_radix(v, 16).unwrap()));
    let rows: Vec<Vec<u64>> = rows.map(Iterator::collect).collect();
    rows.iter().find(|row| row.get(12) == Some(&u64::from(cpu))).map_or(0, |row| row[0] + row[1])
}

#[test]
fn packets_are_received_on_the_cpu_of_their_host() {
    let test = "packets_are_received_on_the_cpu_of_their_host";
    let cpus = sys::limits::allowed_cpus().unwrap();
    let [here, .., there] = cpus[..] else { return skip(test, "there is one processor") };
    let spec = Spec {
        receives_on: std::iter::once(("server".to_string(), vec![there])).collect(),
        ..Spec::server_and_clients(1, "switch")
    };
    let Some(bed) = bed(test, &spec) else { return };
    match bed.steered("server").unwrap() {
        Ok(by) => println!("steered by {by}"),
        Err(why) => return skip(test, why),
    }
    assert_eq!(bed.steered("client1"), None);
    let want = OpenSpec::Socket { family: 2, kind: 2, protocol: 0 };
    let socket = UdpSocket::from(bed.netns("client1").unwrap().open(&[want]).unwrap().pop().unwrap());
    sys::limits::confine_to_cpus(&[here]).unwrap();
    let before = taken_in(there);
    let server = (bed.address("server").unwrap(), 9);
    for n in 0..PACKETS {
        // Because no program listens on the port, sending may report an error about the previous datagram. The test
        // ignores errors about previous datagrams.
        let _ = socket.send_to(&[0], server);
        if n % PACKETS_PER_TURN == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    // The last packets may still be waiting in the CPU's queue.
    let grown = testkit::eventually(|| Some(taken_in(there) - before).filter(|grown| *grown >= PACKETS));
    println!("{grown} packets on processor {there}");
    drop(bed);
    sys::limits::confine_to_cpus(&cpus).unwrap();
    again_without_root(test, test);
}

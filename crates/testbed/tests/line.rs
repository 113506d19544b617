//! Checks the delay, rate, loss and reordering of a long line. This process has the sockets at both ends of the line,
//! so all times are from one clock.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use common::{again_without_root, bed};
use loadline_testbed::{Spec, Testbed};
use sys::netns::OpenSpec;
use testkit::alone;

/// Maximum time to wait for a datagram that must arrive.
const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of datagrams that are sent but not yet received. So many datagrams fit into the buffers between
/// sender and receiver.
const MAX_UNDER_WAY: u32 = 128;

/// Number of datagrams in the test of the rate.
const BURST: u32 = 2000;
/// Maximum number of datagrams that are sent but not yet received in the test of the rate.
const AHEAD: u32 = 400;

/// Opens a UDP socket, owned by this process, in the namespace of a host.
fn udp(bed: &Testbed, host: &str) -> UdpSocket {
    let want = OpenSpec::Socket { family: 2, kind: 2, protocol: 0 };
    let fd = bed.netns(host).unwrap().open(&[want]).unwrap().pop().unwrap();
    sys::socket::bind(&fd, SocketAddr::new(bed.address(host).unwrap(), 7000)).unwrap();
    let socket = UdpSocket::from(fd);
    socket.set_read_timeout(Some(ARRIVAL_TIMEOUT)).unwrap();
    socket
}

/// Builds a testbed with a long line between two hosts. Returns the testbed, and a socket at each end of the line.
fn line(test: &str, medium: &str) -> Option<(Testbed, UdpSocket, UdpSocket)> {
    let bed = bed(test, &Spec::server_and_clients(1, medium))?;
    let (server, client) = (udp(&bed, "server"), udp(&bed, "client1"));
    client.connect(server.local_addr().unwrap()).unwrap();
    server.connect(client.local_addr().unwrap()).unwrap();
    Some((bed, server, client))
}

fn near(what: &str, value: f64, asked: f64) {
    println!("{what}: {value:.5}, asked {asked:.5}, {:+.2} %", (value / asked - 1.0) * 100.0);
    assert!((value / asked - 1.0).abs() <= 0.03, "{what}: {value} instead of {asked}");
}

#[test]
fn each_direction_has_the_requested_delay() {
    let _alone = alone();
    let Some((_bed, server, client)) = line("delay_is_what_was_asked", "wan:delay=20ms") else { return };
    let trips: Vec<f64> = (0..30)
        .map(|_| {
            let mut byte = [0];
            let begin = Instant::now();
            client.send(&[1]).unwrap();
            server.recv(&mut byte).unwrap();
            let there = begin.elapsed().as_secs_f64();
            server.send(&[1]).unwrap();
            client.recv(&mut byte).unwrap();
            assert!(there >= 0.020 && begin.elapsed().as_secs_f64() >= 0.040, "a frame came too early");
            begin.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    // A process that must wait for a CPU receives a datagram late, but never early. Of several measured round trips,
    // the shortest is the most accurate.
    near("least round trip, ms", trips.into_iter().fold(f64::MAX, f64::min), 40.0);
}

/// Sends `count` datagrams, numbered from 0. At most [`MAX_UNDER_WAY`] datagrams have been sent but not received at any
/// time. Returns the numbers of the datagrams in the order of arrival. If `loses` is true, the line loses datagrams but
/// does not reorder them. If datagrams stay in order, each arrival shows that all earlier datagrams have arrived or are
/// lost.
fn numbered(count: u32, loses: bool, server: &UdpSocket, client: &UdpSocket) -> Vec<u32> {
    let mut got: Vec<u32> = Vec::new();
    for n in 0..count {
        client.send(&n.to_be_bytes()).unwrap();
        let over = |got: &[u32]| if loses { got.last().map_or(0, |n| n + 1) } else { got.len() as u32 };
        while n + 1 - over(&got) >= MAX_UNDER_WAY {
            assert!(receive(server, &mut got), "nothing arrived for {ARRIVAL_TIMEOUT:?}");
        }
    }
    // If the last datagrams are lost, nothing arrives any more.
    server.set_read_timeout(Some(if loses { Duration::from_secs(1) } else { ARRIVAL_TIMEOUT })).unwrap();
    while got.len() < count as usize && receive(server, &mut got) {}
    got
}

/// Waits for one numbered datagram, and appends its number to `got`. Returns false if no datagram arrives in time.
fn receive(server: &UdpSocket, got: &mut Vec<u32>) -> bool {
    let mut bytes = [0; 4];
    let came = server.recv(&mut bytes).is_ok_and(|n| n == 4);
    got.extend(came.then_some(u32::from_be_bytes(bytes)));
    came
}

#[test]
fn the_requested_share_of_frames_is_lost() {
    let _alone = alone();
    let medium = "wan:delay=1ms,loss=20%,seed=7";
    let Some((_bed, server, client)) = line("the_requested_share_of_frames_is_lost", medium) else { return };
    let got = numbered(40_000, true, &server, &client).len() as f64;
    near("share lost", 1.0 - got / 40_000.0, 0.2);
}

#[test]
fn by_default_no_frame_is_lost_or_reordered() {
    let _alone = alone();
    let medium = "wan:delay=5ms,jitter=2ms";
    let Some((_bed, server, client)) = line("no_frame_is_lost", medium) else { return };
    assert_eq!(numbered(8000, false, &server, &client), (0..8000).collect::<Vec<_>>());
}

#[test]
fn the_requested_share_of_frames_is_reordered() {
    let _alone = alone();
    let medium = "wan:delay=5ms,reorder=20%,seed=7";
    let Some((_bed, server, client)) = line("overtaking_happens", medium) else { return };
    let got = numbered(40_000, false, &server, &client);
    assert_eq!(got.len(), 40_000);
    // A datagram has overtaken other datagrams if it arrived before a datagram that was sent earlier.
    let (mut lowest, mut overtakers) = (u32::MAX, 0.0);
    for n in got.into_iter().rev() {
        overtakers += f64::from(u8::from(n > lowest));
        lowest = lowest.min(n);
    }
    near("share that overtook", overtakers / 40_000.0, 0.2);
}

#[test]
fn datagrams_arrive_at_the_rate_of_the_line() {
    let _alone = alone();
    let Some((_bed, server, client)) = line("the_rate_holds", "wan:rate=20M,queue=4000000") else { return };
    let (begin, mut payload, mut buffer) = (Instant::now(), [0_u8; 1400], [0; 2000]);
    let (mut sent, mut came) = (0, Vec::<(u32, _)>::new());
    // The test keeps many frames on their way, so that the line stays full even while this thread does not run. If the
    // thread reads too late, the socket drops datagrams. Even if datagrams are dropped, the numbers of the received
    // datagrams show how many frames have passed the line.
    while came.last().is_none_or(|(n, _)| n + 1 < BURST) {
        while sent < BURST.min(came.last().map_or(0, |(n, _)| n + 1) + AHEAD) {
            payload[..4].copy_from_slice(&u32::to_be_bytes(sent));
            assert_eq!(client.send(&payload).unwrap(), 1400);
            sent += 1;
        }
        if server.recv(&mut buffer).is_err() {
            break;
        }
        came.push((u32::from_be_bytes(buffer[..4].try_into().unwrap()), begin.elapsed().as_secs_f64()));
    }
    // If this thread reads late, a datagram seems delayed, but a datagram never seems to be early. The test looks at
    // two quarters of the datagrams: the second and the last. In each of the two quarters, the test picks the datagram
    // with the least delay. The delay of a datagram is its arrival time minus the planned time, which follows from its
    // number. The true rate is the difference of the two datagrams' numbers, divided by the difference of their arrival
    // times.
    let datagram_s = (1400.0 + 66.0) * 8.0 / 20e6;
    let lateness = |(n, at): &(u32, f64)| at - f64::from(*n) * datagram_s;
    let timely = |from: u32, to: u32| {
        let quarter = came.iter().filter(|(n, _)| (from..to).contains(n));
        *quarter.min_by(|a, b| lateness(a).total_cmp(&lateness(b))).expect("some of the quarter came")
    };
    let (early, late) = (timely(BURST / 4, BURST / 2), timely(BURST / 4 * 3, BURST));
    let rate = f64::from(late.0 - early.0) * (1400.0 + 66.0) * 8.0 / (late.1 - early.1);
    near("Mbit/s on the line", rate / 1e6, 20.0);
}

#[test]
fn delay_and_loss_are_the_same_without_root() {
    let _alone = alone();
    for measured in ["each_direction_has_the_requested_delay", "the_requested_share_of_frames_is_lost"] {
        again_without_root("delay_and_loss_are_the_same_without_root", measured);
    }
}

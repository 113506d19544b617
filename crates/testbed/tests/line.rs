//! Proof of the long line: delay, rate, loss and overtaking are what was asked. Both ends are sockets of this
//! process, each in another host, so one clock measures both.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use common::{again_without_root, bed};
use loadline_testbed::{Spec, Testbed};
use sys::netns::Inside;
use testkit::skip;

/// A UDP socket of this process that lives in a host.
fn udp(bed: &Testbed, host: &str) -> UdpSocket {
    let want = Inside::Socket { family: 2, kind: 2, protocol: 0 };
    let fd = bed.netns(host).unwrap().open(&[want]).unwrap().pop().unwrap();
    sys::socket::bind(&fd, SocketAddr::new(bed.address(host).unwrap(), 7000)).unwrap();
    let socket = UdpSocket::from(fd);
    socket.set_read_timeout(Some(Duration::from_millis(400))).unwrap();
    socket
}

/// A line between two hosts with a socket at each end.
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
fn delay_is_what_was_asked_each_way() {
    let Some((_bed, server, client)) = line("delay_is_what_was_asked", "wan:delay=20ms") else { return };
    let mut trips: Vec<f64> = (0..30)
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
    trips.sort_by(f64::total_cmp);
    near("median round trip, ms", trips[trips.len() / 2], 40.0);
}

/// Sends numbered datagrams a few at a time and returns the numbers in the order in which they arrived.
fn numbered(count: u32, server: &UdpSocket, client: &UdpSocket) -> Vec<u32> {
    let (mut got, mut bytes) = (Vec::new(), [0; 4]);
    let mut receive = |got: &mut Vec<u32>| {
        let here = server.recv(&mut bytes).is_ok_and(|n| n == 4);
        if here {
            got.push(u32::from_be_bytes(bytes));
        }
        here
    };
    server.set_nonblocking(true).unwrap();
    for n in 0..count {
        client.send(&n.to_be_bytes()).unwrap();
        if n % 16 == 15 {
            std::thread::sleep(Duration::from_micros(200));
            while receive(&mut got) {}
        }
    }
    server.set_nonblocking(false).unwrap();
    while receive(&mut got) {}
    got
}

#[test]
fn loss_is_what_was_asked() {
    let medium = "wan:delay=1ms,loss=20%,seed=7";
    let Some((_bed, server, client)) = line("loss_is_what_was_asked", medium) else { return };
    let got = numbered(40_000, &server, &client).len() as f64;
    near("share lost", 1.0 - got / 40_000.0, 0.2);
}

#[test]
fn no_frame_is_lost_or_overtaken_unless_asked() {
    let medium = "wan:delay=5ms,jitter=2ms";
    let Some((_bed, server, client)) = line("no_frame_is_lost", medium) else { return };
    assert_eq!(numbered(8000, &server, &client), (0..8000).collect::<Vec<_>>());
}

#[test]
fn overtaking_happens_as_often_as_asked() {
    let medium = "wan:delay=5ms,reorder=20%,seed=7";
    let Some((_bed, server, client)) = line("overtaking_happens", medium) else { return };
    let got = numbered(40_000, &server, &client);
    assert_eq!(got.len(), 40_000);
    // Who arrived before a frame that was sent earlier has overtaken it.
    let (mut lowest, mut overtakers) = (u32::MAX, 0.0);
    for n in got.into_iter().rev() {
        overtakers += f64::from(u8::from(n > lowest));
        lowest = lowest.min(n);
    }
    near("share that overtook", overtakers / 40_000.0, 0.2);
}

#[test]
fn the_rate_holds_for_datagrams() {
    let Some((bed, server, client)) = line("the_rate_holds", "wan:rate=20M,queue=4000000") else { return };
    let payload = [0_u8; 1400];
    let (begin, mut last) = (Instant::now(), None);
    (0..1000).for_each(|_| assert_eq!(client.send(&payload).unwrap(), 1400));
    let mut buffer = [0; 2000];
    let mut got = 0;
    while server.recv(&mut buffer).is_ok() {
        got += 1;
        last = Some(begin.elapsed());
    }
    if got < 900 {
        return skip("the_rate_holds", "the socket buffer of this machine is too small for the burst");
    }
    near("Mbit/s on the line", f64::from(got) * (1400.0 + 66.0) * 8.0 / last.unwrap().as_secs_f64() / 1e6, 20.0);
    drop(bed);
}

#[test]
fn delay_and_loss_are_the_same_without_root() {
    for measured in ["delay_is_what_was_asked_each_way", "loss_is_what_was_asked"] {
        again_without_root("delay_and_loss_are_the_same_without_root", measured);
    }
}

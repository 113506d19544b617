//! Checks that a testbed needs no root rights, and that it can start programs in its hosts. When the testbed is dropped
//! or its creator is killed, nothing may be left behind.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::io::{BufRead as _, BufReader};
use std::time::Duration;

use common::{NOBODY, bed, is_root, this_test};
use loadline_testbed::{Spec, Testbed};
use testkit::{eventually, skip};

const ROLE: &str = "LOADLINE_TESTBED_TEST_ROLE";

/// Returns the IDs of the processes in the network namespace with the inode `inode`.
fn inside(inode: u64) -> Vec<u32> {
    use std::os::unix::fs::MetadataExt as _;
    let pids = std::fs::read_dir("/proc").unwrap().filter_map(|e| e.unwrap().file_name().to_str()?.parse().ok());
    pids.filter(|pid: &u32| std::fs::metadata(format!("/proc/{pid}/ns/net")).is_ok_and(|m| m.ino() == inode)).collect()
}

fn gone(inodes: &[u64]) {
    eventually(|| inodes.iter().all(|inode| inside(*inode).is_empty()).then_some(()));
}

fn inodes(bed: &Testbed) -> Vec<u64> {
    bed.hosts().map(|host| bed.netns(host).unwrap().id().1).collect()
}

#[test]
fn after_drop_no_program_is_left_even_if_it_ignores_signals() {
    let test = "nothing_is_left_after_drop";
    for medium in ["ethernet10", "ethernet10:user", "switch:100M", "wan:delay=1ms", "loopback"] {
        let Some(bed) = bed(test, &Spec::server_and_clients(2, medium)) else { return };
        let stubborn =
            bed.command("client2", "/bin/sh").unwrap().args(["-c", "trap '' TERM HUP INT; sleep 600"]).spawn();
        let (inodes, mut stubborn) = (inodes(&bed), stubborn.unwrap());
        assert!(inside(inodes[2]).contains(&stubborn.id()));
        drop(bed);
        gone(&inodes);
        assert!(!stubborn.wait().unwrap().success());
    }
}

#[test]
fn nothing_is_left_after_the_creator_is_killed() {
    let mut maker = this_test("the_other_end", &[(ROLE, "hold")], None);
    let mut said = BufReader::new(maker.stdout.take().unwrap()).lines().map_while(Result::ok);
    let Some(line) = said.find_map(|l| l.split_once("inodes:").map(|(_, rest)| rest.to_string())) else {
        maker.wait().unwrap();
        return skip("nothing_is_left_after_the_creator_is_killed", "no testbed on this machine");
    };
    let inodes: Vec<u64> = line.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    assert_eq!(inodes.len(), 3, "{line}");
    assert!(inodes.iter().all(|inode| !inside(*inode).is_empty()));
    maker.kill().unwrap();
    maker.wait().unwrap();
    gone(&inodes);
}

/// Builds and uses every medium as a user without root rights.
#[test]
fn no_root_is_needed() {
    let mut child = this_test("the_other_end", &[(ROLE, "use")], is_root().then_some(NOBODY));
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    println!("{said}");
    match said.contains("SKIP") {
        true => skip("no_root_is_needed", &said),
        false => assert!(said.contains("all media used by uid"), "{said}"),
    }
}

/// Body of the child processes that other tests of this file start. In a normal test run, this function does nothing;
/// it works only in a child process.
#[test]
fn the_other_end() {
    match std::env::var(ROLE).as_deref() {
        Ok("hold") => hold(),
        Ok("use") => use_all(),
        _ => {}
    }
}

fn hold() {
    let bed = match Testbed::build(&Spec::server_and_clients(2, "wan:delay=1ms")) {
        Ok(bed) => bed,
        Err(e) => return println!("{e}"),
    };
    let mut sleeper = bed.command("client1", "sleep").unwrap();
    let mut sleeping = sleeper.arg("600").spawn().unwrap();
    println!("inodes: {}", inodes(&bed).iter().map(u64::to_string).collect::<Vec<_>>().join(" "));
    sleeping.wait().unwrap();
}

fn use_all() {
    for medium in ["ethernet10", "ethernet10:user", "hub100", "switch:100M", "switch", "wan:delay=5ms", "loopback"] {
        let bed = match Testbed::build(&Spec::server_and_clients(2, medium)) {
            Ok(bed) => bed,
            Err(e) => return println!("SKIP {e}"),
        };
        exchange(&bed);
        bed.sysctl("server", "net.ipv4.tcp_syncookies", "0").unwrap();
    }
    println!("all media used by uid {}", rustix::process::geteuid().as_raw());
}

/// Sends a message from `client1` to `server`, through sockets that were opened in these hosts.
fn exchange(bed: &Testbed) {
    let udp = |host: &str| {
        let want = sys::netns::OpenSpec::Socket { family: 2, kind: 2, protocol: 0 };
        let fd = bed.netns(host).unwrap().open(&[want]).unwrap().pop().unwrap();
        sys::socket::bind(&fd, (bed.address(host).unwrap(), 7000).into()).unwrap();
        let socket = std::net::UdpSocket::from(fd);
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        socket
    };
    let (server, client) = (udp("server"), udp("client1"));
    client.send_to(b"hello", server.local_addr().unwrap()).unwrap();
    let received = server.recv_from(&mut [0; 16]);
    let (length, from) = received.unwrap_or_else(|error| panic!("{}: no message arrived: {error}", bed.medium()));
    assert_eq!((length, from), (5, client.local_addr().unwrap()), "{}", bed.medium());
}

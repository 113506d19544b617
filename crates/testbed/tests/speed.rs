//! Checks that a slowed medium has its reduced rate, and afterwards its full rate again. The tests cover media in the
//! kernel and media in user space.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::time::{Duration, Instant};

use common::{await_listener, bed, iperf_client, iperf_server};
use loadline_testbed::{Spec, Testbed};
use run::Recording;
use testkit::has;

/// Length of each measured period.
const STRETCH: Duration = Duration::from_millis(300);
/// Number of periods at full rate. Between these periods are as many periods at half the rate.
const STRETCHES: usize = 10;

/// Returns the rate of the busiest wire in one period, Mbit/s.
fn stretch(bed: &Testbed) -> f64 {
    let mut recording = Recording::default();
    let begin = Instant::now();
    bed.gauge().sample(0.0, &mut recording);
    std::thread::sleep(STRETCH);
    bed.gauge().sample(1.0, &mut recording);
    let grown = recording.columns_of("medium.bytes").map(|c| c.values[1].unwrap() - c.values[0].unwrap());
    grown.fold(0.0, f64::max) * 8e-6 / begin.elapsed().as_secs_f64()
}

fn middle(mut list: Vec<f64>) -> f64 {
    list.sort_by(f64::total_cmp);
    list[list.len() / 2]
}

/// Returns two ratios of the measured rates of a medium. The first ratio is the rate at half speed divided by the full
/// rate. The second ratio is the full rate in the second half of the test divided by the full rate in the first half.
fn shares(test: &str, medium: &str) -> Option<[f64; 2]> {
    let bed = bed(test, &Spec::server_and_clients(1, medium))?;
    let _server = iperf_server(&bed, "server", 5201);
    await_listener(&bed, "server", 5201);
    // The client sends datagrams at twice the rate of the wire, so the wire is always full. TCP would adapt to the
    // wire's rate, but datagrams do not.
    let _client = iperf_client(&bed, "client1", "server", 5201, &["-u", "-b", "20M", "-t", "12"]);
    std::thread::sleep(Duration::from_millis(1500));
    let speed = bed.speed();
    let (mut full, mut half) = (Vec::new(), Vec::new());
    for _ in 0..STRETCHES {
        full.push(stretch(&bed));
        speed.set(0.5).unwrap();
        std::thread::sleep(STRETCH / 4);
        half.push(stretch(&bed));
        speed.set(1.0).unwrap();
        std::thread::sleep(STRETCH / 4);
    }
    println!("{medium} ({}): Mbit/s {full:.2?}, at half of its speed {half:.2?}", bed.made_of());
    let after = middle(full.split_off(STRETCHES / 2));
    Some([middle(half) / after, after / middle(full)])
}

fn slows(test: &str, medium: &str) {
    if !has(test, "iperf3") {
        return;
    }
    let Some([half, back]) = shares(test, medium) else { return };
    assert!((0.45..=0.55).contains(&half), "{medium}: at half of its speed it carries {half:.3} of what it did");
    assert!((0.9..=1.1).contains(&back), "{medium}: afterwards it carries {back:.3} of what it did");
}

#[test]
fn a_shared_wire_is_slowed() {
    slows("a_shared_wire_is_slowed", "ethernet10");
}

#[test]
fn the_hub_in_user_space_is_slowed() {
    slows("the_hub_in_user_space_is_slowed", "ethernet10:user");
}

#[test]
fn a_switch_is_slowed() {
    slows("a_switch_is_slowed", "switch:10M");
}

#[test]
fn a_long_line_is_slowed() {
    // Frames that are already queued when the rate changes are still sent at the old rate. The queue of the line is
    // short, so only few frames are sent at the old rate.
    slows("a_long_line_is_slowed", "wan:rate=10M,delay=1ms,queue=20000");
}

#[test]
fn media_without_a_rate_and_invalid_shares_are_refused() {
    let Some(bed) = bed("a_medium_without_a_rate", &Spec::server_and_clients(1, "switch")) else { return };
    assert!(bed.speed().set(0.5).unwrap_err().to_string().contains("no rate"));
    for share in [0.0, -1.0, 1.5, f64::NAN] {
        assert!(bed.speed().set(share).unwrap_err().to_string().contains("share"), "{share}");
    }
    let speed = bed.speed();
    drop(bed);
    assert!(speed.set(0.5).unwrap_err().to_string().contains("has ended"));
}

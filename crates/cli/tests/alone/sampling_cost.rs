//! Measures how much throughput a server loses because loadline samples its threads. Loads with and without samples
//! alternate, so that a change in the speed of the machine affects both kinds of load.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::Command;

use stats::Sample;
use stats::student::t95;
use testkit::{alone_with_release, json, num, served};

/// Number of pairs of loads.
const PAIRS: usize = 20;
/// Maximum cost of the samples, as a share of throughput.
const MAX_COST: f64 = 0.01;

fn rate(binary: &Path, url: &str, is_sampled: bool) -> f64 {
    let more: &[&str] = if is_sampled { &[] } else { &["--no-waits"] };
    let args = [&["load", url, "--connections", "16", "--duration", "2s", "--at-rest", "0"], more].concat();
    let trial = &json(binary, &args)["trials"][0];
    let rounds = trial["server"]["waits"]["rounds"].as_u64().unwrap_or(0);
    assert_eq!(rounds > 0, is_sampled, "{}", trial["server"]["waits"]);
    num(&trial["completed_rate"])
}

/// Sixteen threads that each compute for 20 us per request change between computing and waiting tens of thousands of
/// times per second.
#[test]
fn sampled_threads_lose_less_than_a_hundredth_of_their_throughput() {
    let (_alone, binary) = alone_with_release!("the cost of sampling");
    let mut command = Command::new(&binary);
    command.args(["serve", "http", "--model", "blocking", "--threads", "16", "--option", "spin=20"]);
    let server = served(command);
    let url = format!("http://{}/", server.addr);
    rate(&binary, &url, true);
    let lost: Vec<f64> = (0..PAIRS)
        .map(|pair| {
            let first = rate(&binary, &url, pair % 2 == 0);
            let second = rate(&binary, &url, pair % 2 == 1);
            let (sampled, plain) = if pair % 2 == 0 { (first, second) } else { (second, first) };
            1.0 - sampled / plain
        })
        .collect();
    let sample = Sample::of(&lost).unwrap();
    let (mean, half) = (sample.mean, t95(sample.n - 1.0) * sample.error());
    println!("sampling costs {:.2} % (95 %: +- {:.2}) of the throughput", 100.0 * mean, 100.0 * half);
    assert!(
        mean - half < MAX_COST,
        "sampling costs more than 1 % of throughput (95 % sure): {mean} +- {half}, {lost:?}"
    );
    assert!(half < 2.0 * MAX_COST, "the machine is too noisy to tell: {mean} +- {half}, {lost:?}");
}

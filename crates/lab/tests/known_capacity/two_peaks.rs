//! Servers whose response times have two peaks, such as those of a cache in front of a database.

use load::Service;
use run::Plan;
use testkit::VirtualServer;

use crate::known::{HUNDREDS, SEEDS};
use crate::models::server;

/// Number of workers of the server.
const WORKERS: u32 = 10;
/// Shares of the slow requests, percent.
const SHARES: [u32; 5] = [45, 48, 50, 52, 55];

/// Returns the capacities that searches with the default objective find, as shares of the highest rate of the server.
/// Answers take 20 ms or 200 ms.
fn shares_found(percent: u32, seeds: u64) -> Vec<f64> {
    let mean_us = 20_000 - 200 * u64::from(percent) + 2000 * u64::from(percent);
    let highest = f64::from(WORKERS) * 1e6 / mean_us as f64;
    let model = server(Service::TwoPeaks { times: 10, percent }, mean_us, WORKERS);
    let find = |seed| VirtualServer::new(model.clone(), Plan::default(), seed).find().unwrap();
    (1..=seeds).map(|seed| find(seed).findings.capacity.unwrap().rate / highest).collect()
}

/// Checks the searches with each share of slow requests.
fn check(seeds: u64) {
    for percent in SHARES {
        let mut found = shares_found(percent, seeds);
        found.sort_by(f64::total_cmp);
        let (least, middle, most) = (found[0], found[found.len() / 2], found[found.len() - 1]);
        println!("{percent} % slow: {least:.2} to {most:.2} of the highest rate, median {middle:.2}");
        assert!(least > 0.8 && most < 1.15, "{percent}: {found:.2?}");
    }
}

/// The median of the response times is 20 ms or 200 ms, depending on chance. An earlier version of loadline derived its
/// default objective from this median. That version reported a capacity of 46/s, although 95/s is true.
#[test]
fn the_default_objective_does_not_depend_on_which_peak_has_the_median() {
    check(SEEDS);
}

/// Makes hundreds of runs; see `main.rs`.
#[test]
#[ignore = "hundreds of runs of half a minute in virtual time: minutes"]
fn hundreds_of_runs_with_two_peaks() {
    check(HUNDREDS);
}

//! Tests of `load --io sim`. The load and its simulated server use a virtual clock, so a long load ends at once.

use std::path::Path;
use std::time::Instant;

use testkit::{binary, json, num};

/// An earlier version of loadline compared the virtual times of the results with the real time that had passed, a few
/// milliseconds. An earlier version therefore dropped the results of each simulated load that began or ended after a
/// second.
#[test]
fn a_simulated_load_has_the_default_warm_up_and_duration() {
    let run = json(Path::new(binary!()), &["load", "--io", "sim", "--rate", "200", "--at-rest", "0s"]);
    let (trial, measured) = (&run["trials"][0], &run["trials"][0]["measured"]);
    let window = ["begin_s", "end_s"].map(|edge| num(&measured["window"][edge]));
    assert_eq!((window, num(&measured["length_s"])), ([2.0, 12.0], 10.0), "{measured:#}");
    let rate = num(&trial["completed_rate"]);
    assert!((150.0..250.0).contains(&rate), "{rate}");
    assert!(measured["series_completed"].as_array().is_none_or(Vec::is_empty), "{measured:#}");
    assert_eq!(trial["errors"], serde_json::json!({}));
}

#[test]
fn an_hour_of_a_simulated_load_takes_less_time() {
    let begun = Instant::now();
    let run =
        json(Path::new(binary!()), &["load", "--io", "sim", "--rate", "20", "--duration", "1h", "--at-rest", "0s"]);
    assert!(num(&run["trials"][0]["measured"]["length_s"]) > 3599.0, "{:#}", run["trials"][0]["measured"]);
    assert!(begun.elapsed().as_secs() < 3600, "{:?}", begun.elapsed());
}

//! Tests of drift (slow change) under a constant load: one server leaks memory and descriptors, another does not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::Value;
use testkit::{binary, json, num, one_loop, script_server, skip};

/// Python code of a leaking server. The server keeps 5,000 bytes for each request, and an open file for each fiftieth
/// request.
const LEAKS: &str = "
kept.append(os.urandom(5000))
if requests % 50 == 0: kept.append(os.open('/dev/null', os.O_RDONLY))
";

/// Runs a load of 200 requests per second for half a minute. Returns the run, and the names of the server's counters
/// that drifted.
fn drifted(each: &str) -> Option<(Value, Vec<String>)> {
    drifted_in("31s", each)
}

fn drifted_in(time: &str, each: &str) -> Option<(Value, Vec<String>)> {
    let Some((_server, addr)) = script_server(&one_loop("kept = []", each)) else {
        skip("a leak", "python3 is not installed");
        return None;
    };
    let url = format!("http://{addr}/");
    let load = ["load", &url, "--rate", "200", "--max-connections", "8", "--duration", time, "--at-rest", "0"];
    let run = json(binary!(), &load);
    let drifts = run["findings"]["drifts"].as_array().cloned().unwrap_or_default();
    let counters = drifts.iter().filter_map(|drift| drift["counter"].as_str()).map(str::to_owned).collect();
    Some((run, counters))
}

#[test]
fn a_leak_is_named_with_its_rate() {
    if let Some(found) = drifted(LEAKS) {
        both_leaks(&found);
    }
}

/// Repeats the test [`a_leak_is_named_with_its_rate`] with a load of 60 s. `make soak` runs this test.
#[test]
#[ignore = "a minute; part of make soak"]
fn a_leak_is_named_in_a_minute() {
    if let Some(found) = drifted_in("60s", LEAKS) {
        both_leaks(&found);
        found.0["findings"]["drifts"].as_array().unwrap().iter().for_each(|drift| println!("{}", drift["sentence"]));
    }
}

fn both_leaks((run, counters): &(Value, Vec<String>)) {
    assert_eq!(*counters, ["process.rss", "process.fds"], "{}", run["findings"]["drifts"]);
    let drifts = &run["findings"]["drifts"];
    // At 200 requests/s, memory should grow by 200 × 5,000 bytes per second, and the number of open files by 200 / 50
    // per second.
    let (memory, files) = (num(&drifts[0]["per_s"]), num(&drifts[1]["per_s"]));
    assert!((0.7e6..1.6e6).contains(&memory) && (3.0..5.0).contains(&files), "{memory} {files}");
    let warnings = run["findings"]["trust"]["warnings"].to_string();
    assert!(warnings.contains("the server's memory grew") && warnings.contains("a leak"), "{warnings}");
    let moments = run["trials"][0]["moments"].as_array().unwrap();
    let told: f64 = moments.iter().map(|moment| num(&moment["completed"])).sum();
    assert!(moments.len() >= 20 && told > 0.8 * num(&run["trials"][0]["measured"]["tally"]["completed"]), "{told}");
}

#[test]
fn a_server_that_keeps_nothing_has_no_leak() {
    let Some((run, counters)) = drifted("") else { return };
    assert!(counters.is_empty(), "{}", run["findings"]["drifts"]);
}

//! Tests that loadline stores a load with repeats as one run, and compares its repeats with each other.

use serde_json::Value;
use std::path::Path;
use testkit::{binary, json, num, serve};

fn each(run: &Value, of: impl Fn(&Value) -> u64) -> Vec<u64> {
    run["trials"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn a_load_is_repeated_and_compared_by_its_repeats() {
    let binary = Path::new(binary!());
    let server = serve(binary, 0, &[]);
    let (url, dir) = (format!("http://{}/", server.addr), tempfile::tempdir().unwrap());
    let out = dir.path().join("run");
    let load = ["load", &url, "--connections", "2", "--duration", "200ms", "--at-rest", "0", "--repeat", "3"];
    let run = json(binary, &[&load[..], &["--out", out.to_str().unwrap()]].concat());
    assert_eq!(each(&run, |t| t["repeat"].as_u64().unwrap_or(0)), [0, 1, 2]);
    let found = &run["findings"];
    assert_eq!(found["repeats"].as_array().map(Vec::len), Some(3), "{found:#}");
    let [low, rate, high] = ["low", "rate", "high"].map(|name| num(&found["capacity"][name]));
    assert!(low < rate && rate < high, "{low} {rate} {high}");
    assert!(num(&found["capacity"]["variation"]) > 0.0);
    let out = out.to_str().unwrap();
    let same = json(binary, &["compare", out, out]);
    let rates = same["comparisons"].as_array().unwrap();
    assert!(rates.iter().any(|c| c["windows"] == serde_json::json!([3, 3])), "{same:#}");
}

//! Tests of two levers (temporary changes by an experiment) that prove that a medium (emulated network) is full. The
//! first lever slows the medium, and the second lever makes requests longer. After the experiment, the medium must have
//! its full speed again, even if loadline was killed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use testkit::{ChildProcess, TwoHosts, alone, binary, bottleneck, eventually, eventually_within, num, signal, verdict};

/// Flags of the server for an answer of 20 kB. Answers of 20 kB fill most of a testbed's link.
const PAGE: [&str; 2] = ["--body-bytes", "20000"];

/// Checks that the verdict is a full link, and that `lever` proves the verdict.
#[track_caller]
fn proven_by(lever: &str, run: &Value) {
    let proof = &run["findings"]["proof"];
    let said = verdict(run);
    assert_eq!((bottleneck(run), &proof["outcome"]), ("network-medium", &"proven".into()), "{said}\n{proof:#}");
    assert_eq!([&proof["prediction"]["lever"], &proof["measured"]["lever"]], [lever, lever], "{proof:#}");
    println!("{}", proof["why"]);
}

/// Runs `prove` on a full medium, checks that slowing the link proves that the medium is full, and returns the run.
fn slowed(test: &str, medium: &str, connections: &str, budget: &str) -> Option<Value> {
    let _alone = alone();
    let way = TwoHosts::up(test, binary!(), medium)?;
    let before = way.rates();
    let run = way.run("prove", &PAGE, &["--connections", connections, "--budget", budget]);
    proven_by("link", &run);
    let shares = run["findings"]["proof"]["elasticities"].as_array().unwrap();
    let link = shares.iter().find(|share| share["lever"] == "link").unwrap();
    println!("{medium}: elasticity {link}");
    assert!(num(&link["value"]) > 0.7, "{shares:#?}");
    assert_eq!(run["medium"]["medium"], medium, "{}", run["medium"]);
    assert_eq!(way.rates(), before);
    Some(run)
}

/// A single client uses most of the wire. The client's requests share the wire with the answers, so longer requests
/// lower the throughput.
#[test]
fn a_full_shared_wire_is_proven_by_longer_requests() {
    let Some(run) = slowed("a_full_shared_wire_is_proven", "ethernet10", "1", "36s") else { return };
    let proof = &run["findings"]["proof"];
    let longer = proof["effects"].as_array().unwrap().iter().find(|effect| effect["lever"] == "request-bytes");
    let Some(longer) = longer else { panic!("requests were not padded: {proof:#}") };
    let [low, ratio, high] = ["low", "ratio", "high"].map(|name| num(&longer[name]));
    println!("a third more on the wire: {ratio} ({low} to {high})");
    assert!((low..=high).contains(&0.75) || (0.68..=0.82).contains(&ratio), "{ratio} ({low} to {high})");
}

#[test]
fn a_full_switch_is_proven() {
    let _ = slowed("a_full_switch_is_proven", "switch:20M", "8", "30s");
}

#[test]
fn a_medium_has_its_full_speed_after_its_slowing_process_is_killed() {
    let _alone = alone();
    let Some(way) = TwoHosts::up("a kill while a medium is slow", binary!(), "switch:20M") else { return };
    let (full, server, out) = (way.rates(), way.serve(&PAGE), tempfile::tempdir().unwrap());
    let mut command = way.client("prove", &server, &["--connections", "8", "--budget", "40s", "--out"]);
    let proving = ChildProcess::start(
        command.arg(out.path().join("run")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()),
    );
    eventually_within(Duration::from_secs(40), || (way.rates() != full).then_some(()));
    signal(proving.pid(), "KILL");
    eventually(|| (way.rates() == full).then_some(()));
}

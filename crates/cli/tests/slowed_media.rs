//! A medium that is full is proven by slowing it, and is as fast as it was afterwards, also when loadline was killed; a link
//! that cannot be slowed is proven by longer requests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use testkit::{Held, Way, alone, binary, bottleneck, eventually, eventually_within, num, signal, verdict};

/// A page that takes most of a medium to itself.
const PAGE: [&str; 2] = ["--body-bytes", "20000"];

/// Expects a full link that this lever proved.
#[track_caller]
fn proven_by(lever: &str, run: &Value) {
    let proof = &run["findings"]["proof"];
    let said = verdict(run);
    assert_eq!((bottleneck(run), &proof["outcome"]), ("network-medium", &"proven".into()), "{said}\n{proof:#}");
    assert_eq!([&proof["prediction"]["lever"], &proof["measured"]["lever"]], [lever, lever], "{proof:#}");
    println!("{}", proof["why"]);
}

fn slowed(test: &str, medium: &str) {
    let _alone = alone();
    let Some(way) = Way::up(test, binary!(), medium) else { return };
    let before = way.rates();
    let run = way.run("prove", &PAGE, &["--connections", "8", "--budget", "40s"]);
    proven_by("link", &run);
    let shares = run["findings"]["proof"]["elasticities"].as_array().unwrap();
    let link = shares.iter().find(|share| share["lever"] == "link").unwrap();
    println!("{medium}: elasticity {link}");
    assert!(num(&link["value"]) > 0.7, "{shares:#?}");
    assert_eq!(run["medium"]["medium"], medium, "{}", run["medium"]);
    assert_eq!(way.rates(), before);
}

#[test]
fn a_full_shared_wire_is_proven() {
    slowed("a_full_shared_wire_is_proven", "ethernet10");
}

#[test]
fn a_full_switch_is_proven() {
    slowed("a_full_switch_is_proven", "switch:20M");
}

#[test]
fn a_medium_is_as_fast_as_before_once_whoever_slowed_it_was_killed() {
    let _alone = alone();
    let Some(way) = Way::up("a kill while a medium is slow", binary!(), "switch:20M") else { return };
    let (full, server, out) = (way.rates(), way.serve(&PAGE), tempfile::tempdir().unwrap());
    let mut command = way.client("prove", &server, &["--connections", "8", "--budget", "40s", "--out"]);
    let proving = Held::start(
        command.arg(out.path().join("run")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()),
    );
    eventually_within(Duration::from_secs(40), || (way.rates() != full).then_some(()));
    signal(proving.pid(), "KILL");
    eventually(|| (way.rates() == full).then_some(()));
}

/// A link like any other, to loadline: its interface says that it carries 10 Mbit/s, and uploads fill it.
#[test]
fn a_link_that_is_full_of_uploads_is_proven_by_longer_requests() {
    let _alone = alone();
    let Some(way) = Way::up("a link full of uploads", binary!(), "wan:rate=10M") else { return };
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![b'x'; 9_000]).unwrap();
    let body = file.path().to_str().unwrap();
    let post = ["--body", body, "--connections", "4", "--budget", "60s"];
    let run = way.run_on_a_link("prove", &[], &post);
    assert!(run["medium"].is_null(), "{}", run["medium"]);
    proven_by("request-bytes", &run);
    let ratio = num(&run["findings"]["proof"]["measured"]["ratio"]);
    assert!((0.65..=0.85).contains(&ratio), "a third more on the link: {ratio}");
}

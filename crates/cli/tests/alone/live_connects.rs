//! Connects on real servers: a listen queue that is too short is named whatever else runs on the machine, and a pool that
//! grows makes no storm of its own. Speed relations matter, so these take the release binary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::Value;
use testkit::{Hog, alone, binary, bottleneck, json, nginx, num, python, release_binary, skip, verdict};

/// `load --rate` of a server's file for a while.
fn load(binary: &std::path::Path, addr: std::net::SocketAddr, rate: &str) -> Value {
    let url = format!("http://{addr}/file");
    json(binary, &["load", &url, "--rate", rate, "--duration", "5s", "--at-rest", "0"])
}

#[test]
fn a_backlog_of_five_is_named_also_beside_other_programs() {
    let _alone = alone();
    let Some(binary) = release_binary("accept-queue", binary!()) else { return };
    let Some(server) = python() else { return skip("accept-queue", "python3 is not installed") };
    let quiet = load(&binary, server.addr, "5000");
    assert_eq!(bottleneck(&quiet), "accept-queue", "{}", verdict(&quiet));
    // As beside a build: the generator waits for its processor, too, and that fills no listen queue.
    let hogs = [Hog::on(0, 1), Hog::on(1, 1)];
    let busy = load(&binary, server.addr, "5000");
    drop(hogs);
    assert_eq!(bottleneck(&busy), "accept-queue", "{}", verdict(&busy));
    let loss = |run: &Value| run["findings"]["bottleneck"]["ruled_out"].to_string().contains("network-loss");
    assert!(loss(&quiet) && loss(&busy), "retransmits follow from the full queue: {}", verdict(&busy));
}

#[test]
fn the_default_pool_makes_no_storm_against_nginx() {
    let _alone = alone();
    let Some(binary) = release_binary("connect storm", binary!()) else { return };
    let Some(server) = nginx(1, "", "") else { return skip("connect storm", "nginx is not installed") };
    // Other programs make the server pause for milliseconds, each of which leaves hundreds of requests waiting.
    let hogs = Hog::on(1, 2);
    let full =
        json(&binary, &["load", &format!("http://{}/file", server.addr), "--connections", "32", "--duration", "2s"]);
    // What the server can do beside them: it has pauses, and is not too slow for good.
    let rate = 0.8 * num(&full["trials"][0]["completed_rate"]);
    let run = load(&binary, server.addr, &format!("{rate:.0}"));
    drop(hogs);
    let trial = &run["trials"][0];
    let (attempted, past) = (num(&trial["attempted"]), trial["connects_past_need"].as_f64().unwrap_or(0.0));
    assert!(num(&trial["connects_held_back"]) > 100.0, "nothing was held back: {}", verdict(&run));
    assert!(attempted < 5000.0 && past <= attempted, "{attempted} connects, {past} not needed: {}", verdict(&run));
    assert_ne!(bottleneck(&run), "client-connects", "{}", verdict(&run));
}

//! Tests about connects to real servers. The verdict must report a listen queue that is too short (`accept-queue`) as
//! the bottleneck, even if other programs run. Another test checks that a growing connection pool does not overload the
//! listen queue. The tests need the release binary, because their results depend on the relative speeds of client and
//! server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::Value;
use testkit::{Hog, alone, binary, bottleneck, json, nginx, num, python, release_binary, skip, verdict};

/// Runs `loadline load` for 5 s on the server's `/file` at the given rate, and returns the run.
fn load(binary: &std::path::Path, addr: std::net::SocketAddr, rate: &str) -> Value {
    let url = format!("http://{addr}/file");
    json(binary, &["load", &url, "--rate", rate, "--duration", "5s", "--at-rest", "0"])
}

#[test]
fn a_backlog_of_five_is_named_even_if_other_programs_run() {
    let _alone = alone();
    let Some(binary) = release_binary("accept-queue", binary!()) else { return };
    let Some(server) = python() else { return skip("accept-queue", "python3 is not installed") };
    let quiet = load(&binary, server.addr, "5000");
    assert_eq!(bottleneck(&quiet), "accept-queue", "{}", verdict(&quiet));
    // The busy loops disturb the server like a compiler that runs at the same time. The generator also has to wait for
    // its CPU, but the generator's wait does not fill the listen queue.
    let hogs = [Hog::on(0, 1), Hog::on(1, 1)];
    let busy = load(&binary, server.addr, "5000");
    drop(hogs);
    assert_eq!(bottleneck(&busy), "accept-queue", "{}", verdict(&busy));
    let loss = |run: &Value| run["findings"]["bottleneck"]["ruled_out"].to_string().contains("network-loss");
    assert!(loss(&quiet) && loss(&busy), "retransmits follow from the full queue: {}", verdict(&busy));
}

#[test]
fn the_default_pool_does_not_overload_the_listen_queue_of_nginx() {
    let _alone = alone();
    let Some(binary) = release_binary("connect storm", binary!()) else { return };
    let Some(server) = nginx(1, "", "") else { return skip("connect storm", "nginx is not installed") };
    // The busy loops make the server pause for milliseconds. During each pause of the server, hundreds of requests
    // arrive and wait.
    let hogs = Hog::on(1, 2);
    let full =
        json(&binary, &["load", &format!("http://{}/file", server.addr), "--connections", "32", "--duration", "2s"]);
    // The rate is 80 % of the server's throughput while the busy loops use the same CPU. At this rate, the server has
    // pauses but is not overloaded.
    let rate = 0.8 * num(&full["trials"][0]["completed_rate"]);
    let run = load(&binary, server.addr, &format!("{rate:.0}"));
    drop(hogs);
    let trial = &run["trials"][0];
    let (attempted, past) = (num(&trial["attempted"]), trial["connects_past_need"].as_f64().unwrap_or(0.0));
    assert!(num(&trial["connects_held_back"]) > 100.0, "nothing was held back: {}", verdict(&run));
    assert!(attempted < 5000.0 && past <= attempted, "{attempted} connects, {past} not needed: {}", verdict(&run));
    assert_ne!(bottleneck(&run), "client-connects", "{}", verdict(&run));
}

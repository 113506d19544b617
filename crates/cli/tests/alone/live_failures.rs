//! Tests of loads and failures that earlier versions of loadline misjudged. Examples are requests sent before earlier
//! answers arrive, and a proxy that refuses requests beyond the capacity of its upstream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::Command;

use serde_json::Value;
use testkit::{
    OtherPrograms, Running, alone_with_release, bottleneck, free_port, json, nginx, num, program, serve, skip, verdict,
};

/// Confidence from which a verdict counts as sure.
const SURE: f64 = 0.9;

fn rates<'a>(trials: &'a Value) -> impl Iterator<Item = f64> + 'a {
    trials.as_array().into_iter().flatten().map(|trial| num(&trial["completed_rate"])).filter(|rate| *rate > 0.0)
}

/// Each connection has sixteen requests in flight (pipelining). Without pipelining, this server completes only a third
/// of the requests per second. The sweep (closed loops with more and more clients), the open loop and the experiment
/// must all use pipelining. Otherwise, the capacity would come from two different loads.
#[test]
fn requests_sent_ahead_are_sent_in_every_part_of_find() {
    let test = "requests sent ahead";
    let (_alone, binary) = alone_with_release!("requests sent ahead");
    let Some(redis) = program("redis-server") else { return skip(test, "redis-server is not installed") };
    let (port, dir) = (free_port(), tempfile::tempdir().unwrap());
    let mut command = Command::new("taskset");
    command.args(["-c", "1"]).arg(redis).args(["--port", &port.to_string(), "--save", "", "--appendonly", "no"]);
    command.arg("--dir").arg(dir.path());
    let server = Running::start(command, port, dir);
    let url = format!("redis://{}", server.addr);
    let others = OtherPrograms::watch();
    let run = json(&binary, &["find", &url, "--pipeline", "16", "--budget", "16s"]);
    let highest = rates(&run["trials"]).fold(0.0, f64::max);
    let capacity = num(&run["findings"]["capacity"]["rate"]);
    if others.stayed_away(test) {
        assert!(capacity > 0.5 * highest, "{capacity} of {highest}: {}", verdict(&run));
    }
    let experiments = run["trials"].as_array().unwrap().iter().filter(|trial| trial["kind"] == "proof");
    let tried: Vec<f64> = experiments.map(|trial| num(&trial["completed_rate"])).collect();
    assert!(!tried.is_empty(), "no experiment: {}", verdict(&run));
    assert!(tried.iter().all(|rate| *rate > 0.3 * highest), "{tried:?} of {highest}");
}

/// A proxy and an upstream that sleeps.
mod light {
    use super::*;

    /// The proxy has at most four requests at its upstream at a time, and answers further requests with 502. All CPUs
    /// are mostly idle.
    #[test]
    fn a_proxy_that_answers_502_is_no_full_cpu() {
        let (_alone, binary) = alone_with_release!("a proxy that answers 502");
        let upstream = serve(&binary, 0, &["--model", "workers", "--option", "workers=8", "--option", "sleep_ms=20"]);
        let limited = format!("upstream app {{ server {} max_conns=4; }}", upstream.addr);
        let Some(proxy) = nginx(1, "proxy_pass http://app;", &limited) else {
            return skip("a proxy that answers 502", "nginx is not installed");
        };
        let run = json(&binary, &["find", &format!("http://{}/", proxy.addr), "--budget", "20s"]);
        let found = &run["findings"]["bottleneck"];
        let cpu = ["server-cpu", "server-single-thread", "client-cpu", "server-cpu-quota"].contains(&bottleneck(&run));
        assert!(!cpu, "{}", verdict(&run));
        let said = format!("{} {} {}", found["sentence"], found["evidence"], run["findings"]["capacity"]);
        assert!(said.contains("502"), "the status is told: {said}\n{}", verdict(&run));
        assert!(
            run["findings"]["proof"]["outcome"] != "proven" || num(&found["confidence"]) < SURE,
            "{}",
            verdict(&run)
        );
    }
}

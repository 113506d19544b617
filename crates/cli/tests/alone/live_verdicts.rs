//! Tests of verdicts on real servers. Each test runs `find` against a server with one known weakness, and the first run
//! must name this weakness. These tests need the release binary, because their results depend on the relative speeds of
//! client and server. A lever is a temporary change that an experiment makes, such as slowing a CPU.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use testkit::{Hog, alone_with_release, bottleneck, json, nginx, num, serve, skip, verdict};

#[test]
fn a_starved_generator_is_named_and_not_the_server() {
    let (_alone, binary) = alone_with_release!("client-cpu");
    let Some(server) = nginx(1, "", "") else { return skip("client-cpu", "nginx is not installed") };
    // Five busy loops run on the generator's CPU, so the generator gets only a sixth of this CPU.
    let hogs = Hog::on(0, 5);
    let url = format!("http://{}/file", server.addr);
    let run = json(&binary, &["find", &url, "--budget", "10s", "--cpus", "0"]);
    drop(hogs);
    assert_eq!(bottleneck(&run), "client-cpu", "{}", verdict(&run));
}

/// A server that sleeps.
mod idle {
    use super::*;

    #[test]
    fn four_workers_that_sleep_20_ms_have_a_capacity_of_200_per_second() {
        let (_alone, binary) = alone_with_release!("server-concurrency");
        let server = serve(&binary, 1, &["--model", "workers", "--option", "workers=4", "--option", "sleep_ms=20"]);
        let url = format!("http://{}/", server.addr);
        let run = json(&binary, &["find", &url, "--budget", "20s", "--cpus", "0"]);
        assert_eq!(bottleneck(&run), "server-concurrency", "{}", verdict(&run));
        // No lever (temporary change by an experiment) acts on sleeping workers, so the experiment must not prove
        // anything.
        assert_ne!(run["findings"]["proof"]["outcome"], "proven", "{}", verdict(&run));
        let rate = num(&run["findings"]["capacity"]["rate"]);
        // The expected throughput is four times the throughput of one connection. The test does not compute the
        // expected throughput from the requested sleep, because workers that wake up late sleep longer than requested.
        let one =
            run["trials"].as_array().unwrap().iter().find(|trial| trial["intensity"]["connections"] == 1).unwrap();
        let least = 0.95 * 4.0 * 1e6 / num(&one["latency_us"]["mean"]);
        assert!((least..=210.0).contains(&rate), "capacity {rate}, at least {least}: {}", verdict(&run));
    }
}

//! Tests of limits outside of the server: a link with a limited rate, a firewall that drops connects, and a CPU quota
//! of the generator. A further test has a server that is too slow for many measurements. `find` must not be sure of any
//! limit other than the limit that the test sets. A lever is a temporary change that an experiment makes, such as
//! slowing a CPU.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::Value;
use testkit::{ControlGroup, TwoHosts, alone_with_release, bottleneck, has, json, json_of, num, serve, verdict};

/// Confidence from which a verdict counts as sure.
const SURE: f64 = 0.9;

/// Checks that the verdict is one of the correct verdicts in `right`, or `unknown`.
#[track_caller]
fn is_right(run: &Value, right: &[&str]) {
    let proof = &run["findings"]["proof"];
    assert!(
        right.contains(&bottleneck(run)) || bottleneck(run) == "unknown",
        "one of {right:?} is right: {}",
        verdict(run)
    );
    assert!(
        bottleneck(run) != "unknown" || proof["outcome"] != "proven",
        "an unknown limit cannot be proven: {proof:#}"
    );
}

/// Checks that a verdict outside `right` is neither sure nor proven.
#[track_caller]
fn is_not_sure_of_another(run: &Value, right: &[&str]) {
    let found = &run["findings"]["bottleneck"];
    let proven = run["findings"]["proof"]["outcome"] == "proven";
    assert!(
        right.contains(&bottleneck(run)) || num(&found["confidence"]) < SURE && !proven,
        "one of {right:?} is right: {}",
        verdict(run)
    );
}

/// Limits that leave the CPUs mostly idle.
mod idle {
    use super::*;

    /// The link lets 1 MB pass at once, and further bytes at 10 Mbit/s. The emulated link delays answers in the same
    /// way as a server that limits its rate. Only the round-trip time at the server and the server's unacknowledged
    /// bytes distinguish the link from a server that limits its rate.
    #[test]
    fn a_shaped_link_with_a_burst_is_no_rate_limit_of_the_server() {
        let test = "a shaped link with a burst";
        let (_alone, binary) = alone_with_release!("a shaped link with a burst");
        if !has(test, "tc") {
            return;
        }
        let Some(hosts) = TwoHosts::up(test, &binary, "switch") else { return };
        let shape = "dev=$(ip -o -4 address show to 10.77.0.0/16 | awk '{print $2; exit}') && \
            tc qdisc replace dev \"$dev\" root tbf rate 10mbit burst 1mb latency 400ms";
        hosts.shell("server", shape);
        let run = hosts.run("find", &["--body-bytes", "8kB"], &["--budget", "20s"]);
        is_right(&run, &["network-medium"]);
    }

    /// A firewall on the server's host lets 40 new connections per second pass. Beyond 40 SYN packets per second, the
    /// firewall drops SYN packets without an answer. The client sends a dropped SYN again after one second.
    #[test]
    fn a_firewall_that_drops_connects_is_no_full_server() {
        let test = "a firewall that drops connects";
        let (_alone, binary) = alone_with_release!("a firewall that drops connects");
        if !has(test, "iptables") {
            return;
        }
        let Some(hosts) = TwoHosts::up(test, &binary, "switch") else { return };
        let limit = "iptables -A INPUT -p tcp --syn -m limit --limit 40/second --limit-burst 40 -j ACCEPT && \
            iptables -A INPUT -p tcp --syn -j DROP";
        hosts.shell("server", limit);
        let run = hosts.run("find", &[], &["--new-connections", "--budget", "20s"]);
        assert!(
            run["trials"].as_array().unwrap().iter().any(|trial| num(&trial["completed_rate"]) > 0.0),
            "{}",
            verdict(&run)
        );
        is_not_sure_of_another(&run, &["network-loss", "server-rate-limit"]);
    }

    /// All levers on the generator (temporary changes by an experiment) run in the generator's control group. The quota
    /// of the generator's control group therefore also throttles the thread of each lever. When a lever's thread is
    /// throttled, it takes less CPU time from the generator than intended.
    #[test]
    fn a_quota_of_the_generator_is_its_own_limit() {
        let (_alone, binary) = alone_with_release!("a quota of the generator");
        let Some(group) = ControlGroup::fifth_of_a_processor("a quota of the generator") else { return };
        let server = serve(&binary, 1, &[]);
        let url = format!("http://{}/", server.addr);
        let mut command = group.command(&binary);
        let run = json_of(command.args(["find", &url, "--budget", "20s"]));
        is_right(&run, &["client-cpu"]);
    }

    /// The server has one worker that needs 180 ms per request, so it completes 5.5 requests per second. Even for a
    /// server with 5.5 requests per second, an experiment must fit into the default budget.
    #[test]
    fn a_server_of_five_requests_a_second_gets_an_experiment() {
        let (_alone, binary) = alone_with_release!("a slow server");
        let options = ["--model", "workers", "--option", "workers=1", "--option", "sleep_ms=180"];
        let server = serve(&binary, 1, &options);
        let url = format!("http://{}/", server.addr);
        let run = json(&binary, &["find", &url]);
        let proof = &run["findings"]["proof"];
        assert!(proof["trials"].as_array().is_some_and(|trials| !trials.is_empty()), "no experiment: {proof:#}");
        assert_ne!(proof["outcome"], "not-tested", "{proof:#}");
        is_right(&run, &["server-concurrency"]);
    }
}

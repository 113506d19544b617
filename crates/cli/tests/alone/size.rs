//! Tests of `loadline size` with a server whose capacity is known: the CPU quota divided by the server's CPU time per
//! request.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use testkit::{ControlGroup, OtherPrograms, alone, binary, free_port, num};

/// CPU time that the server uses per request, microseconds.
const BURNS_US: f64 = 2000.0;

/// Runs `size` with the given arguments in `dir`. Returns the exit status and the JSON output of the command.
fn size(dir: &Path, command: &str, arguments: &[&str]) -> (Option<i32>, Value) {
    let url = format!("http://127.0.0.1:{}/", free_port());
    let given = ["size", &url, "--command", command, "--out", "out", "--json"];
    let output = Command::new(binary!()).args(given).args(arguments).current_dir(dir).output().unwrap();
    let result = serde_json::from_slice(&output.stdout);
    let result = result.unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code(), result)
}

/// Returns the closed-loop trial with the highest p99 that `size` ran for one setting.
fn slowest_saturated(out: &Path, step: &Value) -> Value {
    let file = out.join(step["run"].as_str().unwrap()).join("run.json");
    let run: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let p99_us = |trial: &&Value| num(&trial["latency_us"]["p99"]);
    let sweep = run["trials"].as_array().unwrap().iter().filter(|trial| trial["kind"] == "sweep");
    sweep.max_by(|a, b| p99_us(a).total_cmp(&p99_us(b))).unwrap().clone()
}

/// Returns the share of the scheduler's periods in which a trial's server used up its quota.
fn throttled_share(trial: &Value) -> f64 {
    let of = |id: &str| num(&trial["server"]["counters"][id]);
    of("cgroup.cpu_throttled_periods") / of("cgroup.cpu_periods")
}

#[test]
fn capacity_is_the_quota_over_the_burnt_time() {
    let _alone = alone();
    let Some(_group) = ControlGroup::fifth_of_a_processor("capacity_is_the_quota_over_the_burnt_time") else { return };
    let dir = tempfile::tempdir().unwrap();
    let serve = format!("exec \"$LOADLINE\" serve --model epoll --listen 127.0.0.1:$PORT --option spin={BURNS_US}");
    let arguments = ["--quota", "0.5,0.25", "--p99", "1s", "--expect", "capacity>=160", "--budget", "60s"];
    let others = OtherPrograms::watch();
    let (status, result) = size(dir.path(), &serve, &arguments);
    let steps = result["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 2, "{result:#}");
    if !others.stayed_away("capacity_is_the_quota_over_the_burnt_time") {
        return;
    }
    assert_eq!(status, Some(0), "{result:#}");
    for (step, quota) in steps.iter().zip([0.25, 0.5]) {
        assert_eq!(step["setting"]["quota"], quota);
        let (capacity, cpu_us) = (&step["capacity"], num(&step["cpu_us_per_request"]));
        // A request costs [`BURNS_US`], plus the CPU time of its system calls.
        assert!((BURNS_US..1.15 * BURNS_US).contains(&cpu_us), "{step:#}");
        let truth = quota * 1e6 / cpu_us;
        let [rate, low, high] = ["rate", "low", "high"].map(|name| num(&capacity[name]));
        let saturated = slowest_saturated(&dir.path().join("out"), step);
        let (throttled, waits_us) = (throttled_share(&saturated), num(&saturated["latency_us"]["p99"]));
        println!(
            "quota {quota}: quota / CPU time {truth:.1}/s, capacity {rate:.1}/s ({low:.1} to {high:.1}), p99 of clients \
             without pause {waits_us:.0} us, throttled in {throttled:.2} of the periods"
        );
        // The measured 95 % interval contains the true capacity in 95 of 100 runs. The test allows another 3 %: for
        // errors in the measured CPU time, and because the kernel assigns the quota in slices of 5 ms.
        assert!(low < 1.03 * truth && high > 0.97 * truth, "{truth}: {step:#}");
        assert!((rate / truth - 1.0).abs() < 0.03, "{truth}: {step:#}");
        // Clients that never pause use up the quota in most periods of 100 ms, and then wait for the rest of the
        // period. Requests at equal time intervals, at a rate just below the capacity, hardly wait, and may leave some
        // of the quota unused.
        assert!(step["throttled_periods"].is_number(), "{step:#}");
        assert!(throttled > 0.5 && waits_us > 1e5 * (1.0 - quota) / 2.0, "{waits_us}: {step:#}");
    }
    let predicted = num(&steps[1]["predicted"]["value"]);
    assert!((predicted / num(&steps[1]["capacity"]["rate"]) - 1.0).abs() < 0.15, "{result:#}");
    assert!(steps[0]["predicted"].is_null() && steps[0]["meets"] == false && steps[1]["meets"] == true);
    assert_eq!((&result["cheapest"], &result["goal"]), (&1.into(), &"cpus".into()));
    assert_eq!(result["resources"]["limits"]["cpu"], "500m");
    let out = dir.path().join("out");
    let page = std::fs::read_to_string(out.join("size.html")).unwrap();
    assert!(page.contains("runs/2/report.html") && out.join("runs/2/report.html").exists());
    assert!(std::fs::read_to_string(out.join("size.md")).unwrap().contains("resources: {"));
}

/// Tests of servers that sleep, so they use little CPU time.
mod idle {
    use super::*;

    #[test]
    fn workers_of_a_command_are_counted_and_a_server_that_fails_is_named() {
        let _alone = alone();
        let dir = tempfile::tempdir().unwrap();
        // Each worker sleeps for 10 ms per request. With three workers, the command fails.
        let serve = "test $WORKERS -lt 3 || exit 7; exec \"$LOADLINE\" serve --model workers --option workers=$WORKERS \
                     --option sleep_ms=10 --listen 127.0.0.1:$PORT";
        let others = OtherPrograms::watch();
        let (status, result) = size(dir.path(), serve, &["--workers", "1,2,3", "--budget", "24s"]);
        let steps = result["steps"].as_array().unwrap();
        let limited = steps[2]["limited"].as_str().unwrap();
        assert!(steps[2]["capacity"].is_null() && limited.contains("exit status: 7"), "{result:#}");
        if !others.stayed_away("workers_of_a_command_are_counted") {
            return;
        }
        let rate = |at: usize| num(&steps[at]["capacity"]["rate"]);
        assert_eq!(status, Some(0), "{result:#}");
        assert!((1.5..2.5).contains(&(rate(1) / rate(0))), "{result:#}");
    }

    /// Each replica handles one request at a time, and each request takes 10 ms. All replicas share one port.
    #[test]
    fn replicas_that_share_a_port_add_up() {
        let _alone = alone();
        let dir = tempfile::tempdir().unwrap();
        let serve = "for n in $(seq $REPLICAS); do \"$LOADLINE\" serve --model epoll-sharded --threads 1 \
                     --option sleep_ms=10 --listen 127.0.0.1:$PORT & done; wait";
        let others = OtherPrograms::watch();
        let (status, result) = size(dir.path(), serve, &["--replicas", "1,2", "--budget", "24s"]);
        if !others.stayed_away("replicas_that_share_a_port_add_up") {
            return;
        }
        let rate = |at: usize| num(&result["steps"][at]["capacity"]["rate"]);
        assert_eq!((status, &result["steps"][1]["setting"]["replicas"]), (Some(0), &2.into()), "{result:#}");
        assert!((1.5..2.5).contains(&(rate(1) / rate(0))), "{result:#}");
    }
}

//! Compares predictions of `what-if` with measurements. Each test makes a prediction from a run, then really changes
//! the server and measures it again. Each of five predictions must be within its tolerance, and at least four of the
//! five intervals must contain the measured result. The test needs the release binary, because its result depends on
//! the relative speeds of client and server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use serde_json::Value;
use testkit::{
    ControlGroup, Running, TwoHosts, alone_with_release, free_port, json, nginx_workers, num, serve, skip, verdict,
};

/// Runs `find` on a server, stores the run in `out`, and returns it.
fn found(binary: &Path, server: &Running, out: &Path) -> Value {
    let url = format!("http://{}/", server.addr);
    let out = out.to_str().unwrap();
    json(binary, &["find", &url, "--cpus", "0", "--prove", "off", "--budget", "12s", "--out", out])
}

/// A measured throughput, requests per second.
struct Came {
    rate: f64,
    /// Half of the width of the 95 % confidence interval.
    error: f64,
}

/// Returns the median of the throughputs in each second of a load. Seconds in which the machine stalls hardly change a
/// median. The function uses whole seconds, because each second contains ten periods of the CPU quota. The standard
/// error of a median of normally distributed values is 1.25 times that of their mean.
#[track_caller]
fn completed(run: &Value) -> Came {
    let tenths = run["trials"][0]["measured"]["series_completed"].as_array().unwrap();
    let seconds = tenths.chunks_exact(10).map(|second| second.iter().map(num).sum::<f64>() / 10.0);
    let mut seconds: Vec<f64> = seconds.collect();
    assert!(seconds.len() >= 7, "{} seconds of 8: {run:#}", seconds.len());
    seconds.sort_by(f64::total_cmp);
    let error = stats::NORMAL_95 * 1.25 * stats::Sample::of(&seconds).unwrap().error();
    Came { rate: seconds[seconds.len() / 2], error }
}

/// Returns the measured throughput of the changed server. The load has more clients than are needed to fill the server.
fn came(binary: &Path, server: &Running) -> Came {
    let url = format!("http://{}/", server.addr);
    let run = json(binary, &["load", &url, "--cpus", "0", "--connections", "16", "--duration", "8s"]);
    completed(&run)
}

/// A prediction, and the measured result after the change.
struct Predicted {
    what: &'static str,
    /// Maximum error of the prediction, as a share of the measured result.
    share: f64,
    answer: Value,
    came: Came,
}

impl Predicted {
    /// Creates a prediction that may differ from the measured result by at most a tenth of this result.
    fn new(what: &'static str, answer: Value, came: Came) -> Option<Self> {
        Some(Self { what, share: 0.1, answer, came })
    }

    fn near(&self) -> bool {
        (num(&self.answer["rate"]["value"]) / self.came.rate - 1.0).abs() <= self.share
    }

    fn covers(&self) -> bool {
        let [value, low, high] = ["value", "low", "high"].map(|of| num(&self.answer["rate"][of]));
        let half = if self.came.rate < value { value - low } else { high - value };
        (self.came.rate - value).abs() <= half.hypot(self.came.error)
    }

    fn sentence(&self) -> String {
        let [value, low, high] = ["value", "low", "high"].map(|of| num(&self.answer["rate"][of]));
        format!(
            "{}: predicted {value:.1} ({low:.1} to {high:.1}), came {:.1} (± {:.1})",
            self.what, self.came.rate, self.came.error
        )
    }
}

/// Each prediction must be within its tolerance. One interval may miss the result, because one in twenty intervals of
/// 95 % confidence does so by chance.
#[test]
fn five_changes_are_predicted_and_at_least_four_intervals_contain_the_result() {
    let (_alone, binary) = alone_with_release!("what-if, held against the changed server");
    let alone = [a_delay, a_second_worker_of_nginx];
    let mut all: Vec<Predicted> = alone.into_iter().filter_map(|change| change(&binary)).collect();
    // The servers of these changes leave the CPUs mostly idle, so they are measured at the same time.
    let together: [fn(&Path) -> Option<Predicted>; 3] = [twice_the_slots, twice_the_quota, twice_the_link];
    let binary = &binary;
    std::thread::scope(|scope| {
        let threads = together.map(|change| scope.spawn(move || change(binary)));
        all.extend(threads.into_iter().filter_map(|thread| thread.join().unwrap()));
    });
    all.iter().for_each(|one| println!("{}", one.sentence()));
    for one in &all {
        assert!(one.near(), "{}: more than {} off: {:#}", one.sentence(), one.share, one.answer);
    }
    let missed: Vec<String> = all.iter().filter(|one| !one.covers()).map(Predicted::sentence).collect();
    assert!(missed.len() <= 1, "{} of {} intervals miss: {missed:#?}", missed.len(), all.len());
}

fn twice_the_slots(binary: &Path) -> Option<Predicted> {
    let dir = tempfile::tempdir().unwrap();
    let with = |n: u32| {
        serve(binary, 1, &["--model", "workers", "--option", &format!("workers={n}"), "--option", "sleep_ms=20"])
    };
    let before = found(binary, &with(3), &dir.path().join("before"));
    assert_eq!(before["findings"]["bottleneck"]["id"], "server-concurrency", "{}", verdict(&before));
    let answer = json(binary, &["what-if", dir.path().join("before").to_str().unwrap(), "--workers", "6"]);
    assert_eq!(answer["bottleneck"]["id"], "server-concurrency", "{answer:#}");
    Predicted::new("3 slots to 6", answer, came(binary, &with(6)))
}

fn twice_the_quota(binary: &Path) -> Option<Predicted> {
    let dir = tempfile::tempdir().unwrap();
    let with = |group: &ControlGroup| {
        let port = free_port();
        let mut command = group.command(binary);
        command.args(["serve", "http", "--listen", &format!("127.0.0.1:{port}"), "--option", "work_us=400"]);
        Running::start(command, port, tempfile::tempdir().unwrap())
    };
    let group = |quota_us: u32| {
        let (quota, period) = (quota_us.to_string(), "100000");
        let one = [("cpu.cfs_period_us", period), ("cpu.cfs_quota_us", quota.as_str())];
        let two = format!("{quota} {period}");
        ControlGroup::make("what-if of a quota", "cpu", &one, &[("cpu.max", two.as_str())])
    };
    let fifth = group(20_000)?;
    let before = found(binary, &with(&fifth), &dir.path().join("before"));
    let answer = json(binary, &["what-if", dir.path().join("before").to_str().unwrap(), "--quota", "0.4"]);
    assert_eq!(before["findings"]["bottleneck"]["id"], "server-cpu-quota", "{}", verdict(&before));
    let twice = group(40_000)?;
    Predicted::new("a quota of 20 % to 40 %", answer, came(binary, &with(&twice)))
}

fn twice_the_link(binary: &Path) -> Option<Predicted> {
    let body = ["--body-bytes", "12000"];
    let on = |medium: &str, what: &str, more: &[&str]| {
        TwoHosts::up("what-if of a link", binary, medium).map(|way| way.run(what, &body, more))
    };
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("before");
    let out = out.to_str().unwrap();
    let find = ["--prove", "off", "--budget", "12s", "--out", out];
    let before = on("switch:10M", "find", &find)?;
    assert_eq!(before["findings"]["bottleneck"]["id"], "network-medium", "{}", verdict(&before));
    let answer = json(binary, &["what-if", out, "--link", "20mbit", "--users", "8"]);
    assert_eq!(answer["bottleneck"]["id"], "network-medium", "{answer:#}");
    let after = on("switch:20M", "load", &["--connections", "8", "--duration", "8s"])?;
    Predicted::new("10 Mbit/s to 20", answer, completed(&after))
}

fn a_delay(binary: &Path) -> Option<Predicted> {
    let work = ["--option", "work_us=400"];
    let on = |medium: &str, what: &str, more: &[&str]| {
        TwoHosts::up("what-if of a delay", binary, medium).map(|way| way.run(what, &work, more))
    };
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("before");
    let out = out.to_str().unwrap();
    on("wan:delay=0ms", "find", &["--prove", "off", "--budget", "12s", "--out", out])?;
    let answer = json(binary, &["what-if", out, "--delay", "20ms", "--users", "16"]);
    let after = on("wan:delay=10ms", "load", &["--connections", "16", "--duration", "8s"])?;
    Predicted::new("0 to 20 ms of delay", answer, completed(&after))
}

/// The two workers share caches and a memory bus. Sharing the caches and the bus makes each worker slower, which the
/// model leaves out.
fn a_second_worker_of_nginx(binary: &Path) -> Option<Predicted> {
    let dear = "gzip on; gzip_comp_level 9; gzip_min_length 1; gzip_types *;";
    let with = |workers: u32| {
        let server = nginx_workers((workers, "0,1"), dear, "")?;
        let words: String = (0..6000u32).map(|i| format!("{} ", i.wrapping_mul(2_654_435_761) >> 12)).collect();
        std::fs::write(server.dir.path().join("file"), words).unwrap();
        Some(server)
    };
    let Some(one) = with(1) else {
        skip("what-if of nginx's workers", "nginx is not installed");
        return None;
    };
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("before");
    let out = out.to_str().unwrap();
    let asks = |server: &Running, words: &[&str]| {
        let url = format!("http://{}/file", server.addr);
        let all: Vec<&str> = [&[words[0], &*url, "-H", "Accept-Encoding: gzip"], &words[1..]].concat();
        json(binary, &all)
    };
    let before = asks(&one, &["find", "--prove", "off", "--budget", "12s", "--out", out]);
    assert_eq!(before["findings"]["bottleneck"]["id"], "server-single-thread", "{}", verdict(&before));
    drop(one);
    let answer = json(binary, &["what-if", out, "--workers", "2", "--users", "16"]);
    let two = with(2)?;
    let after = asks(&two, &["load", "--connections", "16", "--duration", "8s"]);
    Some(Predicted { what: "one worker of nginx to two", share: 0.15, answer, came: completed(&after) })
}

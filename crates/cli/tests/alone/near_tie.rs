//! Test of a near tie: redis-server runs on one CPU and the generator on another CPU, and both CPUs are nearly full. If
//! several searches are confident, they must all give the same verdict. All searches must also agree about the share of
//! throughput that each of the two CPUs explains.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::Command;

use serde_json::Value;
use testkit::{Running, alone_with_release, bottleneck, free_port, json, num, program, skip};

/// Number of searches that the test makes.
const TIMES: usize = 10;
/// Confidence above which a verdict counts as sure.
const SURE: f64 = 0.6;
/// Maximum difference between the shares that two searches find for the same CPU.
const MAX_SHARE_DIFFERENCE: f64 = 0.2;

/// Result of one search: its verdict, the confidence, and the shares of throughput that the server's and the
/// generator's CPU explain.
#[derive(Debug)]
struct Answer {
    id: String,
    confidence: f64,
    shares: Vec<f64>,
}

fn answer(run: &Value) -> Answer {
    let all = run["findings"]["proof"]["elasticities"].as_array().cloned().unwrap_or_default();
    let of = |lever: &str| all.iter().find(|e| e["lever"] == lever).map_or(f64::NAN, |e| num(&e["value"]));
    let confidence = num(&run["findings"]["bottleneck"]["confidence"]);
    Answer { id: bottleneck(run).into(), confidence, shares: vec![of("server-cpu"), of("client-cpu")] }
}

#[test]
#[ignore = "ten searches of half a minute, on a quiet machine"]
fn ten_searches_of_redis_never_contradict_each_other() {
    let (_alone, binary) = alone_with_release!("a near tie");
    let Some(redis) = program("redis-server") else { return skip("a near tie", "redis-server is not installed") };
    let (port, dir) = (free_port(), tempfile::tempdir().unwrap());
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).arg(redis).args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
    command.args(["--appendonly", "no", "--dir"]).arg(dir.path());
    let server = Running::start(command, port, dir);
    let url = format!("redis://{}", server.addr);
    let answers: Vec<Answer> = (0..TIMES)
        .map(|_| {
            let run = json(&binary, &["find", &url, "--cpus", "1", "--budget", "30s"]);
            let answer = answer(&run);
            println!("{answer:?} {}", run["findings"]["proof"]["why"]);
            answer
        })
        .collect();
    let sure: Vec<&Answer> = answers.iter().filter(|a| a.confidence > SURE).collect();
    assert!(sure.iter().all(|a| a.id == sure[0].id), "{answers:#?}");
    for side in 0..2 {
        let shares = || answers.iter().map(|a| a.shares[side]).filter(|share| share.is_finite());
        let (least, most) = shares().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), s| (a.min(s), b.max(s)));
        assert!(most - least <= MAX_SHARE_DIFFERENCE, "{least} to {most}: {answers:#?}");
    }
}

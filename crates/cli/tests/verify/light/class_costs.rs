//! Test of the CPU costs per class of requests. The server uses five times as much CPU time for one path as for
//! another.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use testkit::{alone_with_release, json, loadline, num, one_loop, script_server, skip};

/// Python code of the server, which uses CPU time before each answer. The path in the request decides how much CPU time
/// the server uses. The Python code measures its own thread's CPU time, so other programs do not change the CPU time
/// per request.
const WORK: &str = "
until = time.thread_time() + (0.002 if asked.startswith(b'GET /dear') else 0.0004)
while time.thread_time() < until: pass
";

#[test]
fn the_path_with_five_times_the_cpu_time_costs_most() {
    // An unoptimized build needs a long time to judge the run. In an unoptimized build, no time of the budget would be
    // left to measure the cost of each class of requests.
    let (_alone, binary) = alone_with_release!("class costs");
    let Some((_server, addr)) = script_server(&one_loop("", WORK)) else {
        return skip("class costs", "python3 is not installed");
    };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mix.toml");
    std::fs::write(&file, "[[request]]\npath = \"/cheap\"\nweight = 1\n[[request]]\npath = \"/dear\"\n").unwrap();
    let (url, file) = (format!("http://{addr}/"), file.display().to_string());
    let run = json(&binary, &["find", &url, "--requests", &file, "--budget", "24s", "--prove", "off"]);
    let (classes, costs) = (&run["findings"]["classes"], &run["findings"]["class_costs"]);
    let windows = run["trials"].as_array().unwrap().iter().filter(|trial| trial["kind"] == "classes");
    let windows = windows.count();
    assert!([6, 9].contains(&windows), "two or three rounds of the mix as it is and of more of each class: {windows}");
    assert_eq!(costs["dearest"], 1, "{classes:#}\n{costs:#}");
    let us = |at: usize, what: &str| num(&classes[at]["server_cpu"][what]);
    assert!(us(0, "us") > 0.0 && us(1, "us") > us(0, "us"), "{classes:#}");
    assert!(us(1, "low") <= us(1, "us") && us(1, "us") <= us(1, "high"), "{classes:#}");
    assert!(num(&classes[1]["server_cpu_share"]) > num(&classes[0]["server_cpu_share"]), "{classes:#}");
    let kept = dir.path().join("run.json");
    std::fs::write(&kept, run.to_string()).unwrap();
    let text = loadline(&binary, &["report", &kept.display().to_string(), "--form", "text"]).stdout;
    let text = String::from_utf8(text).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("cost the server most") || text.contains("costs the server most"), "{text}");
    assert!(text.contains("estimate") && text.contains("Cost of a request of each class for the server"), "{text}");
}

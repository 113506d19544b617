//! The verdicts of issue "foundation" on real servers: each runs `find` against a server with one known weakness and
//! expects it to be named, the first time. Speed relations matter, so these take the release binary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use testkit::{
    Hog, alone_with_release, bottleneck, eventually, json, loadline, nginx, num, serve, skip, total, verdict,
};

#[test]
fn nginx_with_one_pinned_worker_is_at_its_processor_and_counts_agree() {
    let (_alone, binary) = alone_with_release!("nginx");
    // A bare file costs nginx hardly more than the generator; to pack so much for each answer costs it a hundred times as much, so
    // that a machine which stands still now and then leaves no doubt either.
    let packed = "gzip on; gzip_types *; gzip_min_length 1; gzip_comp_level 6;";
    let Some(server) = nginx(1, packed, "") else { return skip("nginx", "nginx is not installed") };
    let mut random = fastrand::Rng::with_seed(1);
    let text: Vec<u8> = (0..24_000).map(|_| b"0123456789abcdef"[random.usize(..16)]).collect();
    std::fs::write(server.dir.path().join("text"), text).unwrap();
    let url = format!("http://{}/text", server.addr);
    let run = json(&binary, &["find", &url, "--budget", "20s", "--cpus", "0", "--header", "Accept-Encoding: gzip"]);
    let id = bottleneck(&run);
    assert!(matches!(id, "server-cpu" | "server-single-thread"), "{}", verdict(&run));
    assert!(run["findings"]["bottleneck"]["evidence"].as_array().is_some_and(|e| !e.is_empty()), "{}", verdict(&run));

    // The log is written every 100 ms: it has stood still when a second look sees what the first one saw.
    let logged = || {
        let log = std::fs::read_to_string(server.dir.path().join("access")).unwrap();
        log.lines().filter(|l| *l == "OK 200").count() as u64
    };
    let mut seen = 0;
    eventually(|| {
        std::thread::sleep(std::time::Duration::from_millis(400));
        let before = std::mem::replace(&mut seen, logged());
        (before == seen).then_some(())
    });
    assert_eq!(total(&run, "completed"), seen, "completed by loadline against nginx's own log");
}

#[test]
fn a_starved_generator_is_named_and_not_the_server() {
    let (_alone, binary) = alone_with_release!("client-cpu");
    let Some(server) = nginx(1, "", "") else { return skip("client-cpu", "nginx is not installed") };
    // Three busy loops on the generator's processor leave it a quarter.
    let hogs = Hog::on(0, 3);
    let url = format!("http://{}/file", server.addr);
    let run = json(&binary, &["find", &url, "--budget", "10s", "--cpus", "0"]);
    drop(hogs);
    assert_eq!(bottleneck(&run), "client-cpu", "{}", verdict(&run));
}

#[test]
fn a_rate_limit_is_told_from_a_limit_of_the_machine() {
    let (_alone, binary) = alone_with_release!("server-rate-limit");
    let zone = "limit_req_zone $server_port zone=z:1m rate=500r/s; limit_req_status 429;";
    let Some(server) = nginx(1, "limit_req zone=z burst=20 nodelay;", zone) else {
        return skip("server-rate-limit", "nginx is not installed");
    };
    let url = format!("http://{}/file", server.addr);
    let run = json(&binary, &["find", &url, "--budget", "10s", "--cpus", "0"]);
    assert_eq!(bottleneck(&run), "server-rate-limit", "{}", verdict(&run));
}

#[test]
fn four_workers_that_sleep_20_ms_are_a_concurrency_of_200_a_second() {
    let (_alone, binary) = alone_with_release!("server-concurrency");
    let server = serve(&binary, 1, &["--model", "workers", "--option", "workers=4", "--option", "sleep_ms=20"]);
    let url = format!("http://{}/", server.addr);
    let run = json(&binary, &["find", &url, "--budget", "20s", "--cpus", "0"]);
    assert_eq!(bottleneck(&run), "server-concurrency", "{}", verdict(&run));
    let rate = num(&run["findings"]["capacity"]["rate"]);
    // Four times what one connection had: a worker that wakes late sleeps longer than it was told.
    let one = run["trials"].as_array().unwrap().iter().find(|trial| trial["intensity"]["connections"] == 1).unwrap();
    let least = 0.95 * 4.0 * 1e6 / num(&one["latency_us"]["mean"]);
    assert!((least..=210.0).contains(&rate), "capacity {rate}, at least {least}: {}", verdict(&run));
}

#[test]
fn a_slow_accept_behind_a_short_backlog_is_the_accept_queue() {
    let (_alone, binary) = alone_with_release!("accept-queue");
    let server = serve(
        &binary,
        1,
        &["--model", "epoll", "--backlog", "4", "--option", "accept_every_ms=50", "--option", "accept_batch=4"],
    );
    let url = format!("http://{}/", server.addr);
    let run = json(&binary, &["find", &url, "--budget", "20s", "--cpus", "0", "--new-connections"]);
    assert_eq!(bottleneck(&run), "accept-queue", "{}", verdict(&run));
}

#[test]
fn header_and_body_written_apart_are_a_delayed_acknowledgement() {
    let (_alone, binary) = alone_with_release!("tcp-delayed-ack");
    let server = serve(&binary, 1, &["--option", "split_head=1"]);
    let url = format!("http://{}/", server.addr);
    let run = json(&binary, &["find", &url, "--budget", "12s", "--cpus", "0"]);
    assert_eq!(bottleneck(&run), "tcp-delayed-ack", "{}", verdict(&run));
}

#[test]
fn the_embedded_server_is_found_and_reported() {
    let (_alone, binary) = alone_with_release!("embedded");
    let out = tempfile::tempdir().unwrap();
    let dir = out.path().join("run");
    let done = loadline(&binary, &["find", "--budget", "6s", "--out", dir.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&done.stderr));
    assert!(text.contains("report.html"), "{text}");
    let html = std::fs::read_to_string(dir.join("report.html")).unwrap();
    assert!(html.matches("<svg").count() >= 3 && html.ends_with("</html>\n"), "charts are missing, or the end");
    for fetches in ["src=", "<link", "@import", "url(http", "fetch(", "XMLHttpRequest"] {
        assert!(!html.contains(fetches), "the page must need no network: {fetches}");
    }
    assert!(html.contains("default-src 'none'"), "the page may fetch");
    let run: serde_json::Value = serde_json::from_slice(&std::fs::read(dir.join("run.json")).unwrap()).unwrap();
    assert!(num(&run["findings"]["capacity"]["rate"]) > 0.0);
    assert!(run["trials"].as_array().unwrap().iter().any(|t| t["kind"] == "overload"), "no step past the capacity");
}

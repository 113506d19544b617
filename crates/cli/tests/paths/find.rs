//! Tests of `find` against nginx and against the embedded server: capacity, verdict and report.

use testkit::{alone_with_release, bottleneck, eventually, json, loadline, nginx, num, skip, total, verdict};

#[test]
fn nginx_with_one_pinned_worker_is_limited_by_its_cpu_and_counts_agree() {
    let (_alone, binary) = alone_with_release!("nginx");
    // For an uncompressed file, nginx and the generator need about the same CPU time. To compress an answer, nginx
    // needs about a hundred times as much CPU time as to send it uncompressed. With compressed answers, the CPU of
    // nginx is clearly the bottleneck, even if the machine stalls.
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
    let capacity = &run["findings"]["capacity"];
    let overloaded = run["trials"].as_array().unwrap().iter().any(|t| t["kind"] == "overload");
    assert!(overloaded || num(&capacity["failed_at"]) > 0.0, "no step past the capacity: {capacity:#}");

    // nginx writes its log every 100 ms. nginx's log is complete when it does not grow during a pause of 400 ms.
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
fn the_embedded_server_is_found_and_reported() {
    let (_alone, binary) = alone_with_release!("embedded");
    let out = tempfile::tempdir().unwrap();
    let dir = out.path().join("run");
    let done = loadline(&binary, &["find", "--budget", "5s", "--out", dir.to_str().unwrap()]);
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
    assert!(num(&run["findings"]["capacity"]["rate"]) > 0.0, "{:#}", run["findings"]["capacity"]);
}

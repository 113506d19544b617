//! Tests with a cache in front of a slow server, and requests whose keys are skewed (some keys are more frequent than
//! others). The more skewed the keys are, the more requests the cache must answer.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use testkit::{alone, binary, free_port, json, nginx, num, one_loop, script_server, skip, total};

/// Skews (exponents of the Zipf distribution) of the keys: from nearly uniform to mostly a few keys.
const SKEWS: [&str; 3] = ["0.6", "0.99", "1.3"];

#[test]
fn hit_ratio_and_capacity_grow_with_skew() {
    let _alone = alone();
    let Some((_slow, behind)) = script_server(&one_loop("", "time.sleep(0.004)")) else {
        return skip("skew over a cache", "python3 is not installed");
    };
    let (port, dir) = (free_port(), tempfile::tempdir().unwrap());
    let d = dir.path().display();
    let open = std::process::Command::new("chmod").args(["-R", "a+rwX"]).arg(dir.path()).status().unwrap();
    assert!(open.success());
    let http = format!(
        "proxy_cache_path {d}/cache keys_zone=items:1m; log_format items '$upstream_cache_status $uri';
         server {{ listen 127.0.0.1:{port} backlog=4096; access_log {d}/log items;
           location / {{ proxy_pass http://{behind}; proxy_cache items; proxy_cache_valid 200 1h; proxy_cache_key $uri; }} }}"
    );
    let Some(_nginx) = nginx(0, "", &http) else { return skip("skew over a cache", "nginx is not installed") };
    let (url, log) = (format!("http://127.0.0.1:{port}/"), dir.path().join("log"));
    let mut logged = 0;
    let mut found = Vec::new();
    for skew in SKEWS {
        // Each skew has its own paths, so the cache has no answers for them at first.
        let file = dir.path().join("skew.toml");
        std::fs::write(&file, format!("[[request]]\npath = \"/{skew}/{{{{zipf 1 100000 {skew}}}}}\"\n")).unwrap();
        let file = file.display().to_string();
        let load = ["load", &url, "--requests", &file, "--connections", "4", "--duration", "5s", "--warmup", "0s"];
        let run = json(binary!(), &load);
        let made = total(&run, "completed");
        assert_eq!(run["trials"][0]["errors"], serde_json::json!({}), "{skew}");
        logged += made as usize;
        let text = testkit::logged(&log, logged);
        assert_eq!(text.lines().count(), logged, "the log has each request once");
        let of = |status: &str| text.lines().filter(|line| line.starts_with(&format!("{status} /{skew}/"))).count();
        let (hits, misses) = (of("HIT"), of("MISS"));
        assert!(
            hits + misses > 100 && (hits + misses) as u64 == made,
            "{skew}: {hits} hits, {misses} misses of {made}"
        );
        found.push((hits as f64 / made as f64, num(&run["trials"][0]["completed_rate"])));
    }
    let told = format!("{found:?}");
    assert!(found.windows(2).all(|two| two[0].0 + 0.1 < two[1].0), "hit share by skew: {told}");
    assert!(found.windows(2).all(|two| two[0].1 < two[1].1), "completed rate by skew: {told}");
    println!("hit share and rate by skew {SKEWS:?}: {told}");
}

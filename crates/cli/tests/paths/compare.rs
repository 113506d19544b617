//! Test that `compare` starts two servers, compares them and ends them.

use std::process::{Command, Output};

fn compare(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_loadline")).arg("compare").args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Checks that both runs of a comparison can be read again, and pooled with other runs.
fn are_kept(out: &str, urls: [&str; 2], windows: usize) {
    let sides = ["old", "new"].map(|side| format!("{out}/{side}"));
    for (side, url) in sides.iter().zip(urls) {
        let run: serde_json::Value =
            serde_json::from_slice(&std::fs::read(format!("{side}/run.json")).unwrap()).unwrap();
        assert_eq!(run["plan"]["target"]["url"], url);
        assert!(run["interrupted"] == false && run["trials"].as_array().unwrap().len() >= windows, "{side}");
        assert!(std::fs::read_to_string(format!("{side}/report.html")).unwrap().contains("· loadline</title>"));
    }
    let page = std::fs::read_to_string(format!("{out}/compare.html")).unwrap();
    for side in ["old", "new"] {
        assert!(page.contains(&format!("<a href=\"{side}/report.html\">")), "{side}");
    }
    let pooled = compare(&["--old", &sides[0], "--new", &sides[1], "--json"]);
    let found: serde_json::Value = serde_json::from_slice(&pooled.stdout).unwrap();
    let figures: Vec<&str> =
        found["comparisons"].as_array().unwrap().iter().filter_map(|c| c["figure"].as_str()).collect();
    assert!(figures.contains(&"completed rate") && found["turns"].is_null(), "{figures:?}: {}", text(&pooled));
}

/// Two commands start servers on free ports. Both servers must have ended after the comparison, and the runs of both
/// must be kept.
#[test]
fn compare_starts_compares_and_ends_servers() {
    let _alone = testkit::alone();
    let program = env!("CARGO_BIN_EXE_loadline");
    let ports = [testkit::free_port(), testkit::free_port()];
    let [a, b] =
        ports.map(|port| (format!("{program} serve --listen 127.0.0.1:{port}"), format!("http://127.0.0.1:{port}/")));
    let begun = std::time::Instant::now();
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("kept").display().to_string();
    let servers = [&a.1, &b.1, "--command-a", &a.0, "--command-b", &b.0];
    let output = compare(&[&servers[..], &["--budget", "4s", "--seed", "7", "--json", "--out", &out]].concat());
    let took_s = begun.elapsed().as_secs_f64();
    assert!((2.0..20.0).contains(&took_s), "{took_s} s of a budget of 4 s");
    let found: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output)));
    assert!(found["verdict"].is_string(), "{found}");
    let pairs = found["turns"]["new_first"].as_array().unwrap();
    let new_first = pairs.iter().filter(|first| **first == true).count();
    assert!(!pairs.is_empty() && (2 * new_first).abs_diff(pairs.len()) <= 1, "{}", found["turns"]);
    // The comparison stays within its budget. If the budget is too short for seven pairs of windows (one window per
    // server), a note must say so.
    let said = found["notes"].to_string();
    assert_eq!(pairs.len() < 7, said.contains(" of windows, and fewer than"), "{} pairs: {said}", pairs.len());
    assert_eq!(found["turns"]["seed"], 7);
    are_kept(&out, [&a.1, &b.1], pairs.len());
    for port in ports {
        assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err(), "its server still listens at {port}");
    }
    let none = compare(&[&a.1, &b.1, "--command-a", "echo no such thing >&2; exit 3"]);
    let said = text(&none);
    assert!(
        none.status.code() == Some(2) && said.contains("no such thing") && said.contains("exit status: 3"),
        "{said}"
    );
    let same = compare(&[&a.1, &a.1, "--command-a", &a.0, "--command-b", &b.0]);
    assert!(text(&same).contains("its own port"), "{}", text(&same));
}

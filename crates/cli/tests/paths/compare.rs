//! Test that `compare` starts two servers, compares them and ends them.

use std::process::{Command, Output};

fn compare(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_loadline")).arg("compare").args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Two commands start servers on free ports. Both servers must have ended after the comparison.
#[test]
fn compare_starts_compares_and_ends_servers() {
    let _alone = testkit::alone();
    let program = env!("CARGO_BIN_EXE_loadline");
    let ports = [testkit::free_port(), testkit::free_port()];
    let [a, b] =
        ports.map(|port| (format!("{program} serve --listen 127.0.0.1:{port}"), format!("http://127.0.0.1:{port}/")));
    let begun = std::time::Instant::now();
    let output =
        compare(&[&a.1, &b.1, "--command-a", &a.0, "--command-b", &b.0, "--budget", "4s", "--seed", "7", "--json"]);
    let took_s = begun.elapsed().as_secs_f64();
    assert!((2.0..20.0).contains(&took_s), "{took_s} s of a budget of 4 s");
    let found: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output)));
    assert!(found["verdict"].is_string(), "{found}");
    let pairs = found["turns"]["new_first"].as_array().unwrap();
    let new_first = pairs.iter().filter(|first| **first == true).count();
    assert!(!pairs.is_empty() && (2 * new_first).abs_diff(pairs.len()) <= 1, "{}", found["turns"]);
    // The comparison stays within its budget. If the budget is too short for seven pairs of windows (one window per
    // server), a note says so.
    let said = found["notes"].to_string();
    assert_eq!(pairs.len() < 7, said.contains("pairs of windows"), "{} pairs: {said}", pairs.len());
    assert_eq!(found["turns"]["seed"], 7);
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

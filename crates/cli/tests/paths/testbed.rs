//! Tests of `loadline testbed`. Separate commands create, use and remove a testbed (hosts in network namespaces). A
//! command also removes the testbed if its keeper (the process that keeps the testbed running) was killed.
#![allow(clippy::unwrap_used)] // The lint allows unwrap in tests, but not in helpers of tests.

use crate::testbed_command::{gone, holders, loadline, said, status, up};

#[test]
fn a_named_testbed_serves_other_programs_until_it_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    if !up(dir, "a_named_testbed", &["up", "lan", "--medium", "switch:100M", "--hosts", "left,right"]) {
        return;
    }
    let again = loadline(dir, &["up", "lan"]);
    assert!(String::from_utf8_lossy(&again.stderr).contains("is up already"));
    let inside = said(&loadline(dir, &["exec", "lan", "right", "--", "cat", "/proc/net/dev"]));
    assert!(inside.contains("eth0") && !inside.contains("bridge0"), "{inside}");
    let failed = loadline(dir, &["exec", "lan", "middle", "--", "true"]);
    assert!(String::from_utf8_lossy(&failed.stderr).contains("left, right"));
    assert_eq!(loadline(dir, &["exec", "lan", "left", "--", "sh", "-c", "exit 7"]).status.code(), Some(7));
    let missing = loadline(dir, &["exec", "lan", "left", "--", "no-such-program"]);
    assert!(String::from_utf8_lossy(&missing.stderr).contains("installed"));
    let pids = holders(&status(dir));
    said(&loadline(dir, &["down", "lan"]));
    gone(&pids);
    assert_eq!(said(&loadline(dir, &["status"])), "no testbed is up\n");
    assert!(!dir.join("loadline").exists(), "no file is left");
}

#[test]
fn a_wrong_medium_or_name_is_refused_before_anything_is_created() {
    let dir = tempfile::tempdir().unwrap();
    let wrong = |arguments: &[&str], word: &str| {
        let output = loadline(dir.path(), arguments);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && words.contains(word), "{words}");
    };
    wrong(&["up", "x", "--medium", "token-ring"], "ethernet10");
    wrong(&["up", "a/b"], "letters");
    wrong(&["up", "x", "--hosts", "a,a"], "taken");
    wrong(&["status", "nobody"], "not up");
}

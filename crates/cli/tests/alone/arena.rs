//! Test of `loadline arena` with live servers that get different ranks.

use serde_json::Value;
use testkit::{alone_with_release, num};

use crate::arena_file::{arena, cell, listens, text, write};

#[test]
fn servers_are_ranked_by_their_cost() {
    let (_alone, binary) = alone_with_release!("ranks of servers");
    let dir = tempfile::tempdir().unwrap();
    let port = write(dir.path(), &[("slow", "--option work_us=400"), ("quick", "--option work_us=100")]);
    let output =
        arena(&binary, dir.path(), &["arena.toml", "--budget", "32s", "--out", "out", "--json"]).output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output)));
    assert_eq!(output.status.code(), Some(0), "{result:#}");
    let [slow, quick] = ["slow", "quick"].map(|name| cell(&result, name));
    let cost = |cell: &Value| num(&cell["cpu_us_per_request"]["value"]);
    assert!(cost(slow) > cost(quick) + 200.0, "{result:#}");
    assert_eq!((&quick["group"], &slow["group"]), (&1.into(), &2.into()), "{result:#}");
    assert!(num(&quick["capacity"]["rate"]) > num(&slow["capacity"]["rate"]), "{result:#}");
    assert_eq!(result["noise"][0]["entry"], "slow");
    let page = std::fs::read_to_string(dir.path().join("out/arena.html")).unwrap();
    let report = format!("{}/report.html", quick["run"].as_str().unwrap());
    assert!(page.contains(&format!("href=\"{report}\"")) && dir.path().join("out").join(report).exists());
    assert!(!listens(port), "a server outlived the comparison");
}

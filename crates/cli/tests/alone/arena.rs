//! Tests of `loadline arena` with live servers: ranks, refusals and failed entries.

use serde_json::Value;
use testkit::{alone_with_release, num};

use crate::arena_file::{arena, cell, listens, text, write};

#[test]
fn servers_are_ranked_by_their_cost_and_wrong_ones_are_refused() {
    let (_alone, binary) = alone_with_release!("ranks of servers");
    let dir = tempfile::tempdir().unwrap();
    let servers = [
        ("slow", "--option work_us=400"),
        ("quick", "--option work_us=100"),
        ("short", "--body-bytes 1000"),
        ("broken", "--no-such-option"),
    ];
    let port = write(dir.path(), &servers);
    let output =
        arena(&binary, dir.path(), &["arena.toml", "--budget", "54s", "--out", "out", "--json"]).output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output)));
    assert_eq!(output.status.code(), Some(0), "{result:#}");
    let [slow, quick] = ["slow", "quick"].map(|name| cell(&result, name));
    let cost = |cell: &Value| num(&cell["cpu_us_per_request"]["value"]);
    assert!(cost(slow) > cost(quick) + 200.0, "{result:#}");
    assert_eq!((&quick["group"], &slow["group"]), (&1.into(), &2.into()), "{result:#}");
    assert!(num(&quick["capacity"]["rate"]) > num(&slow["capacity"]["rate"]), "{result:#}");
    let short = cell(&result, "short");
    assert_eq!((&short["group"], &short["refused_kind"]), (&Value::Null, &"wrong-answer".into()));
    let said = cell(&result, "broken")["refused"].as_str().unwrap().to_owned();
    assert!(said.contains("no-such-option"), "{said}");
    assert_eq!(result["noise"][0]["entry"], "slow");
    let page = std::fs::read_to_string(dir.path().join("out/arena.html")).unwrap();
    let report = format!("{}/report.html", quick["run"].as_str().unwrap());
    assert!(page.contains(&format!("href=\"{report}\"")) && dir.path().join("out").join(report).exists());
    assert!(!listens(port), "a server outlived the comparison");
}

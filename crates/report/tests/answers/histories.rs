//! Tests of the report that `loadline history` prints.

use loadline_report::render_history;

use crate::common::history::history;
use crate::{HOSTILE, WIDE, all_in, charts, harmless, shown};

#[test]
fn a_history_shows_each_change_with_its_interval_and_charts_with_marks() {
    let history = history(HOSTILE);
    for form in ["text", "markdown", "html"] {
        let made = render_history(form, &history, &WIDE).unwrap();
        harmless(form, &made);
        let text = if form == "html" { shown(&made) } else { made.replace('\\', "") };
        all_in(&text, &["Worse: server CPU per request +4.95 % since old", "+4.95 % (+4.1 to +5.8)"], form);
        all_in(&text, &["worse, new", "+2 points (+1.5 to +2.5)", "worse, new, undone"], form);
        all_in(&text, &["Skipped 1 file", "Plans with too few runs", "its last 10 runs"], form);
        assert_eq!(text.contains("commit-12"), form == "html", "only a page lists all runs");
    }
    let page = render_history("html", &history, &WIDE).unwrap();
    assert_eq!(charts(&page), 3);
    let json = render_history("json", &history, &WIDE).unwrap();
    let found: serde_json::Value = serde_json::from_str(&json).unwrap();
    let change = &found["changes"][0];
    assert!(change["at"] == 33 && change["label"] == HOSTILE && change["change"] == 0.0495 && change["p"] == 2e-9);
}

#[test]
fn a_history_without_a_change_and_one_of_too_few_runs_say_so() {
    let whole = history("x");
    let quiet = run::History { changes: Vec::new(), fails: false, ..whole.clone() };
    let text = render_history("text", &quiet, &WIDE).unwrap();
    assert!(
        text.starts_with("No new change for the worse") && text.contains("No change of server CPU per request"),
        "{text}"
    );
    let few = run::History { series: Vec::new(), ..quiet };
    assert!(render_history("text", &few, &WIDE).unwrap().starts_with("Too few runs for a change"));
}

//! Tests with real runs of version 0.1.0 (crates/run/tests/fixtures), which this version judges and renders.
//! Measurements and findings must be the same as in version 0.1.0, except for known corrections.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use report::{FORMS, Style, render};
use run::{Run, load_run, parse_run};

fn old(name: &str) -> Run {
    load_run(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../run/tests/fixtures").join(name)).unwrap()
}

fn judged(name: &str) -> Run {
    let mut run = old(name);
    judge::judge(&mut run);
    experiments::present(&mut run);
    run
}

#[test]
fn an_old_find_has_the_same_capacity_and_a_verdict_by_the_current_rules() {
    let (then, now) = (old("find.json"), judged("find.json"));
    assert_eq!(now.trials.len(), 6);
    for (a, b) in then.trials.iter().zip(&now.trials) {
        assert_eq!((&a.label, &a.tally, &a.rates, &a.latency_us), (&b.label, &b.tally, &b.rates, &b.latency_us));
    }
    let capacity = |run: &Run| run.findings.capacity.clone().unwrap();
    let (c, before) = (capacity(&now), capacity(&then));
    assert_eq!((c.failed_at, c.held), (before.failed_at, before.held));
    assert!((c.rate / before.rate - 1.0).abs() < 0.1, "{c:?} was {}", before.rate);
    // At 400 requests per second, the server answers in 88 us. If a single client sends each request right after an
    // answer, the answer takes 2 ms. Version 0.1.0 concluded that the server has one worker that needs 2 ms. In fact,
    // the server's only thread limits the rate on purpose. Unread requests show an overloaded thread, or a thread that
    // still works after it has answered. The run does not show which cause is right, so the verdict must not be sure of
    // either.
    let (before, unsure) = (&then.findings.bottleneck, &now.findings.bottleneck);
    assert!(before.id == "server-concurrency" && before.confidence >= 0.8, "{before:?}");
    assert!(unsure.id == "server-concurrency" && unsure.confidence <= 0.7, "{unsure:?}");
    let limit = unsure.ruled_out.iter().find(|out| out.id == "server-rate-limit").map(|out| out.why.as_str());
    assert!(limit.is_some_and(|why| why.contains("limits the rate on purpose")), "{limit:?}");
}

#[test]
fn an_old_experiment_keeps_its_checks_and_conclusions() {
    let (then, now) = (old("io-models.json"), judged("io-models.json"));
    assert!(!then.findings.checks.is_empty());
    assert_eq!(now.findings.checks, then.findings.checks);
    assert_eq!(now.findings.conclusions, then.findings.conclusions);
}

#[test]
fn old_runs_are_drawn_in_every_form() {
    for name in ["find.json", "io-models.json", "open-loop-repeats.json", "users.json"] {
        let run = judged(name);
        const OF_STACKS: [&str; 2] = ["folded", "svg"];
        for form in OF_STACKS {
            assert!(matches!(render(form, &run, &Style::default()), Err(report::ReportError::NoStacks)));
        }
        for form in FORMS.iter().filter(|form| !OF_STACKS.contains(&form.name)) {
            let text = render(form.name, &run, &Style::default()).unwrap();
            assert!(text.len() > 500, "{name} as {}: {text}", form.name);
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(form.name != "text" || widest <= Some(80), "{name}: {widest:?} columns\n{text}");
            // Output forms that people read must show the verdict, and output forms that programs read must show the
            // counts.
            let words: Vec<String> = match form.name {
                // The report of an experiment has a verdict in each row of its table, instead of one verdict for the
                // whole run.
                "text" | "markdown" | "html" if name == "io-models.json" => vec!["not-saturated".to_string()],
                "text" | "markdown" | "html" => vec![run.findings.bottleneck.id.clone()],
                "hdr" => Vec::new(),
                _ => run.trials.iter().map(|t| t.tally.completed.to_string()).collect(),
            };
            for word in words {
                assert!(text.contains(&word), "{name} as {} lacks {word}", form.name);
            }
        }
    }
}
#[test]
fn a_run_written_in_the_new_form_has_the_same_findings_and_pages() {
    for name in ["find.json", "io-models.json", "open-loop-repeats.json", "users.json"] {
        let (run, text) = (judged(name), serde_json::to_string(&old(name)).unwrap());
        let mut again = parse_run(name, &text).unwrap();
        judge::judge(&mut again);
        experiments::present(&mut again);
        assert_eq!(again.findings, run.findings, "{name}");
        for form in ["text", "html", "csv", "openmetrics"] {
            let [run, again] = [&run, &again].map(|run| render(form, run, &Style::default()).unwrap());
            assert_eq!(run, again, "{name} as {form}");
        }
    }
}

//! Tests of the report that `loadline size` prints.

use loadline_report::{Style, render_size};
use run::{ArenaCapacity, Estimate, PodAmounts, PodResources, SizeGoal, SizeResult, SizeSetting, SizeStep};

use crate::{HOSTILE, WIDE, all_in, harmless, shown};

/// Returns the results for three settings: a quota that is too small, a quota that is large enough, and a server that
/// did not start.
fn sizes() -> SizeResult {
    let step = |quota: f64, rate: f64| SizeStep {
        setting: SizeSetting { quota: Some(quota), workers: Some(1), ..SizeSetting::default() },
        capacity: Some(ArenaCapacity { rate, low: 0.95 * rate, high: 1.05 * rate }),
        p99_us: Some(90_000.0),
        throttled_periods: Some(0.9),
        cost_cpus: Some(quota),
        bottleneck: Some("server-cpu-quota".into()),
        run: Some("runs/1".into()),
        ..SizeStep::default()
    };
    let enough = SizeStep {
        predicted: Some(Estimate { value: 490.0, low: 470.0, high: 510.0 }),
        meets: true,
        ..step(0.5, 500.0)
    };
    let failed = SizeStep {
        setting: SizeSetting { quota: Some(1.0), workers: Some(2), ..SizeSetting::default() },
        limited: Some(HOSTILE.into()),
        ..SizeStep::default()
    };
    let amounts = PodAmounts { cpu: "500m".into(), memory: Some("64Mi".into()) };
    SizeResult {
        target: "http://127.0.0.1:8080/".into(),
        command: HOSTILE.into(),
        steps: vec![step(0.25, 250.0), enough, failed],
        cheapest: Some(1),
        goal: SizeGoal::Cpus,
        resources: Some(PodResources { requests: amounts.clone(), limits: amounts }),
        ..SizeResult::default()
    }
}

#[test]
fn sizes_name_the_cheapest_setting_and_its_container() {
    let text = render_size("text", &sizes(), &WIDE).unwrap();
    let container =
        "resources: { requests: { cpu: \"500m\", memory: \"64Mi\" }, limits: { cpu: \"500m\", memory: \"64Mi\" } }";
    let (measured, predicted) = ("500/s (475/s to 525/s)", "490/s (470/s to 510/s)");
    for words in ["Cheapest that is enough: quota 0.5, 1 worker (500/s)", measured, predicted, "90 %", container] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let narrow = render_size("text", &sizes(), &Style::default()).unwrap();
    assert!(narrow.lines().all(|line| line.chars().count() <= 80) && !narrow.contains('\u{1b}'), "{narrow}");
    let page = render_size("html", &sizes(), &WIDE).unwrap();
    assert!(page.contains("<a href=\"runs/1/report.html\">") && page.contains("Capacity against CPUs"), "{page}");
    assert!(!page.contains("<script>alert"), "{page}");
    let markdown = render_size("markdown", &sizes(), &WIDE).unwrap();
    assert!(markdown.contains("`resources: {"), "{markdown}");
    let json: serde_json::Value = serde_json::from_str(&render_size("json", &sizes(), &WIDE).unwrap()).unwrap();
    assert_eq!((&json["steps"][1]["setting"]["quota"], &json["cheapest"]), (&0.5.into(), &1.into()));
    assert_eq!(json["steps"][0]["predicted"], serde_json::Value::Null);
    let none = render_size("text", &SizeResult::default(), &WIDE).unwrap();
    assert!(none.contains("No setting meets the objective"), "{none}");
}

#[test]
fn an_interrupted_measurement_does_not_judge_settings_that_were_not_measured() {
    let none = render_size("text", &SizeResult { interrupted: true, ..SizeResult::default() }, &WIDE).unwrap();
    assert!(none.contains("Interrupted before a setting was measured"), "{none}");
    assert!(!none.contains("objective") && !none.contains("bottleneck"), "{none}");
    let some = SizeResult { interrupted: true, cheapest: None, may_be_cheaper: Vec::new(), ..sizes() };
    let some = render_size("text", &some, &WIDE).unwrap();
    assert!(some.contains("No setting that was measured meets the objective"), "{some}");
    assert!(some.contains("Interrupted: not all settings were measured"), "{some}");
}

#[test]
fn settings_that_differ_only_in_workers_have_a_chart_by_workers() {
    let mut result = sizes();
    for (at, step) in result.steps.iter_mut().enumerate() {
        step.setting = SizeSetting { workers: Some(1 << at), ..SizeSetting::default() };
    }
    let page = render_size("html", &result, &WIDE).unwrap();
    assert!(page.contains("Capacity against workers") && !page.contains("Capacity against CPUs"), "{page}");
    assert!(page.find("Capacity against") < page.find("<table"), "the chart comes first");
}

/// Other programs used the machine while the first setting was measured, so its capacity is too low.
#[test]
fn warnings_about_a_measurement_name_their_setting() {
    let mut result = sizes();
    result.steps[2].run = None;
    result.steps[0].notes = vec![format!("other programs used 0.9 of 2 CPUs {HOSTILE}"), "one host".into()];
    result.steps[1].notes = vec!["one host".into()];
    for form in ["text", "markdown", "html"] {
        let made = render_size(form, &result, &WIDE).unwrap();
        harmless(form, &made);
        let shown = if form == "html" { shown(&made) } else { made };
        all_in(&shown, &["Warnings", "other programs used 0.9 of 2 CPUs"], form);
        assert_eq!(shown.matches("one host").count(), 1, "{form}: {shown}");
        let line = shown.lines().find(|line| line.contains("other programs used"));
        assert!(form == "html" || line.is_some_and(|line| line.contains("quota 0.25, 1 worker")), "{form}: {shown}");
    }
    let json: serde_json::Value = serde_json::from_str(&render_size("json", &result, &WIDE).unwrap()).unwrap();
    assert_eq!(json["steps"][1]["notes"], serde_json::json!(["one host"]));
}

/// On a busy machine, each setting has many warnings. The text must stay short, and the page must have all warnings.
#[test]
fn a_text_shows_six_warnings_and_names_the_settings_that_have_more() {
    let mut result = sizes();
    result.steps.truncate(2);
    for (at, step) in result.steps.iter_mut().enumerate() {
        step.notes = (0..9).map(|note| format!("warning {at}.{note}")).collect();
    }
    let text = render_size("text", &result, &WIDE).unwrap();
    assert_eq!(text.matches("warning ").count(), 6, "{text}");
    assert!(text.contains("also quota 0.25, 1 worker, quota 0.5, 1 worker"), "{text}");
    let page = shown(&render_size("html", &result, &WIDE).unwrap());
    assert_eq!(page.matches("warning ").count(), 18, "{page}");
}

#[test]
fn the_ends_of_a_single_interval_are_no_line() {
    let mut result = sizes();
    let chart = |result: &SizeResult| render_size("html", result, &WIDE).unwrap().matches("lower end").count();
    assert!(chart(&result) > 0, "two settings have intervals");
    result.steps[0].at_least = true;
    assert_eq!(chart(&result), 0, "one setting has an interval");
}

/// In this test, the search with a quota of one CPU ended early. The lower bound with a quota of one CPU (310/s) is
/// below the capacity that was measured with half a CPU (500/s).
#[test]
fn a_search_that_ended_early_is_a_lower_bound_in_every_form() {
    let mut result = sizes();
    let step = &mut result.steps[2];
    step.capacity = Some(ArenaCapacity { rate: 310.0, low: f64::NAN, high: f64::NAN });
    (step.at_least, step.needed_s, step.meets) = (true, Some(12.0), true);
    (result.may_be_cheaper, result.needed_budget_s, result.goal) = (vec![2], Some(38.2), SizeGoal::CpusPerRequest);
    let title = "Most requests per CPU where the capacity is known: quota 0.5, 1 worker (500/s)";
    for form in ["text", "markdown", "html"] {
        let made = render_size(form, &result, &WIDE).unwrap();
        let shown = if form == "html" { shown(&made) } else { made };
        for words in [title, "≥ 310/s", "--budget 39s should do", "quota 1, 2 workers may be cheaper"] {
            assert!(shown.contains(words), "{form}: {words}: {shown}");
        }
    }
    let json: serde_json::Value = serde_json::from_str(&render_size("json", &result, &WIDE).unwrap()).unwrap();
    assert_eq!((&json["steps"][2]["at_least"], &json["steps"][1]["at_least"]), (&true.into(), &false.into()));
    assert_eq!((&json["steps"][2]["capacity"]["high"], &json["needed_budget_s"]), (&().into(), &38.2.into()));
    result.cheapest = None;
    assert!(render_size("text", &result, &WIDE).unwrap().contains("The cheapest setting is not known"));
}

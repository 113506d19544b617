//! Tests of the report that `loadline what-if` prints.

use loadline_report::render_what_if;
use run::{Change, LoadPoint, Resource, WhatIf};

use crate::{HOSTILE, WIDE, all_in, charts, estimate, harmless, shown};

/// Returns a prediction for four CPUs instead of two, with 64 users.
fn doubled() -> WhatIf {
    let resource = |id: &str, device: &str, (limit, low, high): (f64, f64, f64), utilization| {
        let (id, device) = (id.to_string(), device.to_string());
        Resource { id, device, limit, low, high, utilization, at_least: false }
    };
    let point = |users: u32, rate: f64| LoadPoint {
        users,
        rate,
        rate_low: 0.9 * rate,
        rate_high: 1.1 * rate,
        response_us: 5000.0,
        response_low_us: 4600.0,
        response_high_us: 5500.0,
        ..LoadPoint::default()
    };
    let resources = vec![
        resource("server-disk", HOSTILE, (7300.0, 7100.0, 7550.0), 0.97),
        resource("server-cpu", "the server's CPUs", (9900.0, 9700.0, 10_200.0), 0.72),
    ];
    WhatIf {
        changes: vec!["8 workers instead of 4".into()],
        change: Change { server_cpus: Some(4.0), ..Change::default() },
        users: 64,
        now: 4900.0,
        rate: estimate(7150.0, 6940.0, 7410.0),
        response_us: estimate(8950.0, 8640.0, 9220.0),
        capacity: estimate(7010.0, 6800.0, 7260.0),
        at_least: false,
        bottleneck: resources.first().cloned(),
        resources,
        curve: vec![point(1, 900.0), point(64, 7150.0)],
        assumptions: vec![format!("a request of {HOSTILE} costs what it costs today")],
    }
}

#[test]
fn a_what_if_shows_each_prediction_with_its_interval() {
    for form in ["text", "markdown", "html"] {
        let made = render_what_if(form, &doubled(), HOSTILE, &WIDE).unwrap();
        harmless(form, &made);
        let text = if form == "html" { shown(&made) } else { made.replace('\\', "") };
        all_in(&text, &["7,150 requests/s with 64 users, limited by server-disk"], form);
        all_in(&text, &["what if: 8 workers instead of 4", "within the objective"], form);
        all_in(
            &text,
            &["6,940/s to 7,410/s; 4,900/s with the resources of the run", "8.64 ms to 9.22 ms on average"],
            form,
        );
        all_in(&text, &["7,010 requests/s", "6,800/s to 7,260/s", "7,100/s to 7,550/s", "9,700/s to 10,200/s"], form);
        all_in(&text, &["full at 7,300/s", "Assumptions", "costs what it costs today"], form);
    }
}

#[test]
fn a_what_if_draws_its_curves_between_the_ends_of_their_intervals() {
    let html = render_what_if("html", &doubled(), "r", &WIDE).unwrap();
    all_in(&html, &["Throughput against users", "Response time against users", "server-disk full"], "html");
    assert_eq!(charts(&html), 2);
    assert!(!html.contains("<h3></h3>"), "a list without a title has no heading of nothing");
    let ends = "predicted: 900 at 1 to 7,150 at 64, highest 7,150 at 64. lower end: 810 at 1 to 6,440 at 64";
    all_in(&html, &[ends, "upper end: 990 at 1 to 7,870 at 64", "lower end: 4.6 ms at 1", "upper end: 5.5 ms"], "html");
}

/// Requests arrive faster than the server can handle them, so the response time grows without limit. With too many
/// arrivals, the report must not show a number for the response time.
#[test]
fn a_what_if_of_too_many_arrivals_has_no_response_time() {
    let without_end = f64::INFINITY;
    let answer = WhatIf {
        change: Change { rate: Some(9000.0), ..Change::default() },
        response_us: estimate(without_end, without_end, without_end),
        ..doubled()
    };
    let html = render_what_if("html", &answer, "r", &WIDE).unwrap();
    let text = shown(&html);
    all_in(&text, &["9,000 requests/s are too many", "grows without limit"], "html");
    assert!(!html.contains("NaN") && !text.contains("inf"), "{text}");
}

/// In this test, the run used only a small part of the CPUs. Under a light load, a request may cost more CPU time, so
/// the predicted limits are lower bounds.
#[test]
fn a_what_if_after_a_light_load_gives_lower_bounds() {
    let mut answer = doubled();
    (answer.at_least, answer.bottleneck, answer.now) = (true, None, 210.0);
    answer.resources.iter_mut().for_each(|resource| (resource.at_least, resource.high) = (true, f64::INFINITY));
    answer.resources[0].utilization = f64::NAN;
    answer.rate = estimate(7150.0, 7150.0, f64::INFINITY);
    answer.capacity = estimate(7010.0, 7010.0, f64::INFINITY);
    answer.response_us = estimate(8950.0, f64::NAN, 8950.0);
    let text = render_what_if("text", &answer, "r", &WIDE).unwrap();
    all_in(&text, &["at least 7,150 requests/s with 64 users", "at least 7,010 requests/s", "≥9,900/s"], "text");
    all_in(&text, &["at most 8.95 ms", "210/s with the resources of the run", "≤72"], "text");
    let is_claimed = |text: &str| {
        let claims = ["Bottleneck", "grows without limit", "too many", "100 %", "97 %", "limited by", "6,940/s", "inf"];
        claims.into_iter().find(|claim| text.contains(claim))
    };
    assert_eq!(is_claimed(&text), None, "{text}");
    (answer.change.rate, answer.response_us) = (Some(9000.0), estimate(f64::NAN, f64::NAN, f64::NAN));
    for form in ["text", "markdown", "html"] {
        let made = render_what_if(form, &answer, "r", &WIDE).unwrap();
        let text = if form == "html" { shown(&made) } else { made };
        all_in(&text, &["not known if 9,000 requests/s are possible: the run shows only that 7,150/s are"], form);
        assert_eq!(is_claimed(&text).or(text.contains("NaN").then_some("NaN")), None, "{form}: {text}");
    }
}

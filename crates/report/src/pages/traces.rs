//! Slowest requests that carried a trace context. With a request's trace ID, the user can find the request in the
//! server's own traces.

use run::number::quantity;
use run::{Run, TracedRequest};

use super::pick;
use crate::{Block, Cell, Col, Section, Table, Tone, Unit, Weight};

/// Maximum number of slow requests in the table that is always shown. Further slow requests are in a second table,
/// which a terminal does not show and the HTML page hides until it is opened.
const MAX_SHOWN: usize = 10;

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let Some(trial) = run.picked(|p| p.loaded).filter(|trial| !trial.slowest_traces.is_empty()) else {
        return Vec::new();
    };
    let (slowest, others) = trial.slowest_traces.split_at(trial.slowest_traces.len().min(MAX_SHOWN));
    let caption = format!(
        "Requests with a trace context at {}: find them by their trace ID in your tracing system.",
        pick::name(trial)
    );
    let section = |id, title: &str, weight, caption, requests| {
        Section::new(id, title, weight, vec![Block::Table(table(caption, requests))])
    };
    let first = section("traces", "Slowest traced requests", Weight::Main, caption, slowest);
    let others = (!others.is_empty()).then(|| {
        let title = format!("{} more slow traced requests", others.len());
        section("more-traces", &title, Weight::Detail, String::new(), others)
    });
    [first].into_iter().chain(others).collect()
}

fn table(caption: String, requests: &[TracedRequest]) -> Table {
    Table {
        caption,
        columns: vec![
            Col::figures("response time", 0),
            Col::words("trace ID", 0),
            Col::words("status", 1),
            Col::figures("ended at", 2),
        ],
        rows: requests.iter().map(row).collect(),
        ..Table::default()
    }
}

fn row(request: &TracedRequest) -> Vec<Cell> {
    let status = match (&request.status, request.failed) {
        (_, true) => Cell::from("failed").toned(Tone::Bad),
        (Some(status), false) => status.clone().into(),
        (None, false) => "".into(),
    };
    vec![
        quantity(request.latency_us, Unit::Micros).into(),
        request.trace_id.clone().into(),
        status,
        quantity(request.ended_s * 1e6, Unit::Micros).into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_slow_requests_are_shown_with_whole_ids_and_a_terminal_shows_ten() {
        let request = |number: u128| TracedRequest {
            trace_id: format!("{number:032x}"),
            latency_us: 1e6 / (number as f64 + 1.0),
            failed: number == 0,
            status: (number > 0).then(|| "200".into()),
            ..TracedRequest::default()
        };
        let slowest_traces = (0..100).map(request).collect();
        let mut run = Run { trials: vec![run::Trial { slowest_traces, ..run::Trial::default() }], ..Run::default() };
        run.findings.picks.loaded = Some(0);
        let text = crate::render("text", &run, &crate::Style::default()).unwrap();
        assert!(text.contains("00000000000000000000000000000009") && text.contains("failed"), "{text}");
        assert!(!text.contains("0000000000000000000000000000000a"), "{text}");
        let page = crate::render("html", &run, &crate::Style::default()).unwrap();
        assert!((0..100).all(|number| page.contains(&format!("{number:032x}"))));
        assert!(page.contains("90 more slow traced requests"));
    }
}

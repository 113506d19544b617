//! Slowest requests that carried a trace context. With a request's trace ID, the user can find the request in the
//! server's own traces.

use run::number::quantity;
use run::{Run, TracedRequest, Trial};

use super::pick;
use crate::{Block, Cell, Col, Section, Table, Tone, Unit, Weight};

/// Maximum number of requests in the table of slow requests. The file `run.json` may contain more slow requests than
/// this table.
const MAX_SHOWN: usize = 10;

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let Some(trial) = run.picked(|p| p.loaded).filter(|trial| !trial.slowest_traces.is_empty()) else {
        return Vec::new();
    };
    vec![Section::new("traces", "Slowest traced requests", Weight::Main, vec![Block::Table(table(trial))])]
}

fn table(trial: &Trial) -> Table {
    Table {
        caption: format!(
            "Requests with a trace context at {}: find them by their trace ID in your tracing system.",
            pick::name(trial)
        ),
        columns: vec![
            Col::figures("response time", 0),
            Col::words("trace ID", 0),
            Col::words("status", 1),
            Col::figures("ended at", 2),
        ],
        rows: trial.slowest_traces.iter().take(MAX_SHOWN).map(row).collect(),
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
    fn the_ten_slowest_are_shown_with_whole_ids() {
        let request = |number: u128| TracedRequest {
            trace_id: format!("{number:032x}"),
            latency_us: 1e6 / (number as f64 + 1.0),
            failed: number == 0,
            status: (number > 0).then(|| "200".into()),
            ..TracedRequest::default()
        };
        let slowest_traces = (0..20).map(request).collect();
        let mut run = Run { trials: vec![Trial { slowest_traces, ..Trial::default() }], ..Run::default() };
        run.findings.picks.loaded = Some(0);
        let text = crate::render("text", &run, &crate::Style::default()).unwrap();
        assert!(text.contains("00000000000000000000000000000009") && text.contains("failed"), "{text}");
        assert!(!text.contains("0000000000000000000000000000000a"), "{text}");
    }
}

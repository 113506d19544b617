//! Self time of the server's spans (steps of its traced requests). The table compares the self times under a light load
//! with those under a heavy load.

use run::number::{count, quantity};
use run::{Run, SpanProfile, SpanSum, Trial};

use super::pick;
use crate::{Block, Cell, Col, Note, Section, Table, Tone, Unit, Weight};

/// Maximum number of rows of the table of spans. Each row shows the spans that have one name.
const MAX_SHOWN: usize = 12;

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let growth = run.findings.span_growth.as_ref();
    let heavy = growth.and_then(|growth| run.trials.get(growth.heavy)).or_else(|| run.picked(|p| p.loaded));
    let Some((heavy, profile)) = heavy.and_then(|trial| Some((trial, trial.spans.as_deref()?))) else {
        return Vec::new();
    };
    let light = growth.and_then(|growth| run.trials.get(growth.light));
    let mut blocks = vec![Block::Table(table((heavy, profile), light))];
    if let Some(growth) = growth {
        let sentence = format!("The self time of {} grows most with the load.", growth.name);
        blocks.push(Note::block(Tone::Plain, sentence));
    }
    if profile.kept_share < 1.0 {
        let share = quantity(profile.kept_share, Unit::Share);
        blocks.push(Note::block(Tone::Plain, format!("So many spans arrived that {share} of the traces were kept.")));
    }
    vec![Section::new("spans", "Spans of the server", Weight::Main, blocks)]
}

fn table((heavy, profile): (&Trial, &SpanProfile), light: Option<&Trial>) -> Table {
    let caption = match light {
        Some(light) => {
            format!("Self time per request at {}, and at {} (light).", pick::name(heavy), pick::name(light))
        }
        None => format!("Self time per request at {}.", pick::name(heavy)),
    };
    let light = light.and_then(|trial| trial.spans.as_deref());
    let mut table = Table {
        caption,
        columns: vec![
            Col::words("span", 0),
            Col::words("service", 2),
            Col::figures("spans", 2),
            Col::figures("self time", 0),
            Col::figures("light", 0),
            Col::figures("duration", 1),
        ],
        rows: profile.spans.iter().take(MAX_SHOWN).map(|sum| row(sum, profile, light)).collect(),
        ..Table::default()
    };
    table.explain_absent();
    table
}

fn row(sum: &SpanSum, profile: &SpanProfile, light: Option<&SpanProfile>) -> Vec<Cell> {
    let per_request = |profile: &SpanProfile| profile.self_us_per_trace(&sum.service, &sum.name);
    let time = |us: Option<f64>| match us {
        Some(us) => quantity(us, Unit::Micros).into(),
        None => Cell::absent("no lighter load with spans"),
    };
    vec![
        sum.name.clone().into(),
        sum.service.clone().into(),
        count(sum.count).into(),
        time(per_request(profile)),
        time(light.and_then(per_request)),
        quantity(sum.duration_us, Unit::Micros).into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_shown_with_their_self_time_and_the_growing_one_is_named() {
        let trial = |self_us: f64| {
            let (service, name) = ("shop".to_owned(), "SELECT".to_owned());
            let spans = vec![SpanSum { service, name, count: 300, self_us, duration_us: self_us }];
            let profile = SpanProfile { traces: 100, kept_share: 0.5, spans };
            Trial { spans: Some(Box::new(profile)), ..Trial::default() }
        };
        let mut run = Run { trials: vec![trial(100.0), trial(2000.0)], ..Run::default() };
        run.findings.picks.loaded = Some(1);
        let text = |run: &Run| crate::render("text", run, &crate::Style::default()).unwrap();
        assert!(text(&run).contains("6 ms") && text(&run).contains("50 % of the traces"), "{}", text(&run));
        let growth = run::SpanGrowth { name: "SELECT".into(), light: 0, heavy: 1, ..run::SpanGrowth::default() };
        run.findings.span_growth = Some(growth);
        assert!(text(&run).contains("300 µs") && text(&run).contains("SELECT grows most"), "{}", text(&run));
    }
}

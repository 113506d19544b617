//! What would come of other resources or other users.

use run::{Estimate, Resource, WhatIf, WithUsers};

use crate::number::{number, quantity};
use crate::plot::{Axis, Hue, Look, Mark, Plot, Scale, Series, Spot};
use crate::{Block, Cell, Col, Doc, Item, KeyFigure, List, ReportError, Section, Style, Table, Tone, Unit, Weight};

/// An answer as text, Markdown, HTML or JSON. `run` is how the run is called.
pub fn render_what_if(form: &str, answer: &WhatIf, run: &str, style: &Style) -> Result<String, ReportError> {
    crate::answer::render(form, answer, &document(answer, run), style)
}

fn document(answer: &WhatIf, run: &str) -> Doc {
    let then = vec![
        Block::KeyFigures(key_figures(answer)),
        Block::Table(resources(answer)),
        Block::Plot(Box::new(plot(answer))),
    ];
    let assumed = vec![Block::List(List {
        items: answer.assumptions.iter().map(|a| Item { text: a.clone(), ..Item::default() }).collect(),
        brief: answer.assumptions.len(),
        ..List::default()
    })];
    Doc {
        title: title(answer),
        subtitle: format!("what if · from the run {run}"),
        sections: vec![
            Section::new("what-if", "", Weight::First, then),
            Section::new("assumed", "Taken for granted", Weight::Main, assumed),
        ],
    }
}

fn title(answer: &WhatIf) -> String {
    let rate = format!("{} requests/s with {} users", number(answer.rate.value), answer.users);
    match &answer.bottleneck {
        Some(resource) => format!("{rate}: then {} stops it", resource.id),
        None => format!("{rate}, and room left everywhere"),
    }
}

fn key_figures(answer: &WhatIf) -> Vec<KeyFigure> {
    let figure =
        |name: &str, value: String, detail: String| KeyFigure { name: name.into(), value, detail, tone: Tone::Plain };
    let between = |e: &Estimate, unit| format!("{} to {}", quantity(e.low, unit), quantity(e.high, unit));
    let rate = |e: &Estimate| format!("{} requests/s", number(e.value));
    let now =
        format!("{}; {} as it is now", between(&answer.rate, Unit::PerSecond), quantity(answer.now, Unit::PerSecond));
    let mut figures = vec![
        figure("Throughput", rate(&answer.rate), now),
        figure(
            "Response",
            quantity(answer.response_us.value, Unit::Micros),
            format!("{} on the mean", between(&answer.response_us, Unit::Micros)),
        ),
        figure("Capacity", rate(&answer.capacity), between(&answer.capacity, Unit::PerSecond)),
    ];
    let full = |r: &Resource| format!("{}, full at {}", r.device, quantity(r.limit, Unit::PerSecond));
    figures.extend(answer.bottleneck.as_ref().map(|r| figure("Bottleneck", r.id.clone(), full(r))));
    let next = answer.resources.get(usize::from(answer.bottleneck.is_some()));
    figures.extend(next.map(|r| figure("Next", r.id.clone(), full(r))));
    figures
}

fn resources(answer: &WhatIf) -> Table {
    let row = |r: &Resource| -> Vec<Cell> {
        vec![
            Cell::new(r.device.clone()),
            Cell::new(quantity(r.limit, Unit::PerSecond)),
            Cell::new(quantity(r.utilization, Unit::Share)),
        ]
    };
    let columns = vec![Col::words("resource", 0), Col::figures("full at", 0), Col::figures("in use", 0)];
    Table { columns, rows: answer.resources.iter().map(row).collect(), ..Table::default() }
}

fn plot(answer: &WhatIf) -> Plot {
    let points = |of: fn(&WithUsers) -> f64| answer.curve.iter().map(|p| (f64::from(p.users), of(p))).collect();
    let first = answer.resources.first().map(|r| Mark::new(Spot::Y(r.limit), format!("{} full", r.id), Hue::Quiet));
    Plot {
        title: "Throughput against users".into(),
        caption: "After the change, by the model.".into(),
        x: Axis::new("users", Unit::Plain, Scale::Log2),
        y: Axis::new("requests per second", Unit::Plain, Scale::Linear),
        series: vec![Series::new("predicted", Look::Line, Hue::Main, points(|p| p.rate))],
        marks: first.into_iter().collect(),
        ..Plot::default()
    }
}

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
    let mut then = vec![Block::KeyFigures(key_figures(answer)), Block::Table(resources(answer))];
    then.extend(plots(answer).map(|plot| Block::Plot(Box::new(plot))));
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
            Cell::new(format!("{} to {}", quantity(r.low, Unit::PerSecond), quantity(r.high, Unit::PerSecond))),
            Cell::new(quantity(r.utilization, Unit::Share)),
        ]
    };
    let figures = ["full at", "95 % interval", "in use"].map(|name| Col::figures(name, 0));
    let columns = std::iter::once(Col::words("resource", 0)).chain(figures).collect();
    Table { columns, rows: answer.resources.iter().map(row).collect(), ..Table::default() }
}

/// A figure of a point of the curve, with the ends of its interval.
type Place = fn(&WithUsers) -> [f64; 3];

/// One figure against users, between the ends of its interval.
fn against_users(answer: &WhatIf, of: Place) -> Vec<Series> {
    let points = |at: usize| answer.curve.iter().map(|p| (f64::from(p.users), of(p)[at])).collect();
    let end = |name: &str, at| Series::new(name, Look::Dashed, Hue::Quiet, points(at));
    let all = vec![end("lower end", 1), end("upper end", 2)];
    std::iter::once(Series::new("predicted", Look::Line, Hue::Main, points(0))).chain(all).collect()
}

fn plots(answer: &WhatIf) -> [Plot; 2] {
    let first = answer.resources.first().map(|r| Mark::new(Spot::Y(r.limit), format!("{} full", r.id), Hue::Quiet));
    let caption = "After the change, by the model, with the ends of the 95 % interval.";
    let throughput = Plot {
        title: "Throughput against users".into(),
        caption: caption.into(),
        x: Axis::new("users", Unit::Plain, Scale::Log2),
        y: Axis::new("requests per second", Unit::Plain, Scale::Linear),
        series: against_users(answer, |p| [p.rate, p.rate_low, p.rate_high]),
        marks: first.into_iter().collect(),
        ..Plot::default()
    };
    let response = Plot {
        title: "Response time against users".into(),
        caption: "On the mean, without thinking.".into(),
        x: Axis::new("users", Unit::Plain, Scale::Log2),
        y: Axis::new("response time", Unit::Micros, Scale::Log),
        series: against_users(answer, |p| [p.response_us, p.response_low_us, p.response_high_us]),
        ..Plot::default()
    };
    [throughput, response]
}

//! Document of `loadline what-if`: the prediction for other resources or another number of users.

use run::{Estimate, LoadPoint, Resource, WhatIf};

use crate::plot::{Axis, Hue, Look, Mark, Plot, Scale, Series, Spot};
use crate::{Block, Cell, Col, Doc, Item, KeyFigure, List, ReportError, Section, Style, Table, Tone, Unit, Weight};
use run::number::{number, prose::counted, quantity};

/// Renders a prediction as text, Markdown, HTML or JSON. `run` is the name of the run on which the prediction is based.
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
        subtitle: format!("{} · from the run {run}", changes(answer)),
        sections: vec![
            Section::new("what-if", "", Weight::First, then),
            Section::new("assumed", "Assumptions", Weight::Main, assumed),
        ],
        ..Doc::default()
    }
}

/// Returns the changes that the user asked about, in words.
fn changes(answer: &WhatIf) -> String {
    if answer.changes.is_empty() { "what if".into() } else { format!("what if: {}", answer.changes.join(", ")) }
}

fn title(answer: &WhatIf) -> String {
    if let Some(asked) = answer.change.rate {
        return of_arrivals(answer, asked);
    }
    let rate = format!("{}{} requests/s with {}", bound(answer), number(answer.rate.value), users(answer));
    match &answer.bottleneck {
        Some(resource) => format!("{rate}, limited by {}", resource.id),
        None => format!("{rate}, and nothing is full"),
    }
}

fn users(answer: &WhatIf) -> String {
    counted(f64::from(answer.users), "user")
}

/// Returns "at least " if the resource that limits the predicted rate has only a lower bound, and otherwise an empty
/// text.
fn bound(answer: &WhatIf) -> &'static str {
    if answer.bottleneck.as_ref().is_some_and(|resource| resource.at_least) { "at least " } else { "" }
}

fn of_arrivals(answer: &WhatIf, asked: f64) -> String {
    let mean = quantity(answer.response_us.value, Unit::Micros);
    match &answer.bottleneck {
        Some(resource) if answer.rate.value < asked && resource.at_least => {
            format!("{} requests/s may be too many: {} is full {}", number(asked), resource.id, full_at(resource))
        }
        Some(resource) if answer.rate.value < asked => {
            format!("{} requests/s are too many: {} is full", number(asked), resource.id)
        }
        Some(resource) => {
            format!("{} requests/s in {mean} on average: {} is nearly full", number(asked), resource.id)
        }
        None => format!("{} requests/s in {mean} on average, and nothing is full", number(asked)),
    }
}

fn key_figures(answer: &WhatIf) -> Vec<KeyFigure> {
    let figure =
        |name: &str, value: String, detail: String| KeyFigure { name: name.into(), value, detail, tone: Tone::Plain };
    let between = |e: &Estimate, unit| format!("{} to {}", quantity(e.low, unit), quantity(e.high, unit));
    let rate = |e: &Estimate, bound: &str| format!("{bound}{} requests/s", number(e.value));
    let bound = bound(answer);
    let capacity_bound = if answer.resources.first().is_some_and(|first| first.at_least) { "at least " } else { "" };
    let now = format!("{}; now {}", between(&answer.rate, Unit::PerSecond), quantity(answer.now, Unit::PerSecond));
    let mut figures = vec![
        figure("Throughput", rate(&answer.rate, bound), now),
        response(&answer.response_us),
        match answer.capacity.value.is_nan() {
            true => {
                figure("Capacity", "not known".into(), "one load at which nothing was full: run `loadline find`".into())
            }
            false => {
                let within = format!("{} within the objective", between(&answer.capacity, Unit::PerSecond));
                figure("Capacity", rate(&answer.capacity, capacity_bound), within)
            }
        },
    ];
    let full = |r: &Resource| format!("{}, full {}", r.device, full_at(r));
    figures.extend(answer.bottleneck.as_ref().map(|r| figure("Bottleneck", r.id.clone(), full(r))));
    let next = answer.resources.get(usize::from(answer.bottleneck.is_some()));
    figures.extend(next.map(|r| figure("Next", r.id.clone(), full(r))));
    figures
}

/// Returns words for the rate at which a resource becomes full.
fn full_at(resource: &Resource) -> String {
    let more = if resource.at_least { " or more" } else { "" };
    format!("at {}{more}", quantity(resource.limit, Unit::PerSecond))
}

fn response(response_us: &Estimate) -> KeyFigure {
    let figure =
        |value: String, detail: String| KeyFigure { name: "Response".into(), value, detail, tone: Tone::Plain };
    let quantity = |us| quantity(us, Unit::Micros);
    match (response_us.value.is_finite(), response_us.high.is_finite()) {
        (false, _) => figure("grows without limit".into(), "more requests arrive than are served".into()),
        (true, false) => {
            figure(quantity(response_us.value), format!("{} or more on average", quantity(response_us.low)))
        }
        (true, true) => {
            let between = format!("{} to {}", quantity(response_us.low), quantity(response_us.high));
            figure(quantity(response_us.value), format!("{between} on average"))
        }
    }
}

fn resources(answer: &WhatIf) -> Table {
    let row = |r: &Resource| -> Vec<Cell> {
        vec![
            Cell::new(r.device.clone()),
            Cell::new(format!("{}{}", if r.at_least { "≥" } else { "" }, quantity(r.limit, Unit::PerSecond))),
            match r.at_least {
                true => Cell::absent("the run used less than half of it, so its limit is a lower bound"),
                false => {
                    Cell::new(format!("{} to {}", quantity(r.low, Unit::PerSecond), quantity(r.high, Unit::PerSecond)))
                }
            },
            Cell::new(quantity(r.utilization, Unit::Share)),
        ]
    };
    let figures = ["full at", "95 % interval", "in use"].map(|name| Col::figures(name, 0));
    let columns = std::iter::once(Col::words("resource", 0)).chain(figures).collect();
    Table { columns, rows: answer.resources.iter().map(row).collect(), ..Table::default() }
}

/// Function that returns the prediction at a point of the curve: the value, and the lower and upper end of its
/// interval.
type Place = fn(&LoadPoint) -> [f64; 3];

/// Returns the curves of one figure by number of users or arrival rate: its predicted value, and the finite ends of its
/// interval.
fn between(answer: &WhatIf, of: Place) -> Vec<Series> {
    let x = |p: &LoadPoint| p.arrivals.unwrap_or(f64::from(p.users));
    let points = |at: usize| answer.curve.iter().map(|p| (x(p), of(p)[at])).filter(|(_, y)| y.is_finite()).collect();
    let end = |name: &str, at| Series::new(name, Look::Dashed, Hue::Quiet, points(at));
    let all = vec![end("lower end", 1), end("upper end", 2)];
    std::iter::once(Series::new("predicted", Look::Line, Hue::Main, points(0))).chain(all).collect()
}

fn plots(answer: &WhatIf) -> [Plot; 2] {
    let first = answer.resources.first().map(|r| Mark::new(Spot::Y(r.limit), format!("{} full", r.id), Hue::Quiet));
    let (against, x) = match answer.change.rate {
        Some(_) => ("arrivals", Axis::new("requests per second that arrive", Unit::Plain, Scale::Linear)),
        None => ("users", Axis::new("users", Unit::Plain, Scale::Log2)),
    };
    let caption = "After the change, by the model, with the ends of the 95 % interval.";
    let throughput = Plot {
        title: format!("Throughput against {against}"),
        caption: caption.into(),
        x: x.clone(),
        y: Axis::new("requests per second", Unit::Plain, Scale::Linear),
        series: between(answer, |p| [p.rate, p.rate_low, p.rate_high]),
        marks: first.into_iter().collect(),
        ..Plot::default()
    };
    let response = Plot {
        title: format!("Response time against {against}"),
        caption: "On average, without think time.".into(),
        x,
        y: Axis::new("response time", Unit::Micros, Scale::Log),
        series: between(answer, |p| [p.response_us, p.response_low_us, p.response_high_us]),
        ..Plot::default()
    };
    [throughput, response]
}

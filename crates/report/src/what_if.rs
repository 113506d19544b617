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
    let rate = format!("{}{} requests/s with {}", bound(&answer.rate), number(answer.rate.value), users(answer));
    match &answer.bottleneck {
        Some(resource) => format!("{rate}, limited by {}", resource.id),
        None if answer.at_least => rate,
        None => format!("{rate}, and nothing is full"),
    }
}

fn users(answer: &WhatIf) -> String {
    counted(f64::from(answer.users), "user")
}

/// Returns "at least " if an estimate has no upper end, and otherwise an empty text.
fn bound(estimate: &Estimate) -> &'static str {
    if estimate.high.is_infinite() && estimate.value.is_finite() { "at least " } else { "" }
}

fn of_arrivals(answer: &WhatIf, asked: f64) -> String {
    let (rate, mean) = (number(asked), quantity(answer.response_us.value, Unit::Micros));
    match &answer.bottleneck {
        None if answer.at_least && answer.response_us.value.is_nan() => {
            let most = number(answer.rate.value);
            format!("It is not known if {rate} requests/s are possible: the run shows only that {most}/s are")
        }
        None if answer.at_least => format!("{rate} requests/s in at most {mean} on average"),
        Some(resource) if answer.rate.value < asked => {
            format!("{rate} requests/s are too many: {} is full", resource.id)
        }
        Some(resource) => format!("{rate} requests/s in {mean} on average: {} is nearly full", resource.id),
        None => format!("{rate} requests/s in {mean} on average, and nothing is full"),
    }
}

fn key_figures(answer: &WhatIf) -> Vec<KeyFigure> {
    let figure =
        |name: &str, value: String, detail: String| KeyFigure { name: name.into(), value, detail, tone: Tone::Plain };
    let rate = |e: &Estimate| format!("{}{} requests/s", bound(e), number(e.value));
    // Without a change of resources, the rate "before the change" is that of the same load.
    let before = quantity(answer.now, Unit::PerSecond);
    let differs = before != quantity(answer.rate.value, Unit::PerSecond);
    let before = differs.then(|| format!("{before} with the resources of the run"));
    let capacity = || match between(&answer.capacity, Unit::PerSecond) {
        Some(between) => format!("{between} within the objective"),
        None => "within the objective".into(),
    };
    let mut figures = vec![
        figure(
            "Throughput",
            rate(&answer.rate),
            between(&answer.rate, Unit::PerSecond).into_iter().chain(before).collect::<Vec<_>>().join("; "),
        ),
        response(&answer.response_us),
        match answer.capacity.value.is_nan() {
            true => {
                figure("Capacity", "not known".into(), "one load at which nothing was full: run `loadline find`".into())
            }
            false => figure("Capacity", rate(&answer.capacity), capacity()),
        },
    ];
    let full = |r: &Resource| format!("{}, full {}", r.device, full_at(r));
    figures.extend(answer.bottleneck.as_ref().map(|r| figure("Bottleneck", r.id.clone(), full(r))));
    let next = answer.resources.get(usize::from(answer.bottleneck.is_some())).filter(|_| !answer.at_least);
    figures.extend(next.map(|r| figure("Next", r.id.clone(), full(r))));
    figures
}

/// Returns the interval of an estimate in words; `None` if one of its ends is missing.
fn between(e: &Estimate, unit: Unit) -> Option<String> {
    let is_known = e.low.is_finite() && e.high.is_finite();
    is_known.then(|| format!("{} to {}", quantity(e.low, unit), quantity(e.high, unit)))
}

/// Describes the rate at which a resource becomes full.
fn full_at(resource: &Resource) -> String {
    let more = if resource.at_least { " or more" } else { "" };
    format!("at {}{more}", quantity(resource.limit, Unit::PerSecond))
}

fn response(response_us: &Estimate) -> KeyFigure {
    let figure =
        |value: String, detail: String| KeyFigure { name: "Response".into(), value, detail, tone: Tone::Plain };
    let quantity = |us| quantity(us, Unit::Micros);
    match (response_us.value.is_finite(), response_us.high.is_finite()) {
        _ if response_us.value.is_nan() => {
            figure("not known".into(), "more requests may arrive than the server can answer".into())
        }
        _ if response_us.low.is_nan() => {
            figure(format!("at most {}", quantity(response_us.value)), "on average".into())
        }
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
            match r.utilization.is_nan() {
                true => Cell::absent("the run used less than half of it, so it may be busy or not"),
                false => {
                    Cell::new(format!("{}{}", if r.at_least { "≤" } else { "" }, quantity(r.utilization, Unit::Share)))
                }
            },
        ]
    };
    let figures = ["full at", "95 % interval", "in use"].map(|name| Col::figures(name, 0));
    let columns = std::iter::once(Col::words("resource", 0)).chain(figures).collect();
    Table { columns, rows: answer.resources.iter().map(row).collect(), ..Table::default() }
}

/// Function that returns the prediction at a point of the curve. The three numbers are the value, the lower end of its
/// interval, and the upper end.
type Place = fn(&LoadPoint) -> [f64; 3];

/// Returns the curves of one figure by number of users or arrival rate: its predicted value, and the finite ends of its
/// interval.
fn lines(answer: &WhatIf, of: Place) -> Vec<Series> {
    let x = |p: &LoadPoint| p.arrivals.unwrap_or(f64::from(p.users));
    let points = |at: usize| answer.curve.iter().map(|p| (x(p), of(p)[at])).filter(|(_, y)| y.is_finite()).collect();
    let end = |name: &str, at| Series::new(name, Look::Dashed, Hue::Quiet, points(at));
    let all = vec![end("lower end", 1), end("upper end", 2)];
    std::iter::once(Series::new("predicted", Look::Line, Hue::Main, points(0))).chain(all).collect()
}

fn plots(answer: &WhatIf) -> [Plot; 2] {
    let full = |r: &Resource| format!("{} full{}", r.id, if r.at_least { " here or above" } else { "" });
    let first = answer.resources.first().map(|r| Mark::new(Spot::Y(r.limit), full(r), Hue::Quiet));
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
        series: lines(answer, |p| [p.rate, p.rate_low, p.rate_high]),
        marks: first.into_iter().collect(),
        ..Plot::default()
    };
    let response = Plot {
        title: format!("Response time against {against}"),
        caption: "On average, without think time.".into(),
        x,
        y: Axis::new("response time", Unit::Micros, Scale::Log),
        series: lines(answer, |p| [p.response_us, p.response_low_us, p.response_high_us]),
        ..Plot::default()
    };
    [throughput, response]
}

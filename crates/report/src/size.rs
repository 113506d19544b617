//! Results of one server with different resources as a document: the cheapest setting, a table, a chart, and the
//! resources of a container.

use run::{ArenaCapacity, Estimate, Fit, PodAmounts, SizeGoal, SizeResult, SizeSetting, SizeStep};

use crate::estimate_cell::estimate_cell;
use crate::plot::{Axis, Hue, Look, Plot, Scale, Series};
use crate::{Block, Cell, Col, Doc, Item, List, Note, ReportError, Section, Style, Table, Tone, Unit, Weight};
use run::number::{number, quantity, significant};

/// Renders the results for several amounts of resources: `text`, `markdown`, `html` or `json`.
pub fn render_size(form: &str, result: &SizeResult, style: &Style) -> Result<String, ReportError> {
    crate::answer::render(form, result, &document(result), style)
}

/// Returns a setting in words: `0.5 CPUs of quota, 2 workers`.
pub fn setting_words(setting: &SizeSetting) -> String {
    let counted = |count: Option<u32>, one: &str| {
        count.map(|count| format!("{count} {one}{}", if count == 1 { "" } else { "s" }))
    };
    let quota = setting.quota.map(|quota| format!("quota {}", number(quota)));
    let parts =
        [quota, counted(setting.cpus, "CPU"), counted(setting.workers, "worker"), counted(setting.replicas, "replica")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn document(result: &SizeResult) -> Doc {
    let mut blocks = Vec::new();
    if result.interrupted {
        blocks.push(Note::block(Tone::Warn, "Interrupted: not all settings were measured."));
    }
    blocks.extend(result.notes.iter().map(|note| Note::block(Tone::Warn, crate::words::capital(note))));
    blocks.push(Block::Table(table(result)));
    blocks.extend(limited(result));
    blocks.extend(result.usl.as_ref().map(|law| Block::Paragraph(law_words(law))));
    blocks.extend(result.resources.as_ref().map(|pod| {
        let [requests, limits] = [&pod.requests, &pod.limits].map(amounts);
        let line = format!("resources: {{ requests: {requests}, limits: {limits} }}");
        Block::Paragraph(format!("Container in Kubernetes: `{line}`"))
    }));
    blocks.extend(chart(result));
    let used = quantity(result.used_s, Unit::Seconds);
    Doc {
        title: title(result),
        subtitle: format!(
            "{} · {} · {} · {used} of measuring",
            result.target,
            result.command,
            crate::words::minute(&result.started)
        ),
        sections: vec![Section::new("size", "", Weight::First, blocks)],
        ..Doc::default()
    }
}

/// Returns amounts in the notation of YAML on one line.
fn amounts(of: &PodAmounts) -> String {
    let memory = of.memory.as_ref().map_or(String::new(), |memory| format!(", memory: \"{memory}\""));
    format!("{{ cpu: \"{}\"{memory} }}", of.cpu)
}

fn title(result: &SizeResult) -> String {
    let Some(step) = result.cheapest.and_then(|at| result.steps.get(at)) else {
        return "No setting meets the objective".into();
    };
    let what = match result.goal {
        SizeGoal::Cpus => "Cheapest that is enough",
        SizeGoal::CpusPerRequest => "Most requests per CPU",
    };
    let capacity =
        step.capacity.map_or(String::new(), |capacity| format!(": {}", quantity(capacity.rate, Unit::PerSecond)));
    format!("{what}: {}{capacity}", setting_words(&step.setting))
}

fn table(result: &SizeResult) -> Table {
    let columns = vec![
        Col::words("setting", 0),
        Col::figures("capacity", 0),
        Col::figures("predicted", 0),
        Col::figures("p99", 0),
        Col::figures("CPU per request", 2),
        Col::figures("CPUs used", 3),
        Col::figures("throttled", 1),
        Col::figures("memory", 4),
        Col::words("bottleneck", 1),
        Col::words("enough", 1),
    ];
    let notes = [
        "capacity with its 95 % interval; predicted: by `what-if` from the run of the first setting",
        "throttled: share of the quota's periods in which it ran out, near the capacity",
    ];
    let row = |(at, step): (usize, &SizeStep)| row(step, result.cheapest == Some(at));
    Table {
        columns,
        rows: result.steps.iter().enumerate().map(row).collect(),
        notes: notes.map(str::to_owned).into(),
        sortable: true,
        ..Table::default()
    }
}

fn row(step: &SizeStep, cheapest: bool) -> Vec<Cell> {
    let absent = || Cell::absent(step.limited.clone().unwrap_or_default());
    let figure = |value: Option<f64>, unit: Unit| {
        value.map_or_else(absent, |value| Cell { sort: Some(value), ..Cell::new(quantity(value, unit)) })
    };
    let enough = match (step.meets, cheapest) {
        (_, true) => Cell::new("cheapest").toned(Tone::Good),
        (true, false) => Cell::new("yes"),
        (false, false) => Cell::new("no").toned(Tone::Warn),
    };
    let link = step.run.as_ref().map_or(String::new(), |run| format!("{run}/report.html"));
    let rate_cell = |rate: Estimate| estimate_cell(rate, Unit::PerSecond);
    vec![
        Cell { link, ..Cell::new(setting_words(&step.setting)) },
        step.capacity
            .map_or_else(absent, |ArenaCapacity { rate, low, high }| rate_cell(Estimate { value: rate, low, high })),
        step.predicted.map_or_else(|| Cell::absent(""), rate_cell),
        figure(step.p99_us, Unit::Micros),
        figure(step.cpu_us_per_request, Unit::Micros),
        figure(step.cpus_used, Unit::Cpus),
        figure(step.throttled_periods, Unit::Share),
        figure(step.rss_bytes, Unit::Bytes),
        Cell::new(step.bottleneck.clone().unwrap_or_else(|| "–".into())),
        enough,
    ]
}

/// Lists the settings whose capacity is a bound or unknown, and the expectations that were not met.
fn limited(result: &SizeResult) -> Option<Block> {
    let reasons = result.steps.iter().flat_map(|step| {
        let missed = step.expected.iter().filter(|one| !one.met);
        let missed = missed.map(|one| format!("not met: {}; {}", one.text, one.found));
        let why = step.limited.clone().into_iter().chain(missed);
        why.map(|why| Item::new(setting_words(&step.setting), why)).collect::<Vec<_>>()
    });
    let items: Vec<Item> = reasons.collect();
    (!items.is_empty()).then(|| Block::List(List { title: "Not enough, or bounded".into(), brief: items.len(), items }))
}

/// Describes the fitted law.
fn law_words(law: &Fit) -> String {
    let percent =
        |name: &str| law.coefficients.get(name).map_or("-".into(), |value| format!("{} %", significant(100.0 * value)));
    format!(
        "Universal Scalability Law over the multiples of the smallest setting: contention {}, coherency {}; {}.",
        percent("sigma"),
        percent("kappa"),
        law.quality
    )
}

/// Returns the chart of measured and predicted capacities by CPUs, if the numbers of CPUs differ.
fn chart(result: &SizeResult) -> Option<Block> {
    let points = |of: &dyn Fn(&SizeStep) -> Option<f64>| -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> =
            result.steps.iter().filter_map(|step| Some((step.setting.paid_cpus()?, of(step)?))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    };
    let measured = points(&|step| step.capacity.map(|capacity| capacity.rate));
    let end = |name: &str, points| Series::new(name, Look::Dashed, Hue::Quiet, points);
    let differ = measured.first().zip(measured.last()).is_some_and(|(first, last)| first.0 < last.0);
    let predicted = points(&|step| step.predicted.map(|predicted| predicted.value));
    let series = vec![
        Series::new("measured", Look::Dots, Hue::Main, measured),
        end("lower end", points(&|step| step.capacity.map(|capacity| capacity.low))),
        end("upper end", points(&|step| step.capacity.map(|capacity| capacity.high))),
        Series::new("predicted", Look::Hollow, Hue::Second, predicted),
    ];
    differ.then(|| {
        Block::Plot(Box::new(Plot {
            title: "Capacity against CPUs".into(),
            caption: "Each setting, with the ends of its interval, and the prediction from the first setting.".into(),
            x: Axis::new("CPUs of the setting", Unit::Plain, Scale::Linear),
            y: Axis::new("requests per second", Unit::Plain, Scale::Linear),
            series: series.into_iter().filter(|series| !series.points.is_empty()).collect(),
            ..Plot::default()
        }))
    })
}

//! Document of `loadline size`, which measures one server with different amounts of resources. The document shows the
//! cheapest setting, a table, a chart, and the resources for a Kubernetes container.

use run::{Estimate, Fit, PodAmounts, SizeGoal, SizeResult, SizeSetting, SizeStep};

use crate::estimate_cell::{capacity_cell, estimate_cell};
use crate::plot::{Axis, Hue, Look, Plot, Scale, Series};
use crate::{Block, Cell, Col, Doc, Item, List, Note, ReportError, Section, Style, Table, Tone, Unit, Weight};
use run::number::{number, prose::counted, quantity, significant};

/// Maximum number of warnings that a text shows.
const MAX_WARNINGS: usize = 6;

/// Renders the results for several amounts of resources. `form` is `text`, `markdown`, `html` or `json`.
pub fn render_size(form: &str, result: &SizeResult, style: &Style) -> Result<String, ReportError> {
    crate::answer::render(form, result, &document(result), style)
}

/// Returns a setting in words, such as `quota 0.5, 2 workers`.
pub fn setting_words(setting: &SizeSetting) -> String {
    let quota = setting.quota.map(|quota| format!("quota {}", number(quota)));
    let [cpus, workers, replicas] = [(setting.cpus, "CPU"), (setting.workers, "worker"), (setting.replicas, "replica")]
        .map(|(count, one)| count.map(|count| counted(f64::from(count), one)));
    let parts = [quota, cpus, workers, replicas];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn document(result: &SizeResult) -> Doc {
    let mut blocks = Vec::new();
    // If no setting was measured, the title says so.
    if result.interrupted && !none_measured(result) {
        blocks.push(Note::block(Tone::Warn, "Interrupted: not all settings were measured."));
    }
    blocks.extend(result.notes.iter().map(|note| Note::block(Tone::Warn, crate::words::capital(note))));
    blocks.extend(too_short(result).map(|text| Note::block(Tone::Warn, text)));
    blocks.extend(may_be_cheaper(result).map(|text| Note::block(Tone::Warn, text)));
    blocks.extend(chart(result));
    if !(result.interrupted && result.steps.is_empty()) {
        blocks.push(Block::Table(table(result)));
    }
    blocks.extend(limited(result));
    blocks.extend(warned(result));
    blocks.extend(result.usl.as_ref().map(|law| Block::Paragraph(law_words(law))));
    blocks.extend(result.resources.as_ref().map(|pod| {
        let [requests, limits] = [&pod.requests, &pod.limits].map(amounts);
        let line = format!("resources: {{ requests: {requests}, limits: {limits} }}");
        let replicas = result.cheapest.and_then(|at| result.steps.get(at)?.setting.replicas);
        let each = replicas.map_or(String::new(), |count| format!(", {}", counted(f64::from(count), "replica")));
        Block::Paragraph(format!("Container in Kubernetes{each}: `{line}`"))
    }));
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

/// Returns amounts of CPU and memory as a YAML mapping on one line.
fn amounts(of: &PodAmounts) -> String {
    let memory = of.memory.as_ref().map_or(String::new(), |memory| format!(", memory: \"{memory}\""));
    format!("{{ cpu: \"{}\"{memory} }}", of.cpu)
}

/// Returns true if the capacity of no setting was measured.
fn none_measured(result: &SizeResult) -> bool {
    result.steps.iter().all(|step| step.run.is_none())
}

fn title(result: &SizeResult) -> String {
    let is_sure = result.may_be_cheaper.is_empty();
    let Some(step) = result.cheapest.and_then(|at| result.steps.get(at)) else {
        let why = match (result.interrupted, is_sure) {
            (true, _) if none_measured(result) => "Interrupted before a setting was measured",
            (true, true) => "No setting that was measured meets the objective",
            (false, true) => "No setting meets the objective",
            (_, false) => "The cheapest setting is not known",
        };
        return why.into();
    };
    let what = match (result.goal, is_sure) {
        (SizeGoal::Cpus, true) => "Cheapest that is enough",
        (SizeGoal::Cpus, false) => "Cheapest that is known to be enough",
        (SizeGoal::CpusPerRequest, true) => "Most requests per CPU",
        (SizeGoal::CpusPerRequest, false) => "Most requests per CPU where the capacity is known",
    };
    let capacity = capacity_words(step).map_or(String::new(), |capacity| format!(" ({capacity})"));
    format!("{what}: {}{capacity}", setting_words(&step.setting))
}

/// Returns the capacity of a setting in words; `None` if it is unknown.
pub fn capacity_words(step: &SizeStep) -> Option<String> {
    let least = if step.at_least { "at least " } else { "" };
    step.capacity.map(|capacity| format!("{least}{}", quantity(capacity.rate, Unit::PerSecond)))
}

/// Returns a sentence that recommends a budget (`--budget`) large enough for every search. Returns `None` if every
/// search had enough time.
fn too_short(result: &SizeResult) -> Option<String> {
    let early = result.steps.iter().filter(|step| step.needed_s.is_some()).count();
    let budget_s = result.needed_budget_s?.ceil();
    let searches = if early == 1 { "1 search".to_owned() } else { format!("{early} searches") };
    Some(format!(
        "The time was over in {searches} before a load was too much for the server, so the capacity is a lower bound \
         there: --budget {budget_s:.0}s should do."
    ))
}

/// Returns a sentence that names the settings that may be cheaper than the chosen setting. If no setting was chosen,
/// the sentence names all settings that may be the cheapest. Returns `None` if no setting may be cheaper than the
/// chosen setting.
fn may_be_cheaper(result: &SizeResult) -> Option<String> {
    let steps = result.may_be_cheaper.iter().filter_map(|at| result.steps.get(*at));
    let settings: Vec<String> = steps.map(|step| setting_words(&step.setting)).collect();
    let than = if result.cheapest.is_some() { "cheaper" } else { "the cheapest" };
    (!settings.is_empty())
        .then(|| format!("{} may be {than}: the capacity there is only a lower bound.", settings.join("; ")))
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
        Col::figures("throttled time", 5),
        Col::figures("memory", 4),
        Col::words("bottleneck", 1),
        Col::words("enough", 1),
    ];
    let notes = [
        "capacity with its 95 % interval; predicted: by `what-if` from the run of the first setting",
        "throttled: share of the quota's periods in which it ran out, near the capacity",
        "throttled time: for how much of the time the quota stopped a CPU, near the capacity; the CPUs add up",
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
        step.capacity.map_or_else(absent, |capacity| capacity_cell(capacity, step.at_least)),
        step.predicted.map_or_else(|| Cell::absent(""), rate_cell),
        figure(step.p99_us, Unit::Micros),
        figure(step.cpu_us_per_request, Unit::Micros),
        figure(step.cpus_used, Unit::Cpus),
        figure(step.throttled_periods, Unit::Share),
        figure(step.throttled_time, Unit::Share),
        figure(step.rss_bytes, Unit::Bytes),
        Cell::new(step.bottleneck.clone().unwrap_or_else(|| "–".into())),
        enough,
    ]
}

/// Lists the settings whose capacity is unknown or only a lower bound, and the expectations that were not met. A
/// setting in this list was not enough, or its load or its search was not.
fn limited(result: &SizeResult) -> Option<Block> {
    let reasons = result.steps.iter().flat_map(|step| {
        let missed = step.expected.iter().filter(|one| !one.met);
        let missed = missed.map(|one| format!("not met: {}; {}", one.text, one.found));
        let why = step.limited.clone().into_iter().chain(missed);
        why.map(|why| Item::new(setting_words(&step.setting), why)).collect::<Vec<_>>()
    });
    let items: Vec<Item> = reasons.collect();
    (!items.is_empty()).then(|| Block::List(List { title: "Not enough".into(), brief: items.len(), items }))
}

/// Lists the warnings about the measurements of the settings. A warning about all measured settings appears once. A
/// text shows [`MAX_WARNINGS`] of them, and names the settings that have others.
fn warned(result: &SizeResult) -> Option<Block> {
    let measured: Vec<&SizeStep> = result.steps.iter().filter(|step| step.run.is_some()).collect();
    let is_of_all = |note: &String| measured.len() > 1 && measured.iter().all(|step| step.notes.contains(note));
    let of_all = measured.first().into_iter().flat_map(|step| &step.notes).filter(|note| is_of_all(note));
    let of_one = result.steps.iter().flat_map(|step| {
        let own = step.notes.iter().filter(|note| !is_of_all(note));
        own.map(|note| Item::new(setting_words(&step.setting), note.clone())).collect::<Vec<_>>()
    });
    let items: Vec<Item> = of_all.map(|note| Item::new("all settings", note.clone())).chain(of_one).collect();
    (!items.is_empty()).then(|| Block::List(List { title: "Warnings".into(), brief: MAX_WARNINGS, items }))
}

/// Describes the fitted Universal Scalability Law, which relates capacity to resources.
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

/// Function that returns the amount of a resource in a setting; `None` if the setting does not set the resource.
type Amount = fn(&SizeSetting) -> Option<f64>;

/// Resources of a setting, each with its name and its scale on the axis of the chart. Workers and replicas are whole
/// numbers, so their scale has ticks at 1, 2, 4 and so on only.
const AMOUNTS: &[(&str, Scale, Amount)] = &[
    ("CPUs", Scale::Linear, SizeSetting::paid_cpus),
    ("workers", Scale::Log2, |setting| setting.workers.map(f64::from)),
    ("replicas", Scale::Log2, |setting| setting.replicas.map(f64::from)),
];

/// Returns the chart of measured and predicted capacities by amount of a resource: CPUs if the settings differ in them,
/// else workers or replicas. Returns `None` if the settings differ in none of these resources.
fn chart(result: &SizeResult) -> Option<Block> {
    AMOUNTS.iter().find_map(|(name, scale, amount)| chart_by(result, name, *scale, *amount))
}

/// Returns the chart of measured and predicted capacities by amount of one resource. Returns `None` if all settings
/// have the same amount.
fn chart_by(result: &SizeResult, name: &str, scale: Scale, amount: Amount) -> Option<Block> {
    let points = |of: &dyn Fn(&SizeStep) -> Option<f64>| -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> =
            result.steps.iter().filter_map(|step| Some((amount(&step.setting)?, of(step)?))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    };
    let rate = |step: &SizeStep, at_least: bool| step.capacity.filter(|_| step.at_least == at_least);
    let measured = points(&|step| rate(step, false).map(|capacity| capacity.rate));
    let bounds = points(&|step| rate(step, true).map(|capacity| capacity.rate));
    let end = |name: &str, points| Series::new(name, Look::Dashed, Hue::Quiet, points);
    let all = points(&|step| step.capacity.map(|capacity| capacity.rate));
    let differ = all.first().zip(all.last()).is_some_and(|(first, last)| first.0 < last.0);
    let predicted = points(&|step| step.predicted.map(|predicted| predicted.value));
    let low = points(&|step| rate(step, false).map(|capacity| capacity.low));
    let high = points(&|step| rate(step, false).map(|capacity| capacity.high));
    let highest = all.iter().chain(&high).chain(&predicted).map(|(_, rate)| *rate).reduce(f64::max);
    let series = vec![
        Series::new("measured", Look::Dots, Hue::Main, measured),
        Series::new("lower bound", Look::Hollow, Hue::Main, bounds),
        end("lower end", low),
        end("upper end", high),
        Series::new("predicted", Look::Hollow, Hue::Second, predicted),
    ];
    differ.then(|| {
        Block::Plot(Box::new(Plot {
            title: format!("Capacity against {name}"),
            caption: "Each setting, with the ends of its interval, and the prediction from the first setting.".into(),
            x: Axis::new(format!("{name} of the setting"), Unit::Plain, scale),
            y: Axis { to: highest, ..Axis::new("requests per second", Unit::Plain, Scale::Linear) },
            series: series.into_iter().filter(is_visible).collect(),
            wide: true,
            ..Plot::default()
        }))
    })
}

/// Returns true if a series has something to draw: a line needs two points.
fn is_visible(series: &Series) -> bool {
    series.points.len() >= if series.look == Look::Dashed { 2 } else { 1 }
}

//! Every table of loadline as rows of text: what `list` prints, `explain` looks up, and the generated pages of docs/
//! are made of.

use crate::terms::{TERMS, Term};

/// One row.
pub(crate) struct Row {
    /// Its id.
    pub(crate) id: String,
    /// One line.
    pub(crate) help: String,
    /// Everything there is to say, for `explain`; empty when the line says it all.
    pub(crate) page: String,
}

/// One table.
pub(crate) struct Table {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// What its rows are.
    pub(crate) what: &'static str,
    /// The rows.
    pub(crate) rows: fn() -> Vec<Row>,
}

fn row(id: &str, help: &str, page: impl Into<String>) -> Row {
    Row { id: id.into(), help: help.into(), page: page.into() }
}

/// All tables.
pub(crate) const TABLES: &[Table] = &[
    Table { name: "experiments", what: "what `loadline lab` runs", rows: experiments },
    Table { name: "bottlenecks", what: "what a verdict can name", rows: bottlenecks },
    Table { name: "rules", what: "how a verdict is reached", rows: rules },
    Table { name: "levers", what: "what an experiment on a verdict changes", rows: levers },
    Table { name: "principles", what: "the ten rules of source 3, and what is done about each", rows: principles },
    Table { name: "quantities", what: "what `loadline judge` derives from collected counters", rows: quantities },
    Table { name: "costs", what: "what one request costs, per side", rows: costs },
    Table { name: "counters", what: "what the probe reads", rows: counters },
    Table { name: "sources", what: "where the probe reads it", rows: sources },
    Table { name: "protocols", what: "what generators speak", rows: protocols },
    Table { name: "formats", what: "how files of requests may be written", rows: formats },
    Table { name: "arrivals", what: "how an open loop's starts are spread", rows: arrivals },
    Table { name: "drivers", what: "how a generator moves bytes", rows: drivers },
    Table { name: "services", what: "what `loadline serve` can serve", rows: services },
    Table { name: "models", what: "how `loadline serve` does input and output", rows: models },
    Table { name: "strategies", what: "admission and protection of `loadline serve`", rows: strategies },
    Table { name: "options", what: "what `loadline serve --option NAME=VALUE` takes", rows: options },
    Table { name: "media", what: "what joins the hosts of a testbed", rows: media },
    Table { name: "engines", what: "what starts processes on other hosts (--via)", rows: engines },
    Table { name: "terms", what: "the words of code, reports and pages", rows: terms },
    Table { name: "forms", what: "how a report can be written", rows: forms },
];

fn experiments() -> Vec<Row> {
    experiments::EXPERIMENTS.iter().map(|e| row(e.name, e.help, e.page)).collect()
}

fn bottlenecks() -> Vec<Row> {
    run::BOTTLENECKS.iter().map(|b| row(b.id, b.meaning, "")).collect()
}

fn levers() -> Vec<Row> {
    let page = |l: &lab::levers::Lever| {
        format!(
            "tests: {}\nneeds: {}\nrights: {}\nintrusion: {}\ndose: {}\nundone: {}\n",
            l.tests.join(", "),
            if l.needs == run::Prove::Intrusive { "--prove=intrusive" } else { "nothing more than --prove=default" },
            l.rights,
            l.intrusion,
            l.dose,
            l.undo
        )
    };
    lab::levers::LEVERS.iter().map(|l| row(l.id, l.help, page(l))).collect()
}

fn rules() -> Vec<Row> {
    let help = |r: &judge::Rule| run::bottleneck(r.id).map_or("a verdict", |b| b.meaning);
    let page = |r: &judge::Rule| {
        let needs = if r.needs.is_empty() { "nothing".into() } else { r.needs.join(", ") };
        format!("{}\n\nReads: {needs}.\n\nWhat to do: {}", r.explain, r.advice.join(" "))
    };
    judge::RULES.iter().map(|r| row(r.id, help(r), page(r))).collect()
}

fn principles() -> Vec<Row> {
    let page = |p: &judge::Principle| format!("{}\n\nWhat loadline does about it: {}", p.text, p.does);
    judge::PRINCIPLES.iter().map(|p| row(p.id, p.title, page(p))).collect()
}

fn quantities() -> Vec<Row> {
    let unit = |u: &str| if u.is_empty() { "none".to_string() } else { u.to_string() };
    let page = |q: &judge::counters_csv::Quantity| {
        format!(
            "{} = {}. Unit: {}. Columns and quantities it needs: {}.",
            q.id,
            q.formula,
            unit(q.unit),
            q.inputs.join(", ")
        )
    };
    judge::counters_csv::QUANTITIES.iter().map(|q| row(q.id, q.help, page(q))).collect()
}

fn costs() -> Vec<Row> {
    judge::COSTS.iter().map(|c| row(c.id, c.help, c.explain)).collect()
}

fn counters() -> Vec<Row> {
    let page = |c: &run::CounterSpec| {
        let unit = if c.unit.symbol().is_empty() { "count" } else { c.unit.symbol() };
        let object = if c.object.is_empty() { "host" } else { c.object };
        format!("Object: {object}. Unit: {unit}. Kind: {:?}. {}", c.kind, c.help)
    };
    run::COUNTERS.iter().map(|c| row(c.id, c.help, page(c))).collect()
}

fn sources() -> Vec<Row> {
    probe::SOURCES.iter().map(|s| row(s.name, s.help, "")).collect()
}

fn protocols() -> Vec<Row> {
    proto::PROTOCOLS.iter().map(|p| row(p.name, p.help, "")).collect()
}

fn formats() -> Vec<Row> {
    requests::FORMATS.iter().map(|f| row(f.name, f.help, "")).collect()
}

fn arrivals() -> Vec<Row> {
    let parameter = |p: &load::arrivals::Parameter| format!("{} ({}; {} if left out)", p.name, p.help, p.default);
    let page = |a: &load::arrivals::ArrivalSpec| match a.parameters {
        [] => String::new(),
        all => format!("Parameters in their order: {}.", all.iter().map(parameter).collect::<Vec<_>>().join(", ")),
    };
    load::arrivals::ARRIVALS.iter().map(|a| row(a.name, a.help, page(a))).collect()
}

fn drivers() -> Vec<Row> {
    load::drivers::DRIVERS.iter().map(|d| row(d.name, d.help, "")).collect()
}

fn services() -> Vec<Row> {
    serve::SERVICES.iter().map(|s| row(s.name, s.help, "")).collect()
}

fn models() -> Vec<Row> {
    let page = |m: &serve::ModelSpec| {
        let cannot = if m.cannot.is_empty() { String::new() } else { format!("\n\nCannot: {}.", m.cannot) };
        format!("As in the source: {}. Strategies: {}.{cannot}", m.original, m.strategies.join(", "))
    };
    serve::MODELS.iter().map(|m| row(m.name, m.cost, page(m))).collect()
}

fn strategies() -> Vec<Row> {
    let page = |s: &serve::StrategySpec| format!("As in the source: {}.", s.original);
    serve::STRATEGIES.iter().map(|s| row(s.name, s.help, page(s))).collect()
}

fn options() -> Vec<Row> {
    serve::OPTIONS.iter().map(|o| row(o.name, &format!("{}: {}", o.value, o.help), "")).collect()
}

fn media() -> Vec<Row> {
    testbed::MEDIA.iter().map(|m| row(m.name, m.help, "")).collect()
}

fn engines() -> Vec<Row> {
    let page = |e: &lab::via::Engine| format!("HOST is {}.\n\nStarts: {} PROGRAM", e.help, e.prefix.join(" "));
    lab::via::ENGINES.iter().map(|e| row(e.name, e.help, page(e))).collect()
}

fn terms() -> Vec<Row> {
    let page = |t: &Term| if t.also.is_empty() { String::new() } else { format!("Also: {}.", t.also.join(", ")) };
    TERMS.iter().map(|t| row(t.name, t.meaning, page(t))).collect()
}

fn forms() -> Vec<Row> {
    report::FORMS.iter().map(|f| row(f.name, f.help, "")).collect()
}

//! All tables of loadline as text, for `list`, `explain` and the generated pages of docs/.

use crate::terms::{TERMS, Term};

/// A row of a table.
pub(crate) struct Row {
    /// ID of the row.
    pub(crate) id: String,
    /// One line that describes the row.
    pub(crate) help: String,
    /// Full text for `explain`; empty if the line in `help` suffices.
    pub(crate) page: String,
}

/// A table of loadline.
pub(crate) struct Table {
    /// Name of the table on the command line.
    pub(crate) name: &'static str,
    /// Description of the table's rows.
    pub(crate) what: &'static str,
    /// Function that returns all rows.
    pub(crate) rows: fn() -> Vec<Row>,
}

fn row(id: &str, help: &str, page: impl Into<String>) -> Row {
    Row { id: id.into(), help: help.into(), page: page.into() }
}

/// All tables of loadline.
pub(crate) const TABLES: &[Table] = &[
    Table { name: "experiments", what: "experiments that `loadline lab` runs", rows: experiments },
    Table { name: "bottlenecks", what: "bottlenecks that a verdict can name", rows: bottlenecks },
    Table { name: "rules", what: "rules that lead to a verdict, in the order in which they are tried", rows: rules },
    Table { name: "levers", what: "changes that an experiment on a verdict switches on and off", rows: levers },
    Table {
        name: "principles",
        what: "ten rules of source 3 (R. Blake, 1993), and how loadline follows each",
        rows: principles,
    },
    Table {
        name: "quantities",
        what: "quantities that `loadline judge` derives from counters in a CSV file",
        rows: quantities,
    },
    Table { name: "costs", what: "cost of one request, measured on each side", rows: costs },
    Table { name: "counters", what: "counters that the probe reads", rows: counters },
    Table { name: "sources", what: "sources that the probe reads them from", rows: sources },
    Table { name: "protocols", what: "protocols that generators speak", rows: protocols },
    Table { name: "formats", what: "forms of a file of requests (--requests)", rows: formats },
    Table {
        name: "arrivals",
        what: "arrival processes: how the requests of an open loop are spread over time",
        rows: arrivals,
    },
    Table { name: "drivers", what: "ways in which a generator sends and receives bytes", rows: drivers },
    Table { name: "services", what: "services of `loadline serve`", rows: services },
    Table {
        name: "models",
        what: "I/O models of `loadline serve`, with the work that each does per request",
        rows: models,
    },
    Table {
        name: "strategies",
        what: "strategies of `loadline serve` to admit and protect connections",
        rows: strategies,
    },
    Table { name: "options", what: "options of `loadline serve --option NAME=VALUE`", rows: options },
    Table { name: "media", what: "networks that join the hosts of a testbed", rows: media },
    Table { name: "engines", what: "engines that start processes on other hosts (--via)", rows: engines },
    Table { name: "terms", what: "words of code, reports and pages, with their meaning", rows: terms },
    Table { name: "forms", what: "forms of a report", rows: forms },
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
            "tests: {}\n\nneeds: {}\n\nrights: {}\n\nintrusion: {}\n\ndose: {}\n\nundone: {}\n",
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
    let page = |q: &judge::counters_csv::Quantity| format!("{} = {}. Unit: {}.", q.id, q.formula, unit(q.unit));
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
        let strategies = if m.strategies.is_empty() { "none".into() } else { m.strategies.join(", ") };
        let cannot = if m.cannot.is_empty() { String::new() } else { format!(" Why no others: {}.", m.cannot) };
        format!("Original: {}. Strategies: {strategies}.{cannot}", m.original)
    };
    serve::MODELS.iter().map(|m| row(m.name, m.cost, page(m))).collect()
}

fn strategies() -> Vec<Row> {
    let page = |s: &serve::StrategySpec| format!("Original: {}.", s.original);
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

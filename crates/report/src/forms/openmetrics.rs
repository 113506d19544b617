//! OpenMetrics 1.0 text format. As OpenMetrics requires, the text uses base units (seconds, bytes), keeps the samples
//! of a metric family together, and ends with `# EOF`.
//!
//! In the OpenMetrics text, counts of a trial are counters, distributions of times are summaries, and all other figures
//! are gauges.

use std::fmt::Write as _;

use run::{Capacity, Findings, LoadState, Run, Summary, SummaryFigure, Trial};

use super::csv::{kind, snake};
use super::figures::{CLASS_COUNTS, FIGURES, Of, later_figures, sides, times};
use crate::{Doc, ReportError, Style};

pub(super) fn make(_: &Doc, run: &Run, _: &Style) -> Result<String, ReportError> {
    let mut out = Exposition(String::new());
    findings(run, &mut out);
    out.family("loadline_trial_measured_seconds", "gauge", "Length of the measured window.");
    out.trials(run, "loadline_trial_measured_seconds", |t| t.measured.length_s);
    for figure in FIGURES.iter().chain(later_figures(run)) {
        let name = format!("loadline_trial_{}", figure.family);
        match figure.of {
            Of::Level(of) => {
                out.family(&name, "gauge", figure.help);
                out.trials(run, &name, of);
            }
            Of::Count(of) => {
                out.family(&name, "counter", figure.help);
                out.trials(run, &format!("{name}_total"), |t| of(t) as f64);
            }
        }
    }
    errors(run, &mut out);
    for (name, help, of) in times(run) {
        let name = format!("loadline_trial_{name}_seconds");
        out.family(&name, "summary", help);
        run.trials.iter().enumerate().for_each(|(i, t)| out.summary(&name, &labels(i, t), of(t)));
    }
    classes(run, &mut out);
    costs(run, &mut out);
    Ok(out.0 + "# EOF\n")
}

/// Current figures of a side (client or server) during a load. Unknown figures are `None`.
#[derive(Clone, Debug, Default)]
pub struct SideNow {
    /// Role of the side: `client` or `server`.
    pub role: &'static str,
    /// Shares of the host's CPU time, from 0 to 1, by kind of CPU time (such as `user`).
    pub cpu: Option<Vec<(&'static str, f64)>>,
    /// Number of CPUs that the processes of this side (client or server) use: their CPU time per second.
    pub processes_cpus: Option<f64>,
    /// Resident memory of the processes of this side (client or server), bytes.
    pub memory_bytes: Option<f64>,
    /// Number of open file descriptors of the processes of this side (client or server).
    pub descriptors: Option<f64>,
}

/// Renders the known figures of the running trial, with the same metric names as for a finished run. `number` is the
/// trial's number, counted from 1. If `only_watched` is true, loadline sends no requests, so the text contains no
/// figures of requests.
pub fn openmetrics_now(number: usize, trial: &Trial, sides: &[SideNow], only_watched: bool) -> String {
    let mut out = Exposition(String::new());
    let labels = labels(number.saturating_sub(1), trial);
    for figure in FIGURES.iter().filter(|f| !only_watched && KNOWN_BY_THEN.contains(&f.family)) {
        let name = format!("loadline_trial_{}", figure.family);
        let (kind, sample, value) = match figure.of {
            Of::Level(of) => ("gauge", name.clone(), of(trial)),
            Of::Count(of) => ("counter", format!("{name}_total"), of(trial) as f64),
        };
        out.family(&name, kind, figure.help);
        out.sample(&sample, &labels, value);
    }
    if !only_watched {
        out.family("loadline_trial_errors", "counter", ERRORS_HELP);
        out.errors(&labels, trial);
        out.family(
            "loadline_trial_response_seconds",
            "summary",
            "Response time from the intended start, within 12.5 %.",
        );
        out.summary("loadline_trial_response_seconds", &labels, &trial.latency_us);
    }
    out.sides(&labels, sides);
    out.0 + "# EOF\n"
}

/// A gauge of a side (client or server): name, description, and the function that returns its value.
type Level = (&'static str, &'static str, fn(&SideNow) -> Option<f64>);

/// Metric families whose values are known while a trial runs.
const KNOWN_BY_THEN: &[&str] = &["requests_sent", "requests_completed", "completed_rate", "concurrency"];
const ERRORS_HELP: &str = "Failures by kind.";

fn findings(run: &Run, out: &mut Exposition) {
    let found = &run.findings;
    out.family("loadline_run", "info", "The run.");
    let about = [("version", run.version.as_str()), ("command", &run.command), ("started", &run.started)];
    out.sample("loadline_run_info", &text_labels(&about), 1.0);
    out.family("loadline_interrupted", "gauge", "1 when the run was ended early.");
    out.sample("loadline_interrupted", "", f64::from(u8::from(run.interrupted)));
    // Writes no capacity for a load that the user chose, because loadline tried no other load.
    let searched = found.capacity.as_ref().filter(|_| found.state != Some(LoadState::Requested));
    searched.into_iter().for_each(|searched| capacity(searched, out));
    if let Some(knee) = &found.knee {
        out.family("loadline_knee_concurrency", "gauge", "N*, the number of requests in flight at the knee.");
        out.sample("loadline_knee_concurrency", "", knee.concurrency);
    }
    out.family("loadline_bottleneck_confidence", "gauge", "What stops it, with the confidence of the verdict, 0 to 1.");
    let id = text_labels(&[("id", &found.bottleneck.id)]);
    out.sample("loadline_bottleneck_confidence", &id, found.bottleneck.confidence);
    if found.class_costs.is_some() {
        class_costs(found, out);
    }
    out.family("loadline_check_passed", "gauge", "Claims of the experiment: 1 held, 0 failed.");
    for (i, check) in found.checks.iter().enumerate() {
        let named = text_labels(&[("check", &(i + 1).to_string()), ("name", &check.name)]);
        out.sample("loadline_check_passed", &named, f64::from(u8::from(check.pass)));
    }
}

fn capacity(capacity: &Capacity, out: &mut Exposition) {
    out.family("loadline_capacity_rate", "gauge", "Highest completed rate that holds the objective, per second.");
    out.sample("loadline_capacity_rate", &text_labels(&[("objective", &capacity.objective)]), capacity.rate);
    for (end, rate) in [("low", capacity.low), ("high", capacity.high)] {
        let Some(rate) = rate else { continue };
        let name = format!("loadline_capacity_{end}_rate");
        out.family(&name, "gauge", "End of the 95 % interval of the capacity, per second.");
        out.sample(&name, "", rate);
    }
}

fn class_costs(found: &Findings, out: &mut Exposition) {
    let name = "loadline_class_server_cpu_seconds";
    out.family(name, "gauge", "CPU time of the server for a request of a class: an estimate, with its 95 % interval.");
    for (class, cpu) in found.classes.iter().filter_map(|class| Some((&class.name, class.server_cpu?))) {
        for (end, us) in [("estimate", Some(cpu.us)), ("low", cpu.low), ("high", cpu.high)] {
            let labels = text_labels(&[("class", class), ("end", end)]);
            out.sample(name, &labels, us.unwrap_or(f64::NAN) / 1e6);
        }
    }
}

fn errors(run: &Run, out: &mut Exposition) {
    out.family("loadline_trial_errors", "counter", ERRORS_HELP);
    run.trials.iter().enumerate().for_each(|(i, trial)| out.errors(&labels(i, trial), trial));
}

/// Writes the figures of each request class. Writes nothing if the load has no classes.
fn classes(run: &Run, out: &mut Exposition) {
    if run.trials.iter().all(|t| t.classes.is_empty()) {
        return;
    }
    let each = || {
        let of = |(i, t): (usize, &'_ Trial)| {
            let named = move |c: &run::ClassPart| format!("{},{}", labels(i, t), text_labels(&[("class", &c.name)]));
            t.classes.iter().map(|c| (named(c), c.clone(), t.measured.length_s)).collect::<Vec<_>>()
        };
        run.trials.iter().enumerate().flat_map(of)
    };
    for (family, help, count) in CLASS_COUNTS {
        let name = format!("loadline_trial_class_{family}");
        out.family(&name, "counter", help);
        each().for_each(|(labels, class, _)| out.sample(&format!("{name}_total"), &labels, count(&class) as f64));
    }
    let name = "loadline_trial_class_completed_rate";
    out.family(name, "gauge", "Completed requests of a class per second.");
    each().for_each(|(labels, class, s)| out.sample(name, &labels, class.completed_rate(s)));
    let name = "loadline_trial_class_response_seconds";
    out.family(name, "summary", "Response time of a class from the intended start.");
    each().for_each(|(labels, class, _)| out.summary(name, &labels, &class.summary()));
}

fn costs(run: &Run, out: &mut Exposition) {
    out.family("loadline_trial_cost_per_request", "gauge", "What one request costs; the unit is a label.");
    for (i, trial) in run.trials.iter().enumerate() {
        for (side, values) in sides(trial) {
            for (id, cost) in &values.costs {
                let Some(value) = cost.per_request.value() else { continue };
                let more = text_labels(&[("side", side), ("cost", id), ("unit", cost.unit.symbol())]);
                out.sample("loadline_trial_cost_per_request", &format!("{},{more}", labels(i, trial)), value);
            }
        }
    }
}

struct Exposition(String);

impl Exposition {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# TYPE {name} {kind}");
        if let Some(unit) = ["seconds", "bytes"].iter().find(|u| name.ends_with(&format!("_{u}"))) {
            let _ = writeln!(self.0, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.0, "# HELP {name} {help}");
    }

    /// Writes one sample of a metric. Leaves out an infinite value or NaN, because a program that reads the text could
    /// take such a value for a measurement.
    fn sample(&mut self, name: &str, labels: &str, value: f64) {
        if value.is_finite() {
            let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
            let _ = writeln!(self.0, "{name}{labels} {value}");
        }
    }

    /// Writes one sample per trial.
    fn trials(&mut self, run: &Run, name: &str, of: impl Fn(&Trial) -> f64) {
        run.trials.iter().enumerate().for_each(|(i, t)| self.sample(name, &labels(i, t), of(t)));
    }

    /// Writes the failures of a trial by kind.
    fn errors(&mut self, labels: &str, trial: &Trial) {
        for (kind, n) in &trial.tally.errors.0 {
            let labels = format!("{labels},kind=\"{}\"", snake(&format!("{kind:?}")));
            self.sample("loadline_trial_errors_total", &labels, *n as f64);
        }
    }

    /// Writes the current CPU, memory and descriptor figures of each side.
    fn sides(&mut self, labels: &str, sides: &[SideNow]) {
        let name = "loadline_trial_cpu_share";
        self.family(name, "gauge", "Share of the CPU time of a side's host by kind, 0 to 1.");
        for side in sides {
            for (kind, share) in side.cpu.iter().flatten() {
                let more = text_labels(&[("side", side.role), ("kind", kind)]);
                self.sample(name, &format!("{labels},{more}"), *share);
            }
        }
        let levels: [Level; 3] = [
            ("processes_cpus", "CPUs' worth of time that a side's processes use.", |side| side.processes_cpus),
            ("processes_resident_bytes", "Resident memory of a side's processes.", |side| side.memory_bytes),
            ("processes_descriptors", "Open descriptors of a side's processes.", |side| side.descriptors),
        ];
        for (family, help, of) in levels {
            let name = format!("loadline_trial_{family}");
            self.family(&name, "gauge", help);
            for (side, value) in sides.iter().filter_map(|side| Some((side, of(side)?))) {
                self.sample(&name, &format!("{labels},{}", text_labels(&[("side", side.role)])), value);
            }
        }
    }

    fn summary(&mut self, name: &str, labels: &str, s: &Summary) {
        use SummaryFigure::{Max, Mean, P50, P90, P99, P999};
        if s.count == 0 {
            return;
        }
        for (q, figure) in [("0.5", P50), ("0.9", P90), ("0.99", P99), ("0.999", P999), ("1", Max)] {
            let labels = format!("{labels},quantile=\"{q}\"");
            match s.figure(figure).exact() {
                Some(us) => self.sample(name, &labels, us / 1e6),
                // An unanswered request counts as infinitely slow. A quantile that falls on an unanswered request is
                // therefore infinite.
                None => drop(writeln!(self.0, "{name}{{{labels}}} +Inf")),
            }
        }
        if let Some(mean) = s.figure(Mean).exact() {
            self.sample(&format!("{name}_sum"), labels, mean * s.count as f64 / 1e6);
        }
        self.sample(&format!("{name}_count"), labels, s.count as f64);
    }
}

fn labels(i: usize, trial: &Trial) -> String {
    text_labels(&[("trial", &(i + 1).to_string()), ("label", &trial.label), ("step", kind(trial.kind))])
}

fn text_labels(pairs: &[(&str, &str)]) -> String {
    let one = |(name, value): &(&str, &str)| format!("{name}=\"{}\"", escape(value));
    pairs.iter().map(one).collect::<Vec<_>>().join(",")
}

fn escape(text: &str) -> String {
    // OpenMetrics has its own escape for line ends. The function `visible` would replace line ends, so this code calls
    // `visible` for each line separately.
    let lines: Vec<_> = text.split('\n').map(run::visible).collect();
    lines.join("\n").replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

//! OpenMetrics 1.0 text exposition: base units (seconds, bytes), families together, `# EOF` at the end.
//!
//! Counts of a trial are counters, everything else gauges; response and other times are summaries.

use std::fmt::Write as _;

use run::{Run, Side, Summary, Trial};

use super::csv::{kind, snake};
use crate::{Doc, ReportError, Style};

pub(super) fn make(_: &Doc, run: &Run, _: &Style) -> Result<String, ReportError> {
    let mut out = Exposition(String::new());
    findings(run, &mut out);
    for (name, help, get) in GAUGES {
        out.family(name, "gauge", help);
        run.trials.iter().enumerate().for_each(|(i, t)| out.sample(name, &labels(i, t), get(t)));
    }
    for (name, help, get) in COUNTS {
        out.family(name, "counter", help);
        let sampled = format!("{name}_total");
        run.trials.iter().enumerate().for_each(|(i, t)| out.sample(&sampled, &labels(i, t), get(t) as f64));
    }
    errors(run, &mut out);
    for (name, help, get) in TIMES {
        out.family(name, "summary", help);
        run.trials.iter().enumerate().for_each(|(i, t)| out.summary(name, &labels(i, t), get(t)));
    }
    costs(run, &mut out);
    Ok(out.0 + "# EOF\n")
}

type Gauge = (&'static str, &'static str, fn(&Trial) -> f64);
type Count = (&'static str, &'static str, fn(&Trial) -> u64);
type Times = (&'static str, &'static str, fn(&Trial) -> &Summary);

const GAUGES: &[Gauge] = &[
    ("loadline_trial_offered_rate", "Offered requests per second.", |t| t.rates.offered_rate),
    ("loadline_trial_sent_rate", "Sent requests per second.", |t| t.rates.sent_rate),
    ("loadline_trial_completed_rate", "Completed requests per second.", |t| t.rates.completed_rate),
    ("loadline_trial_goodput", "Requests per second completed within the objective.", |t| t.rates.goodput),
    ("loadline_trial_concurrency", "Mean number of requests in flight.", |t| t.rates.concurrency),
    ("loadline_trial_measured_seconds", "Length of the measured window.", |t| t.measured.length_s),
];

const COUNTS: &[Count] = &[
    ("loadline_trial_connects_attempted", "Connections tried.", |t| t.tally.attempted),
    ("loadline_trial_connects_established", "Connections established.", |t| t.tally.connected),
    ("loadline_trial_requests_due", "Requests due in the plan.", |t| t.tally.due),
    ("loadline_trial_requests_sent", "Requests sent.", |t| t.tally.sent),
    ("loadline_trial_requests_completed", "Responses complete and well-formed.", |t| t.tally.completed),
    ("loadline_trial_unexpected_status", "Responses of an unexpected status.", |t| t.tally.unexpected_status),
    ("loadline_trial_unanswered", "Requests without an answer when the drain ended.", |t| t.tally.unanswered),
    ("loadline_trial_sent_bytes", "Bytes written to sockets.", |t| t.tally.bytes_sent),
    ("loadline_trial_received_bytes", "Bytes read from sockets.", |t| t.tally.bytes_received),
];

const TIMES: &[Times] = &[
    ("loadline_trial_response_seconds", "Response time from the intended start.", |t| &t.latency_us),
    ("loadline_trial_service_seconds", "Service time from the actual send.", |t| &t.service_us),
    ("loadline_trial_blocked_seconds", "Time the generator could not send.", |t| &t.blocked_us),
    ("loadline_trial_connect_seconds", "Connect time.", |t| &t.connect_us),
];

fn findings(run: &Run, out: &mut Exposition) {
    let found = &run.findings;
    out.family("loadline_run", "info", "The run.");
    let about = [("version", run.version.as_str()), ("command", &run.command), ("started", &run.started)];
    out.sample("loadline_run_info", &text_labels(&about), 1.0);
    out.family("loadline_interrupted", "gauge", "1 when the run was ended early.");
    out.sample("loadline_interrupted", "", f64::from(u8::from(run.interrupted)));
    if let Some(capacity) = &found.capacity {
        out.family("loadline_capacity_rate", "gauge", "Highest completed rate that holds the objective, per second.");
        out.sample("loadline_capacity_rate", &text_labels(&[("objective", &capacity.objective)]), capacity.rate);
    }
    if let Some(knee) = &found.knee {
        out.family("loadline_knee_concurrency", "gauge", "N*, the number of requests in flight at the knee.");
        out.sample("loadline_knee_concurrency", "", knee.concurrency);
    }
    out.family("loadline_bottleneck_confidence", "gauge", "What stops it, with the confidence of the verdict, 0 to 1.");
    let id = text_labels(&[("id", &found.bottleneck.id)]);
    out.sample("loadline_bottleneck_confidence", &id, found.bottleneck.confidence);
    out.family("loadline_check_passed", "gauge", "Claims of the experiment: 1 held, 0 failed.");
    for (i, check) in found.checks.iter().enumerate() {
        let named = text_labels(&[("check", &(i + 1).to_string()), ("name", &check.name)]);
        out.sample("loadline_check_passed", &named, f64::from(u8::from(check.pass)));
    }
}

fn errors(run: &Run, out: &mut Exposition) {
    out.family("loadline_trial_errors", "counter", "Failures by kind.");
    for (i, trial) in run.trials.iter().enumerate() {
        for (kind, n) in &trial.tally.errors.0 {
            let labels = format!("{},kind=\"{}\"", labels(i, trial), snake(&format!("{kind:?}")));
            out.sample("loadline_trial_errors_total", &labels, *n as f64);
        }
    }
}

fn costs(run: &Run, out: &mut Exposition) {
    out.family("loadline_trial_cost_per_request", "gauge", "What one request costs; the unit is a label.");
    for (i, trial) in run.trials.iter().enumerate() {
        let sides = [("client", Some(&trial.client)), ("server", trial.server.as_ref())];
        for (side, values) in sides.iter().filter_map(|(name, side)| side.map(|s: &Side| (*name, s))) {
            for (id, cost) in &values.costs {
                let Some(value) = cost.per_request.value() else { continue };
                let more = text_labels(&[("side", side), ("cost", id), ("unit", &cost.unit)]);
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

    /// A sample; a value that is no number is left out, for a scraper could not tell it from a measured one.
    fn sample(&mut self, name: &str, labels: &str, value: f64) {
        if value.is_finite() {
            let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
            let _ = writeln!(self.0, "{name}{labels} {value}");
        }
    }

    fn summary(&mut self, name: &str, labels: &str, s: &Summary) {
        if s.count == 0 {
            return;
        }
        for (q, us) in [("0.5", s.p50), ("0.9", s.p90), ("0.99", s.p99), ("0.999", s.p99_9), ("1", s.max)] {
            self.sample(name, &format!("{labels},quantile=\"{q}\""), us / 1e6);
        }
        self.sample(&format!("{name}_sum"), labels, s.mean * s.count as f64 / 1e6);
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
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace(|c: char| c.is_control(), " ")
}

//! `adding-clients` (source 0): one client after the other, until the throughput no longer grows; then the argument that
//! ends at what stops it.

use run::{Check, Trial};

use super::derive::{axis, busy, cost, processor_us, wire};
use super::words::{percent, plain, rate, us};
use super::{Ground, Parameters};
use crate::experiments::{Experiment, check};
use crate::{Lab, LabError};

pub(in crate::experiments) const EXPERIMENT: Experiment = Experiment {
    name: "adding-clients",
    help: "one to five clients read records of one server, until the medium (or what else binds) is full",
    page: "Source: R. Blake, Optimizing Windows NT (1993), the chapter on network bottlenecks (source 0). Each client reads one \
           record of 2048 bytes again and again, each from a host of its own; the file stays in the server's cache. Every step \
           gives throughput, growth, processor and interrupt time a read, the response time N/X, and the change of each. The \
           argument: the medium is full when (a) one more client brings less than 2 %, (b) it lengthens the response time by \
           1/Xmax within 10 %, (c) no host is above 80 %, and (d) the wire carries at least 90 % of its rate, framing counted.\n\n\
           Parameters: `medium` (ethernet10, hub100, switch:100M, wan:…, loopback), `clients` (5), `record_bytes` (2048), \
           `congestion` (reno; host leaves this machine's own), `exchange_ms` (fixed time of an exchange in place of the source's slow machines; -1: 3.3 on ethernet10, else 0), \
           `seconds` a step.",
    toml: include_str!("../../../../../experiments/adding-clients.toml"),
    run,
};

fn run(lab: &mut Lab<'_>, parameters: &Parameters) -> Result<(), LabError> {
    let clients = parameters.count("clients", 5).clamp(2, 60);
    let record = parameters.count("record_bytes", 2048).clamp(1, 1 << 20);
    let ground = Ground::build(lab, parameters, clients)?;
    let rest_s = lab.run.plan.observe.at_rest_s;
    lab.rest(&ground.scene, rest_s);
    for n in 1..=clients {
        if lab.stopped() {
            break;
        }
        let label = if n == 1 { "1 client".to_string() } else { format!("{n} clients") };
        let trial = ground.measure(lab, n, record, label)?;
        lab.keep(trial)?;
    }
    lab.save()?;
    let (checks, words) = conclude(&lab.run.trials, &ground, &lab.run.findings.bottleneck.id);
    lab.run.findings.checks = checks;
    lab.run.findings.conclusions = words;
    Ok(())
}

/// One step: how throughput and response time changed with one more client.
#[derive(Clone, Copy, Debug)]
struct Step {
    n: f64,
    x: f64,
    r_us: f64,
    growth: f64,
    more_us: f64,
}

fn steps(trials: &[Trial]) -> Vec<Step> {
    let one = |t: &Trial| (axis(t, "clients"), t.rates.completed_rate, axis(t, "response_n_over_x_us"));
    trials
        .windows(2)
        .map(|pair| {
            let ((_, x0, r0), (n, x, r_us)) = (one(&pair[0]), one(&pair[1]));
            Step { n, x, r_us, growth: x / x0 - 1.0, more_us: r_us - r0 }
        })
        .collect()
}

/// The largest distance of the measured mean response time from N/X, as a share.
fn off_n_over_x(trials: &[Trial]) -> f64 {
    let off = |t: &Trial| (t.latency_us.mean / axis(t, "response_n_over_x_us") - 1.0).abs();
    trials.iter().map(off).fold(0.0, |a, b| if b.is_nan() { f64::NAN } else { f64::max(a, b) })
}

/// The busiest host of a trial.
fn busiest(trial: &Trial) -> f64 {
    let sides = [Some(&trial.client), trial.server.as_ref()];
    sides.into_iter().filter_map(|side| busy(side, trial)).fold(f64::NAN, f64::max)
}

fn conclude(trials: &[Trial], ground: &Ground, verdict: &str) -> (Vec<Check>, Vec<String>) {
    let steps = steps(trials);
    let (Some(first), Some(last), Some(step)) = (trials.first(), trials.last(), steps.last()) else {
        return (Vec::new(), vec!["too few steps were measured to conclude anything".into()]);
    };
    let x_max = trials.iter().map(|t| t.rates.completed_rate).fold(0.0, f64::max);
    let each_us = 1e6 / x_max;
    let n = trials.len();
    let off = off_n_over_x(trials);
    let mut checks = Vec::new();
    let wire_use = axis(last, "wire_use");
    let last_busiest = busiest(last);
    let host_change = (last_busiest - trials.get(n - 2).map_or(f64::NAN, busiest)).abs();
    let growth = format!("(a) growth of reads/s by the last client ({n})");
    let asymptote = "(b) what the last client adds to the response time over 1/Xmax".to_string();
    if ground.shared_wire() && ground.medium.starts_with("ethernet10") {
        checks.extend([
            check("mean response time over N/X, largest deviation", off, "at most", 0.02),
            check(growth, step.growth, "at most", 0.02),
            check(format!("{asymptote}, deviation from 1"), (step.more_us / each_us - 1.0).abs(), "at most", 0.1),
            check("(c) the busiest host, by its own processes and interrupts", last_busiest, "at most", 0.8),
            check("(c) their change by the last client", host_change, "at most", 0.02),
            check(format!("(d) wire use with {n} clients, framing counted"), wire_use, "at least", 0.9),
            check("the verdict is network-medium", f64::from(u8::from(verdict == "network-medium")), "equals", 1.0),
        ]);
    } else if wire_use.is_nan() || wire_use < 0.667 {
        let not = f64::from(u8::from(verdict != "network-medium"));
        checks.push(check("the wire is not full, and the verdict is not network-medium", not, "equals", 1.0));
    } else if wire_use >= 0.9 {
        let right = f64::from(u8::from(verdict == "network-medium"));
        checks.push(check("the wire is full, and the verdict is network-medium", right, "equals", 1.0));
    }
    let words = [
        demand(first, ground),
        growth_words(trials, &steps),
        server_words(first, last),
        knee_words(first, x_max, step, each_us),
        wire_words(last, ground, x_max),
        format!("The verdict: {verdict}."),
    ];
    (checks, words.into())
}

/// Step 1: the demand of each device for one read, with one client.
fn demand(first: &Trial, ground: &Ground) -> String {
    let mut parts = vec![
        ("server's process", cost(first.server.as_ref(), "process_cpu_us")),
        ("client's process", cost(Some(&first.client), "process_cpu_us")),
        ("wire", first.axes.get("wire_us_per_read").copied()),
    ];
    let largest = parts.iter().filter_map(|(name, v)| v.map(|v| (*name, v))).max_by(|a, b| a.1.total_cmp(&b.1));
    parts.push(("fixed time of the exchange", Some(ground.exchange_ms * 1000.0).filter(|v| *v > 0.0)));
    let list: Vec<String> = parts.into_iter().filter_map(|(name, v)| v.map(|v| format!("{name} {}", us(v)))).collect();
    let r = us(axis(first, "response_n_over_x_us"));
    let named =
        largest.map_or(String::new(), |(name, _)| format!(" The largest demand of a device is that of the {name}."));
    format!("1. One client: a read takes {r}; it needs {}.{named}", list.join(", "))
}

fn growth_words(trials: &[Trial], steps: &[Step]) -> String {
    let x: Vec<String> = trials.iter().map(|t| plain(t.rates.completed_rate)).collect();
    let r: Vec<String> = trials.iter().map(|t| us(axis(t, "response_n_over_x_us"))).collect();
    let last = steps.last().map_or(String::new(), |s| {
        format!(
            " Client {} brings {} reads/s in place of {}: growth {}.",
            s.n,
            plain(s.x),
            plain(s.x / (1.0 + s.growth)),
            percent(s.growth)
        )
    });
    format!("2. Reads/s: {}. Response time N/X: {}.{last}", x.join(", "), r.join(", "))
}

/// Share of its processors from which a server's own work may be what its clients wait for.
const SERVER_BUSY: f64 = 0.8;

/// What follows from the server's time a read: the delay is elsewhere only where the server did not get dearer, was not
/// full, and the response time did grow.
fn where_the_delay_is(a_read: [f64; 2], busy: f64, r_us: [f64; 2]) -> &'static str {
    if [a_read[0], a_read[1], busy, r_us[0], r_us[1]].iter().any(|v| v.is_nan()) {
        return "which says nothing while a part of it is unknown";
    }
    match (a_read[1] <= a_read[0] * 1.02, busy < SERVER_BUSY, r_us[1] > r_us[0] * 1.02) {
        (true, true, true) => "while the response time rises: the delay is outside of the server",
        (_, false, _) => {
            "and that is as good as full: clients wait for the server's processors, or for what shares them"
        }
        (false, true, true) => "which is part of the longer response time",
        (_, true, false) => "and the response time does not rise: nobody waits",
    }
}

fn server_words(first: &Trial, last: &Trial) -> String {
    let of = |t: &Trial, id: &str| cost(t.server.as_ref(), id).unwrap_or(f64::NAN);
    let busy = [first, last].map(|t| busy(t.server.as_ref(), t).unwrap_or(f64::NAN));
    let a_read = [first, last].map(|t| processor_us(t.server.as_ref()).unwrap_or(f64::NAN));
    let softirq = [first, last].map(|t| of(t, "cpu_softirq_us"));
    let process = [first, last].map(|t| of(t, "process_cpu_us"));
    let meaning = where_the_delay_is(a_read, busy[1], [first, last].map(|t| axis(t, "response_n_over_x_us")));
    format!(
        "3. The server's processors are {} busy by its own processes and interrupts with one client and {} with all; a read \
         costs them {} and then {} (soft interrupts {} and {}; the server's process {} and {}), {meaning}.",
        percent(busy[0]),
        percent(busy[1]),
        us(a_read[0]),
        us(a_read[1]),
        us(softirq[0]),
        us(softirq[1]),
        us(process[0]),
        us(process[1]),
    )
}

fn knee_words(first: &Trial, x_max: f64, step: &Step, each_us: f64) -> String {
    let knee = axis(first, "response_n_over_x_us") / 1e6 * x_max;
    format!(
        "4. Knee N* = R1 Xmax = {knee:.2} clients. Past it each client adds 1/Xmax = {} to the response time; the last one \
         added {}, to {}.",
        us(each_us),
        us(step.more_us),
        us(step.r_us)
    )
}

fn wire_words(last: &Trial, ground: &Ground, x_max: f64) -> String {
    let Some(wire) = wire(last) else {
        return "5. This medium has no rate of its own, so it cannot be full.".into();
    };
    let limit = wire.rate / axis(last, "wire_bytes_per_read");
    let mut words = format!(
        "5. The wire carries {} of {} ({}), {} without framing; a read takes {} bytes in {} frames of {} bytes.",
        rate(wire.bytes_per_s),
        rate(wire.rate),
        percent(wire.use_),
        percent(axis(last, "wire_use_without_framing")),
        plain(axis(last, "wire_bytes_per_read")),
        plain(axis(last, "frames_per_read")),
        plain(axis(last, "bytes_per_frame")),
    );
    if ground.shared_wire() {
        let payload = x_max * axis(last, "record_bytes") / wire.rate;
        words += &format!(
            " Its theoretical limit is {} reads/s, of which {} were reached; the records alone are {} of the wire. Two \
             reasons that the records do not fill it: what is sent besides (requests, heads, acknowledgements, framing), and \
             on a real Ethernet collisions, which this medium has not.",
            plain(limit),
            percent(x_max / limit),
            percent(payload),
        );
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_server_is_not_said_to_be_outside_of_the_delay() {
        let ethernet = where_the_delay_is([250.0, 230.0], 0.28, [5114.0, 9723.0]);
        assert!(ethernet.contains("outside"), "{ethernet}");
        let full = where_the_delay_is([24.1, 10.2], 0.954, [58.0, 75.8]);
        assert!(full.contains("full"), "{full}");
        let free = where_the_delay_is([24.1, 10.2], 0.5, [58.0, 55.8]);
        assert!(free.contains("nobody waits"), "{free}");
        let unknown = where_the_delay_is([f64::NAN, 10.2], f64::NAN, [58.0, 55.8]);
        assert!(unknown.contains("unknown"), "{unknown}");
    }

    /// The source's own series: it must pass its own conditions (a) and (b).
    #[test]
    fn the_source_s_rates_show_its_asymptote() {
        let trial = |n: f64, x: f64| {
            let mut t = Trial::default();
            t.rates.completed_rate = x;
            t.axes = [("clients".to_string(), n), ("response_n_over_x_us".to_string(), n / x * 1e6)].into();
            t.latency_us.mean = n / x * 1e6 * 1.01;
            t
        };
        let rates = [195.55, 364.41, 473.437, 512.755, 514.252];
        let trials: Vec<Trial> = rates.iter().zip(1..).map(|(x, n)| trial(f64::from(n), *x)).collect();
        let steps = steps(&trials);
        assert!((steps[0].growth - 0.863513).abs() < 1e-5);
        assert!((steps[0].more_us - 374.54).abs() < 0.1);
        let last = steps.last().unwrap();
        assert!(last.growth < 0.02 && (last.more_us / (1e6 / 514.252) - 1.0).abs() < 0.1);
        assert!((off_n_over_x(&trials) - 0.01).abs() < 1e-9);
        assert!(!check("x", f64::NAN, "at most", 1.0).pass, "absent passes nothing");
    }
}

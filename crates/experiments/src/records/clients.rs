//! `lab adding-clients` (source 0): adds clients one by one until throughput stops growing, and then finds the
//! bottleneck.

use run::Relation::{AtLeast, AtMost, Equals};
use run::{Check, Trial};

use super::checks::{no_disk, wire_and_verdict};
use super::clients_words::{demand, growth_words, knee_words, server_words, wire_words};
use super::derive::{busy, known};
use super::figures;
use super::step::steps;
use super::test_bed::{self, TestBed};
use super::values::RESPONSE_N_OVER_X_US;
use crate::values::WIRE_USE;
use crate::{Experiment, Parameters};
use lab::{Lab, LabError};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "adding-clients",
    help: "one to five clients read records from one server until the medium, or another bottleneck, is full (source 0)",
    page: "\
Source: R. Blake, Optimizing Windows NT (1993), the chapter on network bottlenecks (source 0).

Each client runs on its own host and repeatedly reads one record of 2048 bytes. The file stays in the server's cache.
Every step shows throughput, growth, CPU and interrupt time per read, the response time N/X, and the change of each. The
medium is full if four conditions hold: (a) one more client increases throughput by less than 2 %; (b) it adds 1/Xmax to
the response time, within 10 %; (c) no host uses more than 80 % of its CPU; (d) the wire carries at least 90 % of its
rate, with framing.

Parameters: `medium` (ethernet10, hub100, switch:100M, wan:…, loopback); `clients` (5); `record_bytes` (2048);
`congestion` (reno; `host` keeps this machine's setting); `exchange_ms`, a fixed time per exchange that represents the
slow machines of the study (-1: 3.3 on ethernet10, otherwise 0); `seconds` per step.

On real machines (`--client-hosts a,b,c --server-host S`) the n-th client runs on the n-th host. The network between
them has no counters, so condition (d) is not checked. `listen` or --listen is the server's address.",
    toml: include_str!("../../plans/adding-clients.toml"),
    unset: "listen = ''\nlarge_read_buffers = 16",
    on_hosts: true,
    planned_s,
    run,
    figures: figures::ADDING_CLIENTS,
};

/// Returns the planned time of the experiment, seconds.
fn planned_s(parameters: &Parameters) -> f64 {
    test_bed::planned_s(parameters, clients(parameters) as usize)
}

/// Returns the maximum number of clients.
fn clients(parameters: &Parameters) -> u32 {
    parameters.count("clients", 5).clamp(2, 60)
}

fn run(lab: &mut Lab<'_>, parameters: &Parameters) -> Result<(), LabError> {
    let clients = clients(parameters);
    let record = parameters.count("record_bytes", 2048).clamp(1, 1 << 20);
    let bed = TestBed::build(lab, parameters, clients)?;
    let clients = enough_places(lab, &bed, clients);
    let rest_s = lab.run.plan.observe.at_rest_s;
    lab.rest(&bed.observation, rest_s);
    for n in 1..=clients {
        if lab.stopped() {
            break;
        }
        let label = if n == 1 { "1 client".to_string() } else { format!("{n} clients") };
        let trial = bed.measure(lab, n, record, label)?;
        lab.keep(trial)?;
    }
    lab.save()?;
    let (checks, words) = conclude(&lab.run.trials, &bed, &lab.run.findings.bottleneck.id);
    lab.run.findings.checks = checks;
    lab.run.findings.conclusions = words;
    Ok(())
}

/// Returns the number of clients that can run, one on each client host: `clients`, or fewer if there are not enough
/// hosts. If there are not enough hosts, adds a note to the run.
fn enough_places(lab: &mut Lab<'_>, bed: &TestBed, clients: u32) -> u32 {
    let places = bed.places();
    if places < clients {
        lab.note(format!(
            "{places} clients in place of {clients}, one a host: name more with --client-hosts, or put several on each with \
             --agents-per-host"
        ));
    }
    clients.min(places)
}

/// Returns how far the mean response time differs from N/X (clients divided by throughput): the largest relative
/// difference over all trials.
fn off_n_over_x(trials: &[Trial]) -> f64 {
    let off = |t: &Trial| (t.latency_us.mean / known(t.results.get(RESPONSE_N_OVER_X_US)) - 1.0).abs();
    trials.iter().map(off).fold(0.0, |a, b| if b.is_nan() { f64::NAN } else { f64::max(a, b) })
}

/// Returns the CPU utilisation of the side (client or server) that was busier in the trial.
fn busiest(trial: &Trial) -> f64 {
    let sides = [Some(&trial.client), trial.server.as_ref()];
    sides.into_iter().filter_map(|side| busy(side, trial)).fold(f64::NAN, f64::max)
}

fn conclude(trials: &[Trial], bed: &TestBed, verdict: &str) -> (Vec<Check>, Vec<String>) {
    let steps = steps(trials);
    let (Some(first), Some(last), Some(step)) = (trials.first(), trials.last(), steps.last()) else {
        return (Vec::new(), vec!["too few steps were measured to conclude anything".into()]);
    };
    let x_max = trials.iter().map(|t| t.rates.completed_rate).fold(0.0, f64::max);
    let each_us = 1e6 / x_max;
    let n = trials.len();
    let off = off_n_over_x(trials);
    let mut checks = Vec::new();
    let wire_use = known(last.results.get(WIRE_USE));
    let last_busiest = busiest(last);
    let host_change = (last_busiest - trials.get(n - 2).map_or(f64::NAN, busiest)).abs();
    let growth = format!("(a) growth of reads/s by the last client ({n})");
    let asymptote = "(b) what the last client adds to the response time over 1/Xmax".to_string();
    if bed.sources_medium() {
        checks.extend([
            Check::new("mean response time over N/X, largest deviation", off, AtMost, 0.02),
            Check::new(growth, step.growth, AtMost, 0.02),
            Check::new(format!("{asymptote}, deviation from 1"), (step.more_us / each_us - 1.0).abs(), AtMost, 0.1),
            Check::new("(c) the busiest host, by its own processes and interrupts", last_busiest, AtMost, 0.8),
            Check::new("(c) their change by the last client", host_change, AtMost, 0.02),
            Check::new(format!("(d) wire use with {n} clients, framing counted"), wire_use, AtLeast, 0.9),
            Check::new("the verdict is network-medium", f64::from(u8::from(verdict == "network-medium")), Equals, 1.0),
        ]);
    } else if bed.knows_its_medium() {
        checks.extend(wire_and_verdict(wire_use, verdict));
    }
    checks.push(no_disk(trials));
    let words = [
        demand(first, bed),
        growth_words(trials, &steps),
        server_words(first, last),
        knee_words(first, x_max, step, each_us),
        wire_words(last, bed, x_max),
        format!("The verdict: {verdict}."),
    ];
    (checks, words.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published rates must meet the conditions (a) and (b) that the published study states. The text of the
    /// experiment describes the conditions (a) and (b).
    #[test]
    fn the_published_rates_show_their_asymptote() {
        let trial = |n: f64, x: f64| {
            let mut t = Trial::default();
            t.rates.completed_rate = x;
            t.key.clients = Some(n as u32);
            t.results.put(RESPONSE_N_OVER_X_US, n / x * 1e6);
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
        assert!(!Check::new("x", f64::NAN, AtMost, 1.0).pass, "absent passes nothing");
    }
}

//! `lab throughput-profile` (source 3): one client reads records repeatedly, in 19 sizes. A simple model explains how
//! long a read takes.

use run::Relation::{AtLeast, AtMost};
use run::{Check, Trial};

use super::checks::{no_disk, wire_and_verdict};
use super::derive::{at, cost, known, of_size, processor_us, record_bytes, wire};
use super::figures;
use super::profile_words::words;
use super::test_bed::{self, TestBed};
use super::values::{
    CLIENT_PROCESSOR_US, FIXED_US_PER_READ, MODEL_US_PER_READ, SERVER_PROCESSOR_US, SERVER_THROUGHPUT_SHARE,
    WIRE_US_PER_READ,
};
use crate::values::{BYTES_PER_S, WIRE_USE};
use crate::{Experiment, Parameters};
use lab::{Lab, LabError};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "throughput-profile",
    help: "throughput of one client for 19 record sizes, explained from both ends (source 3)",
    page: "\
Source: R. Blake, Optimizing Windows NT (1993), the chapter on network bottlenecks (source 3).

One client reads records, bypassing its own cache. All records are in the server's cache, so no disk takes part.
Published: the throughput rises almost linearly up to 4096 bytes, gains little at 8192 (split into two requests), jumps
at 12288 (one large read), and then levels off. The report divides the time of a read of 2048 bytes into the parts of
both sides. It compares the sum of server, client, wire and fixed time with the measured time.

Parameters: `medium`; `sizes`; `congestion` (reno; `host` keeps this machine's setting); `exchange_ms`, a fixed time per
exchange that represents the slow machines of the study (-1: 3.3 on ethernet10, otherwise 0); `large_read_buffers` (0:
every record is split); `seconds` per size.",
    toml: include_str!("../../plans/throughput-profile.toml"),
    unset: "listen = ''",
    on_hosts: false,
    planned_s,
    run,
    figures: figures::THROUGHPUT_PROFILE,
};

/// Returns the planned time of the experiment, seconds.
fn planned_s(parameters: &Parameters) -> f64 {
    test_bed::planned_s(parameters, sizes(parameters).len())
}

/// Returns the sizes of the records, bytes.
fn sizes(parameters: &Parameters) -> Vec<u32> {
    let sizes = parameters.numbers("sizes", &[512.0, 1024.0, 2048.0, 4096.0, 8192.0, 12288.0, 57344.0, 65536.0]);
    sizes.into_iter().map(|size| size.clamp(1.0, f64::from(1_u32 << 20)) as u32).collect()
}

fn run(lab: &mut Lab<'_>, parameters: &Parameters) -> Result<(), LabError> {
    let sizes = sizes(parameters);
    let bed = TestBed::build(lab, parameters, 1)?;
    let rest_s = lab.run.plan.observe.at_rest_s;
    lab.rest(&bed.observation, rest_s);
    for size in sizes {
        if lab.stopped() {
            break;
        }
        let trial = bed.measure(lab, 1, size, format!("{size} B"))?;
        lab.keep(trial)?;
        if let Some(last) = lab.run.trials.last_mut() {
            model(last, &bed);
        }
    }
    lab.save()?;
    let verdict = &lab.run.findings.bottleneck.id;
    let (checks, words) = (checks(&lab.run.trials, &bed, verdict), words(&lab.run.trials, &bed, verdict));
    lab.run.findings.checks = checks;
    lab.run.findings.conclusions = words;
    Ok(())
}

/// Returns the number of requests that together read one record.
fn exchanges(record: f64) -> f64 {
    if record <= 4096.0 || record >= 12288.0 { 1.0 } else { (record / 4096.0).ceil() }
}

/// Computes the simple model, and stores its parts and their sum in the trial's results. In the simple model, a read
/// uses all devices one after the other, never two at the same time. Also stores the server's throughput as a share of
/// the wire's rate.
fn model(trial: &mut Trial, bed: &TestBed) {
    let record = record_bytes(trial);
    let parts =
        [processor_us(trial.server.as_ref()), processor_us(Some(&trial.client)), trial.results.get(WIRE_US_PER_READ)];
    let fixed = bed.exchange_ms * 1000.0 * exchanges(record);
    let sum: f64 = parts.into_iter().flatten().sum::<f64>() + fixed;
    let server = |id: &str| cost(trial.server.as_ref(), id);
    let server_bytes = server("bytes_out").zip(server("bytes_in")).map(|(out, back)| out + back);
    if let Some((wire, bytes)) = wire(trial).zip(server_bytes) {
        let share = bytes * trial.rates.completed_rate / wire.rate;
        trial.results.put(SERVER_THROUGHPUT_SHARE, share);
    }
    trial.results.put(SERVER_PROCESSOR_US, parts[0]);
    trial.results.put(CLIENT_PROCESSOR_US, parts[1]);
    trial.results.put(FIXED_US_PER_READ, fixed);
    trial.results.put(MODEL_US_PER_READ, sum);
}

fn checks(trials: &[Trial], bed: &TestBed, verdict: &str) -> Vec<Check> {
    let mut checks = Vec::new();
    let off = |value: f64, due: f64| (value / due - 1.0).abs();
    if let Some(t) = of_size(trials, 2048.0) {
        let tally = &t.tally;
        let request = tally.bytes_sent as f64 / tally.sent as f64;
        let reply = tally.bytes_received as f64 / tally.completed as f64;
        checks.push(Check::new("request of 60 bytes, deviation", off(request, 60.0), AtMost, 0.005));
        checks.push(Check::new("reply of 2108 bytes, deviation", off(reply, 2108.0), AtMost, 0.005));
    }
    checks.push(no_disk(trials));
    if bed.exchange_ms <= 0.0 {
        let most = trials.iter().map(|t| known(t.results.get(WIRE_USE))).fold(f64::NAN, f64::max);
        checks.extend(wire_and_verdict(most, verdict));
        // The published shape of the curve depends on a fixed time per exchange. Without a fixed time per exchange, the
        // shape of the curve is not checked.
        return checks;
    }
    checks.extend(shape(trials));
    checks
}

/// Checks the shape of the curve against the published shape. A check is left out if one of its record sizes was not
/// measured.
fn shape(trials: &[Trial]) -> Vec<Check> {
    const RISE: [f64; 4] = [512.0, 1024.0, 2048.0, 4096.0];
    let are_measured = |sizes: &[f64]| sizes.iter().all(|size| of_size(trials, *size).is_some());
    let gain = |from: f64, to: f64| at(trials, to) / at(trials, from) - 1.0;
    let mut checks = Vec::new();
    if are_measured(&RISE) {
        let rise: Vec<(f64, f64)> = RISE.into_iter().map(|size| (size, at(trials, size))).collect();
        let r2 = judge::fit::linear(&rise).map_or(f64::NAN, |line| line.r2);
        checks.push(Check::new("near-linear to 4096 bytes, R2", r2, AtLeast, 0.95));
        checks.push(Check::new("rise from 512 to 4096 bytes, factor", gain(512.0, 4096.0) + 1.0, AtLeast, 3.0));
    }
    if are_measured(&[4096.0, 8192.0]) {
        checks.push(Check::new("gain from 4096 to 8192 bytes", gain(4096.0, 8192.0), AtMost, 0.1));
    }
    if are_measured(&[8192.0, 12288.0]) {
        checks.push(Check::new("jump from 8192 to 12288 bytes", gain(8192.0, 12288.0), AtLeast, 0.2));
    }
    let plateau: Vec<f64> =
        trials.iter().filter(|t| record_bytes(t) >= 32768.0).map(|t| known(t.results.get(BYTES_PER_S))).collect();
    if plateau.len() > 1 {
        let most = plateau.iter().copied().fold(f64::NAN, f64::max);
        let least = plateau.iter().copied().fold(f64::NAN, f64::min);
        checks.push(Check::new("plateau from 32768 bytes on, spread", most / least - 1.0, AtMost, 0.1));
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_between_one_and_three_pages_is_split() {
        let asked: Vec<f64> = [512.0, 4096.0, 5000.0, 8192.0, 12288.0, 65536.0].map(exchanges).to_vec();
        assert_eq!(asked, [1.0, 1.0, 2.0, 2.0, 1.0, 1.0]);
    }

    #[test]
    fn a_size_that_was_not_measured_has_no_check() {
        assert!(at(&[], 512.0).is_nan() && shape(&[]).is_empty());
        assert!(!Check::new("x", f64::NAN, AtLeast, 0.0).pass && !Check::new("x", f64::NAN, AtMost, 0.0).pass);
    }
}

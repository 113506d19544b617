//! `lab overload`: throughput of a server under more and more overload. Each connection request that the server drops
//! costs CPU time, which other requests then lack. As the server drops more connection requests, its throughput falls.

use run::Relation::{AtLeast, AtMost};
use run::{Arrival, Check, Key, LoadPlan, Run, Trial};

use super::plans::{descriptors_for, paced, sclients, server, timeout_ms, trial_s};
use super::test_setup::TestSetup;
use super::values::{
    COOKIES_SENT_PER_S, MULTIPLE, OFFERED_RATE, OPENS_KERNEL, OVERFLOWS_PER_S, PHANTOMS, SYNCOOKIES, SYNS_FILTER,
    SYNS_GENERATOR, US_PER_DROPPED_SYN,
};
use crate::Parameters;
use crate::experiment::BUILD_S;
use lab::{Lab, LabError};

/// Offered rates, as multiples of the capacity.
const MULTIPLES: [f64; 10] = [0.25, 0.5, 0.8, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0];

/// Returns the planned time of the experiment, seconds.
pub(crate) fn planned_s(parameters: &Parameters) -> f64 {
    let lines = parameters.texts("syncookies", &["off", "on"]).len();
    let trials = lines * parameters.numbers("multiples", &MULTIPLES).len();
    BUILD_S + trials as f64 * trial_s(parameters)
}

/// Runs the experiment with each setting of syncookies.
pub(crate) fn run(lab: &mut Lab<'_>, parameters: &Parameters) -> Result<(), LabError> {
    let (capacity, plan) = server(parameters);
    let (medium, hosts) = (parameters.text("medium", "switch"), parameters.count("hosts", 4));
    let mut setup = TestSetup::build_receiving(lab, &medium, hosts, &plan)?;
    for cookies in parameters.texts("syncookies", &["off", "on"]) {
        setup.server_sysctl("net.ipv4.tcp_syncookies", if cookies == "on" { "1" } else { "0" })?;
        for multiple in parameters.numbers("multiples", &MULTIPLES) {
            if lab.stopped() {
                return Ok(());
            }
            let offered = multiple * capacity;
            let load = offering(parameters, offered, multiple);
            let label = format!("syncookies {cookies}, {multiple} x");
            let key = Key { line: Some(format!("syncookies {cookies}")), ..Key::default() }
                .with(OFFERED_RATE, offered)
                .with(MULTIPLE, multiple)
                .with(SYNCOOKIES, cookies == "on");
            let mut trial = setup.trial(lab, &label, key, &load)?;
            put_counts(&mut trial);
            lab.keep(trial)?;
        }
    }
    put_costs(&mut lab.run);
    conclude(&mut lab.run, capacity);
    Ok(())
}

/// Returns the load plan of a trial. Up to the capacity, the S-Clients connect at a constant rate. Above the capacity,
/// each S-Client connects again as soon as its attempt has ended. Above the capacity, the S-Clients offer at least D/T
/// connects per second (number of descriptors divided by the timeout).
fn offering(parameters: &Parameters, offered: f64, multiple: f64) -> LoadPlan {
    match multiple > 1.0 {
        true => sclients(parameters, descriptors_for(offered, timeout_ms(parameters))),
        false => paced(parameters, offered, 1.0, Arrival::Constant),
    }
}

/// Maximum throughput that counts as declined, as a share of the best throughput. A smaller loss of throughput may be
/// noise.
const DECLINED: f64 = 0.97;

/// Stores the CPU time that each dropped connection request cost, but only if throughput declined and more requests
/// were dropped than the server can complete. The dropped connection requests together took the share (1 - X/X0) of a
/// CPU. X is the trial's throughput, and X0 is the best throughput with the same setting of syncookies. The cost of a
/// dropped request is (1 - X/X0), divided by the rate of drops.
fn put_costs(run: &mut Run) {
    let rates: Vec<_> = run.trials.iter().map(|t| (t.key.get(SYNCOOKIES), t.rates.completed_rate)).collect();
    for trial in &mut run.trials {
        let own = trial.key.get(SYNCOOKIES);
        let best = rates.iter().filter(|(c, _)| *c == own).map(|(_, rate)| *rate).fold(f64::MIN_POSITIVE, f64::max);
        let (left, dropped) = (trial.rates.completed_rate / best, trial.rates.sent_rate - trial.rates.completed_rate);
        if dropped > best && left <= DECLINED {
            trial.results.put(US_PER_DROPPED_SYN, 1e6 * (1.0 - left) / dropped);
        }
    }
}

/// Stores what happened to connection requests: overflows of the accept queue per second, syncookies sent per second,
/// and the number of phantom connections.
fn put_counts(trial: &mut Trial) {
    let window = trial.measured.window;
    let Some(server) = &trial.server else { return };
    let sum = |id: &str| server.recording.sum(id, window, |_| true).value();
    let per_s = |id: &str| sum(id).map(|n| n / window.length_s().max(1e-9));
    trial.results.put(OVERFLOWS_PER_S, per_s("tcp.listen_overflows"));
    trial.results.put(COOKIES_SENT_PER_S, per_s("tcp.syncookies_sent"));
    // A phantom connection is open for the client, but unknown to the server. The number of phantoms is the number of
    // connections that clients established, minus the number that the server's kernel opened.
    let connected = trial.tally.connected as f64;
    trial.results.put(PHANTOMS, trial.results.get(OPENS_KERNEL).map(|opens| (connected - opens).max(0.0)));
}

fn conclude(run: &mut Run, capacity: f64) {
    let off: Vec<&Trial> = run.trials.iter().filter(|t| t.key.get(SYNCOOKIES) == Some(false)).collect();
    let best = off.iter().map(|t| t.rates.completed_rate).fold(f64::MIN_POSITIVE, f64::max);
    let Some(last) = off.iter().max_by(|a, b| a.rates.sent_rate.total_cmp(&b.rates.sent_rate)) else { return };
    let (most, left) = (last.rates.sent_rate, last.rates.completed_rate / best);
    let unarrived = run.trials.iter().filter_map(unarrived).fold(0.0, f64::max);
    let checks = vec![
        Check::new("highest offered rate over the capacity", most / capacity, AtLeast, 16.0),
        Check::new(
            "below capacity all is completed: largest difference of completed and offered",
            missing_below_capacity(&off),
            AtMost,
            0.03,
        ),
        Check::new("completed rate at the highest offered rate over the best (it declines)", left, AtMost, DECLINED),
        Check::new(
            "SYNs arrive: largest difference of the generator's count and that of the filter at the server",
            unarrived,
            AtMost,
            0.005,
        ),
    ];
    let conclusions = vec![decline(last, best), phantoms(run)];
    run.findings.checks.extend(checks);
    run.findings.conclusions = conclusions;
}

/// Returns how far the completed rate differs from the offered rate: the largest relative difference over the trials at
/// 0.8 times the capacity or less.
fn missing_below_capacity(trials: &[&Trial]) -> f64 {
    let below = trials.iter().filter(|t| t.key.get(MULTIPLE).is_some_and(|m| m <= 0.8));
    below.map(|t| (t.rates.completed_rate / t.rates.offered_rate.max(1e-9) - 1.0).abs()).fold(0.0, f64::max)
}

/// Describes the decline of throughput, with the cost of a drop if it could be measured.
fn decline(last: &Trial, best: f64) -> String {
    let (most, at_most) = (last.rates.sent_rate, last.rates.completed_rate);
    let said = format!(
        "The server completes {best:.0} requests/s at best. Offered {most:.0}/s it completes {at_most:.0}/s, {:.0} % of that",
        100.0 * at_most / best
    );
    match last.results.get(US_PER_DROPPED_SYN) {
        Some(us) => format!(
            "{said}: every connection request that it drops takes {us:.1} µs of its CPU, so the more it is offered, the \
             less it completes."
        ),
        None => format!("{said}: what a dropped connection request costs cannot be told from noise."),
    }
}

fn phantoms(run: &Run) -> String {
    let sum = |cookies: bool| -> f64 {
        let own = run.trials.iter().filter(|t| t.key.get(SYNCOOKIES) == Some(cookies));
        own.filter_map(|t| t.results.get(PHANTOMS)).sum()
    };
    format!(
        "Connections that the client holds for established and the server does not know: {:.0} without syncookies, {:.0} \
         with them.",
        sum(false),
        sum(true)
    )
}

/// Returns the difference between the SYNs that the generator sent and the SYNs that the filter counted, as a share of
/// the sent SYNs. The kernel's count is unsuitable: if the accept queue is full, the kernel also counts the last
/// handshake packets of phantom connections.
fn unarrived(trial: &Trial) -> Option<f64> {
    let (sent, arrived) = (trial.results.get(SYNS_GENERATOR)?, trial.results.get(SYNS_FILTER)?);
    Some((sent - arrived).abs() / sent.max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drop_has_a_cost_only_if_throughput_declined() {
        let trial = |cookies: bool, sent: f64, completed: f64| {
            let mut trial = Trial::default();
            trial.key.put(SYNCOOKIES, cookies);
            (trial.rates.sent_rate, trial.rates.completed_rate) = (sent, completed);
            trial
        };
        let trials = [(false, 128.0, 128.0), (false, 2_000.0, 126.0), (false, 33_428.0, 96.0), (true, 4_000.0, 110.0)];
        let mut run = Run { trials: trials.map(|(c, s, x)| trial(c, s, x)).to_vec(), ..Run::default() };
        put_costs(&mut run);
        let costs: Vec<_> = run.trials.iter().map(|t| t.results.get(US_PER_DROPPED_SYN)).collect();
        // In this test, 33,332 drops per second took a quarter of a CPU. With syncookies on, the test has only one
        // trial, which is therefore also the best one, so no cost of a drop is stored.
        assert_eq!(costs, [None, None, Some(1e6 * 0.25 / 33_332.0), None]);
    }
}

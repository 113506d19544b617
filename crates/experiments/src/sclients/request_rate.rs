//! `lab request-rate`: simple clients cannot send more requests than the server's capacity, but S-Clients can. The
//! experiment measures the rate of connection requests at the server, and finds what limits the S-Clients.

use run::Relation::{AtLeast, AtMost};
use run::number::prose::counted;
use run::{Check, Key, Run, Trial};

use super::plans::{sclients, server, simple, timeout_ms, trial_s};
use super::test_setup::TestSetup;
use super::values::{DESCRIPTORS, SYN_RATE, SYNS_FILTER, SYNS_GENERATOR, SYNS_KERNEL};
use crate::Parameters;
use crate::experiment::BUILD_S;
use lab::{Lab, LabError};

/// Minimum share of the rate D/T (descriptors divided by the timeout) that the generator must send. A generator that
/// sends less has reached its limit.
const KEEPS_UP: f64 = 0.95;
/// Highest rate (2065 requests/s) divided by the server's capacity (130 requests/s) in the paper by Banga and Druschel
/// (source 1), rounded.
const PAST_CAPACITY: f64 = 16.0;
/// Maximum relative deviation from the mean, for a rate of simple clients that counts as constant.
const FLAT: f64 = 0.05;

/// Default numbers of simple clients.
const SIMPLE_CLIENTS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

/// Returns the planned time of the experiment, seconds.
pub(crate) fn planned_s(parameters: &Parameters) -> f64 {
    let least = (server(parameters).0 * timeout_ms(parameters) / 4e3).max(1.0);
    let doublings = (parameters.number("most_descriptors", 52_000.0) / least).log2().ceil().max(0.0);
    let trials = parameters.numbers("simple_clients", &SIMPLE_CLIENTS).len() as f64 + doublings + 1.0;
    BUILD_S + trials * trial_s(parameters)
}

/// Runs the experiment `lab request-rate`.
pub(crate) fn run(lab: &mut Lab<'_>, parameters: &Parameters) -> Result<(), LabError> {
    let (capacity, plan) = server(parameters);
    let mut setup = TestSetup::of(lab, parameters, &plan)?;
    if !parameters.flag("syncookies", false) {
        setup.server_sysctl("net.ipv4.tcp_syncookies", "0")?;
    }
    for clients in parameters.numbers("simple_clients", &SIMPLE_CLIENTS) {
        if lab.stopped() {
            return Ok(());
        }
        let label = format!("simple, {clients} client{}", if clients == 1.0 { "" } else { "s" });
        let plan = simple(parameters, clients as u32);
        let trial = setup.trial(lab, &label, Key { clients: Some(clients as u32), ..Key::default() }, &plan)?;
        keep(lab, trial)?;
    }
    let ends = s_clients(lab, &mut setup, parameters, capacity)?;
    conclude(&mut lab.run, capacity, timeout_ms(parameters), ends.as_deref());
    Ok(())
}

/// Runs trials with more and more descriptors. Stops at the maximum number of descriptors, or when the generator can no
/// longer send at the rate that the descriptors allow. Returns the resource that limited the generator; `None` if the
/// generator was always fast enough.
fn s_clients(
    lab: &mut Lab<'_>,
    setup: &mut TestSetup,
    parameters: &Parameters,
    capacity: f64,
) -> Result<Option<String>, LabError> {
    let t_s = timeout_ms(parameters) / 1e3;
    let most = parameters.number("most_descriptors", 52_000.0);
    let mut descriptors = (capacity * t_s / 4.0).max(1.0);
    while !lab.stopped() {
        let d = descriptors.round();
        let mut plan = sclients(parameters, d as u32);
        plan.threads = parameters.count("s_clients_a_host", 3);
        let label = format!("S-Clients, D = {d}");
        let trial = setup.trial(lab, &label, Key::default().with(DESCRIPTORS, d as u32), &plan)?;
        let (sent, wanted) = (trial.rates.sent_rate, d / t_s);
        let limit = (sent < KEEPS_UP * wanted).then(|| limit_of(&trial, setup.client_cpus(&trial)));
        keep(lab, trial)?;
        if let Some(limit) = limit {
            return Ok(Some(format!("at {sent:.0} requests/s ({d} descriptors wanted {wanted:.0}): {limit}")));
        }
        if descriptors >= most {
            break;
        }
        descriptors = (descriptors * 2.0).min(most);
    }
    Ok(None)
}

/// Returns words for the resource that limited the generator.
fn limit_of(trial: &Trial, cpus: f64) -> String {
    let window = trial.measured.window;
    let busy = trial.client.recording.sum("process.cpu", window, |_| true).value();
    let share = busy.map(|us| us / 1e6 / window.length_s().max(1e-9) / cpus);
    let errors = &trial.tally.errors.0;
    if let Some(n) = errors.get(&run::ErrorKind::ClientPorts) {
        return format!("client-ports, {} without a free port", counted(*n as f64, "connect"));
    }
    if let Some(n) = errors.get(&run::ErrorKind::ClientFds) {
        return format!("client-fds, {} without a free descriptor", counted(*n as f64, "connect"));
    }
    match share {
        Some(share) if share >= judge::FULL => {
            format!("client-cpu, the generator used {:.0} % of its CPUs", share * 100.0)
        }
        Some(share) => format!("unknown, the generator used {:.0} % of its CPUs", share * 100.0),
        None => "unknown, the generator's CPU time could not be read".into(),
    }
}

fn keep(lab: &mut Lab<'_>, mut trial: Trial) -> Result<(), LabError> {
    let window = trial.measured.window;
    if let Some(server) = &trial.server {
        let sum = |id| server.recording.sum(id, window, |_| true).value();
        if let (Some(opens), Some(drops)) = (sum("tcp.passive_opens"), sum("tcp.listen_drops")) {
            let rate = (opens + drops) / window.length_s().max(1e-9);
            trial.results.put(SYN_RATE, rate);
        }
    }
    lab.keep(trial).map(drop)
}

/// Returns the rate of connection requests that reached the server, per second. If no counter at the server measured
/// the rate, returns the rate that the generator sent.
fn syns(trial: &Trial) -> f64 {
    trial.results.get(SYN_RATE).unwrap_or(trial.rates.sent_rate)
}

fn conclude(run: &mut Run, capacity: f64, timeout_ms: f64, ends: Option<&str>) {
    let (mean, spread) = flat(run);
    let most = run.trials.iter().filter(|t| t.key.get(DESCRIPTORS).is_some()).map(syns).fold(0.0, f64::max);
    let flat = "simple clients are flat: largest deviation from their mean, from 4 clients on";
    let mut checks = vec![
        Check::new(flat, spread, AtMost, FLAT),
        Check::new("S-Clients reach this many times the capacity", most / capacity, AtLeast, PAST_CAPACITY),
    ];
    // On real hosts, no packet filter counts SYNs, so the three counts cannot be compared.
    let apart = run.trials.iter().filter_map(counts_apart).reduce(f64::max);
    let counts = "largest difference of the three counts of SYNs, S-Clients";
    checks.extend(apart.map(|apart| Check::new(counts, apart, AtMost, 0.005)));
    checks.extend(line(run, capacity, timeout_ms));
    run.findings.checks.extend(checks);
    run.findings.conclusions = vec![
        format!("The server completes about {capacity:.0} requests/s. {}", simple_clients(mean, spread)),
        s_clients_words(most, capacity, ends),
    ];
}

/// Returns the mean rate over all trials with at least 4 simple clients, and the largest relative deviation of a trial
/// from this mean.
fn flat(run: &Run) -> (f64, f64) {
    let rates: Vec<f64> = run.trials.iter().filter(|t| t.key.clients.is_some_and(|n| n >= 4)).map(syns).collect();
    let mean = judge::average(&rates);
    (mean, rates.iter().map(|rate| (rate / mean - 1.0).abs()).fold(0.0, f64::max))
}

/// Fits a line to the S-Clients' rate by number of descriptors, for rates up to [`PAST_CAPACITY`] times the capacity.
/// Returns checks of the fitted line.
fn line(run: &mut Run, capacity: f64, timeout_ms: f64) -> Vec<Check> {
    let sent = run.trials.iter().filter_map(|t| Some((f64::from(t.key.get(DESCRIPTORS)?), t.rates.sent_rate)));
    let points: Vec<(f64, f64)> =
        sent.filter(|(d, _)| d / timeout_ms * 1e3 <= capacity * PAST_CAPACITY * 1.01).collect();
    let Some(fit) = judge::fit::line_fit(&points, "descriptors", "requests_per_s") else { return Vec::new() };
    let slope = fit.coefficients.get("slope").copied().unwrap_or(f64::NAN);
    let off = (slope * timeout_ms / 1e3 - 1.0).abs();
    let straight = "R2 of S-Clients' rate against descriptors, up to 16 times the capacity";
    let checks = vec![
        Check::new(straight, fit.r2, AtLeast, 0.999),
        Check::new("slope against 1/T, relative difference", off, AtMost, 0.02),
    ];
    run.findings.fits.insert("s_clients".into(), fit);
    checks
}

fn s_clients_words(most: f64, capacity: f64, ends: Option<&str>) -> String {
    let times = most / capacity;
    let end = match ends {
        Some(end) => format!("their line ends {end}"),
        None => "their line did not end in the range that was tried".into(),
    };
    format!(
        "S-Clients ask for D/T whatever the server does, up to {most:.0} requests/s, {times:.0} times the capacity; {end}."
    )
}

/// Describes the rate of simple clients, and says whether it was constant.
fn simple_clients(mean: f64, spread: f64) -> String {
    match spread <= FLAT {
        true => format!(
            "Simple clients ask it for {mean:.0} requests/s however many they are: each waits for the server, so the server sets their pace."
        ),
        false => format!(
            "Simple clients asked it for {mean:.0} requests/s on average, up to {:.0} % apart: other programs changed their pace.",
            spread * 100.0
        ),
    }
}

/// Returns the largest relative difference between the three counts of SYNs in a trial: by the generator, the kernel
/// and the filter. Returns `None` for a trial with simple clients, or if a count is missing. For simple clients, the
/// kernel sends an unanswered SYN again after a second, and the generator does not count the second SYN.
fn counts_apart(trial: &Trial) -> Option<f64> {
    trial.key.get(DESCRIPTORS)?;
    let of = &trial.results;
    let counts = [of.get(SYNS_GENERATOR)?, of.get(SYNS_KERNEL)?, of.get(SYNS_FILTER)?];
    let (low, high) = counts.iter().fold((f64::MAX, 0.0_f64), |(l, h), c| (l.min(*c), h.max(*c)));
    Some((high - low) / high.max(1.0))
}

#[cfg(test)]
mod tests {
    use super::simple_clients;

    #[test]
    fn a_failed_check_gives_no_conclusion() {
        assert!(simple_clients(130.0, 0.04).contains("however many"));
        let failed = simple_clients(130.0, 0.3);
        assert!(!failed.contains("however many") && failed.contains("30 % apart"), "{failed}");
    }
}

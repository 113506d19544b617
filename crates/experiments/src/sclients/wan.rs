//! `lab wan`: a server at the end of a long line with delay and loss. The longer the delay, the longer a connection
//! stays open. A server with a limited number of threads that needs one thread per open connection therefore loses
//! throughput. A server with an event loop loses no throughput; it only has more open connections.

use run::Relation::{AtLeast, AtMost};
use run::{Arrival, Check, Intensity, Key, LoadPlan, Run, Trial};

use super::plans::{load, server, trial_s};
use super::test_setup::TestSetup;
use super::values::{DELAY_MS, LOSS, OPEN_CONNECTIONS};
use crate::Parameters;
use crate::experiment::BUILD_S;
use crate::values::MODEL;
use lab::{Lab, LabError};

/// I/O model of the server that needs threads for each connection. All other models of the experiment are event-driven.
const LIMITED: &str = "blocking";

/// Returns the planned time of the experiment, seconds.
pub(crate) fn planned_s(parameters: &Parameters) -> f64 {
    let lines = models(parameters).len() * losses(parameters).len() * delays_ms(parameters).len();
    lines as f64 * (BUILD_S + trial_s(parameters))
}

fn models(parameters: &Parameters) -> Vec<String> {
    parameters.texts("models", &["blocking", "epoll"])
}

fn losses(parameters: &Parameters) -> Vec<f64> {
    parameters.numbers("losses", &[0.0, 0.02])
}

fn delays_ms(parameters: &Parameters) -> Vec<f64> {
    parameters.numbers("delays_ms", &[0.0, 10.0, 25.0, 50.0, 100.0, 200.0])
}

/// Runs the experiment: one trial for each combination of server model, loss and delay.
pub(crate) fn run(lab: &mut Lab<'_>, parameters: &Parameters) -> Result<(), LabError> {
    for model in models(parameters) {
        for loss in losses(parameters) {
            for delay in delays_ms(parameters) {
                if lab.stopped() {
                    return Ok(());
                }
                let trial = point(lab, parameters, &model, delay, loss)?;
                lab.keep(trial)?;
            }
        }
    }
    conclude(&mut lab.run);
    Ok(())
}

/// Measures one server model over one line. The line delays packets by `delay` milliseconds in each direction.
fn point(lab: &mut Lab<'_>, parameters: &Parameters, model: &str, delay: f64, loss: f64) -> Result<Trial, LabError> {
    let (capacity, mut plan) = server(parameters);
    plan.model = model.to_string();
    if model == LIMITED {
        plan.options.insert("max_threads".into(), parameters.count("server_threads", 25).to_string());
    }
    let medium = format!("wan:delay={delay}ms,loss={}%", loss * 100.0);
    let mut setup = TestSetup::build(lab, &medium, 1, &plan)?;
    setup.server_sysctl("net.ipv4.tcp_syncookies", "0")?;
    let rate = parameters.number("offered_share", 0.7) * capacity;
    let intensity = Intensity::Open { rate, arrival: Arrival::Poisson, max_connections: 16_000, pipeline: 1 };
    let mut plan = LoadPlan { connect_timeout_s: 10.0, ..load(parameters, intensity) };
    // The load opens a new connection for each request, and the client closes the connection when it has the page. The
    // header `Connection` makes the server keep the connection open until the client closes it.
    if let Some(request) = plan.protocol.http_mut() {
        request.headers.push(("Connection".into(), "keep-alive".into()));
    }
    let label = format!("{model} {:.0} % loss, {delay:.0} ms", loss * 100.0);
    let key = Key { line: Some(format!("{model} {:.0} % loss", loss * 100.0)), ..Key::default() }
        .with(MODEL, model.to_string())
        .with(DELAY_MS, delay)
        .with(LOSS, loss);
    let mut trial = setup.trial(lab, &label, key, &plan)?;
    let window = trial.measured.window;
    let server = trial.server.as_ref();
    trial
        .results
        .put(OPEN_CONNECTIONS, server.and_then(|s| s.recording.reading("tcp.established", "", window).value()));
    Ok(trial)
}

fn delay_ms(trial: &Trial) -> f64 {
    trial.key.get(DELAY_MS).unwrap_or(f64::NAN)
}

fn open(trial: &Trial) -> f64 {
    trial.results.get(OPEN_CONNECTIONS).unwrap_or(f64::NAN)
}

/// Returns the two trials without loss that have the shortest and the longest delay. If `limited` is true, considers
/// only trials of the server model with threads, otherwise only trials of the other models.
fn ends(run: &Run, limited: bool) -> Option<(&Trial, &Trial)> {
    let own = |t: &&Trial| t.key.get(LOSS) == Some(0.0) && (t.key.get(MODEL).as_deref() == Some(LIMITED)) == limited;
    let clean = || run.trials.iter().filter(own);
    let by_delay = |a: &&Trial, b: &&Trial| delay_ms(a).total_cmp(&delay_ms(b));
    Some((clean().min_by(by_delay)?, clean().max_by(by_delay)?))
}

fn conclude(run: &mut Run) {
    let (mut checks, mut conclusions) = (Vec::new(), Vec::new());
    if let Some((near, far)) = ends(run, true) {
        let left = far.rates.completed_rate / near.rates.completed_rate;
        let check =
            Check::new("thread a connection: completed at the longest delay over that at none", left, AtMost, 0.9);
        let because = if check.pass {
            " As the source argues, a long line keeps each connection open for longer, and a server that may hold only so many takes fewer."
        } else {
            ""
        };
        let measured = line(near, far);
        conclusions
            .push(format!("With threads for each connection, and a limited number of threads, {measured}{because}"));
        checks.push(check);
    }
    if let Some((near, far)) = ends(run, false) {
        let left = far.rates.completed_rate / near.rates.completed_rate;
        let held = open(far) / open(near).max(1.0);
        let both = [
            Check::new("event-driven: completed at the longest delay over that at none", left, AtLeast, 0.9),
            Check::new("event-driven: open connections at the longest delay over those at none", held, AtLeast, 1.5),
        ];
        let all_pass = both.iter().all(|check| check.pass);
        let so = if all_pass { " It holds more connections and loses nothing." } else { "" };
        conclusions.push(format!("Event-driven, {}{so}", line(near, far)));
        checks.extend(both);
    }
    run.findings.checks.extend(checks);
    run.findings.conclusions = conclusions;
}

fn line(near: &Trial, far: &Trial) -> String {
    format!(
        "offered the same arrivals, {:.0} requests/s, the server completes {:.0}/s at {:.0} ms of round trip and {:.0}/s at {:.0} ms, with {:.1} and {:.1} connections open.",
        near.rates.sent_rate,
        near.rates.completed_rate,
        2.0 * delay_ms(near),
        far.rates.completed_rate,
        2.0 * delay_ms(far),
        open(near),
        open(far),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the conclusions for a server model that completes 100 requests/s without a delay, and `rate` at the
    /// longest delay.
    fn words(model: &str, rate: f64) -> String {
        let trial = |delay, rate, open| {
            let key = Key::default().with(MODEL, model.to_string()).with(DELAY_MS, delay).with(LOSS, 0.0);
            let results = run::Results::default().with(OPEN_CONNECTIONS, open);
            let mut trial = Trial { key, results, ..Trial::default() };
            trial.rates.completed_rate = rate;
            trial
        };
        let mut run = Run { trials: vec![trial(0.0, 100.0, 2.0), trial(200.0, rate, 40.0)], ..Run::default() };
        conclude(&mut run);
        run.findings.conclusions.join(" ")
    }

    #[test]
    fn conclusions_agree_with_the_checks() {
        assert!(words("epoll", 99.0).contains("loses nothing"));
        assert!(words("epoll", 50.0).contains("Event-driven") && !words("epoll", 50.0).contains("loses nothing"));
        assert!(words(LIMITED, 50.0).contains("As the source argues"));
        assert!(!words(LIMITED, 99.0).contains("As the source argues"));
    }
}

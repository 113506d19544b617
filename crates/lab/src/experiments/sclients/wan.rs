//! `lab wan`: the same server behind delay and loss. A server that holds a worker for each open connection loses
//! throughput as the line gets longer, because connections stay open longer; an event-driven one holds them for little.

use run::{Arrival, Intensity, LoadPlan, Run, Trial};

use super::{Arena, check, load, server};
use crate::experiments::Parameters;
use crate::{Lab, LabError};

/// Conducts the experiment: every delay and loss, each on a line of its own, for each way of serving.
pub(in crate::experiments) fn run(lab: &mut Lab<'_>, parameters: &Parameters) -> Result<(), LabError> {
    for model in parameters.texts("models", &["blocking", "epoll"]) {
        for loss in parameters.numbers("losses", &[0.0, 0.02]) {
            for delay in parameters.numbers("delays_ms", &[0.0, 10.0, 25.0, 50.0, 100.0]) {
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

/// One line: `delay` milliseconds each way, so a round trip takes twice as long.
fn point(lab: &mut Lab<'_>, parameters: &Parameters, model: &str, delay: f64, loss: f64) -> Result<Trial, LabError> {
    let (capacity, mut plan) = server(parameters);
    plan.model = model.to_string();
    plan.threads = parameters.count("server_threads", 1);
    let medium = format!("wan:delay={delay}ms,loss={}%", loss * 100.0);
    let mut arena = Arena::build(lab, &medium, 1, &plan)?;
    arena.server_sysctl("net.ipv4.tcp_syncookies", "0")?;
    let rate = parameters.number("offered_share", 0.9) * capacity;
    let intensity = Intensity::Open { rate, arrival: Arrival::Poisson, max_connections: 16_000 };
    let plan = LoadPlan { connect_timeout_s: 10.0, ..load(parameters, intensity) };
    let label = format!("{model} {:.0} % loss, {delay:.0} ms each way", loss * 100.0);
    let axes = [("delay_ms", delay), ("loss", loss), ("model", f64::from(u8::from(model != "blocking")))];
    let mut trial = arena.trial(lab, &label, &axes, &plan)?;
    let window = trial.measured.window;
    let open = trial.server.as_ref().and_then(|s| s.recording.reading("tcp.established", "", window).value());
    if let Some(open) = open {
        trial.axes.insert("open_connections".into(), open);
    }
    Ok(trial)
}

fn conclude(run: &mut Run) {
    let axis = |t: &Trial, name: &str| t.axes.get(name).copied().unwrap_or(f64::NAN);
    let clean: Vec<&Trial> = run.trials.iter().filter(|t| axis(t, "loss") == 0.0).collect();
    let far = clean.iter().max_by(|a, b| axis(a, "delay_ms").total_cmp(&axis(b, "delay_ms")));
    let near = clean.iter().min_by(|a, b| axis(a, "delay_ms").total_cmp(&axis(b, "delay_ms")));
    let (Some(near), Some(far)) = (near, far) else { return };
    let checks = vec![
        check(
            "completed rate at the longest delay over that at none",
            far.rates.completed_rate / near.rates.completed_rate,
            "at most",
            1.0,
        ),
        check(
            "open connections at the longest delay over those at none",
            axis(far, "open_connections") / axis(near, "open_connections").max(1.0),
            "at least",
            1.0,
        ),
    ];
    let conclusions = vec![format!(
        "Offered the same {:.0} requests/s, from {:.0} to {:.0} ms of round trip the completed rate goes from {:.0} to {:.0} requests/s and the server's open connections from {:.1} to {:.1}: a long line costs a server connections that it must hold, whether it can afford them or not.",
        near.rates.offered_rate,
        2.0 * axis(near, "delay_ms"),
        2.0 * axis(far, "delay_ms"),
        near.rates.completed_rate,
        far.rates.completed_rate,
        axis(near, "open_connections"),
        axis(far, "open_connections"),
    )];
    run.findings.checks.extend(checks);
    run.findings.conclusions = conclusions;
}

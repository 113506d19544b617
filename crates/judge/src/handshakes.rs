//! What a TLS handshake costs both sides in CPU time, where the windows of a run tell.
//!
//! Windows with a connection for each request, in turns with windows of kept connections, give a line of the CPU time of a
//! request over the handshakes of a request: its slope is the handshake, with the connect and the close around it. Where
//! a load had a connection for each request throughout, there is no such line, and the whole is an upper bound.

use run::{CpuTold, HandshakeCost, Run, Trial, TrialKind};

use crate::fit::linear;
use crate::number::{finite, percent, positive, ratio};
use crate::single::{closed, sides_of};
use crate::view::View;

/// Handshakes a request from which each request has one.
const EACH: f64 = 0.9;
/// Handshakes a request up to which connections count as kept.
const KEPT: f64 = 0.1;
/// The same of the short windows that are made in turns, whose ends cut between a handshake and its request.
const MANY: f64 = 0.5;
/// Fewest handshakes that say something.
const FEWEST: u64 = 20;

/// Handshakes a completed request in the measured window.
pub(crate) fn each(trial: &Trial) -> Option<f64> {
    let tally = &trial.measured.tally;
    ratio(tally.handshakes as f64, tally.completed as f64)
}

/// Whether each request of a trial came with a handshake of its own.
pub(crate) fn one_each(trial: &Trial) -> bool {
    trial.measured.tally.handshakes >= FEWEST && each(trial).is_some_and(|each| each >= EACH)
}

/// The cost, where it can be told; nothing without TLS.
pub(crate) fn cost(run: &Run) -> Option<HandshakeCost> {
    run.plan.load.tls.as_ref()?;
    turns(run).or_else(|| whole(run))
}

/// CPU time of a completed request of one side's processes, microseconds.
fn cpu_us(trial: &Trial, role: &str) -> Option<f64> {
    let view = sides_of(trial).into_iter().find(|view| view.role == role)?;
    view.per_request("process.cpu").and_then(positive)
}

fn turns(run: &Run) -> Option<HandshakeCost> {
    let sound = |t: &&Trial| t.kind == TrialKind::Handshakes && t.broken().is_none();
    let windows: Vec<&Trial> = run.trials.iter().filter(sound).collect();
    let kept = windows.iter().filter(|t| each(t).is_some_and(|each| each <= KEPT)).count();
    let anew: Vec<&Trial> = windows.iter().copied().filter(|t| each(t).is_some_and(|each| each >= MANY)).collect();
    if kept == 0 || counted(&anew).handshakes < FEWEST {
        return None;
    }
    let told = |side: &str| {
        let points: Vec<(f64, f64)> = windows.iter().filter_map(|t| Some((each(t)?, cpu_us(t, side)?))).collect();
        line(&points)
    };
    let (server, client) = (told("server"), told("client"));
    if server.is_none() && client.is_none() {
        return None;
    }
    let how = format!(
        "{} windows with a connection for each request, in turns with {kept} of kept connections: what the former's \
         requests take more is the handshake, with the connect and the close of its connection",
        anew.len()
    );
    Some(HandshakeCost { server, client, how, ..counted(&anew) })
}

/// The slope of CPU time over handshakes a request.
fn line(points: &[(f64, f64)]) -> Option<CpuTold> {
    if let Some(line) = linear(points) {
        return Some(CpuTold {
            us: positive(line.slope)?,
            low: Some(line.slope_interval.low),
            high: Some(line.slope_interval.high),
        });
    }
    let [(x0, y0), (x1, y1)] = points else { return None };
    Some(CpuTold { us: ratio(y1 - y0, x1 - x0).and_then(positive)?, low: None, high: None })
}

fn whole(run: &Run) -> Option<HandshakeCost> {
    let sound = |t: &&Trial| !t.kind.apart() && t.broken().is_none() && closed(t) && one_each(t);
    let windows: Vec<&Trial> = run.trials.iter().filter(sound).collect();
    let busiest = windows.iter().max_by(|a, b| a.rates.completed_rate.total_cmp(&b.rates.completed_rate))?;
    let told = |side: &str| {
        let us = ratio(cpu_us(busiest, side)?, each(busiest)?)?;
        Some(CpuTold { us: finite(us)?, low: None, high: None })
    };
    let (server, client) = (told("server"), told("client"));
    if server.is_none() && client.is_none() {
        return None;
    }
    let how =
        "each request had a connection of its own: this is the handshake with its connect, its one request and its \
               close, so at most this; loadline find on the same URL takes the request off"
            .to_owned();
    Some(HandshakeCost { server, client, with_request: true, how, ..counted(&[busiest]) })
}

/// How many handshakes, and of what kind.
fn counted(windows: &[&Trial]) -> HandshakeCost {
    let sum = |of: fn(&Trial) -> u64| windows.iter().fold(0_u64, |sum, t| sum.saturating_add(of(t)));
    let handshakes = sum(|t| t.measured.tally.handshakes);
    let resumed = ratio(sum(|t| t.measured.tally.handshakes_resumed) as f64, handshakes as f64).unwrap_or_default();
    HandshakeCost { handshakes, resumed, ..HandshakeCost::default() }
}

/// What kind of handshakes a trial had, in words.
pub(crate) fn kinds(trial: &Trial) -> String {
    let tally = &trial.measured.tally;
    match ratio(tally.handshakes_resumed as f64, tally.handshakes as f64) {
        Some(share) if share > 0.0 => format!("{} of them resumed", percent(share)),
        _ => "all of them full ones".into(),
    }
}

/// CPU time of a side's processes for a request with the handshake of its own, microseconds.
pub(crate) fn request_us(view: &View<'_>) -> Option<f64> {
    one_each(view.trial).then(|| view.per_request("process.cpu")).flatten().and_then(positive)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{PlantedRun, Who};

    /// Windows in which a request costs the server 100 us and a handshake 900, and so many of each.
    fn run(handshakes: &[f64]) -> Run {
        let mut all = Run::default();
        all.plan.load.tls = Some(run::TlsPlan::default());
        for (at, &share) in handshakes.iter().enumerate() {
            let noise = if at % 2 == 0 { 1.01 } else { 0.99 };
            let put = move |t: &mut Trial, _: &crate::planted::Point| {
                t.kind = TrialKind::Handshakes;
                t.measured.tally.handshakes = (t.measured.tally.completed as f64 * share) as u64;
            };
            let planted = PlantedRun::new(1000.0, 1e9)
                .steps(&[4])
                .rates(&[])
                .per_s(Who::Server, "process.cpu", "srv:100", move |p| p.x * noise * (100.0 + 900.0 * share))
                .per_s(Who::Client, "process.cpu", "loadline:50", move |p| p.x * (10.0 + 300.0 * share))
                .change(put);
            all.trials.extend(planted.run().trials);
        }
        crate::judge(&mut all);
        all
    }

    #[test]
    fn the_slope_over_handshakes_is_their_cost() {
        let run = run(&[1.0, 0.0, 0.0, 1.0, 1.0, 0.0]);
        let cost = run.findings.tls_handshake_cpu_us.unwrap();
        let (server, client) = (cost.server.unwrap(), cost.client.unwrap());
        let (low, high) = (server.low.unwrap(), server.high.unwrap());
        assert!(low <= 900.0 && 900.0 <= high && low > 700.0, "{server:?}");
        assert!((client.us - 300.0).abs() < 3.0, "{client:?}");
        assert!(!cost.with_request && cost.handshakes > 0 && cost.resumed == 0.0);
        assert!(cost.how.contains("3 windows") && run.findings.capacity.is_none(), "it is no load of a search");
    }

    #[test]
    fn without_kept_connections_or_without_tls_nothing_is_taken_off() {
        assert!(run(&[1.0]).findings.tls_handshake_cpu_us.is_none());
        assert!(run(&[0.0, 0.0]).findings.tls_handshake_cpu_us.is_none());
        let mut load = run(&[1.0]);
        load.trials[0].kind = TrialKind::Fixed;
        crate::judge(&mut load);
        let cost = load.findings.tls_handshake_cpu_us.clone().unwrap();
        assert!(cost.with_request && cost.how.contains("at most"));
        assert!((cost.server.unwrap().us - 1010.0).abs() < 5.0, "{cost:?}");
        load.plan.load.tls = None;
        crate::judge(&mut load);
        assert!(load.findings.tls_handshake_cpu_us.is_none());
    }
}

//! CPU cost of a TLS handshake for client and server, if the windows of a run show this cost.
//!
//! Windows with one connection per request alternate with windows in which connections are reused. A line is fitted
//! through the windows: CPU time per request as a function of handshakes per request. The slope of the fitted line is
//! the CPU time of a handshake, including the connect and the close. If every request of a load had its own connection,
//! no line can be fitted, but the cost of a request is an upper bound.

use run::{CpuEstimate, HandshakeCost, Run, Trial, TrialKind};

use crate::context::single::{closed, sides_of};
use crate::context::view::View;
use crate::number::{finite, percent, positive, ratio};
use crate::thresholds::{FEWEST_REQUESTS, MOST_RESUME, MOST_SHAKE};
use run::number::prose;
use stats::fit::linear;

/// Maximum number of handshakes per request in a window whose connections count as reused.
const KEPT: f64 = 0.1;
/// Minimum number of handshakes per request in a window in which each request counts as having its own handshake. In a
/// short window, the lower minimum [`MOST_SHAKE`] suffices, because the request of the last handshake may belong to the
/// next window.
const EACH: f64 = 1.0 - KEPT;
/// Maximum share of resumed handshakes in a window that counts as a window of full handshakes.
const MOSTLY_FULL: f64 = KEPT;

/// Returns the number of handshakes per completed request in the measured window.
pub(crate) fn each(trial: &Trial) -> Option<f64> {
    let tally = &trial.measured.tally;
    ratio(tally.handshakes as f64, tally.completed as f64)
}

/// Returns true if nearly every request of a trial had its own handshake.
pub(crate) fn one_each(trial: &Trial) -> bool {
    trial.measured.tally.handshakes >= FEWEST_REQUESTS && each(trial).is_some_and(|each| each >= EACH)
}

/// Returns the cost of a handshake, if the windows show it. Returns `None` for connections without TLS.
pub(crate) fn cost(run: &Run) -> Option<HandshakeCost> {
    run.plan.load.tls.as_ref()?;
    turns(run).or_else(|| whole(run))
}

/// Returns the CPU time of one side's processes per completed request, microseconds.
fn cpu_us(trial: &Trial, role: &str) -> Option<f64> {
    let view = sides_of(trial).into_iter().find(|view| view.role == role)?;
    view.per_request("process.cpu").and_then(positive)
}

fn turns(run: &Run) -> Option<HandshakeCost> {
    let sound = |t: &&Trial| t.kind == TrialKind::Handshakes && t.broken().is_none();
    let windows: Vec<&Trial> = run.trials.iter().filter(sound).collect();
    let kept = windows.iter().filter(|t| each(t).is_some_and(|each| each <= KEPT)).count();
    let anew: Vec<&Trial> =
        windows.iter().copied().filter(|t| each(t).is_some_and(|each| each >= MOST_SHAKE)).collect();
    if kept == 0 {
        return None;
    }
    let [full, again] = by_kind(&anew);
    let told = |side: &str, anew: &[&Trial]| {
        if counted(anew).handshakes < FEWEST_REQUESTS {
            return None;
        }
        let kept = windows.iter().filter(|t| each(t).is_some_and(|each| each < MOST_SHAKE));
        let all = kept.chain(anew);
        let points: Vec<(f64, f64)> = all.filter_map(|t| Some((each(t)?, cpu_us(t, side)?))).collect();
        line(&points)
    };
    let (server, client) = (told("server", &full), told("client", &full));
    let share = counted(&again).resumed;
    let resumed =
        |side: &str, full: Option<CpuEstimate>| told(side, &again).and_then(|both| less_full(both, full, share));
    let (server_resumed, client_resumed) = (resumed("server", server), resumed("client", client));
    if [server, client, server_resumed, client_resumed].iter().all(Option::is_none) {
        return None;
    }
    let how = format!(
        "{} with one connection per request, in turns with {} on kept connections: the extra CPU time per request is the handshake, with its connect and close",
        prose::counted(anew.len() as f64, "window"),
        prose::counted(kept as f64, "window")
    );
    Some(HandshakeCost { server, client, server_resumed, client_resumed, how, ..counted(&anew) })
}

/// Returns the windows with mostly full handshakes, and the windows with mostly resumed handshakes. If no window has
/// mostly full handshakes, the first list contains the windows with a mixture of full and resumed handshakes.
fn by_kind<'t>(anew: &[&'t Trial]) -> [Vec<&'t Trial>; 2] {
    let of = |from: f64, to: f64| -> Vec<&Trial> {
        anew.iter().copied().filter(|t| (from..to).contains(&counted(&[*t]).resumed)).collect()
    };
    let full = of(0.0, MOSTLY_FULL);
    let full = if full.is_empty() { of(MOSTLY_FULL, MOST_RESUME) } else { full };
    [full, of(MOST_RESUME, f64::INFINITY)]
}

/// Returns the cost of a resumed handshake. `both` is the mean cost in windows with full and resumed handshakes, where
/// `share` is the share of resumed handshakes. If the cost `full` of a full handshake is known, the share of the full
/// handshakes is subtracted from `both`.
fn less_full(both: CpuEstimate, full: Option<CpuEstimate>, share: f64) -> Option<CpuEstimate> {
    let others = full.map_or(0.0, |full| full.us * (1.0 - share));
    let of = |us: f64| if full.is_some() { (us - others) / share } else { us };
    Some(CpuEstimate { us: positive(of(both.us))?, low: both.low.map(of), high: both.high.map(of) })
}

/// Returns the mean CPU time of a handshake at the server, microseconds, for this trial's mix of full and resumed
/// handshakes.
pub(crate) fn server_us(cost: &HandshakeCost, trial: &Trial) -> Option<f64> {
    let share = counted(&[trial]).resumed;
    match (cost.server, cost.server_resumed) {
        (Some(full), Some(resumed)) => Some(full.us * (1.0 - share) + resumed.us * share),
        (full, resumed) => full.or(resumed).map(|told| told.us),
    }
}

/// Returns the slope of a line through the windows: CPU time per request as a function of handshakes per request.
fn line(points: &[(f64, f64)]) -> Option<CpuEstimate> {
    if let Some(line) = linear(points) {
        return Some(CpuEstimate {
            us: positive(line.slope)?,
            low: Some(line.slope_interval.low),
            high: Some(line.slope_interval.high),
        });
    }
    let [(x0, y0), (x1, y1)] = points else { return None };
    Some(CpuEstimate { us: ratio(y1 - y0, x1 - x0).and_then(positive)?, low: None, high: None })
}

fn whole(run: &Run) -> Option<HandshakeCost> {
    let sound = |t: &&Trial| !t.kind.is_auxiliary() && t.broken().is_none() && closed(t) && one_each(t);
    let windows: Vec<&Trial> = run.trials.iter().filter(sound).collect();
    let busiest = windows.iter().max_by(|a, b| a.rates.completed_rate.total_cmp(&b.rates.completed_rate))?;
    let told = |side: &str| {
        let us = ratio(cpu_us(busiest, side)?, each(busiest)?)?;
        Some(CpuEstimate { us: finite(us)?, low: None, high: None })
    };
    let (server, client) = (told("server"), told("client"));
    if server.is_none() && client.is_none() {
        return None;
    }
    let counts = counted(&[busiest]);
    let how =
        "an upper bound: it includes the connect, the request and the close of each connection; `loadline find` on the same URL measures the handshake alone"
            .to_owned();
    let cost = HandshakeCost { with_request: true, how, ..counts };
    if cost.resumed >= EACH {
        return Some(HandshakeCost { server_resumed: server, client_resumed: client, ..cost });
    }
    Some(HandshakeCost { server, client, ..cost })
}

/// Counts the handshakes of the given windows, and computes the share of resumed handshakes.
fn counted(windows: &[&Trial]) -> HandshakeCost {
    let sum = |of: fn(&Trial) -> u64| windows.iter().fold(0_u64, |sum, t| sum.saturating_add(of(t)));
    let handshakes = sum(|t| t.measured.tally.handshakes);
    let resumed = ratio(sum(|t| t.measured.tally.handshakes_resumed) as f64, handshakes as f64).unwrap_or_default();
    HandshakeCost { handshakes, resumed, ..HandshakeCost::default() }
}

/// Returns the share of resumed handshakes of a trial, in words.
pub(crate) fn kinds(trial: &Trial) -> String {
    let tally = &trial.measured.tally;
    match ratio(tally.handshakes_resumed as f64, tally.handshakes as f64) {
        Some(share) if share > 0.0 => format!("{} resumed", percent(share)),
        _ => "none resumed".into(),
    }
}

/// Returns the CPU time of a side's processes per request, microseconds. Returns `None` unless each request had its own
/// handshake.
pub(crate) fn request_us(view: &View<'_>) -> Option<f64> {
    one_each(view.trial).then(|| view.per_request("process.cpu")).flatten().and_then(positive)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{PlantedRun, Who};

    /// Makes one window per entry of `all`: handshakes per request, and the share of resumed handshakes. The server
    /// uses 100 µs of CPU time per request, 900 µs per full handshake and 200 µs per resumed handshake. The client uses
    /// 10 µs per request, 300 µs per full handshake and 50 µs per resumed handshake.
    fn windows(all: &[(f64, f64)]) -> Run {
        let mut whole = Run::default();
        whole.plan.load.tls = Some(run::TlsPlan::default());
        for (at, &(share, resumed)) in all.iter().enumerate() {
            let noise = if at % 2 == 0 { 1.01 } else { 0.99 };
            let of = move |full: f64, again: f64| share * (full * (1.0 - resumed) + again * resumed);
            let put = move |t: &mut Trial, _: &crate::planted::Point| {
                t.kind = TrialKind::Handshakes;
                let tally = &mut t.measured.tally;
                tally.handshakes = (tally.completed as f64 * share) as u64;
                tally.handshakes_resumed = (tally.handshakes as f64 * resumed) as u64;
            };
            let planted = PlantedRun::new(1000.0, 1e9)
                .steps(&[4])
                .rates(&[])
                .per_s(Who::Server, "process.cpu", "srv:100", move |p| p.x * noise * (100.0 + of(900.0, 200.0)))
                .per_s(Who::Client, "process.cpu", "loadline:50", move |p| p.x * (10.0 + of(300.0, 50.0)))
                .change(put);
            whole.trials.extend(planted.run().trials);
        }
        crate::judge(&mut whole);
        whole
    }

    /// Makes a run of windows that have only full handshakes.
    fn run(handshakes: &[f64]) -> Run {
        windows(&handshakes.iter().map(|share| (*share, 0.0)).collect::<Vec<_>>())
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

    /// In the windows with resumed handshakes, one of ten handshakes is full, as at the start of a load.
    #[test]
    fn resumed_handshakes_are_separated_from_full_ones() {
        let all = windows(&[(1.0, 0.0), (0.0, 0.0), (1.0, 0.9), (1.0, 0.9), (0.0, 0.0), (1.0, 0.0)]);
        let cost = all.findings.tls_handshake_cpu_us.clone().unwrap();
        let us = |told: Option<CpuEstimate>| told.unwrap().us;
        assert!((us(cost.server) - 900.0).abs() < 30.0 && (us(cost.client) - 300.0).abs() < 3.0, "{cost:?}");
        assert!((us(cost.server_resumed) - 200.0).abs() < 30.0, "{cost:?}");
        assert!((us(cost.client_resumed) - 50.0).abs() < 3.0, "{cost:?}");
        assert!((0.4..0.5).contains(&cost.resumed), "{cost:?}");
        let of = |trial: usize| server_us(&cost, &all.trials[trial]).unwrap();
        assert!((of(0) - us(cost.server)).abs() < 1e-9 && of(2) > us(cost.server_resumed) && of(2) < of(0) / 2.0);
        // If a plan demands that all handshakes are resumed, the cost of a full handshake is unknown.
        let cost = windows(&[(1.0, 1.0), (0.0, 0.0), (1.0, 1.0), (0.0, 0.0)]).findings.tls_handshake_cpu_us.unwrap();
        assert!(cost.server.is_none() && (us(cost.server_resumed) - 200.0).abs() < 30.0, "{cost:?}");
        let cost = windows(&[(1.0, 0.3), (0.0, 0.0), (1.0, 0.3), (0.0, 0.0)]).findings.tls_handshake_cpu_us.unwrap();
        assert!(cost.server_resumed.is_none() && (us(cost.server) - 690.0).abs() < 30.0, "{cost:?}");
    }

    #[test]
    fn handshake_cost_subtracts_nothing_without_kept_connections_or_tls() {
        assert!(run(&[1.0]).findings.tls_handshake_cpu_us.is_none());
        assert!(run(&[0.0, 0.0]).findings.tls_handshake_cpu_us.is_none());
        let mut load = run(&[1.0]);
        load.trials[0].kind = TrialKind::Fixed;
        crate::judge(&mut load);
        let cost = load.findings.tls_handshake_cpu_us.clone().unwrap();
        assert!(cost.with_request && cost.how.contains("upper bound"));
        assert!((cost.server.unwrap().us - 1010.0).abs() < 5.0, "{cost:?}");
        load.plan.load.tls = None;
        crate::judge(&mut load);
        assert!(load.findings.tls_handshake_cpu_us.is_none());
    }
}

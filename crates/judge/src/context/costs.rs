//! Computation of the costs of one request. Each row of [`COSTS`] divides the growth of some counters in the measured
//! window by the number of requests completed in this window. The counters of a cost belong to one side, client or
//! server. Method: R. Blake's rule to compare ratios of counters, never raw rates.
//!
//! Counters of a whole host or namespace include all its programs. If client and server share a host or namespace, a
//! cost from its counters is the cost of client and server together. Rows named `process_…` count only the processes of
//! one side (client or server). In rows named `…_net`, the growth that the counters also had before the load (at rest)
//! is subtracted.

use run::{Cost, Reading, Run, Side, Trial, Window};

use crate::context::cost_table::{COSTS, CostSpec, Part, Rest};
use crate::context::own_rate::rate_of;
use crate::context::sides::window_of;
use crate::context::ticks;
use crate::number::{finite, positive};

/// Fills the costs of both sides of every trial.
pub(crate) fn derive(run: &mut Run) {
    let Run { at_rest, trials, .. } = run;
    trials.iter_mut().for_each(|trial| derive_trial(trial, at_rest));
}

/// Fills the costs of both sides of one trial. `rest` contains the counters before any load, in this order: client,
/// server, further client hosts.
pub(crate) fn derive_trial(trial: &mut Trial, rest: &[Side]) {
    let at_rest = |side: &Side| rest.iter().find(|at_rest| at_rest.host == side.host).or(rest.first());
    let client = costs(trial, &trial.client, at_rest(&trial.client));
    let hosts: Vec<_> = trial.client_hosts.iter().map(|side| costs(trial, side, at_rest(side))).collect();
    let server = trial.server.as_ref().map(|s| costs(trial, s, rest.get(1)));
    let of_both =
        server.iter().flatten().filter(|(id, cost)| is_of_both(id, trial) && cost.per_request.value().is_some());
    let of_both: Vec<_> = of_both.map(|(id, cost)| (id.clone(), cost.clone())).collect();
    trial.client.costs = client;
    trial.client.costs.extend(of_both);
    trial.client_hosts.iter_mut().zip(hosts).for_each(|(side, costs)| side.costs = costs);
    if let (Some(side), Some(costs)) = (&mut trial.server, server) {
        side.costs = costs;
    }
}

/// Returns true if client and server read the same counters for a cost, for example on one host. Client and server read
/// shared counters at slightly different times, so only the server's readings are used.
fn is_of_both(id: &str, trial: &Trial) -> bool {
    let shared = |part: &Part| run::counter(part.counter).is_some_and(|spec| trial.shares_scope(spec.scope()));
    let spec = COSTS.iter().find(|spec| spec.id == id);
    trial.client_hosts.is_empty() && spec.is_some_and(|spec| spec.numerator.iter().all(shared))
}

fn costs(trial: &Trial, side: &Side, rest: Option<&Side>) -> std::collections::BTreeMap<String, Cost> {
    // A side without a recording has no costs. Counters collected by another tool count as a recording.
    if side.recording.columns.is_empty() && side.recording.absent.is_empty() {
        return std::collections::BTreeMap::new();
    }
    let cost = |spec: &CostSpec| Cost {
        per_request: per_request(spec, trial, side, rest).map_or_else(Reading::absent, Reading::Value),
        unit: spec.unit,
    };
    COSTS.iter().map(|spec| (spec.id.to_string(), cost(spec))).collect()
}

fn per_request(spec: &CostSpec, trial: &Trial, side: &Side, rest: Option<&Side>) -> Result<f64, String> {
    let window = window_of(trial);
    let span_s = positive(side.recording.span_s(window)).ok_or("fewer than two samples in the window")?;
    let rate = rate_of(trial, side).ok_or("no request completed in the window")?;
    let mut per_s = growth(spec.numerator, side, window)? / span_s;
    if is_below_ticks(spec, side, window) {
        return Err("too little CPU time in the window: the kernel counts it in ticks of 10 ms".into());
    }
    if spec.rest == Rest::Net {
        let rest = rest.ok_or("the rate at rest was not measured")?;
        let rest_s = positive(rest.recording.span_s(Window::ALL)).ok_or("the rate at rest was not measured")?;
        per_s = (per_s - growth(spec.numerator, rest, Window::ALL)? / rest_s).max(0.0);
    }
    finite(per_s / rate).ok_or_else(|| "the quotient is not a number".into())
}

/// Returns true if a cost is part of a CPU time that grew by less than the error of the kernel's clock ticks.
fn is_below_ticks(spec: &CostSpec, side: &Side, window: Window) -> bool {
    let Some(whole) = spec.numerator.iter().find_map(|part| ticks::whole(part.counter)) else { return false };
    let parts: Vec<Part> = whole.iter().map(|counter| Part { counter, instance: "", optional: false }).collect();
    growth(&parts, side, window).is_ok_and(|us| us < ticks::error_s(whole) * 1e6)
}

fn growth(parts: &[Part], side: &Side, window: Window) -> Result<f64, String> {
    let mut sum = 0.0;
    for part in parts {
        let reading = if part.instance.is_empty() {
            let derived = side.counters.iter().find(|(id, _)| id.as_str() == part.counter);
            derived.map_or_else(|| side.recording.why_absent(part.counter, ""), |(_, r)| r.clone())
        } else {
            side.recording.reading(part.counter, part.instance, window)
        };
        match reading {
            Reading::Value(v) if v.is_finite() => sum += v,
            Reading::Value(_) => return Err(format!("{} is not a number", part.counter)),
            Reading::Absent { .. } if part.optional => {}
            Reading::Absent { absent } => return Err(absent),
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Column, CounterId, Recording};

    fn side(id: &'static str, instance: &str, values: &[f64]) -> Side {
        let t_s = (0..values.len()).map(|i| i as f64).collect();
        let values = values.iter().copied().map(Some).collect();
        let column = Column { counter: CounterId::new(id), instance: instance.into(), values };
        Side { recording: Recording { t_s, columns: vec![column], ..Recording::default() }, ..Side::default() }
    }

    /// While 10 requests completed, each kind of CPU time of the host grew by one tick or by ten ticks, except the time
    /// of hardware interrupts.
    #[test]
    fn a_time_below_the_error_of_its_ticks_is_unknown() {
        let costs = |n: f64| {
            let grown = |id| if id == "cpu.irq" { 0.0 } else { n * 1e4 };
            let sides = ticks::OF_HOST.map(|id| side(id, "", &[0.0, grown(id)]));
            let columns = sides.into_iter().flat_map(|side| side.recording.columns).collect();
            let recording = Recording { t_s: vec![0.0, 1.0], columns, ..Recording::default() };
            judged(Side { recording, ..Side::default() }, None)
        };
        assert!(["cpu_us", "cpu_user_us"].iter().all(|id| costs(1.0)[*id].per_request.value().is_none()));
        assert_eq!(costs(10.0)["cpu_us"].per_request, Reading::Value(30_000.0));
        assert_eq!(costs(10.0)["cpu_irq_us"].per_request, Reading::Value(0.0), "a part of a known whole");
    }

    #[test]
    fn one_host_has_one_cost_for_both_sides() {
        let of = |values: &[f64]| Side { machine: "one".into(), ..side("system.interrupts", "", values) };
        let server = Some(of(&[100.0, 150.0]));
        let mut trial = Trial { client: of(&[100.0, 140.0]), server, ..Trial::default() };
        trial.rates.completed_rate = 10.0;
        let mut run = Run { trials: vec![trial], ..Run::default() };
        crate::context::sides::derive(&mut run);
        derive(&mut run);
        let cost = |side: &Side| side.costs["interrupts"].per_request.clone();
        assert_eq!(cost(&run.trials[0].client), Reading::Value(5.0));
        assert_eq!(cost(run.trials[0].server.as_ref().unwrap()), Reading::Value(5.0));
    }

    fn judged(load: Side, rest: Option<Side>) -> std::collections::BTreeMap<String, Cost> {
        let mut trial = Trial { client: load, ..Trial::default() };
        trial.rates.completed_rate = 10.0;
        let mut run = Run { trials: vec![trial], at_rest: rest.into_iter().collect(), ..Run::default() };
        crate::context::sides::derive(&mut run);
        derive(&mut run);
        run.trials[0].client.costs.clone()
    }

    #[test]
    fn growth_over_the_window_is_divided_by_what_completed_in_it() {
        let costs = judged(side("system.interrupts", "", &[100.0, 140.0, 180.0]), None);
        assert_eq!(costs["interrupts"].per_request, Reading::Value(4.0));
        assert!(costs["interrupts_net"].per_request.value().is_none());
        assert!(costs["cpu_us"].per_request.value().is_none());
    }

    #[test]
    fn net_costs_subtract_the_rate_at_rest() {
        let rest = side("system.interrupts", "", &[0.0, 10.0]);
        let costs = judged(side("system.interrupts", "", &[100.0, 140.0, 180.0]), Some(rest));
        assert_eq!(costs["interrupts"].per_request, Reading::Value(4.0));
        assert_eq!(costs["interrupts_net"].per_request, Reading::Value(3.0));
    }

    #[test]
    fn one_instance_can_be_picked() {
        let costs = judged(side("softirq.count", "NET_RX", &[0.0, 20.0]), None);
        assert_eq!(costs["softirqs_net_rx"].per_request, Reading::Value(2.0));
        assert!(costs["softirqs_net_tx"].per_request.value().is_none());
    }
}

//! The argument for the verdict in steps, in the order of R. Blake (*Optimizing Windows NT*, 1993). The steps begin
//! with one client, continue with more clients and the cost of a request, and end with the most used resource. Each
//! step of the argument is one sentence that contains its figures. The last step is the verdict.

use run::Findings;

use crate::Facts;
use crate::conclude::decide::{gives_objective, missed_by_part};
use crate::context::demand::demands;
use crate::context::laws::{Step, steps};
use crate::context::single::server_of;
use crate::context::sweep::Plateau;
use crate::network::ack_timer::wait_without_worker_us;
use crate::number::{counted, duration, figure, grew, percent, rate, ratio};
use crate::thresholds::DEMAND_CHANGES;

/// Returns the steps of the argument for the verdict, one sentence each.
pub(crate) fn argument(facts: &Facts<'_>, findings: &Findings) -> Vec<String> {
    let steps = steps(facts);
    let mut out = Vec::new();
    out.extend(first(&steps));
    out.extend(growth(facts, &steps));
    out.extend(knee(facts, findings, &steps));
    out.extend(cost_change(facts));
    out.extend(ranking(facts));
    out.extend(findings.span_growth.as_ref().and_then(|growth| crate::estimate::spans::sentence(facts.run, growth)));
    out.extend(objective(facts, findings));
    out.push(end(findings));
    out
}

fn first(steps: &[Step]) -> Option<String> {
    let one = steps.first()?;
    let clients = if one.n <= 1.0 { "One client".to_string() } else { counted(one.n, "client") };
    Some(format!("{clients} completed {} with a response time of {}.", rate(one.x), duration(one.r_us)))
}

fn growth(facts: &Facts<'_>, steps: &[Step]) -> Option<String> {
    if steps.len() < 2 {
        return None;
    }
    let one = steps.first()?;
    let list: Vec<String> = steps
        .iter()
        .skip(1)
        .map(|s| {
            format!(
                "{} completed {} ({} times the first, {})",
                figure(s.n),
                rate(s.x),
                ratio(s.x, one.x).map_or_else(|| "?".into(), figure),
                duration(s.r_us)
            )
        })
        .collect();
    let end = match facts.plateau {
        Plateau::Flat { from, to, growth } => {
            format!(
                "From {} to {} clients throughput {}: it has stopped growing",
                figure(from),
                figure(to),
                grew(growth)
            )
        }
        _ => "Throughput was still growing at the last step".into(),
    };
    Some(format!("Adding clients: {}. {end}.", list.join("; ")))
}

/// Returns the sentence about the knee. If a part of R1 is a wait for a delayed acknowledgement, the sentence also says
/// where the knee would be without this wait, because the advice is to end the wait.
fn knee(facts: &Facts<'_>, findings: &Findings, steps: &[Step]) -> Option<String> {
    let k = findings.knee.as_ref()?;
    let each = ratio(1e6, k.x_max)?;
    let last = steps.iter().rev().find_map(|s| s.dr_us).filter(|d| *d > 0.0);
    let seen = last.map_or(String::new(), |d| format!(" (the last step added {} per client)", duration(d)));
    let wait_us = wait_without_worker_us(facts).filter(|wait_us| *wait_us < k.r1_us);
    let without_wait = wait_us.map_or(String::new(), |wait_us| {
        let places = counted((k.r1_us - wait_us) / 1e6 * k.x_max, "request");
        format!(
            " Of R1, {} are a wait for a delayed ACK: without this wait, the server is full with {places} in flight.",
            duration(wait_us)
        )
    });
    Some(format!(
        "The server is full with R1 × Xmax = {} × {} = {} in flight (the knee). Each further client only waits and adds 1/Xmax = {} to the response time{seen}.{without_wait}",
        duration(k.r1_us),
        rate(k.x_max),
        counted(k.concurrency, "request"),
        duration(each)
    ))
}

fn cost_change(facts: &Facts<'_>) -> Option<String> {
    let (one, top) = (facts.unloaded?, facts.decisive?);
    let cost = |t| server_of(t).and_then(|v| ratio(v.cpu_used()? * 1e6, v.trial.rates.completed_rate));
    let (a, b) = (cost(one)?, cost(top)?);
    let change = ratio(b, a)? - 1.0;
    let meaning = if change <= -DEMAND_CHANGES {
        "it gets cheaper with load, so the longer response time is waiting, not work"
    } else if change >= DEMAND_CHANGES {
        "it gets more expensive with load"
    } else {
        "it hardly changes with load"
    };
    Some(format!(
        "A request cost the server {} of CPU time with one client and {} at the limit: {meaning}.",
        duration(a),
        duration(b)
    ))
}

fn ranking(facts: &Facts<'_>) -> Option<String> {
    let demands = demands(facts);
    let list: Vec<String> = demands
        .iter()
        .take(5)
        .map(|d| format!("{} {} ({} in use)", d.device, duration(d.seconds * 1e6), percent(d.utilisation)))
        .collect();
    (!list.is_empty()).then(|| format!("One request needs, largest first: {}.", list.join("; ")))
}

/// Returns the sentence that says whether the objective was met. If the user chose the loads, returns a sentence only
/// if the user also gave an objective.
fn objective(facts: &Facts<'_>, findings: &Findings) -> Option<String> {
    let c = findings.capacity.as_ref()?;
    if facts.run.is_of_chosen_loads() {
        let part_missed = missed_by_part(facts.run, findings.course.as_ref()).is_some();
        let word = if c.held && !part_missed { "met" } else { "not met" };
        return gives_objective(facts.run)
            .then(|| format!("The objective ({}) was {word} at {}.", c.objective, rate(c.rate)));
    }
    if !c.held {
        return Some(format!("The objective ({}) failed at every load.", c.objective));
    }
    let failed = c.failed_at.map_or(String::new(), |f| format!("; it failed at an offered {}", rate(f)));
    let interval = match (c.low, c.high) {
        (Some(low), Some(high)) => format!(" (95 % interval {} to {})", rate(low), rate(high)),
        _ => String::new(),
    };
    let least = match (c.at_least, c.failed_at) {
        (false, _) => "",
        (true, _) if c.growing.is_some() => ", while the server still started processes",
        (true, None) => ", the highest load that was tried",
        (true, Some(_)) => ", and too few rates were tried between",
    };
    let source = c.closed_loop.map(|source| source.words()).or(c.long_run.map(|long| long.words()));
    let source = source.map_or(String::new(), |source| format!(" ({source})"));
    Some(format!("The objective ({}) held up to {}{interval}{source}{failed}{least}.", c.objective, rate(c.rate)))
}

fn end(findings: &Findings) -> String {
    let b = &findings.bottleneck;
    format!("{}: {} [{}].", b.sureness.therefore(), b.sentence, b.id)
}

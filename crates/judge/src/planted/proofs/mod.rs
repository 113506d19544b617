//! Made-up experiments on verdicts: the runs, the trials with levers, and the verdicts after the experiments.

mod runs;
mod sentences;
mod trials;

use run::{Bottleneck, Evidence, Proof, Run, UpstreamLimit, WaitsFor};
pub(crate) use runs::*;
pub(super) use sentences::sentences;
pub(crate) use trials::*;

use super::{PlantedRun, Who};
use crate::number::percent;
use crate::prove::{conclude, predicted, suspects_of};

/// Makes an experiment on the verdict that one thread is full, under a load that saturates nothing ([`few_clients`]).
/// `more_load` is the throughput with twice the load, divided by the throughput with the plain load.
pub(crate) fn of_few_clients(id: &str, more_load: Option<f64>) -> (Proof, Bottleneck) {
    tried_on(few_clients(0.91), verdict(id, 0.34), |proof, _| {
        proof.trials.push(slots("server-cpu", 0.91, 0.03));
        proof.trials.push(count(0.5, 1.0));
        proof.switched.extend(more_load.map(|ratio| turns(run::LOAD_LEVER, ratio)));
    })
}

/// Returns a verdict with this ID and confidence.
pub(crate) fn verdict(id: &str, confidence: f64) -> Bottleneck {
    Bottleneck { id: id.into(), confidence, ..Bottleneck::default() }
}

/// Makes an experiment on a verdict about a run. Returns the experiment and the verdict after the experiment.
/// `experiment` adds the trials; its second argument is the verdict's first lever.
pub(crate) fn tried_on(run: Run, verdict: Bottleneck, experiment: impl Fn(&mut Proof, &str)) -> (Proof, Bottleneck) {
    tried_with(run, verdict, DOSE, experiment)
}

/// Makes a run with an experiment, as [`tried_on`] does. `dose` is the planned dose: the share of its resource that the
/// lever takes, negative for a lever that adds to its resource.
fn tried_with(
    mut run: Run,
    mut verdict: Bottleneck,
    dose: f64,
    experiment: impl Fn(&mut Proof, &str),
) -> (Proof, Bottleneck) {
    crate::judge(&mut run);
    run.findings.bottleneck = verdict.clone();
    let lever = suspects_of(&verdict).next().map_or("server-cpu", |suspect| suspect.lever);
    let mut proof = predicted(&run, lever, dose);
    experiment(&mut proof, lever);
    conclude(&crate::Facts::of(&run), &mut proof, &mut verdict);
    (proof, verdict)
}

/// Makes an experiment like [`tried_on`], on the run of a full server. For the verdict `server-concurrency`, the run
/// has a queue that no counter shows.
fn tried(verdict: Bottleneck, experiment: impl Fn(&mut Proof, &str)) -> (Proof, Bottleneck) {
    let run = if verdict.id == "server-concurrency" { unseen_queue() } else { full() };
    tried_on(run, verdict, experiment)
}

/// Makes an experiment with time slots. `own` and `client` are the elasticities of throughput for the resource that the
/// verdict names and for the generator's CPU.
pub(crate) fn in_slots(id: &str, own: f64, client: f64) -> (Proof, Bottleneck) {
    tried(verdict(id, 0.9), |proof, lever| proof.trials.push(slots(lever, own, client)))
}

/// Makes an experiment with turns. `ratio` is throughput with the verdict's lever divided by throughput without this
/// lever.
pub(crate) fn in_turns(id: &str, ratio: f64) -> (Proof, Bottleneck) {
    in_turns_on(Run::default(), id, ratio)
}

/// Makes an experiment with turns, as [`in_turns`] does, on a given run.
pub(crate) fn in_turns_on(run: Run, id: &str, ratio: f64) -> (Proof, Bottleneck) {
    tried_with(run, verdict(id, 0.9), -1.0, |proof, lever| proof.switched.push(turns(lever, ratio)))
}

/// Makes an experiment on a server that waits for an upstream. `own` is the elasticity of throughput for the upstream's
/// resource, and `limit` this upstream's known limit, if any.
pub(crate) fn upstream(limit: Option<run::UpstreamLimit>, own: f64) -> (Proof, Bottleneck) {
    let waits_for = Some(WaitsFor { address: "127.0.0.1:8001".into(), limit, ..WaitsFor::default() });
    tried(Bottleneck { waits_for, ..verdict("server-concurrency", 0.8) }, |proof, lever| {
        proof.trials.push(slots_beside(lever, own, 0.01));
    })
}

/// Makes an experiment during which throughput falls by 40 % at time slot `slot`, and stays low.
pub(crate) fn slower_from(id: &str, confidence: f64, slot: usize) -> (Proof, Bottleneck) {
    tried(verdict(id, confidence), |proof, lever| {
        let mut trial = slots(lever, 0.95, 0.02);
        for t in slot..SLOTS {
            trial.completed_rate[t] *= 0.6;
        }
        for t in SLOTS - 8..SLOTS {
            trial.levers.iter_mut().for_each(|l| (l.on[t], l.speed[t]) = (false, 1.0));
        }
        proof.trials.push(trial);
    })
}

/// Makes an experiment on a full server whose throughput falls much more than predicted from the dose. The dose is the
/// share of its resource that the lever takes.
pub(crate) fn astray() -> (Proof, Bottleneck) {
    in_slots("server-cpu", 1.7, -0.5)
}

/// Makes an experiment on a server whose threads run one at a time ([`takes_turns`]). `counted` is throughput with half
/// of the CPUs divided by throughput with all CPUs; `None` if fewer CPUs were not tested.
pub(crate) fn turns_on_the_cpu(verdict: Bottleneck, counted: Option<f64>) -> (Proof, Bottleneck) {
    tried_on(takes_turns(), verdict, |proof, _| {
        proof.trials.push(slots("server-cpu", 0.92, 0.01));
        proof.trials.extend(counted.map(|ratio| count(0.5, ratio)));
    })
}

/// Makes an experiment on a server that uses two of four CPUs, while other programs fill the other two CPUs. If half of
/// the CPUs are taken away, throughput does not change.
pub(crate) fn beside_others(verdict: Bottleneck) -> (Proof, Bottleneck) {
    let run = PlantedRun::new(1000.0, 2000.0)
        .per_s(Who::Server, "process.cpu", "srv:100", |p| p.x * 500.0)
        .per_s(Who::Server, "thread.cpu", "srv:100/101", |p| p.x * 250.0)
        .per_s(Who::Server, "thread.cpu", "srv:100/102", |p| p.x * 250.0)
        .per_s(Who::Server, "cpu.user", "total", |_| 3.9e6)
        .per_s(Who::Server, "cpu.idle", "total", |_| 1e4)
        .run();
    tried_on(run, verdict, |proof, _| {
        proof.trials.push(slots("server-cpu", 0.95, 0.01));
        proof.trials.push(count(0.5, 1.0));
    })
}

/// Makes an experiment on a full server. `ratio` is throughput with half of the CPUs taken away, divided by throughput
/// with all CPUs.
pub(crate) fn full_with_fewer_cpus(ratio: f64) -> (Proof, Bottleneck) {
    tried_on(full(), verdict("server-cpu", 0.95), |proof, lever| {
        proof.trials.push(slots(lever, 0.97, 0.01));
        proof.trials.push(count(0.5, ratio));
    })
}

/// Makes an experiment on a server whose requests wait, but not for anything that a lever slows. `more_load` is
/// throughput with twice the load divided by throughput with the normal load; `None` if a larger load was not tested.
pub(crate) fn waits(run: Run, verdict: Bottleneck, more_load: Option<f64>) -> (Proof, Bottleneck) {
    tried_on(run, verdict, |proof, _| {
        proof.trials.push(slots("server-cpu", 0.01, 0.0));
        proof.switched.extend(more_load.map(|ratio| turns(run::LOAD_LEVER, ratio)));
    })
}

/// Makes an experiment on a server whose queue no counter shows. `ratio` is throughput with twice the source addresses
/// divided by throughput with the usual number of source addresses. Slowing the CPU of server or generator changes
/// nothing.
pub(crate) fn more_addresses(confidence: f64, ratio: f64) -> (Proof, Bottleneck) {
    tried_on(unread(1.5), verdict("server-concurrency", confidence), |proof, _| {
        proof.trials.push(slots("server-cpu", 0.01, 0.0));
        proof.switched.push(turns(run::SOURCES_LEVER, ratio));
    })
}

/// Makes an experiment on a generator whose control group has a CPU quota. The CPU thief (a busy loop) got its planned
/// share, but the generator's threads ran as before.
pub(crate) fn hidden_by_a_quota() -> (Proof, Bottleneck) {
    let held = PlantedRun::new(1000.0, 2000.0)
        .per_s(Who::Client, "cgroup.cpu_periods", "/gen", |_| 10.0)
        .per_s(Who::Client, "cgroup.cpu_throttled_periods", "/gen", |_| 8.0)
        .run();
    tried_on(held, verdict("client-cpu", 0.8), |proof, _| {
        let mut trial = slots("server-cpu", 0.02, 0.0);
        hardly_wanted(&mut trial, 1, 0.4, DOSE);
        proof.trials.push(trial);
    })
}

/// Makes an experiment on a server whose threads ran or waited for a CPU for only 5.2 % of the time. The CPU thief (a
/// busy loop) took a quarter of the CPU.
pub(crate) fn bounded() -> (Proof, Bottleneck) {
    tried_on(full(), verdict("server-cpu", 0.8), |proof, lever| {
        let mut trial = slots(lever, 0.0, 0.9);
        hardly_wanted(&mut trial, 0, 0.052, DOSE);
        proof.trials.push(trial);
    })
}

/// Makes up an experiment on an upstream service that was in use for the share `used` of the time. `ratio` is
/// throughput while a lever slowed the upstream, divided by throughput with the upstream at full speed.
pub(crate) fn upstream_in_use(used: f64, ratio: f64) -> (Proof, Bottleneck) {
    let waits_for =
        WaitsFor { address: "127.0.0.1:8001".into(), limit: Some(UpstreamLimit::Thread), ..WaitsFor::default() };
    tried(Bottleneck { waits_for: Some(waits_for), ..verdict("server-concurrency", 0.8) }, |proof, lever| {
        let mut trial = slots_beside(lever, ratio.ln() / (1.0 - DOSE).ln(), 0.01);
        trial.levers[0].wanted = Some(used);
        proof.trials.push(trial);
    })
}

/// Makes up an experiment on a server with one thread. While the lever (a slowdown of the CPU) was off, the thread ran
/// or waited for a CPU for the share `used` of the time. The lever was on in half of the time slots. `ratio` is
/// throughput with the lever on, divided by throughput with the lever off. The run contains the counters of the
/// experiment's load.
#[cfg(test)]
pub(crate) fn thread_in_use(used: f64, ratio: f64) -> (Proof, Bottleneck) {
    let wanted = used * (1.0 + ratio / (1.0 - DOSE)) / 2.0;
    recorded(wanted - 0.9, |lever| slots(lever, ratio.ln() / (1.0 - DOSE).ln(), 0.01))
}

/// Makes up an experiment on a server with one thread per request. The lever (a slowdown of the server's threads)
/// misses most of the threads. The threads that the lever found ran or waited for a CPU for 17 % of the time. The
/// counters of the same load show that the whole server used 90 % of a CPU. Throughput varied much from time slot to
/// slot.
#[cfg(test)]
pub(crate) fn misses_threads() -> (Proof, Bottleneck) {
    recorded(0.0, |lever| {
        let mut trial = slots(lever, 0.9, 0.01);
        let varied = |(slot, rate): (usize, &mut f64)| *rate *= 0.7 + 0.6 * ((slot * 7907 % 17) as f64 / 16.0);
        trial.completed_rate.iter_mut().enumerate().for_each(varied);
        trial.levers[0].wanted = Some(0.17);
        trial
    })
}

/// Makes an experiment on a server whose thread runs for 90 % of the time, and waits for a CPU for the share `waits` of
/// the time. The run contains the counters of the experiment's load. `slots` makes the experiment's time slots from the
/// ID of the verdict's lever.
#[cfg(test)]
fn recorded(waits: f64, slots: impl Fn(&str) -> run::ProofTrial) -> (Proof, Bottleneck) {
    let mut run = PlantedRun::new(10_000.0, 100.0)
        .per_s(Who::Server, "process.cpu", "srv:100", |p| p.x * 9_000.0)
        .per_s(Who::Server, "thread.cpu", "srv:100/101", |p| p.x * 9_000.0)
        .per_s(Who::Server, "thread.run_delay", "srv:100/101", move |_| waits * 1e6)
        .run();
    let mut load = run.trials[run.trials.len() - 1].clone();
    (load.kind, load.label) = (run::TrialKind::Proof, "proof".into());
    run.trials.push(load);
    tried_on(run, verdict("server-single-thread", 0.8), |proof, lever| {
        proof.trials.push(run::ProofTrial { label: "proof".into(), ..slots(lever) });
    })
}

/// Makes an experiment on the verdict that a network link is full. The load used the share `used` of the link's maximum
/// rate. `ratio` is throughput with longer requests, divided by throughput without them.
pub(crate) fn link_in_use(used: f64, ratio: f64) -> (Proof, Bottleneck) {
    let carried = Evidence {
        counter: "medium.bytes".into(),
        value: Some(used),
        limit: Some(1.0),
        text: format!("eth0 carried {} of its bandwidth", percent(used)),
        ..Evidence::default()
    };
    let link = Bottleneck { evidence: vec![carried], ..verdict("network-medium", 0.8) };
    let mut run = Run::default();
    run.findings.bottleneck = link.clone();
    let (mut proof, mut link) = (predicted(&run, "request-bytes", DOSE), link);
    proof.switched.push(turns("request-bytes", ratio));
    conclude(&crate::Facts::of(&run), &mut proof, &mut link);
    (proof, link)
}

/// Makes an experiment whose lever watched only a process that hardly runs, because the server starts a new process for
/// each connection. The lever slowed all processes, so throughput fell.
pub(crate) fn watches_too_few() -> (Proof, Bottleneck) {
    tried_on(full(), verdict("server-cpu", 0.95), |proof, lever| {
        let mut trial = slots(lever, 0.94, 0.01);
        (trial.levers[0].wanted, trial.levers[0].taken) = (Some(0.004), Some(DOSE));
        proof.trials.push(trial);
    })
}

/// Makes an experiment in which the CPU thief (a busy loop) beside the generator got only 2.8 % of a CPU instead of 25
/// %.
pub(crate) fn starved_thief(id: &str) -> (Proof, Bottleneck) {
    tried_on(full(), verdict(id, 0.8), |proof, _| {
        let mut trial = slots("server-cpu", 0.02, 0.0);
        hardly_wanted(&mut trial, 1, 0.1, 0.028);
        proof.trials.push(trial);
    })
}

/// Returns the verdict on a run from its counters, without an experiment.
pub(crate) fn argued(mut run: Run) -> Bottleneck {
    crate::judge(&mut run);
    run.findings.bottleneck
}

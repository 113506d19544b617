//! Made-up experiments on verdicts, and the sentences about these experiments. A lever is a temporary change by an
//! experiment that slows a resource. A lever is switched on and off in time slots or in turns. In slots, the lever is
//! switched within one trial, at the start of each slot (a fraction of a second). In turns, trials with and without the
//! lever alternate.

use run::{
    Bottleneck, CPU_COUNT_LEVER, Evidence, LeverSlots, Proof, ProofTrial, Run, SwitchTrial, UpstreamLimit, WaitsFor,
};

use super::sentence::Sentence;
use super::{PlantedRun, Point, Who, planted};
use crate::number::percent;
use crate::prove::{conclude, predicted, suspects_of};

/// Number of time slots in each made-up experiment.
const SLOTS: usize = 160;
/// Share of its resource that each lever takes, 0 to 1.
const DOSE: f64 = 0.25;

/// Makes a trial with two levers: on the resource `first` and on the generator's CPU. `own` and `client` are
/// elasticities: the relative change of throughput per relative change of a speed. The speeds are those of the first
/// resource and of the generator's CPU.
pub(crate) fn slots(first: &str, own: f64, client: f64) -> ProofTrial {
    let mut random = fastrand::Rng::with_seed(3);
    let mut on = || (0..SLOTS).map(|_| random.bool()).collect::<Vec<bool>>();
    let (a, b) = (on(), on());
    let speed = |on: &[bool]| on.iter().map(|on| if *on { 1.0 - DOSE } else { 1.0 }).collect::<Vec<f64>>();
    let (sa, sb) = (speed(&a), speed(&b));
    let rate = |(t, (a, b)): (usize, (&f64, &f64))| 1000.0 * a.powf(own) * b.powf(client) * noise(t);
    let completed_rate = sa.iter().zip(&sb).enumerate().map(rate).collect();
    let levers = vec![lever(first, a, sa), lever("client-cpu", b, sb)];
    ProofTrial { completed_rate, levers, slot_s: 0.02, ..ProofTrial::default() }
}

fn lever(name: &str, on: Vec<bool>, speed: Vec<f64>) -> LeverSlots {
    LeverSlots { lever: name.into(), host: "h".into(), on, speed, ordered: Some(DOSE), ..LeverSlots::default() }
}

fn noise(slot: usize) -> f64 {
    1.0 + 0.02 * ((slot * 7919 % 13) as f64 / 13.0 - 0.5)
}

/// Makes a trial with three levers: on the resource `first`, on the generator's CPU, and on the server's CPU. `own` and
/// `server` are the elasticities of throughput for the first resource and for the server's CPU.
pub(crate) fn slots_beside(first: &str, own: f64, server: f64) -> ProofTrial {
    let mut trial = slots(first, own, 0.0);
    let mut random = fastrand::Rng::with_seed(5);
    let on: Vec<bool> = (0..SLOTS).map(|_| random.bool()).collect();
    let speed: Vec<f64> = on.iter().map(|on| if *on { 1.0 - DOSE } else { 1.0 }).collect();
    trial.completed_rate.iter_mut().zip(&speed).for_each(|(rate, speed)| *rate *= speed.powf(server));
    trial.levers.push(lever("server-cpu", on, speed));
    trial
}

/// Changes a lever so that it has hardly any effect. The threads to be slowed ran or waited for a CPU for the share
/// `wanted` of the time. The CPU thief (a busy loop) took the share `taken` of the CPU. The measured speed of the
/// threads stays 1.
fn hardly_wanted(trial: &mut ProofTrial, lever: usize, wanted: f64, taken: f64) {
    let lever = &mut trial.levers[lever];
    lever.speed.iter_mut().for_each(|speed| *speed = 1.0);
    (lever.wanted, lever.taken) = (Some(wanted), Some(taken));
}

/// Makes a trial with one lever, which takes the share `taken` of the server's CPUs away. `ratio` is throughput in the
/// time slots with the lever on, divided by throughput in the other slots.
pub(crate) fn count(taken: f64, ratio: f64) -> ProofTrial {
    let mut trial = slots(CPU_COUNT_LEVER, 0.0, 0.0);
    trial.levers.truncate(1);
    let on = trial.levers[0].on.clone();
    for t in (0..SLOTS).filter(|t| on[*t]) {
        (trial.levers[0].speed[t], trial.completed_rate[t]) = (1.0 - taken, trial.completed_rate[t] * ratio);
    }
    trial.levers[0].ordered = Some(taken);
    trial
}

/// Makes turns with and without a lever that doubles a resource (such as the load). `ratio` is throughput with the
/// lever divided by throughput without the lever.
pub(crate) fn turns(lever: &str, ratio: f64) -> SwitchTrial {
    let off = vec![100.0, 103.0, 98.0, 101.0, 99.0];
    let on = off.iter().zip([1.01, 0.99, 1.0, 0.98, 1.02]).map(|(off, noise)| off * ratio * noise).collect();
    SwitchTrial { lever: lever.into(), dose: -1.0, off, on, ..SwitchTrial::default() }
}

/// Makes a run of a server with eight threads on four CPUs. Only one of the eight threads runs at a time, so the
/// threads together use one CPU.
pub(crate) fn takes_turns() -> Run {
    let mut run = PlantedRun::new(10_000.0, 100.0).per_s(Who::Server, "process.cpu", "srv:100", |p| p.x * 9_800.0);
    for thread in 101..109 {
        run = run.per_s(Who::Server, "thread.cpu", &format!("srv:100/{thread}"), |p| p.x * 1_225.0);
    }
    run.run()
}

/// Makes a run of a server with four full threads on four CPUs.
pub(crate) fn full() -> Run {
    planted("server-cpu").unwrap_or_default()
}

/// Makes a run of a server with four sleeping workers. The server reads at most four requests, and all further
/// requests, of 64 bytes each, wait unread.
pub(crate) fn sleeps() -> Run {
    unread(60.0)
}

/// Makes a run of a server with four sleeping workers, and with `bytes` unread bytes per connection.
pub(crate) fn unread(bytes: f64) -> Run {
    PlantedRun::new(20_000.0, 200.0)
        .level(Who::Server, "connection.receive_queue", "", bytes)
        .change(|trial, _| {
            let tally = &mut trial.measured.tally;
            (tally.bytes_sent, tally.bytes_received) = (tally.sent * 64, tally.completed * 64);
        })
        .run()
}

/// Makes a run of a server on 16 CPUs with a thread for each connection, under one and eight clients. A request
/// computes for the share `busy` of its response time, so nothing is full.
pub(crate) fn few_clients(busy: f64) -> Run {
    let used = move |p: &Point| p.n * busy * 1e6;
    let planted = PlantedRun::new(5000.0, 1e9).steps(&[1, 8]).rates(&[]);
    let planted = planted
        .level(Who::Server, "cpu.online", "", 16.0)
        .level(Who::Server, "process.cpus_allowed", "srv:100", 16.0)
        .per_s(Who::Server, "cpu.user", "total", used)
        .per_s(Who::Server, "cpu.system", "total", |_| 0.0)
        .per_s(Who::Server, "cpu.idle", "total", move |p| 16e6 - used(p))
        .per_s(Who::Server, "process.cpu", "srv:100", used);
    let of_connection = |planted: PlantedRun, at: u32| {
        let thread = format!("srv:100/{}", 101 + at);
        planted.per_s(Who::Server, "thread.cpu", &thread, move |p| if f64::from(at) < p.n { busy * 1e6 } else { 0.0 })
    };
    (0..8).fold(planted, of_connection).run()
}

/// Makes an experiment on the verdict that one thread is full, under a load that saturates nothing ([`few_clients`]).
/// `more_load` is the throughput with twice the load, divided by the throughput with the plain load.
pub(crate) fn of_few_clients(id: &str, more_load: Option<f64>) -> (Proof, Bottleneck) {
    tried_on(few_clients(0.91), verdict(id, 0.34), |proof, _| {
        proof.trials.push(slots("server-cpu", 0.91, 0.03));
        proof.trials.push(count(0.5, 1.0));
        proof.switched.extend(more_load.map(|ratio| turns(run::LOAD_LEVER, ratio)));
    })
}

/// Makes a run of a server that handles three requests at a time. No counter shows the queue, or the cause of the limit
/// of three requests.
fn unseen_queue() -> Run {
    PlantedRun::new(20_000.0, 150.0).run()
}

/// Makes a run with lost packets and with a full listen queue.
pub(crate) fn loses_beside_a_full_queue() -> Run {
    let high = |p: &Point| if p.x >= 0.5 * p.capacity { p.x } else { 0.0 };
    PlantedRun::new(3000.0, 2000.0)
        .per_s(Who::Server, "tcp.retrans_segs", "", move |p| high(p) * 0.2)
        .per_s(Who::Server, "connection.retrans", "", move |p| high(p) * 0.4 / p.n)
        .level(Who::Server, "listen.queue", "0.0.0.0:8080", 5.0)
        .level(Who::Server, "listen.limit", "0.0.0.0:8080", 4.0)
        .run()
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

/// Makes an experiment like [`tried_on`], on the run of a full server. For the verdict `server-concurrency`, the run is
/// that of a server whose queue no counter shows.
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

/// Makes an experiment on a full server whose throughput falls much more than predicted from the dose (the share of its
/// resource that the lever takes).
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

/// Makes an experiment on a server that uses two of four CPUs, while other programs fill the other two CPUs. Throughput
/// does not change when half of the CPUs are taken away.
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

/// Makes an experiment on a server that waits for something that no lever slows. `more_load` is throughput with twice
/// the load divided by throughput with the normal load; `None` if a larger load was not tested.
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
fn recorded(waits: f64, slots: impl Fn(&str) -> ProofTrial) -> (Proof, Bottleneck) {
    let mut run = PlantedRun::new(10_000.0, 100.0)
        .per_s(Who::Server, "process.cpu", "srv:100", |p| p.x * 9_000.0)
        .per_s(Who::Server, "thread.cpu", "srv:100/101", |p| p.x * 9_000.0)
        .per_s(Who::Server, "thread.run_delay", "srv:100/101", move |_| waits * 1e6)
        .run();
    let mut load = run.trials[run.trials.len() - 1].clone();
    (load.kind, load.label) = (run::TrialKind::Proof, "proof".into());
    run.trials.push(load);
    tried_on(run, verdict("server-single-thread", 0.8), |proof, lever| {
        proof.trials.push(ProofTrial { label: "proof".into(), ..slots(lever) });
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

/// Functions that make all made-up experiments.
const PROOFS: &[fn() -> (Proof, Bottleneck)] = &[
    || in_slots("server-cpu", 0.95, 0.02),
    || in_slots("client-cpu", 0.9, 0.05),
    || in_slots("server-cpu", 0.02, 0.01),
    || in_slots("server-cpu", 0.02, 0.95),
    || in_slots("server-cpu", 0.45, 0.42),
    || in_slots("unknown", 0.45, 0.4),
    || in_slots("unknown", 0.9, 0.03),
    || in_slots("server-cpu", 1.2, 0.5),
    || in_slots("server-disk", 1.8, 0.0),
    || waits(sleeps(), argued(sleeps()), None),
    || waits(sleeps(), argued(sleeps()), Some(1.0)),
    || waits(Run::default(), verdict("server-concurrency", 0.8), Some(1.9)),
    || waits(Run::default(), verdict("tcp-window", 0.8), None),
    || waits(loses_beside_a_full_queue(), argued(loses_beside_a_full_queue()), None),
    || turns_on_the_cpu(verdict("server-cpu", 0.95), None),
    || turns_on_the_cpu(Bottleneck { serial: true, ..verdict("server-concurrency", 0.8) }, Some(1.0)),
    || full_with_fewer_cpus(0.5),
    || beside_others(verdict("unknown", 0.0)),
    || waits(Run::default(), verdict("not-saturated", 0.6), Some(1.9)),
    || waits(sleeps(), verdict("not-saturated", 0.6), Some(1.0)),
    || more_addresses(0.5, 2.0),
    || more_addresses(0.5, 1.0),
    hidden_by_a_quota,
    || full_with_fewer_cpus(1.0),
    bounded,
    || starved_thief("client-cpu"),
    || starved_thief("server-concurrency"),
    || upstream(None, 0.97),
    || upstream(None, 0.02),
    || slower_from("server-cpu", 0.9, SLOTS - 8),
    || slower_from("server-cpu", 0.9, SLOTS / 2),
    astray,
    || in_turns("server-rate-limit", 2.0),
    || in_turns("server-rate-limit", 1.0),
    || in_turns("client-ports", 1.0),
    || in_turns("tcp-delayed-ack", 40.0),
    || in_turns("accept-queue", 1.0),
    || in_turns("tcp-window", 1.0),
    || in_turns("server-fds", 2.0),
    || of_few_clients("server-single-thread", None),
    || of_few_clients("server-single-thread", Some(1.9)),
    || of_few_clients("not-saturated", None),
    || upstream_in_use(0.93, 0.75 / 0.93),
    || link_in_use(0.87, 0.86),
    watches_too_few,
];

/// Returns the sentences about each made-up experiment and about the verdict after the experiment.
pub(super) fn sentences() -> Vec<Sentence> {
    let of = |make: &fn() -> (Proof, Bottleneck)| {
        let (proof, verdict) = make();
        let mut all = vec![Sentence::new("experiment", outcome(&proof), &proof.why)];
        if !verdict.sentence.is_empty() {
            all.push(Sentence::new("verdict", &verdict.id, &verdict.sentence));
        }
        all.extend(verdict.evidence.iter().map(|e| Sentence::new("evidence", &verdict.id, &e.text)));
        all.extend(verdict.next.iter().map(|next| Sentence::new("next", &next.id, &next.why)));
        all.extend(verdict.missing.iter().map(|text| Sentence::new("not known", "", text)));
        all
    };
    PROOFS.iter().flat_map(of).collect()
}

fn outcome(proof: &Proof) -> &'static str {
    match proof.outcome {
        run::ProofOutcome::Proven => "proven",
        run::ProofOutcome::Refuted => "refuted",
        run::ProofOutcome::Supported => "supported",
        run::ProofOutcome::Inconclusive => "inconclusive",
        run::ProofOutcome::NotTested => "not tested",
    }
}

//! Rule for a server whose usable CPUs are all full.

use run::{Caveat, Evidence, FigureUnit};

use super::rule::{PLAIN, Rule, Verdict, full_server};
use crate::Facts;
use crate::context::evidence::{measured, thread_line};
use crate::context::view::View;
use crate::generator::client_limit_threads;
use crate::in_flight::full_cpus::FullCpus;
use crate::in_flight::upstreams;
use crate::in_flight::waiting::Waiting;
use crate::number::{cpus, figure, percent};
use crate::signals::cpu::{ServerCpu, WHATEVER};
use crate::signals::full::full;
use crate::signals::limit_evidence::plateau;
use crate::signals::{Signal, chance};
use crate::thresholds::{HINT, HOST_ALONE, LIKELY, OTHERS_USE, QUEUE_SHARE, WORKS};

pub(super) const RULE: Rule = Rule {
    id: "server-cpu",
    needs: &["process.cpu", "process.user", "cpu.online", "cpu.idle", "thread.cpu"],
    explains: &["server-single-thread", "network-loss", "tcp-window", "accept-queue"],
    signals,
    shared: &[(
        &["cpu.idle"],
        "the threads of the server run or wait all the time, or the known programs do most of the work",
    )],
    is_of_work: true,
    judge,
    advice: &[
        "Give the server more CPUs, or make a request cheaper: the costs per request show where the time goes.",
        "Profile the server at this load: kernel time is spent on system calls and packets, user time in its own code.",
    ],
    advise: |facts| FullCpus::of(facts).filter(|_| has_upstreams(facts)).map(|full| full.advice()),
    caveat,
    explain: "One of three signs shows full CPUs. First, the server's processes use all the time of their CPUs (their \
              affinity, else all online CPUs), or wait for a CPU in the rest of the time. Second, other programs fill \
              these CPUs, while each working thread of the server wants a CPU and gets none. Third, the server, its \
              upstreams and the generator fill the CPUs only together. Requests of a closed loop that wait unread at \
              the server support the verdict. A master process that only waits adds no CPUs to the server's CPUs. With \
              server-single-thread other CPUs are free, but the thread cannot use them. CPUs that the server fills \
              under half the rate, or without load, too, are not the limit.",
    ..PLAIN
};

/// Returns true if upstreams of the server on its machine use CPU time.
fn has_upstreams(facts: &Facts<'_>) -> bool {
    facts.full_server().is_some_and(|view| view.upstream_cpu() > 0.0)
}

/// Signs that the server's CPUs are full. Either the server alone fills the CPUs, or it lacks CPU time, or it fills
/// them together with its upstreams and the generator.
enum Sign {
    Own,
    Starved,
    InSum,
}

/// Returns the most probable sign of full CPUs, and its probability.
fn sign(cpu: &ServerCpu<'_>) -> (Sign, f64) {
    let signs = [(Sign::Own, cpu.own()), (Sign::Starved, cpu.starved()), (Sign::InSum, cpu.in_sum(false))];
    let most = signs.into_iter().reduce(|a, b| if b.1 > a.1 { b } else { a });
    most.unwrap_or((Sign::Own, 0.0))
}

fn judge(facts: &Facts<'_>) -> Verdict {
    let Some(cpu) = ServerCpu::of(facts) else {
        return full_server(facts).err().unwrap_or(Verdict::CannotSay(Vec::new()));
    };
    let Some((used, allowed)) = cpu.used else { return by_host(facts, &cpu.view) };
    let (sign, probability) = sign(&cpu);
    if probability >= HINT {
        return bind(facts, &cpu, (used, allowed), &sign, probability);
    }
    if let Some(share) = cpu.filled_by_refusals() {
        return Verdict::RuledOut(format!(
            "the server used {} of {}, but mostly for refusals: its good answers need {}",
            figure(used),
            cpus(allowed),
            percent(share)
        ));
    }
    if cpu.had_room.is_some_and(|room| room < LIKELY) {
        return Verdict::RuledOut(format!("the server used {} of {} {WHATEVER}", figure(used), cpus(allowed)));
    }
    Verdict::RuledOut(format!(
        "the server used {} of {}{}",
        figure(used),
        cpus(allowed),
        cpu.cpus.map_or(String::new(), |busy| format!(", which were {} busy with all work", percent(busy.value)))
    ))
}

fn signals(facts: &Facts<'_>) -> Vec<Signal> {
    let Some(cpu) = ServerCpu::of(facts) else { return Vec::new() };
    match sign(&cpu).0 {
        Sign::Own => cpu.wants.into_iter().collect(),
        Sign::Starved | Sign::InSum => cpu.cpus.into_iter().collect(),
    }
}

fn bind(facts: &Facts<'_>, cpu: &ServerCpu<'_>, used: (f64, f64), sign: &Sign, confidence: f64) -> Verdict {
    let sentence = match (sign, &cpu.chain) {
        (Sign::InSum, Some(chain)) => format!("the CPUs are full: {} of {}", chain.text(), figure(chain.cpus)),
        _ => own_sentence(cpu, used) + &beside_client(facts),
    };
    let sentence = sentence + &stolen(&cpu.view) + &cpu.spinning();
    Verdict::Binds { confidence, sentence, evidence: evidence(facts, cpu, used) }
}

/// Returns the reason why the rule is less sure that the CPUs are full, if any.
fn caveat(facts: &Facts<'_>) -> Option<Caveat> {
    let cpu = ServerCpu::of(facts).filter(|cpu| cpu.used.is_some())?;
    let (sign, probability) = sign(&cpu);
    cpu.unseen_caveat(probability, cpu.had_room).filter(|_| !matches!(sign, Sign::Starved))
}

/// Returns a clause about the CPU time that the hypervisor took; an empty text if this time is short.
fn stolen(view: &View<'_>) -> String {
    let taken = Some(view.withheld()).filter(|taken| *taken >= OTHERS_USE);
    taken.map_or(String::new(), |taken| format!("; the hypervisor took {} of the time of these CPUs", percent(taken)))
}

fn own_sentence(cpu: &ServerCpu<'_>, (used, allowed): (f64, f64)) -> String {
    let is_full = chance(full("", cpu.view.given(), used / allowed).log_odds()) >= LIKELY;
    let (share, used) = (percent(used / allowed), figure(used));
    match is_full {
        true => format!("the server's CPU is full: {share} used ({used} of {})", cpus(allowed)),
        false => {
            format!("the server gets too little CPU: it used {share} ({used} of {}) and waited for more", cpus(allowed))
        }
    }
}

/// Returns a clause about the messages that wait for the generator. Returns an empty text if client and server share
/// CPUs, or if few messages wait for the generator. Also returns an empty text if at least as many messages wait for
/// the server.
fn beside_client(facts: &Facts<'_>) -> String {
    let waiting = Waiting::of(facts).filter(|w| !facts.shared() && w.client >= QUEUE_SHARE && w.client > w.server);
    let told = |w: Waiting| {
        let busy = percent(client_limit_threads(facts).unwrap_or(0.0));
        format!("; {} of the messages waited for the generator, which was {busy} busy", percent(w.client))
    };
    waiting.map_or(String::new(), told)
}

fn evidence(facts: &Facts<'_>, cpu: &ServerCpu<'_>, (used, allowed): (f64, f64)) -> Vec<Evidence> {
    let view = &cpu.view;
    let text = format!("the server's processes used {} of their {}", figure(used), cpus(allowed));
    let mut evidence = vec![measured(view, ("process.cpu", ""), (used, FigureUnit::Cpus), Some(allowed), text)];
    evidence.extend(view.workers().iter().filter(|t| t.busy >= WORKS).take(4).map(|t| thread_line(view, t)));
    if let Some(busy) = cpu.cpus {
        let idle = (1.0 - busy.value).max(0.0);
        let text = format!("these CPUs were idle {} of the time", percent(idle));
        let limit = Some(1.0 - busy.threshold);
        evidence.push(measured(view, ("cpu.idle", ""), (idle, FigureUnit::Plain), limit, text));
    }
    evidence.extend(split(view));
    evidence.extend(super::handshakes::work(facts, view));
    if has_upstreams(facts) {
        evidence.extend(upstreams::evidence(view, &facts.upstreams));
    }
    evidence.extend(Waiting::of(facts).filter(|w| !facts.shared() && w.at_server()).and_then(|w| w.line(facts)));
    evidence
}

/// Returns evidence of the user time and the kernel time that a request costs the server.
fn split(view: &View<'_>) -> Option<Evidence> {
    let (user, system) = (view.per_request("process.user")?, view.per_request("process.system")?);
    let text =
        format!("a request costs the server {} µs of user and {} µs of kernel time", figure(user), figure(system));
    Some(measured(view, ("process.user", ""), (user + system, FigureUnit::Micros), None, text))
}

/// Decides from the CPU use of the whole host, without counters of the server's processes, if the generator does not
/// run on this host.
fn by_host(facts: &Facts<'_>, view: &View<'_>) -> Verdict {
    let missing = || Verdict::CannotSay(vec!["process.cpu of the server's processes".into()]);
    let Some(host) = view.host() else { return missing() };
    if facts.shared() {
        return missing();
    }
    let text = format!("{} of {} of the server's host were busy", figure(host.busy), cpus(host.online));
    let signal = full("busy share of the server's host", view.given(), host.busy / host.online);
    let probability = HOST_ALONE * chance(signal.log_odds() + plateau(facts));
    // If the server is not at its limit, other programs may fill the host.
    if probability < HINT || !facts.limited() {
        return Verdict::RuledOut(text);
    }
    let evidence = vec![measured(view, ("cpu.idle", "total"), (host.busy, FigureUnit::Cpus), Some(host.online), text)];
    let sentence = format!("the server's host is full: {} of its CPU used", percent(host.busy / host.online));
    Verdict::Binds { confidence: probability, sentence, evidence }
}

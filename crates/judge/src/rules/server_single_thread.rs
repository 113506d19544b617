//! Rule for a server with one full thread, while the server may use other CPUs, too.

use run::{Caveat, FigureUnit};

use super::rule::{PLAIN, Rule, Verdict, full_server};
use super::withheld::may_lack_quota;
use crate::Facts;
use crate::context::evidence::{measured, thread_line};
use crate::context::view::{Task, View};
use crate::number::{cpus, figure, percent};
use crate::signals::Signal;
use crate::signals::cpu::threads::Thread;
use crate::signals::cpu::{ServerCpu, WHATEVER};
use crate::thresholds::{HINT, LIKELY, MOSTLY_RUNS, SEVERAL_CPUS};
use crate::waits;

pub(super) const RULE: Rule = Rule {
    id: "server-single-thread",
    needs: &["thread.cpu", "cpu.online"],
    explains: &["tcp-window", "accept-queue"],
    signals,
    shared: &[
        (&["cpu.idle"], "a thread of the server is full"),
        (&["cpu.softirq"], "a thread of the server is pinned to that CPU"),
    ],
    is_of_work: true,
    judge,
    advice: &[
        "Spread this work over more threads or processes (worker_processes, SO_REUSEPORT listeners, a worker pool), or move work out of this thread.",
    ],
    advise,
    caveat,
    explain: "The average use of the CPUs hides a full thread: one thread (an event loop, an acceptor, a lock holder) \
              runs all the time while its host is half idle, and more CPUs change nothing. loadline looks at the \
              busiest thread alone. It adds the time that the thread waited for a CPU if the thread ran most of the \
              time, and the soft interrupts of a CPU that the thread is pinned to. A thread is not the limit if it is \
              as full under half the rate, before any request waits, or without load. Such a thread polls, drops work \
              or has other work.",
    ..PLAIN
};

fn judge(facts: &Facts<'_>) -> Verdict {
    bind(facts).unwrap_or_else(|verdict| verdict)
}

fn signals(facts: &Facts<'_>) -> Vec<Signal> {
    let thread = ServerCpu::of(facts).and_then(|cpu| cpu.thread());
    thread.map_or(Vec::new(), |t| vec![if t.ran.value < MOSTLY_RUNS { t.wants } else { t.ran }])
}

/// Returns the verdict with the name of the thread. Returns [`Verdict::RuledOut`] or [`Verdict::CannotSay`] as an
/// error.
fn bind(facts: &Facts<'_>) -> Result<Verdict, Verdict> {
    let Some(cpu) = ServerCpu::of(facts) else { return Err(full_server(facts).err().unwrap_or_else(no_threads)) };
    let Some(thread) = cpu.thread() else { return Err(no_threads()) };
    is_one_thread(&cpu.view, &thread.task)?;
    leaves_cpus_free(&cpu)?;
    // While one thread has the lock, the other threads cannot work. A runtime may do most work under a lock on one
    // thread, so a full thread may be a symptom of the lock.
    if let Some(lock) = waits::lock_of_turns(&facts.waits, &cpu.view) {
        return Err(Verdict::RuledOut(format!("requests take turns under a lock: {}", lock.sentence)));
    }
    let several = Several::of(&cpu);
    let may_spin = several.is_some() && cpu.spins.is_some();
    let probability = thread.chance * (1.0 - cpu.own());
    let probability = if may_spin { probability.min(LIKELY) } else { probability };
    if probability < HINT {
        let why = match cpu.always_full() {
            Some(task) => format!("{} ran {} of the time {WHATEVER}", task.name, percent(task.busy)),
            None => format!("the server's busiest thread used {} of a CPU", percent(thread.task.busy)),
        };
        return Err(Verdict::RuledOut(why));
    }
    let mut evidence = vec![thread_line(&cpu.view, &thread.task)];
    let other = |t: &&Task| t.name != thread.task.name;
    evidence.extend(cpu.view.workers().iter().find(other).map(|task| thread_line(&cpu.view, task)));
    evidence.extend(interrupts(&cpu.view, &thread));
    if let Some(host) = cpu.view.host() {
        let idle = (host.online - host.busy).max(0.0);
        let text = format!("{} of {} were idle", figure(idle), cpus(host.online));
        evidence.push(measured(&cpu.view, ("cpu.idle", "total"), (idle, FigureUnit::Cpus), None, text));
    }
    evidence.extend(quota_line(&cpu.view));
    evidence.extend(super::handshakes::work(facts, &cpu.view));
    let sentence = match several {
        Some(several) => several.sentence() + &cpu.spinning(),
        None => format!("one thread of the server is full ({}): more CPUs will not help", thread.task.name),
    };
    if may_lack_quota(&cpu.view, &thread.task) {
        let sentence = format!("{sentence}, or a CPU quota that loadline cannot read withholds CPU time from it");
        return Ok(Verdict::Binds { confidence: probability.min(LIKELY), sentence, evidence });
    }
    Ok(Verdict::Binds { confidence: probability, sentence, evidence })
}

/// Returns the reason why the rule is less sure that the thread is full, if any.
fn caveat(facts: &Facts<'_>) -> Option<Caveat> {
    let cpu = ServerCpu::of(facts)?;
    let thread = cpu.thread()?;
    cpu.unseen_caveat(thread.chance, thread.had_room).or_else(|| cpu.uncrowded_caveat())
}

/// At least two full threads of a server. The server's other threads, if any, are not full.
struct Several {
    /// Names of the full threads.
    full: Vec<String>,
    /// Number of the server's threads.
    all: usize,
}

impl Several {
    /// Finds the full threads of the server. Returns `None` unless at least two threads are likely full.
    fn of(cpu: &ServerCpu<'_>) -> Option<Self> {
        let threads = cpu.threads();
        let likely = threads.iter().filter(|thread| thread.chance >= LIKELY && thread.task.counter == "thread.cpu");
        let full: Vec<String> = likely.map(|thread| thread.task.name.clone()).collect();
        (full.len() >= 2).then_some(Self { full, all: threads.len() })
    }

    fn sentence(&self) -> String {
        let more = match self.full.len() {
            0..=MOST_NAMED => String::new(),
            count => format!(" and {} more", count - MOST_NAMED),
        };
        let names: Vec<&str> = self.full.iter().take(MOST_NAMED).map(String::as_str).collect();
        let (full, all) = (self.full.len(), self.all);
        if full == all {
            return format!(
                "all {all} threads of the server are full ({}{more}): more CPUs will not help",
                names.join(", ")
            );
        }
        format!("{full} of the server's {all} threads are full ({}{more}): more CPUs will not help", names.join(", "))
    }

    fn advice(&self) -> String {
        let (full, all) = (self.full.len(), self.all);
        if full == all {
            return format!("Start more threads or processes for this work (now {all}): CPUs are idle.");
        }
        format!(
            "Divide the connections evenly among the workers (SO_REUSEPORT listeners, more connections, shorter keep-alive), or \
             start more workers if {} of the {all} threads have other tasks.",
            all - full
        )
    }
}

/// Advice for a server whose full threads may spin.
const SPIN_ADVICE: &str = "Find out with a profiler (`perf top`, or the flame graph of `loadline waits`) whether the threads spin for \
     a lock. If they do, shorten the work under the lock, or divide its data: more threads do not help.";

/// Maximum number of full threads whose names the sentence lists.
const MOST_NAMED: usize = 3;

/// Returns advice for a server with several full threads.
fn advise(facts: &Facts<'_>) -> Option<String> {
    let cpu = ServerCpu::of(facts)?;
    let several = Several::of(&cpu)?;
    Some(cpu.spins.map_or_else(|| several.advice(), |_| SPIN_ADVICE.into()))
}

/// Returns evidence of a CPU quota that is too small for a second full thread.
fn quota_line(view: &View<'_>) -> Option<run::Evidence> {
    let quota = view.cpu_quota().filter(|quota| *quota < SEVERAL_CPUS)?;
    let text = format!("its control group has a CPU quota of {}: more threads also need a larger quota", cpus(quota));
    Some(measured(view, ("cgroup.cpu_quota", ""), (quota, FigureUnit::Cpus), None, text))
}

/// Returns a line of evidence about soft interrupts on the CPU that the thread is pinned to.
fn interrupts(view: &View<'_>, thread: &Thread) -> Option<run::Evidence> {
    let share = crate::signals::interrupts::ran(view, &thread.task) - thread.task.busy;
    let text = format!("soft interrupts used {} of the CPU that {} is pinned to", percent(share), thread.task.name);
    (share >= crate::thresholds::WORKS)
        .then(|| measured(view, ("cpu.softirq", ""), (share, FigureUnit::Cpus), Some(1.0), text))
}

fn no_threads() -> Verdict {
    Verdict::CannotSay(vec!["thread.cpu of the server's threads".into()])
}

/// Checks that the busiest task is a single thread, not a process with several threads.
fn is_one_thread(view: &View<'_>, first: &Task) -> Result<(), Verdict> {
    let threads = view.side.recording.reading("process.threads", &first.name, view.window).value();
    if first.counter != "thread.cpu" && threads != Some(1.0) && first.busy >= MOSTLY_RUNS {
        let whole = "thread.cpu: only whole processes were read, and the busiest one may have several threads";
        return Err(Verdict::CannotSay(vec![whole.into()]));
    }
    Ok(())
}

/// Checks that the server may use several CPUs. A full thread can use only one CPU.
fn leaves_cpus_free(cpu: &ServerCpu<'_>) -> Result<(), Verdict> {
    let Some((_, allowed)) = cpu.used else {
        return Err(Verdict::CannotSay(vec!["cpu.online and process.cpus_allowed of the server".into()]));
    };
    match allowed < SEVERAL_CPUS {
        true => Err(Verdict::RuledOut("the server may use only one CPU".into())),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests;

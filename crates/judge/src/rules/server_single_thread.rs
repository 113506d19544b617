//! One thread of the server is full while it leaves other CPUs free.

use run::FigureUnit;

use super::rule::{Rule, Tier, Verdict, full_server, none};
use crate::Facts;
use crate::evidence::{measured, thread_line};
use crate::number::{figure, percent};
use crate::thresholds::{ALWAYS_WANTS, FULL, MOSTLY_RUNS, NEARLY_FULL, SEVERAL_CPUS};
use crate::view::{Task, View};

pub(super) const RULE: Rule = Rule {
    id: "server-single-thread",
    needs: &["thread.cpu", "cpu.online"],
    waits: false,
    tier: Tier::Cause,
    explains: &["tcp-window", "accept-queue"],
    signals: none,
    judge,
    advice: &[
        "Spread this work over more threads or processes (worker_processes, SO_REUSEPORT listeners, a worker pool), or move work out of this thread.",
    ],
    explain: "Average use hides it: one thread (an event loop, an acceptor, a lock holder) runs all the time while its host is \
              half idle, and more CPUs change nothing. loadline looks at the busiest thread alone. It adds the time that the \
              thread waited for a CPU if the thread ran most of the time.",
};

fn judge(facts: &Facts<'_>) -> Verdict {
    bind(facts).unwrap_or_else(|verdict| verdict)
}

/// Returns the verdict with the thread, or the reason against it.
fn bind(facts: &Facts<'_>) -> Result<Verdict, Verdict> {
    let view = full_server(facts)?;
    let workers = view.workers();
    let Some(first) = workers.first() else {
        return Err(Verdict::CannotSay(vec!["thread.cpu of the server's threads".into()]));
    };
    is_full(&view, first)?;
    others_are_free(&view)?;
    let mut evidence: Vec<run::Evidence> = workers.iter().take(2).map(|task| thread_line(&view, task)).collect();
    if let Some(host) = view.host() {
        let idle = (host.online - host.busy).max(0.0);
        let text = format!("{} of {} CPUs were idle", figure(idle), figure(host.online));
        evidence.push(measured(&view, ("cpu.idle", "total"), (idle, FigureUnit::Cpus), None, text));
    }
    evidence.extend(super::handshakes::work(facts, &view));
    Ok(Verdict::Binds {
        confidence: if first.busy >= FULL && first.counter == "thread.cpu" { 0.95 } else { 0.8 },
        sentence: format!("one thread of the server is full ({}): more CPUs will not help", first.name),
        evidence,
    })
}

/// Checks that this is a single thread, and full.
fn is_full(view: &View<'_>, first: &Task) -> Result<(), Verdict> {
    let threads = view.side.recording.reading("process.threads", &first.name, view.window).value();
    if first.counter != "thread.cpu" && threads != Some(1.0) && first.busy >= MOSTLY_RUNS {
        let whole = "thread.cpu: only whole processes were read, and the busiest one may have several threads";
        return Err(Verdict::CannotSay(vec![whole.into()]));
    }
    match first.busy >= FULL || (first.wants() >= ALWAYS_WANTS && first.busy >= MOSTLY_RUNS) {
        true => Ok(()),
        false => Err(Verdict::RuledOut(format!("the server's busiest thread used {} of a CPU", percent(first.busy)))),
    }
}

/// Checks that the thread leaves CPUs unused.
fn others_are_free(view: &View<'_>) -> Result<(), Verdict> {
    let Some(allowed) = view.cpu_allowed() else {
        return Err(Verdict::CannotSay(vec!["cpu.online and process.cpus_allowed of the server".into()]));
    };
    if allowed < SEVERAL_CPUS {
        return Err(Verdict::RuledOut("the server may use only one CPU, and that is full".into()));
    }
    match view.cpu_used().filter(|used| *used >= NEARLY_FULL * allowed) {
        Some(used) => {
            let (used, allowed) = (figure(used), figure(allowed));
            Err(Verdict::RuledOut(format!(
                "all of the server's CPUs are full ({used} of {allowed}), not one thread alone"
            )))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Who};

    /// A server of one thread that gets so much of a CPU while other programs fill all; it waits as good as always beside.
    fn beside_others(us: f64) -> run::Bottleneck {
        let mut run = PlantedRun::new(60.0, 20_000.0)
            .per_s(Who::Server, "process.cpu", "srv:100", move |p| p.x * us)
            .per_s(Who::Server, "thread.cpu", "srv:100/101", move |p| p.x * us)
            .per_s(Who::Server, "thread.run_delay", "srv:100/101", move |p| p.x * (49.8 - us))
            .per_s(Who::Server, "thread.cpu", "srv:100/102", |p| p.x * 0.1)
            .per_s(Who::Server, "thread.cpu", "srv:100/103", |p| p.x * 0.1)
            .per_s(Who::Server, "thread.cpu", "srv:100/104", |p| p.x * 0.1)
            .per_s(Who::Server, "cpu.idle", "total", |_| 1e4)
            .per_s(Who::Server, "cpu.user", "total", |_| 3.9e6)
            .run();
        crate::judge(&mut run);
        run.findings.bottleneck
    }

    #[test]
    fn a_thread_that_has_all_of_a_cpu_lacks_no_other_however_full_they_are() {
        let (all, some) = (beside_others(47.0), beside_others(30.0));
        assert_eq!(all.id, "server-single-thread", "{all:#?}");
        assert_eq!(some.id, "server-cpu", "{some:#?}");
    }
}

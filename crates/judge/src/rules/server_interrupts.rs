//! Rule for a server whose packets are all handled by one CPU of its host. The CPU that handles the packets is full of
//! interrupts, while other CPUs have idle time.

use run::{FigureUnit, Instances};

use super::rule::{PLAIN, Rule, Verdict, cannot_say, full_server};
use crate::Facts;
use crate::context::evidence::measured;
use crate::context::view::View;
use crate::number::{counted, percent, ratio};
use crate::signals::{Signal, chance};
use crate::thresholds::{FULL_MIDDLE, FULL_WIDTH, GUESS, LIKELY, MOSTLY_RUNS, TWO_SIGNS};

pub(super) const RULE: Rule = Rule {
    id: "server-interrupts",
    needs: &["cpu.softirq"],
    explains: &["server-single-thread", "network-loss", "tcp-window", "accept-queue"],
    shared: &[(&["cpu.softirq"], "the CPU had room for interrupts under a lighter load")],
    signals: |facts| full_server(facts).ok().and_then(|view| Some(FullCpu::of(&view)?.signal())).into_iter().collect(),
    judge,
    advice: &[
        "Give the network card more queues (ethtool -L), or turn on receive packet steering \
         (/sys/class/net/*/queues/rx-*/rps_cpus): several CPUs then receive packets.",
        "Make a packet cheaper: fewer firewall rules, larger segments (GRO, TSO), fewer packets per request.",
    ],
    explain: "The kernel handles a received packet on the CPU to which the network card's queue sends its interrupt. A \
              card with one queue, or a virtual one, sends all of them to one CPU. When this CPU does nothing else and \
              cannot keep up, packets wait or are dropped, however many CPUs and threads the server has. The sum over \
              all CPUs hides this CPU. On one host, the sender's CPU also receives the packets, so this bottleneck is \
              seen only between hosts.",
    ..PLAIN
};

/// The CPU of a host that spends the most time on interrupts.
struct FullCpu {
    /// Number of the CPU in the kernel's numbering.
    cpu: String,
    /// Share of the time for which the CPU handled interrupts, 0 to 1.
    share: f64,
    /// Share of the time for which the CPU was busy with any work, 0 to 1. If the CPU's busy time was not read, the
    /// field contains the share of the interrupts.
    busy: f64,
}

impl FullCpu {
    /// Finds the CPU of a host (the client's or the server's) that spends the most time on interrupts. Returns `None`
    /// if the time of each CPU was not read.
    fn of(view: &View<'_>) -> Option<Self> {
        let times = CpuTimes::of(view);
        let names = view.side.recording.columns_of("cpu.softirq").map(|column| column.instance.as_str());
        let shares = names.filter(|cpu| cpu.parse::<u32>().is_ok()).filter_map(|cpu| {
            let share = times.interrupts(cpu)?;
            Some(Self { share, busy: times.busy(cpu).unwrap_or(share), cpu: cpu.to_owned() })
        });
        shares.max_by(|a, b| a.share.total_cmp(&b.share))
    }

    fn signal(&self) -> Signal {
        Signal::new("busy share of the CPU that handles the packets", self.busy, (FULL_MIDDLE, FULL_WIDTH))
    }

    /// Returns the probability that the CPU is full, and mostly because of interrupts.
    fn chance(&self) -> f64 {
        self.signal().chance() * chance((self.share - MOSTLY_RUNS) / FULL_WIDTH)
    }
}

/// Counters of the time of each CPU of a host.
struct CpuTimes<'a> {
    softirq: Instances<'a>,
    irq: Instances<'a>,
    idle: Instances<'a>,
    iowait: Instances<'a>,
    view: View<'a>,
}

impl<'a> CpuTimes<'a> {
    fn of(view: &View<'a>) -> Self {
        let of = |id| view.side.recording.instances(id);
        let (softirq, irq) = (of("cpu.softirq"), of("cpu.irq"));
        Self { softirq, irq, idle: of("cpu.idle"), iowait: of("cpu.iowait"), view: *view }
    }

    /// Returns the growth of a counter for one CPU, as a share of the elapsed time.
    fn share(&self, counter: &Instances<'_>, cpu: &str) -> Option<f64> {
        ratio(counter.value(cpu, self.view.window)? / 1e6, self.view.span_s?)
    }

    /// Returns the share of the time for which a CPU handled hard and soft interrupts.
    fn interrupts(&self, cpu: &str) -> Option<f64> {
        Some(self.share(&self.softirq, cpu)? + self.share(&self.irq, cpu).unwrap_or(0.0))
    }

    /// Returns the share of the time for which a CPU was busy with any work. Returns `None` if the busy time of the CPU
    /// was not read.
    fn busy(&self, cpu: &str) -> Option<f64> {
        let idle = self.share(&self.idle, cpu)? + self.share(&self.iowait, cpu).unwrap_or(0.0);
        Some((1.0 - idle).clamp(0.0, 1.0))
    }
}

/// Returns true if the host's CPUs together are full, so that the CPU with the interrupts is not the only full one.
fn is_full_host(view: &View<'_>) -> bool {
    view.host().and_then(|host| ratio(host.busy, host.online)).is_none_or(|busy| busy >= FULL_MIDDLE)
}

fn judge(facts: &Facts<'_>) -> Verdict {
    let view = match full_server(facts) {
        Ok(view) => view,
        Err(verdict) => return verdict,
    };
    let Some(full) = FullCpu::of(&view) else { return cannot_say("cpu.softirq of each CPU of the server's host") };
    let busy = format!("CPU {} spent {} of its time on interrupts", full.cpu, percent(full.share));
    if full.chance() < LIKELY || is_full_host(&view) {
        return Verdict::RuledOut(format!("{busy}, more than any other CPU of the server's host"));
    }
    let Some(had_room) = facts.lighter_than(&view).had_room(|lighter| CpuTimes::of(lighter).interrupts(&full.cpu))
    else {
        return cannot_say("cpu.softirq of each CPU under a lighter load");
    };
    if had_room < LIKELY {
        return Verdict::RuledOut(format!("{busy}, and as much under lighter loads: other traffic causes them"));
    }
    let most = if facts.limited() { TWO_SIGNS } else { GUESS };
    let others = view.online().unwrap_or(1.0) - 1.0;
    Verdict::Binds {
        confidence: full.chance() * had_room * most,
        sentence: format!(
            "one CPU of the server's host handles the packets and is full: CPU {} spent {} of its time on interrupts, and \
             {} had room",
            full.cpu,
            percent(full.share),
            counted(others, "other CPU")
        ),
        evidence: vec![measured(&view, ("cpu.softirq", &full.cpu), (full.share, FigureUnit::Cpus), Some(1.0), busy)],
    }
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Who};

    /// Returns the verdict on a server that completes 5,000 requests per second on four CPUs. CPU 2 handles all
    /// packets. At the highest rate, CPU 2 spends the share `share` of its time on packets, and all programs together
    /// use `used` CPUs.
    fn verdict(share: f64, used: f64) -> run::Bottleneck {
        let planted = PlantedRun::new(400.0, 5000.0)
            .per_s(Who::Server, "cpu.softirq", "2", move |p| p.x / 5000.0 * share * 1e6)
            .per_s(Who::Server, "cpu.softirq", "total", move |p| p.x / 5000.0 * share * 1e6)
            .per_s(Who::Server, "cpu.user", "total", move |p| p.x / 5000.0 * used * 1e6)
            .per_s(Who::Server, "cpu.idle", "total", move |p| (4.0 - p.x / 5000.0 * (used + share)) * 1e6);
        let mut run = planted.run();
        crate::judge(&mut run);
        run.findings.bottleneck
    }

    #[test]
    fn one_cpu_with_all_packets_is_named() {
        let full = verdict(0.99, 0.1);
        assert!(full.id == "server-interrupts" && full.confidence >= 0.8, "{full:#?}");
        assert!(full.sentence.contains("CPU 2 spent 99"), "{}", full.sentence);
        assert_ne!(verdict(0.6, 0.1).id, "server-interrupts");
        assert_ne!(verdict(0.99, 3.0).id, "server-interrupts", "all CPUs are full");
    }

    /// In this test, the CPU that handles all packets also runs threads of the server for a tenth of the time.
    #[test]
    fn the_rest_of_the_cpu_s_time_counts_too() {
        let with_idle = |idle: f64| {
            let planted = PlantedRun::new(400.0, 5000.0)
                .per_s(Who::Server, "cpu.softirq", "0", |p| p.x / 5000.0 * 0.85e6)
                .per_s(Who::Server, "cpu.idle", "0", move |p| (1.0 - p.x / 5000.0 * (1.0 - idle)) * 1e6);
            let mut run = planted.run();
            crate::judge(&mut run);
            run.findings.bottleneck
        };
        let (full, rests) = (with_idle(0.01), with_idle(0.15));
        assert!(full.id == "server-interrupts" && full.confidence >= 0.8, "{full:#?}");
        assert!(rests.id != "server-interrupts" || rests.confidence < 0.5, "{rests:#?}");
    }

    #[test]
    fn packets_of_other_programs_are_no_limit_of_the_server() {
        let mut run = PlantedRun::new(400.0, 5000.0).per_s(Who::Server, "cpu.softirq", "0", |_| 0.99e6).run();
        crate::judge(&mut run);
        assert_ne!(run.findings.bottleneck.id, "server-interrupts", "{:#?}", run.findings.bottleneck);
    }
}

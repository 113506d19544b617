//! Lever (temporary change of an experiment) that takes whole CPUs away from the server, and not a share of every CPU.
//!
//! A server that handles one request at a time moves to the remaining CPUs, and its throughput stays the same. A server
//! that handles several requests at a time loses the throughput of the taken CPUs. A share of every CPU would slow a
//! server equally, however many requests it handles at a time.

use std::path::Path;
use std::sync::mpsc::Receiver;

use run::{AgentCommand, CPU_COUNT_LEVER, LeverPart, LeverPlan, Prove};
use sys::clock;
use sys::cpu_hog::CpuHog;

use super::lever::{Lever, LeverHost, LeverTargets, Pull};
use super::slot_clock::SlotClock;

pub(super) const ROW: Lever = Lever {
    id: CPU_COUNT_LEVER,
    help: "takes whole CPUs away from the server: half of those that it may use",
    tests: &["server-cpu", "server-single-thread", "server-concurrency", "unknown"],
    needs: Prove::Default,
    always: false,
    slot_s: SLOT_S,
    planned: 0.5,
    rights: "none: own processes; with the right to raise priorities they get more of these CPUs",
    intrusion: "everything on these CPUs runs elsewhere, or much slower, in half of the slots",
    dose: "CPU time of the lever's processes over that of all CPUs that the server may use",
    undo: "the processes end with their agent, also if it is killed",
    place: LeverHost::Server,
    pull: Pull::Slots { plan, check: Some(check), act },
};

/// Length of a time slot, seconds. The kernel moves load between CPUs within tenths of a second. In a measurement, one
/// of two CPUs was taken from a threaded Python server. The server lost throughput only gradually: it had 76 % of its
/// rate in the first 10 ms after the loss of the CPU, 86 % after 50 ms, and 94 % from 70 ms on. The first 70 ms of a
/// time slot are therefore not measured.
const SLOT_S: f64 = 0.15;
/// Number of busy processes per taken CPU. Each process has the scheduler's normal weight. A server on two CPUs has
/// between half of the normal scheduler weight and the whole normal weight on each CPU. Eight busy processes per taken
/// CPU leave the server 6 to 11 % of this CPU.
const HOGS_PER_CPU: usize = 8;

fn plan(targets: &LeverTargets) -> Result<LeverPlan, String> {
    if targets.at_rate {
        return Err("at an offered rate its dose could overload the server".into());
    }
    let plan = targets.on_server(ROW.id)?;
    let cpus = targets.server_cpus.clone();
    if !cpus.is_empty() {
        cpus_to_take(cpus.clone(), probe::core_of)?;
    }
    Ok(LeverPlan { cpus, ..plan })
}

fn check(plan: &LeverPlan) -> Result<run::LeverCheck, String> {
    cpus_to_take(allowed_cpus(plan), probe::core_of).map(|_| run::LeverCheck::default())
}

/// Returns the CPUs that the server may use. The plan names no CPUs if the server runs on another host, so the agent
/// finds them there.
fn allowed_cpus(plan: &LeverPlan) -> Vec<u32> {
    if plan.cpus.is_empty() { probe::cpus_of(Path::new("/"), &plan.pids) } else { plan.cpus.clone() }
}

/// Returns the half of the allowed CPUs that the experiment takes from the server. Keeps the hyperthreads of one core
/// together, because they slow each other.
fn cpus_to_take(mut allowed: Vec<u32>, core_of: impl Fn(u32) -> u32) -> Result<Vec<u32>, String> {
    if allowed.len() < 2 {
        return Err("the server may use only one CPU".into());
    }
    allowed.sort_by_key(|cpu| (core_of(*cpu), *cpu));
    Ok(allowed.split_off(allowed.len().div_ceil(2)))
}

fn act(plan: &LeverPlan, commands: Receiver<AgentCommand>) -> Result<LeverPart, String> {
    let allowed = allowed_cpus(plan);
    let cpus = cpus_to_take(allowed.clone(), probe::core_of)?;
    let slot_clock = SlotClock::new(plan);
    let times: Vec<(u64, u64)> =
        (0..plan.on.len()).filter(|slot| plan.on[*slot]).map(|slot| slot_clock.whole_ns(slot)).collect();
    let starts = cpus.iter().flat_map(|cpu| [*cpu; HOGS_PER_CPU]).map(|cpu| CpuHog::start(cpu, &times));
    let hogs: Vec<CpuHog> = starts.collect::<Result<_, _>>().map_err(|e| format!("starting its processes: {e}"))?;
    let look = || (cpu_ns(&hogs), clock::monotonic_ns());
    let share = |_, (cpu_before, before): (u64, u64)| {
        let (cpu, now) = look();
        let room_ns = now.saturating_sub(before) as f64 * allowed.len() as f64;
        (cpu.saturating_sub(cpu_before) as f64 / room_ns.max(1.0)).clamp(0.0, 1.0)
    };
    let read = slot_clock.measure(&commands, look, share)?;
    let taken: Vec<f64> = read.into_iter().map(|share| share.unwrap_or(f64::NAN)).collect();
    let ordered = Some(cpus.len() as f64 / allowed.len() as f64);
    Ok(LeverPart { speed: taken.iter().map(|taken| 1.0 - taken).collect(), taken, ordered, ..LeverPart::default() })
}

/// Returns the CPU time that all busy processes of the experiment have used so far, nanoseconds.
fn cpu_ns(hogs: &[CpuHog]) -> u64 {
    hogs.iter().filter_map(|hog| hog.cpu_ns().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_cpus_are_taken_core_by_core() {
        let alone = |cpu: u32| cpu;
        assert!(cpus_to_take(vec![3], alone).unwrap_err().contains("only one CPU"));
        assert_eq!(cpus_to_take(vec![0, 1], alone).unwrap(), [1]);
        assert_eq!(cpus_to_take(vec![5, 1, 3], alone).unwrap(), [5]);
        // CPUs 0 and 2 are one core, and CPUs 1 and 3 are another.
        assert_eq!(cpus_to_take(vec![0, 1, 2, 3], |cpu| cpu % 2).unwrap(), [1, 3]);
    }

    #[test]
    fn the_lever_takes_its_cpus_in_its_slots_and_says_how_much() {
        let allowed = sys::limits::allowed_cpus().unwrap();
        if allowed.len() < 2 {
            return;
        }
        // The first time slot begins late, so that all processes have started even if other tests run at the same time.
        let slots = run::SlotPlan { first_s: 0.5, slot_s: 0.4, settle_s: 0.2, count: 10 };
        let plan = LeverPlan {
            lever: ROW.id.into(),
            start_at_ns: clock::realtime_ns(),
            slots,
            on: (0..10).map(|slot| slot % 2 == 1).collect(),
            pids: vec![std::process::id()],
            ..LeverPlan::default()
        };
        let (_sender, commands) = std::sync::mpsc::channel();
        let part = act(&plan, commands).unwrap();
        let ordered = part.ordered.unwrap();
        assert!((0.3..=0.5).contains(&ordered), "{part:?}");
        // While other tests run, a thread may wake up late: by 92 ms in four of five slots of one run. Because threads
        // may wake up late, the first half of each slot is left out. If the machine stood still for a whole slot, this
        // slot has no value.
        let [off, on] = [0, 1].map(|first| {
            let of_kind = part.taken.iter().skip(first).step_by(2).copied();
            let mut taken: Vec<f64> = of_kind.filter(|share| share.is_finite()).collect();
            taken.sort_by(f64::total_cmp);
            taken[taken.len() / 2]
        });
        // Tests that run at the same time compete for the CPU that the lever takes. If four other threads are busy on a
        // CPU, the lever's thread gets a fifth of this CPU.
        assert!(on > 0.15 * ordered && off < 0.2 * on, "{part:?}");
    }
}

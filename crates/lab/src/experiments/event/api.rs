//! `lab event-api`: what its trials stand on, and the sweep over cold connections. The timing is in `bench`, the other
//! sweeps in `sweeps`, the checks in `conclude`.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ::event::{Backend, Options};
use run::{ColdPlan, Trial, TrialKind};
use sys::socket;
use sys::tsc::Calibration;

use super::bench::{Amount, Timing, calls};
use super::callers::Library;
use super::declares::{Declares, declares};
use super::hot::Hot;
use super::{across, conclude, places, rate, sweeps};
use crate::cold::Cold;
use crate::experiments::Parameters;
use crate::{Lab, LabError};

/// Cold connections of the source's figure 6.
const FIGURE_COLD: u32 = 750;
/// Hot connections of the sweeps: the source's 32 S-Clients.
pub(super) const HOT: usize = 32;
/// Connects a second.
pub(super) const PACE: f64 = 8000.0;

/// Ends the name of a back end to which nobody says when a descriptor has been read.
pub(super) const UNTOLD: &str = " untold";

/// What the trials stand on.
pub(super) struct Bench {
    pub(super) clock: Calibration,
    pub(super) amount: Amount,
    pub(super) backends: Vec<(String, Options)>,
    pub(super) cpus: crate::Places,
    listener: OwnedFd,
    pub(super) cold: Vec<OwnedFd>,
}

/// Conducts the experiment.
pub(super) fn run(lab: &mut Lab<'_>, parameters: &Parameters) -> Result<(), LabError> {
    let mut bench = Bench::new(lab, parameters)?;
    if parameters.flag("figures", true) {
        sweeps::arrays(&bench, lab, parameters, FIGURE_COLD)?;
        sweeps::small_file(&bench, lab, parameters, FIGURE_COLD)?;
    }
    across::processes(&bench, lab, parameters)?;
    let mut agents: Vec<Cold> = Vec::new();
    let mut levels: Vec<u32> = parameters.numbers("cold", &[0.0, 750.0, 2000.0]).iter().map(|c| *c as u32).collect();
    levels.push(FIGURE_COLD);
    levels.sort_unstable();
    levels.dedup();
    for level in levels {
        if lab.stopped() {
            break;
        }
        if !bench.grow(lab, level, &mut agents)? {
            break;
        }
        if level == FIGURE_COLD {
            rate::rate(&bench, lab)?;
            sweeps::share(&bench, lab)?;
            sweeps::full_array(&bench, lab)?;
        }
        bench.cold_point(lab, level, parameters.count("rounds", 3).max(1))?;
    }
    let mut lost = 0;
    for cold in agents {
        lost += cold.close().lost;
    }
    if lost > 0 {
        lab.note(format!("{lost} cold connections were lost before the end"));
    }
    conclude::conclude(&mut lab.run);
    Ok(())
}

impl Bench {
    fn new(lab: &mut Lab<'_>, parameters: &Parameters) -> Result<Self, LabError> {
        let names = parameters.texts("backends", &["epoll", "uring", "poll", "select"]);
        let mut backends = Vec::new();
        for name in names {
            let base = name.split(' ').next().unwrap_or(&name);
            let unchecked = name.ends_with(" unchecked");
            let backend = Backend::named(base)
                .map_err(|e| LabError::set_up("choosing a back end", std::io::Error::other(e.to_string())))?;
            let options = Options::new(backend).recheck(!unchecked);
            match event::EventQueue::with(options) {
                Ok(_) => backends.push((name, options)),
                Err(why) => lab.note(format!("{name} is left out: {why}")),
            }
        }
        let clock = Calibration::measure();
        if clock.spread > 0.01 {
            lab.note(format!("the cycle counter runs unevenly by {:.1} %: times are uncertain", clock.spread * 100.0));
        }
        let amount = Amount {
            calls: parameters.count("calls", 10_000).max(10) as usize,
            at_most: Duration::from_secs_f64(parameters.number("seconds", 1.0).clamp(0.05, 60.0)),
        };
        let failed = |e: sys::Errno| LabError::set_up("listening for cold connections", std::io::Error::from(e));
        let any = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = socket::tcp(any).map_err(failed)?;
        socket::bind(&listener, any).map_err(failed)?;
        socket::listen(&listener, 4096).map_err(failed)?;
        Ok(Self { clock, amount, backends, cpus: places(), listener, cold: Vec::new() })
    }

    /// The back ends as they are meant to be used: events that hold when they are delivered, as in the source.
    pub(super) fn checked(&self) -> impl Iterator<Item = &(String, Options)> {
        self.backends.iter().filter(|(name, _)| !name.contains(' '))
    }

    /// Has so many cold connections; `false` when they cannot be had.
    fn grow(&mut self, lab: &mut Lab<'_>, to: u32, agents: &mut Vec<Cold>) -> Result<bool, LabError> {
        let more = to.saturating_sub(self.cold.len() as u32);
        if more == 0 {
            return Ok(true);
        }
        let plan = ColdPlan { connections: more, rate: PACE, cpus: self.cpus.client.clone(), ..ColdPlan::default() };
        let failed = |e: sys::Errno| LabError::set_up("accepting cold connections", std::io::Error::from(e));
        let addr = socket::local_addr(&self.listener).map_err(failed)?;
        let (listener, open_done) = (&self.listener, AtomicBool::new(false));
        let (opened, accepted) = std::thread::scope(|scope| {
            let accepting = scope.spawn(|| accept(listener, more as usize, &open_done));
            let opened = lab.open_cold(&plan, addr);
            open_done.store(true, Ordering::Relaxed);
            (opened, accepting.join().unwrap_or_default())
        });
        let opened = opened?;
        let all = opened.notes.is_empty() && accepted.len() == more as usize;
        agents.push(opened);
        self.cold.extend(accepted);
        if !all {
            lab.note(format!("{to} cold connections could not be had, so the sweep ends here"));
        }
        Ok(all)
    }

    /// Runs something on the processor that is measured, in a thread of its own: a queue belongs to its thread.
    pub(super) fn on_cpu<T: Send>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, LabError> + Send,
    ) -> Result<T, LabError> {
        let cpus = &self.cpus.server;
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                // Where there is only one processor everything shares it.
                let _ = sys::limits::confine_to_cpus(cpus);
                work(self)
            });
            let lost = || Err(LabError::set_up("timing calls", std::io::Error::other("the thread panicked")));
            thread.join().unwrap_or_else(|_| lost())
        })
    }

    /// One number of cold connections: calls and declarations on every back end, in rounds.
    fn cold_point(&self, lab: &mut Lab<'_>, cold: u32, rounds: u32) -> Result<(), LabError> {
        // Whose calls grow a thousandfold shows it in one round; a growth of nothing needs several.
        let due = |name: &str, options: &Options, round: u32| {
            !name.ends_with(UNTOLD) && (round == 0 || !options.backend.spec().level)
        };
        for round in 0..rounds {
            for (name, options) in self.backends.iter().filter(|(name, options)| due(name, options, round)) {
                if lab.stopped() {
                    return Ok(());
                }
                let (timing, declared) = self.on_cpu(|bench| {
                    let mut hot = Hot::open(HOT)?;
                    let mut library = Library::new(*options, &mut hot, &bench.cold, 10)?;
                    let timing = calls(&mut library, &mut hot, 10, 1, bench.amount, &bench.clock);
                    Ok((timing, declares(&mut library, &mut hot, bench.amount, &bench.clock)?))
                })?;
                let mut trial = trial(format!("{name}, {cold} cold"), &timing, &[("cold", f64::from(cold))]);
                put_declares(&mut trial, &timing, &declared);
                lab.keep(trial)?;
            }
        }
        Ok(())
    }
}

/// Takes connections until there are enough, or, once nobody opens any more, until none has come for a while.
fn accept(listener: &OwnedFd, wanted: usize, open_done: &AtomicBool) -> Vec<OwnedFd> {
    let (mut list, mut last) = (Vec::with_capacity(wanted), Instant::now());
    while list.len() < wanted {
        match socket::accept(listener) {
            Ok(fd) => {
                list.push(fd);
                last = Instant::now();
            }
            Err(_) if open_done.load(Ordering::Relaxed) && last.elapsed() > Duration::from_secs(1) => break,
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    list
}

pub(super) fn trial(label: String, timing: &Timing, more: &[(&str, f64)]) -> Trial {
    let mut axes: BTreeMap<String, f64> = more.iter().map(|(name, v)| ((*name).to_string(), *v)).collect();
    for (name, value) in [
        ("call_us", timing.mean_us),
        ("median_us", timing.median_us),
        ("p99_us", timing.p99_us),
        ("trimmed_us", timing.trimmed_us),
        ("returned", timing.returned),
        ("calls", timing.calls as f64),
        ("rejected", timing.rejected as f64),
    ] {
        axes.insert(name.into(), value);
    }
    Trial { label, kind: TrialKind::Experiment, axes, ..Trial::default() }
}

fn put_declares(trial: &mut Trial, timing: &Timing, declared: &Declares) {
    let values = [
        ("event_us", timing.trimmed_us / timing.returned.max(1.0)),
        ("declare_us", declared.declare.trimmed_us),
        ("revoke_us", declared.revoke.trimmed_us),
        ("declare_with_state_us", declared.with_state.trimmed_us),
        ("bare_add_us", declared.bare_add.trimmed_us),
        ("bare_delete_us", declared.bare_delete.trimmed_us),
    ];
    trial.axes.extend(values.map(|(name, value)| (name.to_string(), value)));
}

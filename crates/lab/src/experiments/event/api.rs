//! `lab event-api`: the trials, the fits and the checks. The timing is in `bench`.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ::event::{Backend, Options};
use run::{ColdPlan, Run, Trial, TrialKind};
use sys::socket;
use sys::tsc::Calibration;

use super::bench::{Amount, Bare, Declares, Hot, Library, Timing, calls, declares};
use super::{axis, check, places};
use crate::cold::Cold;
use crate::experiments::Parameters;
use crate::{Lab, LabError};

/// Cold connections of the source's figure 6.
const FIGURE_COLD: u32 = 750;
/// Hot connections of the sweeps: the source's 32 S-Clients.
const HOT: usize = 32;
/// Connects a second.
const PACE: f64 = 5000.0;

/// What the trials stand on.
struct Bench {
    clock: Calibration,
    amount: Amount,
    backends: Vec<(String, Options)>,
    cpus: crate::Places,
    listener: OwnedFd,
    cold: Vec<OwnedFd>,
}

/// Conducts the experiment.
pub(super) fn run(lab: &mut Lab<'_>, parameters: &Parameters) -> Result<(), LabError> {
    let mut bench = Bench::new(lab, parameters)?;
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
            bench.array_sweep(lab, parameters)?;
            bench.rate_sweep(lab)?;
            bench.share(lab)?;
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
    conclude(&mut lab.run);
    Ok(())
}

impl Bench {
    fn new(lab: &mut Lab<'_>, parameters: &Parameters) -> Result<Self, LabError> {
        let names = parameters.texts("backends", &["epoll", "uring", "poll", "select"]);
        let mut backends = Vec::new();
        for name in names {
            let (base, unchecked) = name.strip_suffix(" unchecked").map_or((name.as_str(), false), |base| (base, true));
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
    fn on_cpu<T: Send>(&self, work: impl FnOnce(&Self) -> Result<T, LabError> + Send) -> Result<T, LabError> {
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

    /// Times one point with the library.
    fn time(&self, options: Options, hot: usize, array: usize, pieces: usize) -> Result<Timing, LabError> {
        self.on_cpu(|bench| {
            let mut hot = Hot::open(hot)?;
            let mut library = Library::new(options, &mut hot, &bench.cold, array)?;
            Ok(calls(&mut library, &mut hot, array, pieces, bench.amount, &bench.clock))
        })
    }

    /// Figure 6: a call against array_max, for several numbers of clients.
    fn array_sweep(&self, lab: &mut Lab<'_>, parameters: &Parameters) -> Result<(), LabError> {
        for (name, options) in &self.backends {
            for clients in parameters.numbers("clients", &[4.0, 32.0]) {
                for array in parameters.numbers("array_max", &[1.0, 2.0, 4.0, 8.0, 10.0, 64.0]) {
                    if lab.stopped() {
                        return Ok(());
                    }
                    let timing = self.time(*options, clients.max(1.0) as usize, array.max(1.0) as usize, 1)?;
                    let label = format!("{name} {clients} clients, array_max {array}");
                    let more = [("array_max", array), ("clients", clients)];
                    lab.keep(trial(label, &timing, &more))?;
                }
            }
        }
        Ok(())
    }

    /// An event against how many arrivals stand behind it.
    fn rate_sweep(&self, lab: &mut Lab<'_>) -> Result<(), LabError> {
        for (name, options) in &self.backends {
            for arrivals in [1, 2, 4, 8] {
                let timing = self.time(*options, HOT, 10, arrivals)?;
                let label = format!("{name} hot rate, {arrivals} arrivals an event");
                lab.keep(trial(label, &timing, &[("arrivals", arrivals as f64)]))?;
            }
        }
        Ok(())
    }

    /// The library beside the bare system call, and io_uring beside epoll with a full array; short turns, interleaved.
    fn share(&self, lab: &mut Lab<'_>) -> Result<(), LabError> {
        let turn = Amount { calls: self.amount.calls / 10, ..self.amount };
        let (bare, library) = self.on_cpu(|bench| {
            let (mut a, mut b) = (Hot::open(HOT)?, Hot::open(HOT)?);
            let mut bare = Bare::new(&mut a, &bench.cold)?;
            let mut library = Library::new(Options::new(Backend::Epoll), &mut b, &bench.cold, 10)?;
            let (mut first, mut second) = (Vec::new(), Vec::new());
            for _ in 0..10 {
                first.push(calls(&mut bare, &mut a, 10, 1, turn, &bench.clock));
                second.push(calls(&mut library, &mut b, 10, 1, turn, &bench.clock));
            }
            Ok((middle(first), middle(second)))
        })?;
        lab.keep(trial("share, bare epoll_pwait2".into(), &bare, &[("bare", 1.0)]))?;
        lab.keep(trial("share, library".into(), &library, &[("bare", 0.0)]))?;
        for (name, options) in self.backends.iter().filter(|(name, _)| name == "epoll" || name.starts_with("uring")) {
            let timing = self.time(*options, 64, 64, 1)?;
            lab.keep(trial(format!("full array, {name}"), &timing, &[("full", 64.0)]))?;
        }
        Ok(())
    }

    /// One number of cold connections: calls and declarations on every back end, in rounds.
    fn cold_point(&self, lab: &mut Lab<'_>, cold: u32, rounds: u32) -> Result<(), LabError> {
        for _ in 0..rounds {
            for (name, options) in &self.backends {
                if lab.stopped() {
                    return Ok(());
                }
                let (timing, declared) = self.on_cpu(|bench| {
                    let mut hot = Hot::open(HOT)?;
                    let mut library = Library::new(*options, &mut hot, &bench.cold, 10)?;
                    let timing = calls(&mut library, &mut hot, 10, 1, bench.amount, &bench.clock);
                    Ok((timing, declares(&mut library, &mut hot, bench.amount, &bench.clock)))
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

/// The timing with the middle median.
fn middle(mut list: Vec<Timing>) -> Timing {
    list.sort_by(|a, b| a.median_us.total_cmp(&b.median_us));
    list.get(list.len() / 2).copied().unwrap_or_default()
}

fn trial(label: String, timing: &Timing, more: &[(&str, f64)]) -> Trial {
    let mut axes: BTreeMap<String, f64> = more.iter().map(|(name, v)| ((*name).to_string(), *v)).collect();
    for (name, value) in [
        ("call_us", timing.mean_us),
        ("median_us", timing.median_us),
        ("p99_us", timing.p99_us),
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
        ("event_us", timing.mean_us / timing.returned.max(1.0)),
        ("declare_us", declared.declare.median_us),
        ("revoke_us", declared.revoke.median_us),
        ("declare_with_state_us", declared.with_state.median_us),
    ];
    trial.axes.extend(values.map(|(name, value)| (name.to_string(), value)));
}

fn conclude(run: &mut Run) {
    line_of_a_call(run);
    slopes(run);
    shares(run);
    let median = |label: &str| run.trials.iter().find(|t| t.label == label).and_then(|t| axis(t, "median_us"));
    if let (Some(one), Some(eight)) =
        (median("epoll hot rate, 1 arrivals an event"), median("epoll hot rate, 8 arrivals an event"))
    {
        let name = "epoll: a call with 8 arrivals behind each event over one with 1";
        run.findings.checks.push(check(name, eight / one.max(1e-9), "at most", 1.1));
    }
}

/// Cost of a call = a + b * events returned.
fn line_of_a_call(run: &mut Run) {
    let points: Vec<(f64, f64)> = run
        .trials
        .iter()
        .filter(|t| t.label.starts_with("epoll 32 clients") && axis(t, "array_max").is_some_and(|a| a <= 10.0))
        .filter_map(|t| Some((axis(t, "returned")?, axis(t, "median_us")?)))
        .collect();
    if let Some(fit) = judge::fit::line_fit(&points, "events", "call_us") {
        run.findings.checks.push(check("epoll: R2 of the line of cost against events", fit.r2, "at least", 0.95));
        run.findings.fits.insert("epoll, a call against events".into(), fit);
    }
}

/// Growth of a call with cold connections, by back end.
fn slopes(run: &mut Run) {
    for name in ["epoll", "uring", "uring unchecked", "poll", "select"] {
        let prefix = format!("{name}, ");
        let points: Vec<(f64, f64)> = run
            .trials
            .iter()
            .filter(|t| t.label.starts_with(&prefix))
            .filter_map(|t| Some((axis(t, "cold")?, axis(t, "median_us")?)))
            .collect();
        let Some(fit) = judge::fit::line_fit(&points, "cold", "call_us") else { continue };
        let most = points.iter().map(|p| p.0).fold(0.0, f64::max);
        let of = |key: &str| fit.coefficients.get(key).copied().unwrap_or(0.0);
        let least = points.iter().map(|p| p.0).fold(f64::INFINITY, f64::min);
        let mut first: Vec<f64> = points.iter().filter(|p| p.0 <= least).map(|p| p.1).collect();
        first.sort_by(f64::total_cmp);
        // What is measured without cold connections; the line's own start can be far off when the curve bends.
        let base = first.get(first.len() / 2).copied().unwrap_or_default().max(1e-9);
        let growth = of("slope") * (most - least) / base;
        let holds_zero = fit.intervals.get("slope").is_some_and(|i| i.low <= 0.0 && i.high >= 0.0);
        let (flat, what) = (name == "epoll" || name.starts_with("uring"), format!("from 0 to {most} cold connections"));
        run.findings.checks.push(if flat {
            let text = format!("{name}: growth of a call {what} (0 when the 95 % interval of the slope holds zero)");
            check(text, if holds_zero { 0.0 } else { growth.abs() }, "at most", 0.02)
        } else {
            check(format!("{name}: growth of a call {what}"), growth, "at least", 0.5)
        });
        run.findings.conclusions.push(format!(
            "{name}: a call of 10 events costs {:.2} us without cold connections and grows by {:.1} % {what}.",
            base,
            100.0 * growth
        ));
        run.findings.fits.insert(format!("{name}, a call against cold connections"), fit);
    }
}

fn shares(run: &mut Run) {
    let median = |label: &str| run.trials.iter().find(|t| t.label == label).and_then(|t| axis(t, "median_us"));
    let mut checks = Vec::new();
    if let (Some(bare), Some(library)) = (median("share, bare epoll_pwait2"), median("share, library")) {
        let name = "the library's own share of a call over bare epoll at array_max 10";
        checks.push(check(name, library / bare.max(1e-9) - 1.0, "at most", 0.05));
    }
    let over_epoll =
        |name: &str| Some(median(&format!("full array, {name}"))? / median("full array, epoll")?.max(1e-9));
    if let Some(ratio) = over_epoll("uring unchecked") {
        checks.push(check("uring unchecked: cost of an event over epoll's at array_max 64", ratio, "at most", 0.75));
    }
    let conclusion = over_epoll("uring").map(|ratio| {
        format!(
            "io_uring that looks at the state again at delivery, as the source does, costs {ratio:.2} of epoll's time an \
             event at array_max 64 and cannot be cheaper: its second look is a poll(2) over the events, which is what \
             epoll does inside its one call. Without it (unchecked) only memory is read. The work of an arrival is done \
             when the application returns from another system call, outside of get_next_event, in both cases."
        )
    });
    run.findings.checks.extend(checks);
    run.findings.conclusions.extend(conclusion);
}

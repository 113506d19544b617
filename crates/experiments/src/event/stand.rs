//! Setup of the trials of `lab event-api`: the backends, the CPUs, and a growing number of cold (idle) connections.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ::event::{Backend, Options};
use run::number::{Unit, quantity};
use run::{ColdPlan, Key, Results, Trial, TrialKind};
use sys::socket;
use sys::tsc::Calibration;

use super::bench::{Amount, Timing};
use super::values::{BACKEND, CALL_US, CALLS, MEDIAN_US, P99_US, REJECTED, RETURNED, TRIMMED_US};
use crate::Parameters;
use lab::cold::Cold;
use lab::{Lab, LabError};

/// Number of hot (active) connections in the sweeps. The paper also used 32 S-Clients.
pub(super) const HOT: usize = 32;
/// Rate at which cold connections are opened, per second.
pub(super) const PACE: f64 = 8000.0;

/// An event backend to measure, with the variant in which it is used.
#[derive(Clone, Debug)]
pub(super) struct Contender {
    /// Name in the plan, such as `uring unchecked`.
    pub(super) name: String,
    pub(super) options: Options,
    /// True if the library is told when all data of a descriptor has been read.
    pub(super) told: bool,
}

impl Contender {
    /// Parses the name of a backend with its variants. `unchecked` means that events are not checked when they are
    /// delivered. `untold` means that the library is not told when data has been read.
    fn read(name: &str) -> Result<Self, String> {
        let mut words = name.split_whitespace();
        let backend = Backend::named(words.next().unwrap_or_default()).map_err(|e| e.to_string())?;
        let mut contender = Self { name: name.into(), options: Options::new(backend), told: true };
        for word in words {
            match word {
                "unchecked" => contender.options = contender.options.recheck(false),
                "untold" => contender.told = false,
                other => return Err(format!("{other:?} is not a variant of a back end; give unchecked or untold")),
            }
        }
        Ok(contender)
    }

    /// Returns true for a backend without variants. Such a backend checks each event again when it delivers it, as does
    /// the event API of Banga, Mogul and Druschel.
    pub(super) fn plain(&self) -> bool {
        self.told && self.options.recheck
    }

    /// Returns true if the cost of a call grows with the number of connections.
    pub(super) fn is_level(&self) -> bool {
        self.options.backend.spec().level
    }

    /// Returns the backends that the parameters name.
    pub(super) fn all(parameters: &Parameters) -> Result<Vec<Self>, String> {
        parameters
            .texts("backends", &["epoll", "uring", "poll", "select"])
            .iter()
            .map(|name| Self::read(name))
            .collect()
    }
}

/// Setup of the trials: the clock, the backends, the CPUs and the cold connections.
pub(super) struct Bench {
    pub(super) clock: Calibration,
    pub(super) amount: Amount,
    pub(super) backends: Vec<Contender>,
    pub(super) cpus: lab::CpuSplit,
    listener: OwnedFd,
    pub(super) cold: Vec<OwnedFd>,
}

impl Bench {
    pub(super) fn new(lab: &mut Lab<'_>, parameters: &Parameters) -> Result<Self, LabError> {
        let all = Contender::all(parameters)
            .map_err(|why| LabError::set_up("choosing a back end", std::io::Error::other(why)))?;
        let mut backends = Vec::new();
        for contender in all {
            match event::EventQueue::with(contender.options) {
                Ok(_) => backends.push(contender),
                Err(why) => lab.note(format!("{} is left out: {why}", contender.name)),
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

    /// Returns the backends without variants.
    pub(super) fn plain(&self) -> impl Iterator<Item = &Contender> {
        self.backends.iter().filter(|contender| contender.plain())
    }

    /// Opens further cold connections until there are `to` in total. Returns false if the connections cannot be opened.
    pub(super) fn grow(&mut self, lab: &mut Lab<'_>, to: u32, agents: &mut Vec<Cold>) -> Result<bool, LabError> {
        let more = to.saturating_sub(self.cold.len() as u32);
        if more == 0 {
            return Ok(true);
        }
        let plan = ColdPlan { connections: more, rate: PACE, cpus: self.cpus.client.clone(), ..ColdPlan::default() };
        let failed = |e: sys::Errno| LabError::set_up("accepting cold connections", std::io::Error::from(e));
        let addr = socket::local_addr(&self.listener).map_err(failed)?;
        let (listener, open_done) = (&self.listener, AtomicBool::new(false));
        let (opened, accepted) = std::thread::scope(|scope| {
            let accepting = std::thread::Builder::new()
                .spawn_scoped(scope, || accept(listener, more as usize, &open_done))
                .map_err(|e| LabError::set_up("accepting cold connections", e))?;
            let opened = lab.open_cold(&plan, &addr.into());
            open_done.store(true, Ordering::Relaxed);
            Ok::<_, LabError>((opened, accepting.join().unwrap_or_default()))
        })?;
        let opened = opened?;
        let all = opened.notes.is_empty() && accepted.len() == more as usize;
        agents.push(opened);
        self.cold.extend(accepted);
        if !all {
            lab.note(format!("{to} cold connections could not be opened, so the sweep ends here"));
        }
        Ok(all)
    }

    /// Runs a function in a thread on the CPU that is reserved for measurements. The function must create its event
    /// queue itself, because a queue works only in the thread that created it.
    pub(super) fn on_cpu<T: Send>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, LabError> + Send,
    ) -> Result<T, LabError> {
        let cpus = &self.cpus.server;
        std::thread::scope(|scope| {
            let body = || {
                // An error is acceptable: if the kernel refuses to bind the thread to its CPU, the thread only shares
                // the CPU with other threads.
                let _ = sys::limits::confine_to_cpus(cpus);
                work(self)
            };
            let started = std::thread::Builder::new().spawn_scoped(scope, body);
            let thread = started.map_err(|e| LabError::set_up("starting a thread that times calls", e))?;
            let lost = || Err(LabError::set_up("timing calls", std::io::Error::other("the thread panicked")));
            thread.join().unwrap_or_else(|_| lost())
        })
    }
}

/// Accepts up to `wanted` connections. Once the clients have stopped opening connections, the function waits until no
/// connection has arrived for a second. After a second without a new connection, the function returns the connections
/// accepted so far, even if there are fewer than `wanted`.
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

/// Creates a trial from a timing. `line` is the name of the trial's line in charts. `rest` is the part of the trial's
/// label that differs among the trials of one line.
pub(super) fn trial((line, rest): (&str, &str), timing: &Timing, key: Key) -> Trial {
    let results = Results { summary: Some(summary(timing.mean_us, timing.calls)), ..Results::default() }
        .with(CALL_US, timing.mean_us)
        .with(MEDIAN_US, timing.median_us)
        .with(P99_US, timing.p99_us)
        .with(TRIMMED_US, timing.trimmed_us)
        .with(RETURNED, timing.returned)
        .with(CALLS, timing.calls as f64)
        .with(REJECTED, timing.rejected as f64);
    let key = Key { line: Some(line.into()), ..key };
    Trial { label: format!("{line}, {rest}"), kind: TrialKind::Experiment, key, results, ..Trial::default() }
}

/// Returns a text with the time per call and the number of timed calls.
pub(super) fn summary(us: f64, calls: usize) -> String {
    format!("{} a call, {calls} calls", quantity(us, Unit::Micros))
}

/// Returns the key of a trial that uses the backend named `backend`.
pub(super) fn on(backend: &str) -> Key {
    Key::default().with(BACKEND, backend.to_string())
}

/// Divides the CPUs: the last CPU (`server`) for the measurement, the others (`client`) for everything else. If there
/// is only one CPU, the measurement and everything else share this CPU.
pub(super) fn places() -> lab::CpuSplit {
    lab::CpuSplit::for_own_server(&sys::limits::allowed_cpus().unwrap_or_default(), &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_backend_is_parsed() {
        let read = |name: &str| Contender::read(name).map(|c| (c.options.backend, c.told, c.options.recheck));
        assert_eq!(read("uring"), Ok((Backend::Uring, true, true)));
        assert_eq!(read("uring untold"), Ok((Backend::Uring, false, true)));
        assert_eq!(read("uring unchecked"), Ok((Backend::Uring, true, false)));
        assert!(read("uring unchekced").is_err() && read("kqueue").is_err() && read("").is_err());
    }
}

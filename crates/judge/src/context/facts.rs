//! The input of the rules: a run, its decisive trial (the trial that represents the run), and both sides of this trial.

mod prepare;

use run::{Limits, OwnLimit, Run, Trial, UpstreamLoad, WaitFinding};

use crate::context::lighter::LighterLoads;
use crate::context::other_programs::other_processes_cpu_of;
use crate::context::rare_slow::RareSlow;
use crate::context::single::{clients, good, highest_rate, keeps_up, server_of};
use crate::context::sweep::{Plateau, top};
use crate::context::view::View;
use crate::failed::failed_stretch::FailedStretch;
use crate::failed::period_limit::PeriodLimit;
use crate::failed::refusals::Refusals;
use crate::in_flight::upstreams::FullUpstreams;
use crate::number::{positive, rate};
use crate::thresholds::{PAST_XMAX, REACHED};
use crate::waits::FullPipe;

/// A run, prepared for the rules.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// Run that the rules judge.
    pub run: &'a Run,
    /// Objective of the run.
    pub limits: Limits,
    /// Closed-loop steps in which a request completed, by rising number of clients.
    pub sweep: Vec<&'a Trial>,
    /// Steps of a sweep that an open loop later exceeded by far; `sweep` leaves these steps out. See
    /// [`is_outgrown`](crate::context::sweep::is_outgrown).
    pub(crate) outgrown: Vec<&'a Trial>,
    /// Open-loop steps in which a request completed, by rising offered rate. Loads beyond the capacity are included.
    /// Steps whose load had too few connections are left out, since they say nothing about the server.
    pub search: Vec<&'a Trial>,
    /// Disturbed steps of the sweep and the search, which `sweep` and `search` leave out: other programs ran during
    /// most of each step.
    pub spoiled: Vec<&'a Trial>,
    /// True if `sweep` and `search` contain disturbed steps, because a single load level would be left without them.
    pub(crate) has_spoiled: bool,
    /// Rates of the steps that `search` leaves out because their load had too few connections.
    pub own_pool: Vec<OwnLimit>,
    /// Step with the fewest clients.
    pub unloaded: Option<&'a Trial>,
    /// Trial that represents the run. With a sweep, the decisive trial is the sweep's first step that reaches 97 % of
    /// the sweep's highest rate. In an experiment without a sweep, the decisive trial is the first trial that meets the
    /// objective and reaches 97 % of the highest rate. If no such trial meets the objective, the decisive trial is the
    /// first trial that reaches 97 % of the highest rate. If a run is no experiment and has no sweep, the decisive
    /// trial is the trial with the highest rate. If the requests differ in size, rates in bytes per second are
    /// compared.
    pub decisive: Option<&'a Trial>,
    /// Open-loop step with the lowest offered rate that missed the objective, above all rates that met the objective.
    pub failing: Option<&'a Trial>,
    /// Result of the sweep: throughput stopped growing (a plateau), or still grew.
    pub plateau: Plateau,
    /// Upstreams of the server, the nearest first, each with its load.
    pub upstreams: Vec<UpstreamLoad>,
    /// Full upstreams that the server may wait for, the likely limit first.
    pub(crate) full_upstreams: FullUpstreams,
    /// Stretch of time in which every request failed, whatever the load.
    pub(crate) stretch: Option<FailedStretch<'a>>,
    /// Refused answers in the loaded trials.
    pub(crate) refusals: Refusals<'a>,
    /// Slow answers that are as frequent under any load.
    pub(crate) rare_slow: Option<RareSlow>,
    /// Limit on the number of requests per period.
    pub(crate) period_limit: Option<PeriodLimit>,
    /// Reasons why requests wait inside the server, found in samples of the server's threads.
    pub(crate) waits: Vec<WaitFinding>,
    /// Full pipe for which threads of the server, or of its upstreams, wait.
    pub(crate) full_pipe: Option<FullPipe>,
}

fn loaded<'a>(
    sweep: &[&'a Trial],
    search: &[&'a Trial],
    decisive: Option<&'a Trial>,
) -> impl Iterator<Item = &'a Trial> {
    sweep.iter().copied().chain(search.iter().copied()).chain(decisive)
}

impl<'a> Facts<'a> {
    /// Returns true if the run is a search for the capacity. The advice depends on the kind of run: a search that ended
    /// early needs more time, and a run of another kind needs a search.
    pub(crate) fn is_search(&self) -> bool {
        self.run.plan.command == "find"
    }

    /// Returns a sentence that says that an open loop completed far more than the plateau of the sweep. Returns `None`
    /// if no open loop completed far more than the plateau of the sweep.
    pub(crate) fn outgrown_text(&self) -> Option<String> {
        let [before, later] = [&self.outgrown, &self.search].map(|trials| highest_rate(trials.iter().copied()));
        (!self.outgrown.is_empty()).then(|| {
            format!(
                "the sweep stopped growing at {}, but an open loop later completed {}: the server warmed up, filled a cache \
                 or started more workers",
                rate(before),
                rate(later)
            )
        })
    }

    /// Describes the data that a rule lacks if the run has too few load levels.
    pub(crate) fn lacks_levels(&self) -> String {
        if !self.outgrown.is_empty() {
            return "a sweep of the warm server: the server later did far more than its sweep (run `loadline find` again)".into();
        }
        let remedy = if self.is_search() { "give more --budget" } else { "run `loadline find`" };
        format!("more load levels: a single one cannot show a limit ({remedy})")
    }

    /// Returns the trials of the sweep and the search, and the decisive trial (which represents the run).
    pub(crate) fn loaded(&self) -> impl Iterator<Item = &'a Trial> {
        loaded(&self.sweep, &self.search, self.decisive)
    }

    /// Returns the sweep steps in which the server was at its limit. Of the steps with several requests in flight,
    /// returns those that reach at least 97 % of the highest rate. If no step has several requests in flight, all steps
    /// are compared. The returned steps show how the server divides its work among threads. With a single request in
    /// flight, only one thread works, however many threads the server has.
    fn busy_steps(&self) -> Vec<&'a Trial> {
        let several: Vec<&Trial> = self.sweep.iter().copied().filter(|t| clients(t) > 1.0).collect();
        top(if several.is_empty() { &self.sweep } else { &several })
    }

    /// Returns the trials near the highest rate: the steps of `busy_steps`. If the sweep ended far below the rate of an
    /// open loop, returns the open loops near the highest rate instead.
    pub(crate) fn fast_trials(&self) -> Vec<&'a Trial> {
        let best = |trials: &[&'a Trial]| highest_rate(trials.iter().copied());
        let is_beyond = self.plateau == Plateau::Grows && best(&self.sweep) < REACHED * best(&self.search);
        if is_beyond { top(&self.search) } else { self.busy_steps() }
    }

    /// Returns the trial that shows which CPU is full. Of the trials near the highest rate, the returned trial is the
    /// one in which the server used the most CPU time. The decisive step may reach nearly the highest rate before a CPU
    /// is completely full.
    pub fn full(&self) -> Option<&'a Trial> {
        let used = |t: &Trial| server_of(t).and_then(|v| v.cpu_used()).unwrap_or(0.0);
        self.fast_trials().into_iter().max_by(|a, b| used(a).total_cmp(&used(b))).or(self.decisive)
    }

    /// Returns the client's side of the decisive trial (which represents the run).
    pub fn client(&self) -> Option<View<'a>> {
        self.decisive.map(|t| View::new("client", t, &t.client))
    }

    /// Returns the server's side of the decisive trial (which represents the run).
    pub fn server(&self) -> Option<View<'a>> {
        self.decisive.and_then(server_of)
    }

    /// Returns true if the server's side of any load was read, even if no load represents the run.
    pub(crate) fn reads_server(&self) -> bool {
        self.run.trials.iter().any(|trial| server_of(trial).is_some())
    }

    /// Returns the server's side of the step with the most clients among the steps near the highest rate. In the step
    /// with the most clients, the most requests wait at the server.
    pub(crate) fn crowded_server(&self) -> Option<View<'a>> {
        self.busy_steps().last().copied().or(self.decisive).and_then(server_of)
    }

    /// Returns the loads of the run that are lighter than the load of `view` (the server's side of one trial).
    pub(crate) fn lighter_than(&self, view: &View<'a>) -> LighterLoads<'a> {
        LighterLoads::of(
            view,
            self.loaded(),
            &self.run.at_rest,
            self.plateau == Plateau::Grows && self.failing.is_none(),
        )
    }

    /// Returns the client's side of [`Facts::full`].
    pub fn full_client(&self) -> Option<View<'a>> {
        self.full().map(|t| View::new("client", t, &t.client))
    }

    /// Returns the server's side of [`Facts::full`].
    pub fn full_server(&self) -> Option<View<'a>> {
        self.full().and_then(server_of)
    }

    /// Returns the trials that show the limit: the decisive trial, the failing trial ([`Facts::failing`]), and the last
    /// step of a sweep whose rate still grew.
    pub fn focus(&self) -> Vec<&'a Trial> {
        let last = self.sweep.last().copied().filter(|_| self.plateau == Plateau::Grows);
        let mut focus: Vec<&Trial> = Vec::new();
        for trial in [self.decisive, self.failing, last].into_iter().flatten() {
            if !focus.iter().any(|t| std::ptr::eq(*t, trial)) {
                focus.push(trial);
            }
        }
        focus
    }

    /// Returns the rate of good answers in the decisive trial (which represents the run).
    pub fn x_max(&self) -> Option<f64> {
        self.decisive.map(good).and_then(positive)
    }

    /// Returns the measurement with the highest rate of the open-loop search, if this rate is clearly above the highest
    /// rate of the closed loop. The closed loop may have had too few clients, or other programs may have disturbed it.
    pub(crate) fn beyond_closed_loop(&self) -> Option<&'a Trial> {
        let closed = self.sweep.iter().map(|step| good(step)).reduce(f64::max).and_then(positive)?;
        let most = self.search.iter().copied().max_by(|a, b| good(a).total_cmp(&good(b)))?;
        (good(most) > (1.0 + PAST_XMAX) * closed).then_some(most)
    }

    /// Returns the highest rate of good answers that was measured in the closed loop, or in the open-loop search if it
    /// was clearly higher there.
    pub(crate) fn highest_rate(&self) -> Option<f64> {
        self.beyond_closed_loop().map(good).or_else(|| self.x_max())
    }

    /// Returns true if more clients gave no higher rate, or if an open loop missed the objective.
    pub fn limited(&self) -> bool {
        matches!(self.plateau, Plateau::Flat { .. }) || self.failing.is_some()
    }

    /// Returns true if more clients gave no higher rate, or if an open loop completed less than it offered. If only a
    /// delay on each connection limited the rate, more connections would complete more requests, so the result would be
    /// false.
    pub(crate) fn is_rate_limited(&self) -> bool {
        matches!(self.plateau, Plateau::Flat { .. }) || self.failing.is_some_and(|trial| !keeps_up(trial))
    }

    /// Returns the CPU use, in CPUs, of processes that belong neither to the client nor to the server, and the number
    /// of CPUs. Of two machines, takes the machine on which these other processes have the larger share of CPU use.
    /// Leaves out all processes on the machine that loadline watches, whatever their namespace. Returns `None` if the
    /// other processes' share is below 10 %. If the other processes use 10 % of the CPUs or more, every verdict that
    /// does not come from exact counts is weakened.
    pub fn other_processes_cpu(&self) -> Option<(f64, f64)> {
        let timed = || {
            self.run.trials.iter().filter_map(other_processes_cpu_of).max_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)))
        };
        self.decisive.map_or_else(|| timed().filter(|_| !self.run.sent_requests()), other_processes_cpu_of)
    }

    /// Returns true if client and server use the same CPUs.
    pub fn shared(&self) -> bool {
        self.decisive.is_some_and(|t| t.client.shared || t.server.as_ref().is_some_and(|s| s.shared))
    }
}

/// Returns true if the target's address is on the loopback interface.
pub(crate) fn loopback(run: &Run) -> bool {
    // A run without a target used the embedded server on loopback, or is an experiment. In an experiment, client and
    // server may be on different hosts.
    let apart = run.trials.iter().any(|t| t.server.as_ref().is_some_and(|s| s.host != t.client.host));
    run.plan.target.loopback().unwrap_or(!apart)
}

/// Returns true if the target is a Unix socket. No counter of TCP or of a network interface describes a Unix socket.
pub(crate) fn unix_socket(run: &Run) -> bool {
    run::UrlParts::parse(&run.plan.target.url).transport().1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::single::clients;
    use crate::planted::PlantedRun;

    #[test]
    fn a_step_beyond_the_highest_rate_is_not_the_full_step() {
        let mut run = PlantedRun::new(1000.0, 4000.0).rates(&[]).run();
        let last = run.trials.last_mut().unwrap();
        last.rates.completed_rate *= 0.9;
        assert_eq!(Facts::of(&run).full().map(clients), Some(64.0));
    }
}

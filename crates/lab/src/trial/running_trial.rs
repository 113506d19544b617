//! A load test while its agents run: their reports, and the incidents of agents and server. `outcome` makes the
//! resulting [`run::Trial`] from these reports and incidents.

mod events;
mod outcome;

use std::time::{Duration, Instant};

use run::{AgentCommand, Incident, Intensity, LoadPlan, Phase, Steady};
use sys::clock::Origin;

use crate::Watch;
use crate::agents::{ASK_EVERY, AgentGroup};
use crate::observe::samplers::Samplers;
use crate::trial::collected_parts::CollectedParts;
use crate::trial::manual_rate::ManualRate;
use crate::trial::progress::Progress;

/// Interval between checks whether the rate has become steady.
const SETTLED_INTERVAL: Duration = Duration::from_millis(5);
/// Maximum time by which a measurement is extended while the server gives no answers.
const MAX_STANDSTILL: Duration = Duration::from_secs(3);

/// Minimum length of a measurement at the end of a budget, seconds: the shortest that a plan allows.
const MIN_WINDOW_S: f64 = 0.05;
/// Maximum time to wait for the results of stopped agents.
const STOP_TIMEOUT: Duration = Duration::from_millis(500);

/// A load test whose agents are running.
pub(crate) struct RunningTrial<'w> {
    group: AgentGroup,
    samplers: Samplers,
    origin: Origin,
    progress: Progress,
    parts: CollectedParts,
    /// Time between sending a command and the moment that the command names. `None` if all agents and observers are on
    /// this machine and act at once.
    lead: Option<Duration>,
    /// End of the budget; `None` without a budget.
    budget_end: Option<Instant>,
    /// Latest moment of a load in virtual time (`--io sim`), seconds since its start; `None` for a load in real time.
    virtual_end_s: Option<f64>,
    /// Differences between the actual and the requested times of the samples at the start and end of the measurement,
    /// seconds.
    late_s: Vec<f64>,
    /// Time of the next check for incidents.
    check_at: Instant,
    /// Time of the next clock questions to agents on other hosts.
    ask_at: Instant,
    /// Incidents of generators that ended early.
    died: Vec<Incident>,
    /// Time of the next update of the live view; `None` without a live view.
    view_at: Option<Instant>,
    manual_rate: ManualRate,
    watch: &'w mut dyn Watch,
}

impl<'w> RunningTrial<'w> {
    pub(crate) fn new(
        (group, parts): (AgentGroup, CollectedParts),
        samplers: Samplers,
        origin: Origin,
        lead: Option<Duration>,
        (budget_end, virtual_end_s): (Option<Instant>, Option<f64>),
        watch: &'w mut dyn Watch,
    ) -> Self {
        let progress = Progress::new(parts.agents());
        Self {
            group,
            samplers,
            origin,
            progress,
            parts,
            lead,
            budget_end,
            virtual_end_s,
            late_s: Vec::new(),
            check_at: Instant::now(),
            ask_at: Instant::now() + ASK_EVERY,
            died: Vec::new(),
            view_at: watch.looks().then(Instant::now),
            manual_rate: ManualRate::default(),
            watch,
        }
    }

    /// Waits until the test in crate `judge` finds the completed rate steady, but no longer than the plan's maximum
    /// warm-up. If connections open at a limited rate, all requested connections (`asked`) must be established, too. If
    /// too little of the time budget is left, the maximum warm-up is shortened, so that the measurement still fits.
    pub(crate) fn warm_up(&mut self, plan: &LoadPlan, asked: u64) -> (Steady, TrialEnd) {
        let room_s = (self.left_s(plan) - plan.duration_s).max(plan.least_warmup_s);
        let cap_s = plan.warmup_s.min(room_s).max(0.0);
        loop {
            // The test does not run at every tick (progress report), because a thousand agents send ten thousand ticks
            // per second.
            let left_s = (cap_s - self.origin.now_s()).max(0.0);
            let until = Instant::now() + Duration::from_secs_f64(left_s).min(SETTLED_INTERVAL);
            let ended = self.hold_until(until, plan, |_| true);
            let mut steady = judge::steady(&self.progress.settling());
            let now_s = self.origin.now_s();
            steady.warmup_s = now_s.max(0.0);
            let up = !plan.waits_for_all() || self.progress.now().open >= asked;
            let settled = up && now_s >= plan.least_warmup_s && steady.steady;
            let left_s = cap_s - now_s;
            if settled || left_s <= 0.0 || self.over() || ended != TrialEnd::InFull {
                return (steady, ended);
            }
        }
    }

    /// Returns the number of connections that are established now.
    pub(crate) fn open(&self) -> u64 {
        self.progress.now().open
    }

    /// Takes a sample of all observed counters, and then starts a phase on all agents. If agents or observers are on
    /// other hosts, the command names one moment for the sample and the phase. The moment is converted to the clock of
    /// each host. Returns the times of the first and the last sample.
    pub(crate) fn enter(&mut self, phase: Phase) -> (f64, f64) {
        let Some(lead) = self.lead else {
            let edge = self.samplers.edge();
            self.group.tell_all(&AgentCommand::Enter { phase, at_ns: None });
            return edge;
        };
        self.enter_at(phase, Origin::after(lead).ns())
    }

    /// Starts a phase on all agents at the moment at which the load starts.
    pub(crate) fn enter_at_begin(&mut self, phase: Phase) -> (f64, f64) {
        self.enter_at(phase, self.origin.ns())
    }

    fn enter_at(&mut self, phase: Phase, at_ns: u64) -> (f64, f64) {
        self.group.tell_each(|agent| AgentCommand::Enter { phase, at_ns: Some(agent.on_its_clock(at_ns)) });
        let edge = self.samplers.edge_at(at_ns);
        let due_s = self.origin.s_at(at_ns);
        self.late_s.extend([(edge.0 - due_s).abs(), (edge.1 - due_s).abs()]);
        edge
    }

    /// Returns the seconds until the end of the budget; infinite without a budget. The time slots of an experiment have
    /// fixed times and do not end early with the budget.
    fn left_s(&self, plan: &LoadPlan) -> f64 {
        let end = self.budget_end.filter(|_| plan.slots.is_none());
        end.map_or(f64::INFINITY, |end| end.saturating_duration_since(Instant::now()).as_secs_f64())
    }

    /// Measures for the plan's duration, or until the load test ends early. If the server is silent at the end of this
    /// time, waits for answers, but at most [`MAX_STANDSTILL`] longer. Without this extension of the measurement, the
    /// percentiles would leave out requests that still wait for their answers. Also ends when the time budget is used
    /// up, but not before [`MIN_WINDOW_S`]. With the time slots of an experiment, the budget does not end the
    /// measurement.
    pub(crate) fn hold(&mut self, plan: &LoadPlan) -> TrialEnd {
        let begin_s = self.origin.now_s();
        self.progress.stretch(begin_s, plan.duration_s, &plan.stages);
        // The command that ends the measurement is sent some time before the end of the measurement.
        let lead_s = self.lead.map_or(0.0, |lead| lead.as_secs_f64());
        let duration_s = plan.duration_s.min(self.left_s(plan).max(MIN_WINDOW_S));
        let until = Instant::now() + Duration::from_secs_f64((duration_s - lead_s).max(0.001));
        let ended = self.hold_until(until, plan, |_| true);
        if ended != TrialEnd::InFull {
            return ended;
        }
        let latest = until + MAX_STANDSTILL;
        self.hold_until(self.budget_end.map_or(latest, |end| latest.min(end)), plan, |running| {
            running.progress.stands_still(begin_s)
        })
    }

    fn hold_until(&mut self, until: Instant, plan: &LoadPlan, goes_on: impl Fn(&Self) -> bool) -> TrialEnd {
        let mut ended = TrialEnd::InFull;
        while ended == TrialEnd::InFull && Instant::now() < until && !self.over() && goes_on(self) {
            ended = self.listen(until, plan);
        }
        ended
    }

    /// Waits for the results of all agents. If any results are missing, all agents are ended. If no result is missing,
    /// the agents wait for another task.
    pub(crate) fn collect(&mut self, patience: Duration) {
        self.hear_until_over(Instant::now() + patience);
        if !self.over() {
            self.group.tell_all(&AgentCommand::Stop);
            self.hear_until_over(Instant::now() + STOP_TIMEOUT);
        }
        if self.parts.all_came() {
            return;
        }
        self.give_up(patience + STOP_TIMEOUT);
        self.group.stop(Duration::from_millis(500));
        // Handles events that arrived while the agents were being stopped.
        self.hear_until_over(Instant::now() + Duration::from_millis(100));
    }

    /// Records that some agents sent no results. Loadline itself ends such agents, so their end is not reported as a
    /// failure.
    fn give_up(&mut self, waited: Duration) {
        let why = format!(
            "it sent no results within {:.1} s after its window, so loadline ended it; a stopped process (SIGSTOP) or a host \
             without CPU time may be the cause",
            waited.as_secs_f64()
        );
        for agent in self.parts.missing().collect::<Vec<_>>() {
            self.gone(agent, why.clone());
        }
    }

    fn hear_until_over(&mut self, until: Instant) {
        while !self.over() && Instant::now() < until {
            self.hear(until);
        }
    }

    fn over(&self) -> bool {
        self.parts.over()
    }

    /// Handles at most one event. Returns the reason for which the load test must end early, and [`TrialEnd::InFull`]
    /// while it may continue. No incident ends a load test with S-Clients (Banga and Druschel, 1997), not even the loss
    /// of a generator.
    fn listen(&mut self, until: Instant, plan: &LoadPlan) -> TrialEnd {
        self.hear(until);
        if let Some(command) = self.manual_rate.command(plan, self.watch.factor(), self.origin.now_s()) {
            self.group.tell_all(&command);
        }
        let whatever = matches!(plan.intensity, Intensity::SClients { .. });
        if self.watch.stop() {
            TrialEnd::ByUser
        } else if !whatever && (!self.died.is_empty() || self.broken()) {
            TrialEnd::Broken
        } else {
            TrialEnd::InFull
        }
    }
}

/// Reasons for the end of a load test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrialEnd {
    /// The measurement lasted until its planned end.
    InFull,
    /// The user asked to stop.
    ByUser,
    /// The server or a generator stopped or ended, so a longer measurement would not show the planned load.
    Broken,
}

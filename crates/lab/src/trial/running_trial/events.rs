//! Handles the reports of agents: progress, results and ends.

use std::time::{Duration, Instant};

use run::{AgentReport, Incident, IncidentKind, LoadPart, Tick, Window};

use super::RunningTrial;
use crate::LiveProgress;
use crate::agents::{ASK_EVERY, AgentEvent, MAX_CLOCK_SKEW_S};

/// Longest pause between checks for incidents and for a stop by the user.
const MAX_WAIT: Duration = Duration::from_millis(50);
/// Interval between checks for incidents.
const INCIDENT_INTERVAL: Duration = Duration::from_millis(10);
/// Interval between updates of the live view.
const VIEW_INTERVAL: Duration = Duration::from_millis(200);

impl RunningTrial<'_> {
    pub(super) fn hear(&mut self, until: Instant) {
        let now = Instant::now();
        if now >= self.ask_at {
            self.ask_at = now + ASK_EVERY;
            self.group.ask_clocks();
        }
        match self.group.hear(until.min(now + MAX_WAIT)) {
            Some((agent, AgentEvent::Report(AgentReport::Tick(tick)))) => {
                let tick = Tick { t_s: self.group.ours_s(agent, tick.t_s), ..tick };
                self.progress.push(agent, tick, self.origin.now_s());
                self.watch.tick(&self.progress.now());
                self.show();
            }
            Some((agent, AgentEvent::Report(AgentReport::Part(part)))) => self.part(agent, *part),
            Some((agent, AgentEvent::Pong(n, theirs_ns, came_ns))) => {
                self.group.answered(agent, (n, theirs_ns, came_ns))
            }
            Some((agent, AgentEvent::Report(AgentReport::Failed { error }))) => drop(self.parts.lost(agent, error)),
            Some((agent, AgentEvent::Gone(how))) => self.gone(agent, how),
            Some(_) | None => {}
        }
    }

    /// Adds an agent's results, after converting their times from the agent's clock to ours.
    fn part(&mut self, agent: usize, mut part: LoadPart) {
        let ours = |theirs_s| self.group.ours_s(agent, theirs_s);
        for stood in part.pauses.iter_mut().chain(&mut part.held_up) {
            *stood = Window { begin_s: ours(stood.begin_s), end_s: ours(stood.end_s) };
        }
        // A simulated load of many seconds ends within a moment of real time.
        let longest_s = self.virtual_end_s.unwrap_or_else(|| self.origin.now_s().max(0.0)) + MAX_CLOCK_SKEW_S;
        self.parts.take(agent, part, longest_s, ours);
    }

    /// Updates the live view if its interval has passed. Ten thousand ticks may arrive per second, so the view is not
    /// updated for each tick.
    fn show(&mut self) {
        let now = Instant::now();
        if self.view_at.is_none_or(|at| now < at) {
            return;
        }
        self.view_at = Some(now + VIEW_INTERVAL);
        let (clients, server) = self.samplers.glance();
        let (tick, detail) = (self.progress.now(), self.progress.detail());
        self.watch.progress(LiveProgress { tick, detail, clients, server });
    }

    /// Updates the live view with the final counts. The last reports of the agents may have come before the next
    /// regular update.
    pub(super) fn show_last(&mut self) {
        self.view_at = self.view_at.map(|_| Instant::now());
        self.show();
    }

    /// Handles an agent that ended, or was ended, without sending its results.
    pub(super) fn gone(&mut self, agent: usize, how: String) {
        let at_s = self.origin.now_s();
        let text = format!("the generator {:?} ended at {at_s:.1} s: {how}", self.group.name(agent));
        if self.parts.lost(agent, how) {
            self.died.push(Incident { kind: IncidentKind::GeneratorEnded, begin_s: at_s, end_s: None, text });
        }
    }

    /// Returns true if an incident ends the load test. Incidents are not checked at each call, because ten thousand
    /// ticks may arrive per second.
    pub(super) fn broken(&mut self) -> bool {
        let now = Instant::now();
        if now < self.check_at {
            return false;
        }
        self.check_at = now + INCIDENT_INTERVAL;
        self.samplers.incidents().iter().any(|i| i.kind.invalidates_trial())
    }
}

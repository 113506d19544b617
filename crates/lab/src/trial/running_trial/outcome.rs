//! The result of a load test whose agents have ended: merged results, observations and incidents.

use run::{HostLoad, Incident, IncidentKind, Intensity, Measured, Tally, Tick, Trial, Window, WindowSkew};

use super::RunningTrial;
use crate::LabError;
use crate::agents::{Agent, AgentGroup};
use crate::trial::merge::{self, Point};
use crate::trial::progress::{Progress, STEP_S};

impl RunningTrial<'_> {
    /// Returns the load test: merged results, observations of client and server, and incidents. Also returns the
    /// agents, which wait for another task. In virtual time, the agents' results define the measured window, and not
    /// the conductor's commands (`window`).
    pub(crate) fn trial(
        mut self,
        loads: &[&Intensity],
        point: &Point,
        window: Window,
    ) -> Result<(Trial, AgentGroup), LabError> {
        self.show_last();
        let window = self.virtual_end_s.and_then(|_| self.parts.window()).unwrap_or(window);
        let missing = self.parts.describe_missing(|agent| self.group.name(agent).to_string());
        if self.parts.none_came() && self.died.is_empty() {
            return Err(LabError::Lost { label: point.label.clone(), why: missing.join("; ") });
        }
        let (lost, agents) = (self.parts.missing().collect::<Vec<_>>(), self.parts.agents());
        let (apart, all_wait) = (self.window_skew(), self.parts.all_came());
        let (mut whole, mut hosts) = self.parts.merged();
        add_last_ticks(&mut whole.total, lost.into_iter().filter_map(|agent| self.progress.last(agent)));
        let mut trial = merge::trial(point, loads, whole, window);
        self.manual_rate.record(&mut trial);
        add_progress(&mut trial.measured, &self.progress, window);
        trial.measured.apart = apart;
        trial.moments = self.progress.moments(window.end_s);
        if self.group.agents().iter().any(Agent::is_remote) {
            add_clock_offsets(&mut hosts, self.group.agents());
            trial.host_loads = hosts;
        }
        if agents > 1 {
            trial.notes.push(format!("the load was made by {agents} agent processes"));
        }
        trial.notes.extend(missing);
        if self.watch.stop() {
            // A service manager signals all processes at the same time, so generators that have ended were also stopped
            // by the user.
            self.died.clear();
        }
        let seen = self.samplers.close(&mut trial);
        trial.incidents = incidents(seen, self.died, &self.progress, window);
        trial.notes.extend(trial.incidents.iter().map(|i| i.text.clone()));
        Ok((trial, if all_wait { self.group } else { AgentGroup::default() }))
    }

    /// Returns the time differences between the measured windows of several agents.
    fn window_skew(&self) -> Option<WindowSkew> {
        let clock_s = self.group.clock_error().as_secs_f64();
        let drift_s = self.group.drift().into_iter().chain(self.samplers.drift()).max();
        self.parts.apart(&self.late_s, (clock_s, drift_s.map(|drift| drift.as_secs_f64())))
    }
}

/// Adds the last ticks (progress reports) of agents whose results are missing. These ticks count in the totals, but not
/// in the measurement.
fn add_last_ticks<'a>(total: &mut Tally, last: impl Iterator<Item = &'a Tick>) {
    for tick in last {
        total.sent = total.sent.saturating_add(tick.sent);
        total.completed = total.completed.saturating_add(tick.completed);
    }
}

/// Adds the difference between the clock of each host and ours.
fn add_clock_offsets(hosts: &mut [HostLoad], agents: &[Agent]) {
    for host in hosts {
        let agent = agents.iter().find(|agent| agent.host() == host.host);
        host.clock_us = agent.map_or(0.0, |agent| agent.offset_ns() as f64 / 1e3);
    }
}

/// Adds the series of rates from the agents' progress reports.
fn add_progress(measured: &mut Measured, progress: &Progress, window: Window) {
    let series = progress.series(window.begin_s, window.end_s);
    measured.series_step_s = Some(series.step_s).filter(|step_s| *step_s > STEP_S);
    measured.series_completed = series.completed;
    measured.series_failed = series.failed;
    measured.series_refused = series.refused;
    measured.silence = progress.longest_silence(window.begin_s, window.end_s);
}

/// Returns the incidents that observers and agents saw, in order of time. If there are no incidents but the server was
/// silent, returns the silence as an incident.
fn incidents(mut seen: Vec<Incident>, died: Vec<Incident>, progress: &Progress, window: Window) -> Vec<Incident> {
    // Agents that have started to drain end by themselves, so their end is no incident.
    seen.retain(|i| i.kind != IncidentKind::GeneratorStopped || i.begin_s < window.end_s);
    seen.extend(died);
    if seen.is_empty() {
        seen.extend(progress.silence(window.begin_s, window.end_s));
    }
    seen.sort_by(|a, b| a.begin_s.total_cmp(&b.begin_s));
    seen
}

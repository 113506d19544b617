//! The first phase of a search: the closed-loop sweep, which adds clients until the throughput stops growing.

use run::number::prose::counted;
use run::number::{number, span};
use run::{Intensity, ThinkTime, TrialKind};

use super::{Finder, Phase};
use crate::LabError;
use crate::search::{Conductor, RateSearch, StepTimes, Sweep, step};

/// Ratio of the low rate (see `Finder::low_rate`) to the highest rate of the sweep. At the low rate, a request waits on
/// average half a service time for a single worker (M/D/1), so a response takes 1.5 service times. A rate limit that
/// delays answers lets half of the requests pass without delay if they arrive at random at the low rate.
const LOW_SHARE: f64 = 0.5;

impl Finder {
    /// Conducts a step of the closed-loop sweep. Only good answers count, because a server that quickly refuses
    /// everything would look fast.
    pub(super) fn sweep_step(&mut self, conductor: &mut dyn Conductor, mut sweep: Sweep) -> Result<Phase, LabError> {
        let Some(n) = sweep.next() else { return self.end_sweep(conductor, &sweep) };
        let is_chosen = n > 1 && sweep.is_at_chosen();
        let until_s = match n {
            // Without a rate of one client, there is no result, so a repeated first step may use the whole budget.
            1 if self.swept => self.budget.end_s(),
            _ if is_chosen => self.budget.chosen_until_s(),
            _ => self.budget.sweep_until_s(),
        };
        let left_s = step::left_s(conductor, until_s);
        let length = match n {
            1 => self.budget.first_step(self.response_s, left_s),
            _ if is_chosen => self.budget.chosen_step(self.response_s, sweep.round_s(), left_s),
            _ => self.budget.sweep_step(self.response_s),
        };
        if self.over(conductor) {
            sweep.end("the run ended");
        } else if (n > 1 || self.swept) && length.whole_s() > left_s {
            if is_chosen {
                conductor.note(not_tried(n, sweep.round_s()));
            }
            if is_chosen || !sweep.skip_to_chosen() {
                sweep.end_in_time();
            }
        } else {
            self.load_clients(conductor, &mut sweep, n, length.within(left_s, length.measure_s))?;
        }
        Ok(Phase::Sweep(sweep))
    }

    /// Conducts the load test with `n` clients, and records its result in the sweep. If the load test shows nothing
    /// about `n` clients, the sweep repeats it.
    fn load_clients(
        &mut self,
        conductor: &mut dyn Conductor,
        sweep: &mut Sweep,
        n: u32,
        length: StepTimes,
    ) -> Result<(), LabError> {
        let (response_s, was_flat) = (self.response_s, sweep.has_stopped_growing());
        let plan = step::plan(conductor, closed(conductor, n), length);
        let label = if n == 1 { "1 connection".into() } else { format!("{n} connections") };
        let knew_pauses = self.pause_s > 0.0;
        let trial = self.conduct(conductor, plan, label, TrialKind::Sweep)?;
        if was_flat {
            // Beyond the plateau, more clients only wait longer. The steps of the rate search have lower rates, so they
            // keep the length that fits the plateau.
            self.response_s = response_s.max(self.pause_s);
        }
        if self.pause_s > 0.0 && !knew_pauses || judge::spoiled(conductor.run().last_repeat())(&trial) {
            return Ok(());
        }
        match judge::mostly_refused(&trial) {
            true => {
                self.let_through = judge::good_of_all(&trial);
                sweep.end("most answers had an unexpected status");
            }
            false => sweep.record(judge::good(&trial)),
        }
        if judge::lacked_connections(&trial) {
            sweep.end("the generator has no local ports or descriptors for more");
        }
        let left_s = self.budget.sweep_until_s() - conductor.elapsed_s();
        let next = self.budget.sweep_step(self.response_s);
        sweep.hurry((left_s / next.whole_s()) as u32, next.measure_s);
        Ok(())
    }

    /// Ends the closed-loop sweep. The search for the highest rate follows if any request of the sweep completed.
    fn end_sweep(&mut self, conductor: &mut dyn Conductor, sweep: &Sweep) -> Result<Phase, LabError> {
        if let Some(why) = sweep.ended() {
            conductor.note(format!("stopped adding clients: {why}"));
        }
        // The response time of refusals is not that of good answers, so the search finds the highest rate without
        // refusals.
        let best = if sweep.best() > 0.0 { sweep.best() } else { self.let_through };
        if best <= 0.0 {
            return Ok(Phase::Done);
        }
        self.connections = sweep.fewest_at_best();
        self.served = judge::served_connections(conductor.run().last_repeat());
        self.served.into_iter().for_each(|served| conductor.note(serves_few(served)));
        self.mean_at_best_s = f64::from(self.connections) / best;
        let limits = judge::limits(conductor.run());
        // At the end of the sweep, the server was busy, so requests of different clients waited for one another. At
        // lower rates, requests wait less, so the response time is limited to what the objective allows.
        let longest_s = judge::longest_mean_us(&limits).unwrap_or(f64::INFINITY) / 1e6;
        self.response_s = self.response_s.min(longest_s);
        self.budget = self.budget.extended(conductor.unused_s()?);
        self.search_s = self.budget.search_until_s() - conductor.elapsed_s();
        self.low_rate = judge::may_delay(conductor.run()).then_some(LOW_SHARE * best);
        let precision = conductor.run().plan.search.precision;
        Ok(Phase::Rates(RateSearch::new(best, precision, sweep.still_grows()), Box::new(limits)))
    }
}

/// Returns a note that the open loop has only as many connections as the server serves at the same time.
fn serves_few(served: u32) -> String {
    let connections = counted(f64::from(served), "connection");
    format!(
        "the server answered on {connections} at a time and left all others waiting, so the search for the capacity used at \
         most {connections}; users on further connections wait until another connection ends"
    )
}

/// Returns a note that the user's own number of connections does not fit into the budget. `round_s` is the time in
/// which the server answers each connection once, seconds.
fn not_tried(connections: u32, round_s: f64) -> String {
    format!(
        "{} connections (--connections) were not tried: the server needs {} to answer each of them once, so a longer --budget \
         is needed",
        number(f64::from(connections)),
        span(round_s)
    )
}

/// Returns the run's load as a closed loop with `connections` clients.
fn closed(conductor: &dyn Conductor, connections: u32) -> Intensity {
    let (pipeline, think) = match &conductor.load().intensity {
        Intensity::Closed { pipeline, think, .. } => (*pipeline, think.clone()),
        _ => (1, ThinkTime::default()),
    };
    Intensity::Closed { connections, pipeline, think }
}

//! A server in virtual (simulated) time, for tests of the search. A run of half a minute takes a fraction of a second
//! of real time. Equal seeds give equal runs.

mod conductor;
mod influences;
mod trial;

use lab::LabError;
use lab::search::Conductor as _;
use load::SimServer;
use run::{LoadPlan, Plan, Protocol, Run};

pub use influences::{Drift, Neighbour, Pauses};

/// Default time that a trial (one load) takes beyond its warm-up and its window, seconds. In this time, agents
/// (generator processes) start, and a short drain takes place.
const AROUND_A_TRIAL_S: f64 = 0.08;
/// Length of time for which pauses are generated, as a multiple of the search's budget. A search never takes longer
/// than three times its budget.
const BUDGETS: f64 = 3.0;

/// A queueing model of a server, with the run of a search that tests this server.
#[derive(Clone, Debug)]
pub struct VirtualServer {
    /// The queueing model. Each trial (one load) replaces the model's seed, its stalls (pauses) and its service time.
    pub server: SimServer,
    run: Run,
    load: LoadPlan,
    pauses: Vec<(f64, f64)>,
    /// Stalls that stop only the server, not the whole machine. The observer that looks for pauses of the whole machine
    /// does not notice stalls of the server alone.
    stalls: Vec<(f64, f64)>,
    neighbours: Vec<Neighbour>,
    /// Virtual machines of other users, to which the hypervisor gives the CPU.
    guests: Vec<Neighbour>,
    drift: Option<Drift>,
    /// Standard deviation of the random error in the logarithm of the measured CPU time per request. The error does not
    /// include changes of the machine's speed. `None` if no CPU time is measured.
    cpu_noise: Option<f64>,
    /// Time of the final experiment that the search gets at the end of its sweep, seconds; 0 unless `without_proof` is
    /// set.
    unused_s: f64,
    without_proof: bool,
    /// Time that each trial (one load) takes beyond its warm-up and its window, seconds.
    around_s: f64,
    /// Response time of the test request, seconds; `None` if the test request takes the model's service time.
    first_s: Option<f64>,
    /// Logarithm of the current speed, the time at which it was drawn, and the random generator for the next speed.
    speed: (f64, f64, fastrand::Rng),
    now_s: f64,
    /// Time that does not count as used by the search, seconds.
    left_out_s: f64,
    seed: u64,
}

impl VirtualServer {
    /// Creates a server for a search with the budget, the objective and the limits of `plan`. `seed` determines the
    /// arrivals, service times and pauses.
    pub fn new(server: SimServer, plan: Plan, seed: u64) -> Self {
        // If the model refuses requests, the protocol must have statuses. If the model announces the end of a
        // connection, the protocol must have headers. In all other cases, the simplest protocol is used, because it is
        // faster to simulate.
        let needs_http = server.limit.is_some() || server.refuses_if_full || server.closes_after > 0;
        let protocol = match needs_http {
            true => plan.load.protocol.clone(),
            false => Protocol::Echo { message_bytes: 1 },
        };
        let load = LoadPlan { protocol, seed, ..plan.load.clone() };
        let run = Run { format: run::FORMAT.into(), plan, ..Run::default() };
        let speed = (0.0, f64::NEG_INFINITY, fastrand::Rng::with_seed(seed ^ 0x5eed));
        Self {
            server,
            run,
            load,
            pauses: Vec::new(),
            stalls: Vec::new(),
            neighbours: Vec::new(),
            guests: Vec::new(),
            drift: None,
            cpu_noise: None,
            unused_s: 0.0,
            without_proof: false,
            around_s: AROUND_A_TRIAL_S,
            first_s: None,
            speed,
            now_s: 0.0,
            left_out_s: 0.0,
            seed,
        }
    }

    /// Adds pauses of the whole machine.
    #[must_use]
    pub fn paused(mut self, pauses: Pauses) -> Self {
        self.pauses = pauses.times(self.seed, BUDGETS * self.run.plan.search.budget_s);
        self
    }

    /// Adds a stall that stops only the server, not the whole machine. The observer that looks for pauses of the whole
    /// machine does not notice stalls of the server alone.
    #[must_use]
    pub fn stalled(mut self, begin_s: f64, length_s: f64) -> Self {
        self.stalls.push((begin_s, begin_s + length_s));
        self
    }

    /// Adds stalls of the server, which must be in order. The stalls have the same effect as another program that uses
    /// the CPU from time to time.
    #[must_use]
    pub fn disturbed(mut self, stalls: &[(f64, f64)]) -> Self {
        self.stalls.extend_from_slice(stalls);
        self
    }

    /// Adds programs that use the server's CPU. The trials (loads) record the CPU time of other programs, so the search
    /// can notice them.
    #[must_use]
    pub fn beside(mut self, neighbours: &[Neighbour]) -> Self {
        self.neighbours.extend_from_slice(neighbours);
        self.stalls.extend(neighbours.iter().flat_map(|neighbour| neighbour.turns()));
        self
    }

    /// Adds virtual machines of other users, to which the hypervisor gives the server's CPU. The trials record the
    /// stolen CPU time, but no pauses and no other programs.
    #[must_use]
    pub fn robbed_by(mut self, guests: &[Neighbour]) -> Self {
        self.guests.extend_from_slice(guests);
        self.stalls.extend(guests.iter().flat_map(|guest| guest.turns()));
        self
    }

    /// Also gives the search the time that is normally reserved for the final experiment. If the reserved time is too
    /// short for the final experiment, `loadline find` also gives this time to the search.
    #[must_use]
    pub fn without_proof(mut self) -> Self {
        self.without_proof = true;
        self
    }

    /// Sets the response time of the test request, seconds. On a real machine, other programs may delay the test
    /// request.
    #[must_use]
    pub fn answering_first_in(mut self, seconds: f64) -> Self {
        self.first_s = Some(seconds);
        self
    }

    /// Sets the time that each trial (one load) takes beyond its warm-up and its window, seconds. On a busy machine,
    /// agents (generator processes) start slowly, so a trial takes longer.
    #[must_use]
    pub fn starting_agents_in(mut self, seconds: f64) -> Self {
        self.around_s = seconds;
        self
    }

    /// Returns the seed of the simulation's random numbers.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Adds changes of the machine's speed between trials (loads).
    #[must_use]
    pub fn drifting(mut self, drift: Drift) -> Self {
        self.drift = Some(drift);
        self
    }

    /// Makes each trial record a measurement of the server's CPU time per request. Each measurement is the service time
    /// times a random factor. `noise` is the standard deviation of the factor's logarithm.
    #[must_use]
    pub fn with_cpu_time(mut self, noise: f64) -> Self {
        self.cpu_noise = Some(noise);
        self
    }

    /// Searches for the capacity as `loadline find` does, and judges the run.
    pub fn find(mut self) -> Result<Run, LabError> {
        let response_s = self.first_s.unwrap_or(self.server.service_ns as f64 / 1e9);
        // `loadline find` reserves a part of the budget for its final experiment.
        let (budget, proof_s) = lab::search::Budget::with_proof(self.run().plan.search.budget_s, response_s);
        self.unused_s = if self.without_proof { proof_s } else { 0.0 };
        lab::search::capacity(&mut self, budget, response_s)?;
        self.run.elapsed_s = self.now_s;
        judge::judge(&mut self.run);
        Ok(self.run)
    }

    /// Searches for the largest number of users, with the plan's think time, and judges the run.
    pub fn find_users(mut self) -> Result<Run, LabError> {
        let response_s = self.server.service_ns as f64 / 1e9;
        let budget = lab::search::Budget::new(self.run().plan.search.budget_s);
        lab::user_search::capacity(&mut self, budget, response_s)?;
        self.run.elapsed_s = self.now_s;
        judge::judge(&mut self.run);
        Ok(self.run)
    }
}

//! A server in virtual time, for tests of the search. A run of half a minute takes a fraction of a second, and equal
//! seeds give equal runs.

use lab::search::Conductor;
use lab::{LabError, Point};
use load::{SimServer, simulate};
use run::{Cost, FigureUnit, LoadPlan, Objective, Plan, Protocol, Reading, Run, Side, Steady, TENTH_S, Trial, Window};

/// Time in seconds of a trial besides warm-up and window, unless the test sets another: starting agents and a short
/// drain.
const AROUND_A_TRIAL_S: f64 = 0.08;
/// Time for which pauses are generated, as a multiple of the search's budget. No search takes longer.
const BUDGETS: f64 = 3.0;

/// Share of the CPUs that other programs take on a quiet machine.
const USUAL_SHARE: f64 = 0.03;
/// Standard deviation of a measured share of the CPUs in a tenth of a second. The kernel counts CPU time in ticks, so
/// short measurements scatter.
const TICKS_SD: f64 = 0.03;

/// Pauses of a machine, as on a shared host. The pauses start at Poisson times and have exponential lengths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pauses {
    /// Pauses per second.
    pub rate: f64,
    /// Mean length of a pause in seconds.
    pub mean_s: f64,
}

impl Pauses {
    /// Returns start and end of each pause until `until_s`, in order and without overlap.
    fn times(self, seed: u64, until_s: f64) -> Vec<(f64, f64)> {
        let mut random = fastrand::Rng::with_seed(seed ^ 0x0070_a5e5);
        let mut exponential = |mean: f64| -(1.0 - random.f64()).ln() * mean;
        let mut times: Vec<(f64, f64)> = Vec::new();
        while times.last().is_none_or(|(_, end)| *end < until_s) {
            let begin = times.last().map_or(0.0, |(_, end)| *end) + exponential(1.0 / self.rate);
            times.push((begin, begin + exponential(self.mean_s)));
        }
        times
    }
}

/// Random changes in the speed of a machine, as on a host whose guests share its caches. The logarithm of the speed is
/// an Ornstein-Uhlenbeck process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Standard deviation of the logarithm of the speed.
    pub sd: f64,
    /// Correlation time in seconds, after which the correlation of the process has fallen to 1/e.
    pub forgets_s: f64,
}

/// A program that takes CPU time beside the server for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// Start in seconds since the begin of the run.
    pub begin_s: f64,
    /// Length in seconds.
    pub length_s: f64,
    /// Share of the server's speed that the program takes, 0 to 1.
    pub share: f64,
}

impl Neighbour {
    /// Length of a turn of the server and of a turn of this program together, seconds.
    const TURNS_S: f64 = 0.006;

    /// Returns the times in which the program runs and the server waits, in order.
    fn turns(self) -> Vec<(f64, f64)> {
        let begin_s = |turn: u32| self.begin_s + Self::TURNS_S * f64::from(turn);
        let turns = (self.length_s / Self::TURNS_S) as u32;
        (0..turns).map(|turn| (begin_s(turn), begin_s(turn) + self.share * Self::TURNS_S)).collect()
    }
}

/// A queueing model of a server, and the run of a search against it.
#[derive(Clone, Debug)]
pub struct VirtualServer {
    /// The model. Each trial sets the seed and the stalls (the pauses) of this model.
    pub server: SimServer,
    run: Run,
    load: LoadPlan,
    pauses: Vec<(f64, f64)>,
    /// Stalls of the server alone, which the meter of the machine's pauses does not notice.
    stalls: Vec<(f64, f64)>,
    neighbours: Vec<Neighbour>,
    drift: Option<Drift>,
    /// Standard deviation of the logarithm of the measured CPU time per request, besides the machine's speed. `None`
    /// measures no CPU time.
    cpu_noise: Option<f64>,
    /// Seconds that are added to the search's time at the end of the sweep.
    unused_s: f64,
    without_proof: bool,
    /// Time of each trial besides warm-up and window, seconds.
    around_s: f64,
    /// Response time of the first request, seconds. `None` means that the first request takes the usual service time.
    first_s: Option<f64>,
    /// Logarithm of the current speed, the time at which it was drawn, and the random generator for later speeds.
    speed: (f64, f64, fastrand::Rng),
    now_s: f64,
    /// Time that is not counted as the search's own, seconds.
    left_out_s: f64,
    seed: u64,
}

impl VirtualServer {
    /// Creates a server for a plan's budget, objective and limits. `seed` determines arrivals, service times and
    /// pauses.
    pub fn new(server: SimServer, plan: Plan, seed: u64) -> Self {
        // A server that refuses requests needs a protocol with a status. Other models run faster without a protocol.
        let protocol = match server.limit {
            Some(_) => plan.load.protocol.clone(),
            None => Protocol::Echo { message_bytes: 1 },
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

    /// Adds pauses of the machine.
    #[must_use]
    pub fn paused(mut self, pauses: Pauses) -> Self {
        self.pauses = pauses.times(self.seed, BUDGETS * self.run.plan.search.budget_s);
        self
    }

    /// Adds a stall of the server alone, which the meter of the machine's pauses does not notice.
    #[must_use]
    pub fn stalled(mut self, begin_s: f64, length_s: f64) -> Self {
        self.stalls.push((begin_s, begin_s + length_s));
        self
    }

    /// Adds many stalls of the server, in order, as by another program that takes the CPU from time to time.
    #[must_use]
    pub fn disturbed(mut self, stalls: &[(f64, f64)]) -> Self {
        self.stalls.extend_from_slice(stalls);
        self
    }

    /// Adds programs that take CPU time from the server. The observers notice them.
    #[must_use]
    pub fn beside(mut self, neighbours: &[Neighbour]) -> Self {
        self.neighbours.extend_from_slice(neighbours);
        self.stalls.extend(neighbours.iter().flat_map(|neighbour| neighbour.turns()));
        self
    }

    /// Returns the share of the CPUs that other programs take in each tenth of a second of a load that begins at
    /// `begin_s` seconds of the run. The kernel counts in ticks, so that a value is off by some percent.
    fn others(&self, begin_s: f64, length_s: f64) -> Vec<f64> {
        let mut random = fastrand::Rng::with_seed(self.trial_seed() ^ 0x07e2);
        let of_tenth = |tenth: u32| {
            let (from, to) = (begin_s + TENTH_S * f64::from(tenth), begin_s + TENTH_S * f64::from(tenth + 1));
            let within = |n: &Neighbour| (to.min(n.begin_s + n.length_s) - from.max(n.begin_s)).max(0.0) / TENTH_S;
            let taken: f64 = self.neighbours.iter().map(|n| n.share * within(n)).sum();
            (USUAL_SHARE + taken + TICKS_SD * normal(&mut random)).clamp(0.0, 1.0)
        };
        (0..(length_s / TENTH_S + 0.5) as u32).map(of_tenth).collect()
    }

    /// Gives the search also the time of the final experiment, as `find` does if no experiment fits.
    #[must_use]
    pub fn without_proof(mut self) -> Self {
        self.without_proof = true;
        self
    }

    /// Sets the response time of the test request, which other programs may delay.
    #[must_use]
    pub fn answering_first_in(mut self, seconds: f64) -> Self {
        self.first_s = Some(seconds);
        self
    }

    /// Sets how long each trial takes besides its warm-up and its window, seconds. On a busy machine, this time is long
    /// because agents start slowly.
    #[must_use]
    pub fn starting_agents_in(mut self, seconds: f64) -> Self {
        self.around_s = seconds;
        self
    }

    /// Returns the seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Adds speed changes of the machine between trials.
    #[must_use]
    pub fn drifting(mut self, drift: Drift) -> Self {
        self.drift = Some(drift);
        self
    }

    /// Adds the CPU time of the server per request: its service time, with this noise per trial.
    #[must_use]
    pub fn with_cpu_time(mut self, noise: f64) -> Self {
        self.cpu_noise = Some(noise);
        self
    }

    /// Returns the server's side of a trial with this service time.
    fn server_side(&self, service_ns: u64) -> Option<Side> {
        let mut random = fastrand::Rng::with_seed(self.trial_seed() ^ 0xc057);
        let us = service_ns as f64 / 1e3 * (self.cpu_noise? * normal(&mut random)).exp();
        let cost = Cost { per_request: Reading::Value(us), unit: FigureUnit::Micros };
        let costs = [("process_cpu_us".to_owned(), cost)].into();
        Some(Side { costs, ..Side::default() })
    }

    /// Returns a worker's service time at the machine's current speed in nanoseconds.
    fn service_ns(&mut self) -> u64 {
        let Some(drift) = self.drift else { return self.server.service_ns };
        let (ln, since_s, random) = &mut self.speed;
        let kept = (-(self.now_s - *since_s) / drift.forgets_s).exp();
        *ln = *ln * kept + drift.sd * (1.0 - kept * kept).sqrt() * normal(random);
        *since_s = self.now_s;
        (self.server.service_ns as f64 * (-*ln).exp()) as u64
    }

    /// Searches for the capacity as the command `find` does, and judges the run.
    pub fn find(mut self) -> Result<Run, LabError> {
        let response_s = self.first_s.unwrap_or(self.server.service_ns as f64 / 1e9);
        // The command `find` reserves a part of the budget for its final experiment.
        let (budget, proof_s) = lab::search::Budget::with_proof(self.run().plan.search.budget_s, response_s);
        self.unused_s = if self.without_proof { proof_s } else { 0.0 };
        lab::search::capacity(&mut self, budget, response_s)?;
        self.run.elapsed_s = self.now_s;
        judge::judge(&mut self.run);
        Ok(self.run)
    }

    /// Searches for the capacity as a number of users with the plan's think time.
    pub fn find_users(mut self) -> Result<Run, LabError> {
        let response_s = self.server.service_ns as f64 / 1e9;
        let budget = lab::search::Budget::new(self.run().plan.search.budget_s);
        lab::user_search::capacity(&mut self, budget, response_s)?;
        self.run.elapsed_s = self.now_s;
        judge::judge(&mut self.run);
        Ok(self.run)
    }

    /// Runs one trial without a search.
    pub fn conduct(&mut self, plan: &LoadPlan, point: &Point) -> Result<Trial, LabError> {
        // The warm-up has its minimum length, which is the worst case.
        let plan = &LoadPlan { warmup_s: plan.warmup_s.min(plan.least_warmup_s), ..plan.clone() };
        let service_ns = self.service_ns();
        let server =
            SimServer { seed: self.trial_seed(), stalls_ns: self.stalls_ns(), service_ns, ..self.server.clone() };
        let side = self.server_side(service_ns);
        let seen = self.ahead_ns(&self.pauses);
        let (part, _) = simulate(plan, &server).map_err(|e| LabError::set_up("simulating", e))?;
        let window = Window { begin_s: plan.warmup_s, end_s: plan.warmup_s + plan.duration_s };
        let others = self.others(self.now_s, window.end_s);
        self.now_s += window.end_s + self.around_s;
        let pauses: Vec<Window> =
            seen.iter().map(|&(b, e)| Window { begin_s: b as f64 / 1e9, end_s: e as f64 / 1e9 }).collect();
        let mut trial = Trial { server: side, ..lab::merged(point, &[&plan.intensity], part, window) };
        if !self.neighbours.is_empty() {
            trial.measured.others = others;
        }
        // The meter of a virtual host's pauses detects every pause that a real meter would detect.
        trial.measured.pauses =
            pauses.into_iter().filter(|p| p.length_s() >= 0.002 && p.begin_s < window.end_s).collect();
        trial.steady =
            Steady { steady: true, warmup_s: plan.warmup_s, reason: "virtual time".into(), too_short: false };
        Ok(trial)
    }

    /// Returns the seed of a trial. Service times differ in each trial, and arrivals follow the plan's seed, as in a
    /// live run.
    fn trial_seed(&self) -> u64 {
        self.seed.wrapping_mul(1_000_003).wrapping_add(self.run.trials.len() as u64)
    }

    /// Returns the future pauses and stalls, relative to the start of the next trial.
    fn stalls_ns(&self) -> Vec<(u64, u64)> {
        let mut all = [self.pauses.as_slice(), &self.stalls].concat();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.ahead_ns(&all)
    }

    /// Returns the future times, relative to the start of the next trial.
    fn ahead_ns(&self, times: &[(f64, f64)]) -> Vec<(u64, u64)> {
        let ahead = |at: f64| ((at - self.now_s).max(0.0) * 1e9) as u64;
        let to_come = times.iter().filter(|(_, end)| *end > self.now_s);
        to_come.map(|&(begin, end)| (ahead(begin), ahead(end))).collect()
    }
}

/// Returns a standard normal random number (G. E. P. Box and M. E. Muller, 1958).
fn normal(random: &mut fastrand::Rng) -> f64 {
    let (u, v) = (1.0 - random.f64(), random.f64());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

impl Conductor for VirtualServer {
    fn run(&self) -> &Run {
        &self.run
    }

    fn load(&self) -> &LoadPlan {
        &self.load
    }

    fn elapsed_s(&self) -> f64 {
        self.now_s - self.left_out_s
    }

    fn left_s(&self) -> f64 {
        self.run.plan.search.budget_s - self.elapsed_s()
    }

    fn wait(&mut self, seconds: f64) {
        self.now_s += seconds;
        self.leave_out(seconds);
    }

    fn leave_out(&mut self, seconds: f64) {
        self.left_out_s += seconds;
    }

    fn set_objective(&mut self, objective: Objective) {
        self.run.plan.objective = objective;
    }

    fn overhead_s(&self) -> f64 {
        self.around_s
    }

    fn reserve(&mut self, _: f64) {}

    fn begin_repeat(&mut self, _: u32) {}

    fn experiment(&mut self) -> Result<(), LabError> {
        Ok(())
    }

    fn unused_s(&mut self) -> Result<f64, LabError> {
        Ok(self.unused_s)
    }

    fn stopped(&mut self) -> bool {
        false
    }

    fn note(&mut self, sentence: String) {
        self.run.notes.push(run::Note { text: sentence, ..run::Note::default() });
    }

    fn trial(&mut self, plan: LoadPlan, point: &Point) -> Result<Trial, LabError> {
        let trial = self.conduct(&plan, point)?;
        self.run.trials.push(trial.clone());
        Ok(trial)
    }

    fn ask(&mut self) -> Result<bool, String> {
        Ok(true)
    }

    fn refuses_at_rest(&mut self) {
        self.note("refuses at rest".into());
    }

    fn gone(&mut self, why: &str) -> Result<(), LabError> {
        self.note(format!("gone: {why}"));
        Ok(())
    }
}

//! A server in virtual (simulated) time, for tests of the search. A run of half a minute takes a fraction of a second
//! of real time. Equal seeds give equal runs.

use lab::search::Conductor;
use lab::{LabError, Point};
use load::{SimServer, simulate};
use run::{
    Column, Cost, CounterId, FigureUnit, LoadPlan, Objective, Plan, Protocol, Reading, Recording, Run, Side, Steady,
    TENTH_S, Trial, Window,
};

/// Default time that a trial (one load) takes beyond its warm-up and its window, seconds. In this time, agents
/// (generator processes) start, and a short drain takes place.
const AROUND_A_TRIAL_S: f64 = 0.08;
/// Length of time for which pauses are generated, as a multiple of the search's budget. A search never takes longer
/// than three times its budget.
const BUDGETS: f64 = 3.0;

/// Share of the CPUs that other programs use on a quiet machine.
const USUAL_SHARE: f64 = 0.03;
/// Standard deviation of a measurement's error. The measured value is the share of the CPUs that other programs use
/// during a tenth of a second. The kernel counts CPU time in ticks, so measurements over a tenth of a second vary.
const TICKS_SD: f64 = 0.03;

/// Random pauses of the whole machine, as they occur on a shared host. The pauses start at the times of a Poisson
/// process, and their lengths are exponentially distributed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pauses {
    /// Mean number of pauses per second.
    pub rate: f64,
    /// Mean length of a pause, seconds.
    pub mean_s: f64,
}

impl Pauses {
    /// Returns the start and the end of each pause up to `until_s`. The returned pauses are in order of time and do not
    /// overlap.
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

/// Random changes of a machine's speed, as on a host whose virtual machines share its caches. The logarithm of the
/// speed is an Ornstein-Uhlenbeck process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Standard deviation of the logarithm of the speed.
    pub sd: f64,
    /// Correlation time, seconds: at two moments this far apart, the logarithms of the speeds have a correlation of
    /// 1/e.
    pub forgets_s: f64,
}

/// A program that uses the server's CPU for a while. The program and the server alternate on the CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// Start of the program, seconds since the start of the run.
    pub begin_s: f64,
    /// Running time of the program, seconds.
    pub length_s: f64,
    /// Share of the server's speed that the program takes, 0 to 1.
    pub share: f64,
}

impl Neighbour {
    /// Duration of one turn of the program on the CPU plus the following turn of the server, seconds.
    const TURNS_S: f64 = 0.006;

    /// Returns, in order, the periods in which the program runs and the server waits for the CPU.
    fn turns(self) -> Vec<(f64, f64)> {
        let begin_s = |turn: u32| self.begin_s + Self::TURNS_S * f64::from(turn);
        let turns = (self.length_s / Self::TURNS_S) as u32;
        (0..turns).map(|turn| (begin_s(turn), begin_s(turn) + self.share * Self::TURNS_S)).collect()
    }
}

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

    /// Returns samples of the CPU time, in microseconds, that the hypervisor took during a load. The load begins
    /// `begin_s` seconds after the start of the run. There is one sample per tenth of a second.
    fn stolen(&self, begin_s: f64, length_s: f64) -> Recording {
        let t_s: Vec<f64> = (0..=(length_s / TENTH_S).ceil() as u32).map(|i| TENTH_S * f64::from(i)).collect();
        let until = |t_s: f64| {
            let taken = |n: &Neighbour| n.share * ((begin_s + t_s - n.begin_s).clamp(0.0, n.length_s));
            Some(1e6 * self.guests.iter().map(taken).sum::<f64>())
        };
        let values = t_s.iter().map(|t| until(*t)).collect();
        let column = Column { counter: CounterId("cpu.steal".into()), instance: "0".into(), values };
        Recording { t_s, columns: vec![column], ..Recording::default() }
    }

    /// Returns the share of the CPUs that other programs use, for each tenth of a second of a load. The load begins
    /// `begin_s` seconds after the start of the run. Each value has a random error of a few percent, because a real
    /// measurement has errors, too.
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

    /// Returns the record of the server in a trial (one load) with this service time; `None` if no CPU time is
    /// measured.
    fn server_side(&self, service_ns: u64) -> Option<Side> {
        let mut random = fastrand::Rng::with_seed(self.trial_seed() ^ 0xc057);
        let us = service_ns as f64 / 1e3 * (self.cpu_noise? * normal(&mut random)).exp();
        let cost = Cost { per_request: Reading::Value(us), unit: FigureUnit::Micros };
        let costs = [("process_cpu_us".to_owned(), cost)].into();
        Some(Side { costs, ..Side::default() })
    }

    /// Draws the machine's speed for the next trial (one load). Returns the service time of a request at the drawn
    /// speed, nanoseconds.
    fn service_ns(&mut self) -> u64 {
        let Some(drift) = self.drift else { return self.server.service_ns };
        let (ln, since_s, random) = &mut self.speed;
        let kept = (-(self.now_s - *since_s) / drift.forgets_s).exp();
        *ln = *ln * kept + drift.sd * (1.0 - kept * kept).sqrt() * normal(random);
        *since_s = self.now_s;
        (self.server.service_ns as f64 * (-*ln).exp()) as u64
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

    /// Simulates one trial (one load) that is not part of a search.
    pub fn conduct(&mut self, plan: &LoadPlan, point: &Point) -> Result<Trial, LabError> {
        // The warm-up takes only its minimum time, which is the worst case for the search.
        let plan = &LoadPlan { warmup_s: plan.warmup_s.min(plan.least_warmup_s), ..plan.clone() };
        let service_ns = self.service_ns();
        let server =
            SimServer { seed: self.trial_seed(), stalls_ns: self.stalls_ns(), service_ns, ..self.server.clone() };
        let side = self.server_side(service_ns);
        let seen = self.ahead_ns(&self.pauses);
        let (part, _) = simulate(plan, &server).map_err(|e| LabError::set_up("simulating", e))?;
        let window = Window { begin_s: plan.warmup_s, end_s: plan.warmup_s + plan.duration_s };
        let others = self.others(self.now_s, window.end_s);
        let stolen = self.stolen(self.now_s, window.end_s);
        self.now_s += window.end_s + self.around_s;
        let pauses: Vec<Window> =
            seen.iter().map(|&(b, e)| Window { begin_s: b as f64 / 1e9, end_s: e as f64 / 1e9 }).collect();
        let mut trial = Trial { server: side, ..lab::merged(point, &[&plan.intensity], part, window) };
        if !self.neighbours.is_empty() {
            trial.measured.others = others;
        }
        if !self.guests.is_empty() {
            trial.client.recording = stolen;
        }
        // Only pauses of at least 2 ms count as detected, because a real observer misses shorter ones.
        trial.measured.pauses =
            pauses.into_iter().filter(|p| p.length_s() >= 0.002 && p.begin_s < window.end_s).collect();
        trial.steady =
            Steady { steady: true, warmup_s: plan.warmup_s, reason: "virtual time".into(), too_short: false };
        Ok(trial)
    }

    /// Returns the seed of the next trial (one load), which determines the service times. Arrivals depend only on the
    /// plan's seed, as in a real run.
    fn trial_seed(&self) -> u64 {
        self.seed.wrapping_mul(1_000_003).wrapping_add(self.run.trials.len() as u64)
    }

    /// Returns the pauses and stalls that have not ended, with times relative to the start of the next trial (one
    /// load), nanoseconds.
    fn stalls_ns(&self) -> Vec<(u64, u64)> {
        let mut all = [self.pauses.as_slice(), &self.stalls].concat();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.ahead_ns(&all)
    }

    /// Returns the periods in `times` (as start and end, seconds) that have not ended. The returned times are relative
    /// to the start of the next trial (one load), nanoseconds.
    fn ahead_ns(&self, times: &[(f64, f64)]) -> Vec<(u64, u64)> {
        let ahead = |at: f64| ((at - self.now_s).max(0.0) * 1e9) as u64;
        let to_come = times.iter().filter(|(_, end)| *end > self.now_s);
        to_come.map(|&(begin, end)| (ahead(begin), ahead(end))).collect()
    }
}

/// Returns a random number with the standard normal distribution (G. E. P. Box and M. E. Muller, 1958).
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

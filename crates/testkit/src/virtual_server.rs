//! A server in virtual time that a search conducts its trials against: a run of half a minute takes a fraction of a second,
//! and the same seed gives the same run.

use lab::search::Conductor;
use lab::{LabError, Point};
use load::{SimServer, simulate};
use run::{LoadPlan, Plan, Protocol, Run, Steady, Trial, Window};

/// Time of a trial that is neither warm-up nor window: starting agents and a short drain.
const AROUND_A_TRIAL_S: f64 = 0.08;
/// Pauses are made for this many budgets: no search takes longer.
const BUDGETS: f64 = 3.0;

/// When a machine stands still, as on a shared host: at moments of a Poisson process, for an exponential time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pauses {
    /// Pauses per second.
    pub rate: f64,
    /// Mean length, seconds.
    pub mean_s: f64,
}

impl Pauses {
    /// Begin and end of each until `until_s`, in order, none within another.
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

/// How the speed of a machine changes, as on a host whose other guests share its caches: the logarithm of the speed forgets where it
/// was (Ornstein and Uhlenbeck).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Standard deviation of the logarithm.
    pub sd: f64,
    /// After so long it has forgotten all but 1/e, seconds.
    pub forgets_s: f64,
}

/// A queueing model of a server, and the run of a search against it.
#[derive(Clone, Debug)]
pub struct VirtualServer {
    /// The model. Its seed changes by trial, its stalls are those of the pauses.
    pub server: SimServer,
    run: Run,
    load: LoadPlan,
    pauses: Vec<(f64, f64)>,
    drift: Option<Drift>,
    /// Logarithm of the speed, when it was so, and what is left to chance of it.
    speed: (f64, f64, fastrand::Rng),
    now_s: f64,
    seed: u64,
}

impl VirtualServer {
    /// A server for a plan's budget, objective and limits. `seed` makes the run: arrivals, service times and pauses.
    pub fn new(server: SimServer, plan: Plan, seed: u64) -> Self {
        // Refusals have a status; all else needs no protocol and is cheaper without.
        let protocol = match server.limit {
            Some(_) => plan.load.protocol.clone(),
            None => Protocol::Echo { message_bytes: 1 },
        };
        let load = LoadPlan { protocol, seed, ..plan.load.clone() };
        let run = Run { format: run::FORMAT.into(), plan, ..Run::default() };
        let speed = (0.0, f64::NEG_INFINITY, fastrand::Rng::with_seed(seed ^ 0x5eed));
        Self { server, run, load, pauses: Vec::new(), drift: None, speed, now_s: 0.0, seed }
    }

    /// The same on a machine that stands still now and then.
    #[must_use]
    pub fn paused(mut self, pauses: Pauses) -> Self {
        self.pauses = pauses.times(self.seed, BUDGETS * self.run.plan.search.budget_s);
        self
    }

    /// The same on a machine whose speed changes: from trial to trial, within one it stays.
    #[must_use]
    pub fn drifting(mut self, drift: Drift) -> Self {
        self.drift = Some(drift);
        self
    }

    /// Service time of a worker by the machine's speed now, nanoseconds.
    fn service_ns(&mut self) -> u64 {
        let Some(drift) = self.drift else { return self.server.service_ns };
        let (ln, since_s, random) = &mut self.speed;
        let kept = (-(self.now_s - *since_s) / drift.forgets_s).exp();
        *ln = *ln * kept + drift.sd * (1.0 - kept * kept).sqrt() * normal(random);
        *since_s = self.now_s;
        (self.server.service_ns as f64 * (-*ln).exp()) as u64
    }

    /// Searches for its capacity as `find` does, and judges the run.
    pub fn find(mut self) -> Result<Run, LabError> {
        let response_s = self.server.service_ns as f64 / 1e9;
        // Of what a person gives, `find` keeps some for its experiment.
        let (budget, _) = lab::search::Budget::with_proof(self.run().plan.search.budget_s);
        lab::search::capacity(&mut self, budget, response_s)?;
        self.run.elapsed_s = self.now_s;
        judge::judge(&mut self.run);
        Ok(self.run)
    }

    /// The same in users who think as the plan's load says.
    pub fn find_users(mut self) -> Result<Run, LabError> {
        let response_s = self.server.service_ns as f64 / 1e9;
        let budget = lab::search::Budget::new(self.run().plan.search.budget_s);
        lab::user_search::capacity(&mut self, budget, response_s)?;
        self.run.elapsed_s = self.now_s;
        judge::judge(&mut self.run);
        Ok(self.run)
    }

    /// One trial without a search.
    pub fn conduct(&mut self, plan: &LoadPlan, point: &Point) -> Result<Trial, LabError> {
        // Where the warm-up could be longer, the least is taken: the worst case.
        let plan = &LoadPlan { warmup_s: plan.warmup_s.min(plan.least_warmup_s), ..plan.clone() };
        let service_ns = self.service_ns();
        let server =
            SimServer { seed: self.trial_seed(), stalls_ns: self.stalls_ns(), service_ns, ..self.server.clone() };
        let (part, _) = simulate(plan, &server).map_err(|e| LabError::set_up("simulating", e))?;
        let window = Window { begin_s: plan.warmup_s, end_s: plan.warmup_s + plan.duration_s };
        self.now_s += window.end_s + AROUND_A_TRIAL_S;
        let pauses: Vec<Window> =
            server.stalls_ns.iter().map(|&(b, e)| Window { begin_s: b as f64 / 1e9, end_s: e as f64 / 1e9 }).collect();
        let mut trial = lab::merged(point, &[&plan.intensity], part, window);
        // The meter of a virtual host sees every pause that one of a real one would.
        trial.measured.pauses =
            pauses.into_iter().filter(|p| p.length_s() >= 0.002 && p.begin_s < window.end_s).collect();
        trial.steady = Steady { steady: true, warmup_s: plan.warmup_s, reason: "virtual time".into() };
        Ok(trial)
    }

    /// Every trial has service times of its own; its arrivals are those of the plan's seed, as in a live run.
    fn trial_seed(&self) -> u64 {
        self.seed.wrapping_mul(1_000_003).wrapping_add(self.run.trials.len() as u64)
    }

    /// The pauses that are still to come, as the next trial will count time.
    fn stalls_ns(&self) -> Vec<(u64, u64)> {
        let ahead = |at: f64| ((at - self.now_s).max(0.0) * 1e9) as u64;
        let to_come = self.pauses.iter().filter(|(_, end)| *end > self.now_s);
        to_come.map(|&(begin, end)| (ahead(begin), ahead(end))).collect()
    }
}

/// A standard normal draw (G. E. P. Box and M. E. Muller, 1958).
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
        self.now_s
    }

    fn stopped(&mut self) -> bool {
        false
    }

    fn note(&mut self, sentence: String) {
        self.run.notes.push(run::Note { text: sentence });
    }

    fn trial(&mut self, plan: LoadPlan, point: &Point) -> Result<Trial, LabError> {
        let trial = self.conduct(&plan, point)?;
        self.run.trials.push(trial.clone());
        Ok(trial)
    }

    fn ask(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn gone(&mut self, why: &str) -> Result<(), LabError> {
        self.note(format!("gone: {why}"));
        Ok(())
    }
}

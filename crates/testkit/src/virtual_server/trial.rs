//! Simulates one trial (one load) of a simulated server, with the measurements that a real trial would record.

use lab::{LabError, Point};
use load::{SimServer, simulate};
use run::{Column, Cost, CounterId, FigureUnit, LoadPlan, Reading, Recording, Side, Steady, TENTH_S, Trial, Window};

use super::VirtualServer;
use super::influences::Neighbour;

/// Share of the CPUs that other programs use on a quiet machine.
const USUAL_SHARE: f64 = 0.03;

/// Standard deviation of a measurement's error. The measured value is the share of the CPUs that other programs use
/// during a tenth of a second. The kernel counts CPU time in ticks, so measurements over a tenth of a second vary.
const TICKS_SD: f64 = 0.03;

impl VirtualServer {
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

    /// Returns the record of the server in a trial (one load) with this service time; `None` if no CPU time is
    /// measured.
    fn server_side(&self, service_ns: u64) -> Option<Side> {
        let mut random = fastrand::Rng::with_seed(self.trial_seed() ^ 0xc057);
        let us = service_ns as f64 / 1e3 * (self.cpu_noise? * normal(&mut random)).exp();
        let cost = Cost { per_request: Reading::Value(us), unit: FigureUnit::Micros };
        let costs = [("process_cpu_us".to_owned(), cost)].into();
        Some(Side { costs, ..Side::default() })
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

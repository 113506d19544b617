//! Tests of the capacity search on a server that limits the number of requests per period, in virtual time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, too")]

use loadline_lab::search::{Budget, Conductor, capacity};
use loadline_lab::{LabError, Point};
use run::{Intensity, LoadPlan, Objective, Plan, Run, TENTH_S, Tally, Trial, Window};

/// Time that a load takes in addition to its warm-up and its window, seconds.
const AROUND_S: f64 = 0.12;
/// Answers per second that one client gets.
const CLIENT_RATE: f64 = 3000.0;

/// A server that answers `limit` requests per period, and refuses all others.
struct Limiter {
    run: Run,
    load: LoadPlan,
    /// Moment at which the search began, seconds since a period began.
    begin_s: f64,
    now_s: f64,
    limit: f64,
    period_s: f64,
    /// Number of the present period, and the requests that were answered in it.
    used: (f64, f64),
}

impl Limiter {
    /// Makes the server, `begin_s` seconds after the beginning of one of its periods.
    fn new((limit, period_s): (f64, f64), begin_s: f64) -> Self {
        let plan = Plan { command: "find".into(), ..Plan::default() };
        let load = plan.load.clone();
        let run = Run { format: run::FORMAT.into(), plan, ..Run::default() };
        Self { run, load, begin_s, now_s: begin_s, limit, period_s, used: (0.0, 0.0) }
    }

    /// Returns the numbers of answered and refused requests of the next tenth of a second.
    fn tenth(&mut self, requests: f64) -> (f64, f64) {
        let period = (self.now_s / self.period_s).floor();
        if period > self.used.0 {
            self.used = (period, 0.0);
        }
        self.now_s += TENTH_S;
        let good = requests.min(self.limit - self.used.1);
        self.used.1 += good;
        (good, requests - good)
    }
}

/// Makes the trial of a load from its answered and refused requests in each tenth of a second.
fn trial(plan: &LoadPlan, point: &Point, answers: &[(f64, f64)], (began_s, warm): (f64, usize)) -> Trial {
    let mut trial = Trial { label: point.label.clone(), kind: point.kind, ..Trial::default() };
    trial.intensity = plan.intensity.clone();
    let tally = |answers: &[(f64, f64)]| {
        let sum = |of: fn(&(f64, f64)) -> f64| answers.iter().map(of).sum::<f64>().round() as u64;
        let (completed, refused) = (sum(|a| a.0 + a.1), sum(|a| a.1));
        let statuses = [("429".to_owned(), refused)].into_iter().filter(|(_, n)| *n > 0).collect();
        Tally {
            completed,
            sent: completed,
            due: completed,
            attempted: 1,
            connected: 1,
            unexpected_status: refused,
            unexpected_statuses: statuses,
            ..Tally::default()
        }
    };
    let (within, at_s) = (&answers[warm..], |tenths: usize| TENTH_S * tenths as f64);
    trial.tally = tally(answers);
    let measured = &mut trial.measured;
    measured.load_began_unix_s = Some(began_s);
    measured.tally = tally(within);
    measured.window = Window { begin_s: at_s(warm), end_s: at_s(answers.len()) };
    measured.length_s = at_s(within.len());
    measured.series_completed = within.iter().map(|(good, refused)| (good + refused) / TENTH_S).collect();
    if measured.tally.unexpected_status > 0 {
        measured.series_refused = within.iter().map(|(_, refused)| refused / TENTH_S).collect();
        measured.series_failed = measured.series_refused.clone();
    }
    let rate = measured.tally.completed as f64 / measured.length_s;
    (trial.rates.completed_rate, trial.rates.offered_rate, trial.rates.sent_rate) = (rate, rate, rate);
    let us = 1e6 / CLIENT_RATE;
    for times in [&mut trial.latency_us, &mut trial.service_us] {
        (times.count, times.min, times.mean, times.p50, times.p90, times.p99, times.max) =
            (measured.tally.completed, us, us, us, us, us, us);
    }
    trial
}

impl Conductor for Limiter {
    fn run(&self) -> &Run {
        &self.run
    }

    fn load(&self) -> &LoadPlan {
        &self.load
    }

    fn elapsed_s(&self) -> f64 {
        self.now_s - self.begin_s
    }

    fn left_s(&self) -> f64 {
        f64::INFINITY
    }

    fn overhead_s(&self) -> f64 {
        AROUND_S
    }

    fn reserve(&mut self, _: f64) {}

    fn begin_repeat(&mut self, _: u32) {}

    fn experiment(&mut self) -> Result<(), LabError> {
        Ok(())
    }

    fn stopped(&mut self) -> bool {
        false
    }

    fn note(&mut self, _: String) {}

    fn trial(&mut self, plan: LoadPlan, point: &Point) -> Result<Trial, LabError> {
        self.now_s += AROUND_S;
        let began_s = self.now_s;
        let rate = match plan.intensity {
            Intensity::Open { rate, .. } => rate,
            ref closed => closed.in_flight().unwrap_or(1.0) * CLIENT_RATE,
        };
        let tenths = |seconds: f64| (seconds / TENTH_S).round().max(1.0) as usize;
        let warm = tenths(plan.least_warmup_s);
        let answers: Vec<(f64, f64)> =
            (0..warm + tenths(plan.duration_s)).map(|_| self.tenth(rate * TENTH_S)).collect();
        let trial = trial(&plan, point, &answers, (began_s, warm));
        self.run.trials.push(trial.clone());
        Ok(trial)
    }

    fn ask(&mut self) -> Result<bool, String> {
        Ok(false)
    }

    fn refuses_at_rest(&mut self) {}

    fn leave_out(&mut self, _: f64) {}

    fn set_objective(&mut self, objective: Objective) {
        self.run.plan.objective = objective;
    }

    fn gone(&mut self, why: &str) -> Result<(), LabError> {
        panic!("{why}")
    }
}

/// An earlier version of loadline searched at lower and lower rates, while the server refused everything. That version
/// reported a capacity of 565/s, and no cause, for a server that answers 2,000 requests per 10 s.
#[test]
fn a_search_keeps_its_rate_until_it_knows_the_period() {
    for begin_s in [0.0, 1.3, 4.9, 8.6] {
        let mut server = Limiter::new((2000.0, 10.0), begin_s);
        capacity(&mut server, Budget::new(30.0), 3e-4).unwrap();
        let took_s = server.elapsed_s();
        let mut run = server.run;
        judge::judge(&mut run);
        let (verdict, found) = (&run.findings.bottleneck, run.findings.capacity.as_ref().unwrap());
        assert!(verdict.sentence.contains("2,000 requests per 10 s (200/s)"), "{begin_s}: {verdict:#?}");
        assert!((found.rate - 200.0).abs() < 1.0, "{begin_s}: {found:?}");
        assert!(took_s < 23.0, "{begin_s}: it goes on for {took_s} s");
        let rates: Vec<f64> = run.trials.iter().filter(|t| t.kind == run::TrialKind::Search).map(open_rate).collect();
        // At first, the rate may be higher than any that the server answered, or meet the beginning of a period.
        let held = rates.len().checked_sub(5).map(|first| &rates[first..]).unwrap();
        assert!(held.iter().all(|rate| *rate == held[0]), "{begin_s}: {rates:?}");
    }
}

fn open_rate(trial: &Trial) -> f64 {
    match trial.intensity {
        Intensity::Open { rate, .. } => rate,
        _ => f64::NAN,
    }
}

//! How long each step may take, so that the whole stays within its budget. Pure.

/// The time of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Length {
    /// Longest warm-up, seconds.
    pub warmup_s: f64,
    /// Shortest warm-up, seconds: between the two it ends once the rate is steady.
    pub least_warmup_s: f64,
    /// Measured window, seconds.
    pub measure_s: f64,
}

/// Shares of the budget. What measures nothing is at most a seventh of it where the server settles quickly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    total_s: f64,
}

/// A window holds at least this many of the response times last seen, while the budget allows it; and so does a warm-up: by
/// then a queue has forgotten that it was empty.
const RESPONSES: f64 = 20.0;
/// A slow server's window is so many times as long as others at most.
const SLOW: f64 = 3.5;
/// Windows of a search that say anything of their scatter.
const FEW: f64 = 5.0;
/// Shortest warm-up: the test of steady state needs six steps, of 5 ms at least.
const LEAST_WARM_UP_S: f64 = 0.04;
/// The same as a share of the budget: who gives more time gets more of it.
const LEAST_WARM_UP: f64 = 0.004;
/// Agents, their common start, drain, and judging what came of it, seconds.
const AROUND_S: f64 = 0.08;

/// Share of the whole budget for the experiment on the verdict.
const PROOF: f64 = 0.25;
/// A shorter one shows nothing, seconds.
const SHORTEST_PROOF_S: f64 = 4.0;

/// Warm-up that judge's test of steady state needs at most to say yes of a rate that is steady; less only in tiny budgets.
const WARM_UP_S: f64 = 0.7;
/// The same of a step of the search.
const SHORT_WARM_UP_S: f64 = 0.35;

impl Budget {
    /// A budget of so many seconds for everything.
    pub fn new(total_s: f64) -> Self {
        Self { total_s: total_s.max(1.0) }
    }

    /// The budget of the search and the seconds of the proof that comes after it.
    pub fn with_proof(total_s: f64) -> (Self, f64) {
        let proof_s = Some(total_s * PROOF).filter(|s| *s >= SHORTEST_PROOF_S).unwrap_or(0.0);
        (Self::new(total_s - proof_s), proof_s)
    }

    /// How long to look at rest: at most what the plan wants, at most a hundredth of the budget.
    pub fn at_rest_s(&self, wanted_s: f64) -> f64 {
        wanted_s.clamp(0.0, self.total_s / 100.0)
    }

    /// Seconds since the start at which the closed-loop sweep ends at the latest.
    pub fn sweep_until_s(&self) -> f64 {
        self.total_s * 0.45
    }

    /// Seconds since the start at which the last search step must be over, so that the overload step still fits.
    pub fn search_until_s(&self) -> f64 {
        self.total_s - self.search_step(0.0).whole_s()
    }

    /// One step of the sweep, for a server that lately took `response_s`.
    pub fn sweep_step(&self, response_s: f64) -> Length {
        self.step(0.4, response_s)
    }

    /// One step of the search: of many short windows each has a shorter warm-up, since rates near each other follow and the
    /// scatter of the windows is part of the answer.
    pub fn search_step(&self, response_s: f64) -> Length {
        let step = self.step(1.0, response_s);
        Length { warmup_s: (step.measure_s * 0.25).max(SHORT_WARM_UP_S.min(step.warmup_s)), ..step }
    }

    /// A step of the search where it has so many seconds: where a slow server's windows would be fewer than [`FEW`], they are shorter.
    /// A queue that has no time to grow in one is part of judge's law; what a single window shows has no interval.
    pub fn search_step_within(&self, search_s: f64, response_s: f64) -> Length {
        let (step, shortest) = (self.search_step(response_s), self.search_step(0.0));
        let by = (search_s / (FEW * step.whole_s())).min(1.0);
        let shorter = |seconds: f64, least_s: f64| (seconds * by).max(least_s.min(seconds));
        Length {
            warmup_s: shorter(step.warmup_s, shortest.warmup_s),
            least_warmup_s: shorter(step.least_warmup_s, shortest.least_warmup_s),
            measure_s: shorter(step.measure_s, shortest.measure_s),
        }
    }

    /// A window of so many seconds in a budget of ten. A larger budget is for more windows rather than for longer ones: a machine
    /// whose speed changes has another one in each, and only many of them show its middle.
    fn step(&self, of_ten_s: f64, response_s: f64) -> Length {
        let base = (of_ten_s * (self.total_s / 10.0).powf(0.25)).max(0.1);
        let measure_s = (RESPONSES * response_s).clamp(base, SLOW * base);
        let warmup_s = (measure_s * 0.5).max(WARM_UP_S.min(base));
        let least_s = (RESPONSES * response_s).max(LEAST_WARM_UP * self.total_s).max(LEAST_WARM_UP_S);
        Length { warmup_s, least_warmup_s: least_s.min(warmup_s), measure_s }
    }
}

impl Length {
    /// With a warm-up that is steady soon, the start of agents and a short drain.
    pub fn whole_s(&self) -> f64 {
        (1.3 * self.least_warmup_s).min(self.warmup_s) + self.measure_s + AROUND_S
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_sweep_steps_six_search_steps_and_the_overload_fit() {
        let budget = Budget::new(30.0);
        let sweep = 8.0 * budget.sweep_step(0.001).whole_s();
        assert!(budget.at_rest_s(1.0) + sweep <= budget.sweep_until_s(), "{sweep}");
        let search = 7.0 * budget.search_step(0.001).whole_s();
        assert!(sweep + search < 28.0, "{sweep} + {search}");
        assert!(budget.search_until_s() > 27.0);
    }

    /// A server of 8 ms with a median of 80 ms had one window in 10 s.
    #[test]
    fn a_short_search_of_a_slow_server_has_several_windows() {
        let budget = Budget::new(10.0);
        let whole_s = |search_s: f64| budget.search_step_within(search_s, 0.11).whole_s();
        assert!(5.2 / budget.search_step(0.11).whole_s() < 2.0 && 5.2 / whole_s(5.2) >= 3.0, "{}", whole_s(5.2));
        assert_eq!(budget.search_step_within(100.0, 0.11), budget.search_step(0.11));
        assert_eq!(budget.search_step_within(1.0, 0.0), budget.search_step(0.0));
    }

    #[test]
    fn a_slow_server_gets_longer_windows() {
        let budget = Budget::new(30.0);
        assert!(budget.sweep_step(0.05).measure_s > budget.sweep_step(0.001).measure_s);
        assert!(budget.sweep_step(10.0).measure_s < 3.0);
        assert!(Budget::new(0.0).sweep_step(0.0).measure_s > 0.0);
    }
}

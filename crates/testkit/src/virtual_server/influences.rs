//! Influences on a simulated server from outside: pauses of the machine, changes of its speed, and other programs on
//! its CPU.

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
    pub(super) fn times(self, seed: u64, until_s: f64) -> Vec<(f64, f64)> {
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
    pub(super) fn turns(self) -> Vec<(f64, f64)> {
        let begin_s = |turn: u32| self.begin_s + Self::TURNS_S * f64::from(turn);
        let turns = (self.length_s / Self::TURNS_S) as u32;
        (0..turns).map(|turn| (begin_s(turn), begin_s(turn) + self.share * Self::TURNS_S)).collect()
    }
}

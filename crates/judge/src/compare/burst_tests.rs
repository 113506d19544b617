//! Simulated comparisons of two live servers whose difference in CPU time per request is known. Other programs run in
//! bursts on the machine of the two servers. The two servers' windows alternate for 60 s. While the data grows, it is
//! analysed four times (each analysis is a look), as in a live comparison.

use fastrand::Rng;
use stats::normal;
use stats::sequential::look_level;
use stats::student::quantile;

use super::Pairing::InTurns;
use super::contrast::{Contrast, contrast, unadjusted};
use super::observations::{Cell, Observation};
use crate::thresholds::COMPARE_LEVEL;

/// Number of simulated comparisons for each kind of bursts.
const DRAWS: u64 = 200;
/// Number of pairs of windows in 60 s.
const PAIRS: usize = 30;
/// Length of a measured window, seconds.
const WINDOW_S: f64 = 0.6;
/// Length of the pause before each window, seconds.
const AROUND_S: f64 = 0.38;
/// Relative standard deviation of the CPU time per request between windows.
const SCATTER: f64 = 0.04;
/// Standard error of the measured CPU use of other programs, in CPUs.
const READ_ERROR: f64 = 0.02;
/// Smallest relative change that counts as a difference.
const THRESHOLD: f64 = 0.03;

/// Bursts of another program.
#[derive(Clone, Copy)]
struct Bursts {
    name: &'static str,
    /// Shortest and longest length of a burst, seconds.
    length_s: (f64, f64),
    /// Shortest and longest pause between two bursts, seconds.
    pause_s: (f64, f64),
    /// Minimum and maximum CPU use of a burst, in CPUs.
    cpus: (f64, f64),
    /// Relative growth of a request's CPU time while bursts use one whole CPU.
    costs: f64,
    /// True if bursts occur only in the windows of one server.
    one_server: bool,
}

const NONE: Bursts = Bursts {
    name: "no bursts",
    length_s: (1.0, 1.0),
    pause_s: (1e9, 1e9),
    cpus: (0.0, 0.0),
    costs: 0.0,
    one_server: false,
};
const ALL: Bursts = Bursts {
    name: "0.1 to 10 s, 5 to 100 %",
    length_s: (0.1, 10.0),
    pause_s: (0.3, 20.0),
    cpus: (0.05, 1.0),
    ..COSTLY
};
const COSTLY: Bursts = Bursts { costs: 0.3, ..NONE };
const MODELS: [Bursts; 9] = [
    NONE,
    ALL,
    Bursts { name: "as before, requests cost no more", costs: 0.0, ..ALL },
    Bursts { name: "as before, requests cost twice as much", costs: 1.0, ..ALL },
    Bursts { name: "0.1 to 0.5 s, 100 %", length_s: (0.1, 0.5), pause_s: (0.1, 3.0), cpus: (1.0, 1.0), ..COSTLY },
    Bursts { name: "1 to 3 s, 50 to 100 %", length_s: (1.0, 3.0), pause_s: (1.0, 10.0), cpus: (0.5, 1.0), ..COSTLY },
    Bursts { name: "10 s, 100 %", length_s: (10.0, 10.0), pause_s: (5.0, 30.0), cpus: (1.0, 1.0), ..COSTLY },
    Bursts {
        name: "a single one of 1 to 10 s, 50 %",
        length_s: (1.0, 10.0),
        pause_s: (50.0, 60.0),
        cpus: (0.5, 0.5),
        ..COSTLY
    },
    Bursts { name: "0.1 to 10 s, only beside one server", one_server: true, ..ALL },
];

impl Bursts {
    /// Returns the start, the end and the CPU use of each burst. Start and end are in seconds.
    fn times(&self, random: &mut Rng, until_s: f64) -> Vec<(f64, f64, f64)> {
        let mut between = |(least, most): (f64, f64)| {
            if most > 0.0 { (least.ln() + random.f64() * (most / least).ln()).exp() } else { 0.0 }
        };
        // The comparison may begin at any moment of a pause between two bursts.
        let mut now_s = -between(self.pause_s);
        let mut times = Vec::new();
        while now_s < until_s {
            now_s += between(self.pause_s);
            let length_s = between(self.length_s);
            times.push((now_s, now_s + length_s, between(self.cpus)));
            now_s += length_s;
        }
        times
    }

    /// Simulates all windows of a comparison. `slower` is the share by which a request costs the new server more CPU
    /// time.
    fn cell(&self, random: &mut Rng, slower: f64) -> Cell {
        let until_s = 2.0 * PAIRS as f64 * (WINDOW_S + AROUND_S);
        let bursts = self.times(random, until_s);
        let met = random.usize(..2);
        let (mut cell, mut begin_s, mut first): (Cell, f64, usize) = ([Vec::new(), Vec::new()], 0.0, 0);
        for turn in 0..PAIRS {
            // In every second pair of windows, the two servers run in the reverse order of the pair before.
            first = if turn % 2 == 0 { random.usize(..2) } else { 1 - first };
            for side in [first, 1 - first] {
                begin_s += AROUND_S;
                let window = (begin_s, begin_s + WINDOW_S);
                let others = if self.one_server && side != met { 0.0 } else { taken(&bursts, window) };
                let ln = (slower * side as f64).ln_1p() + (self.costs * others).ln_1p() + SCATTER * normal(random);
                let read = (others + READ_ERROR * normal(random)).max(0.0);
                cell[side].push(Observation { unit: 0, turn, others: Some(read), ln });
                begin_s += WINDOW_S;
            }
        }
        cell
    }
}

/// Returns the mean CPU use of the bursts in a window, in CPUs.
fn taken(bursts: &[(f64, f64, f64)], (begin_s, end_s): (f64, f64)) -> f64 {
    let within = |(from, to, cpus): &(f64, f64, f64)| (to.min(end_s) - from.max(begin_s)).max(0.0) * cpus;
    bursts.iter().map(within).sum::<f64>() / (end_s - begin_s)
}

/// `worded` counts the comparisons that found a higher or lower CPU time per request. `regressed` counts the
/// comparisons that found a regression.
#[derive(Clone, Copy, Debug, Default)]
struct Decided {
    worded: usize,
    regressed: usize,
}

type Method = fn(&[Cell], super::Pairing) -> Option<Contrast>;

/// Simulates many comparisons with a new server that needs more CPU time per request than the old server does. `slower`
/// is the additional CPU time, as a share of the old server's. `levels` contains the significance level of each interim
/// analysis (look).
fn decided(bursts: &Bursts, slower: f64, levels: &[f64], method: Method) -> Decided {
    (0..DRAWS).fold(Decided::default(), |sum, seed| {
        let mut random = Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xb57);
        let cell = bursts.cell(&mut random, slower);
        let look = |(at, level): (usize, &f64)| {
            let until = PAIRS * (at + 1) / levels.len();
            let seen = cell.each_ref().map(|side| side[..until].to_vec());
            let apart = method(&[seen], InTurns)?;
            let (ln, uncertainty) = (apart.sides[1] - apart.sides[0], apart.uncertainty?);
            let differs = ln.abs() > quantile(*level, uncertainty.freedom) * uncertainty.error;
            let regressed = differs && ln >= THRESHOLD.ln_1p();
            // A regression ends a comparison at any interim analysis (look). A result without a regression is accepted
            // only at the last interim analysis.
            (regressed || (differs && at + 1 == levels.len())).then_some(regressed)
        };
        let ended = levels.iter().enumerate().find_map(look);
        Decided {
            worded: sum.worded + usize::from(ended.is_some()),
            regressed: sum.regressed + usize::from(ended == Some(true)),
        }
    })
}

/// Returns the significance levels of the CPU time per request at four interim analyses (looks). The CPU time per
/// request gets half of a comparison's significance level.
fn levels() -> Vec<f64> {
    let shares = [0.25, 0.5, 0.75, 1.0];
    (1..=shares.len()).map(|looks| look_level(COMPARE_LEVEL / 2.0, &shares[..looks])).collect()
}

/// The test also prints the table for `docs/explanation/compare.md`.
#[test]
fn five_percent_are_decided_beside_bursts_and_equal_servers_are_not() {
    let levels = levels();
    let mut all_worded = 0;
    for bursts in MODELS {
        let row = |slower, method| decided(&bursts, slower, &levels, method);
        let (before, equal) = (row(0.05, unadjusted as Method), row(0.0, contrast as Method));
        let (slower, two) = (row(0.05, contrast as Method), row(0.02, contrast as Method));
        println!(
            "{}: equal {} words, {} regressions; 5 % slower {} regressions (unadjusted {}); 2 % slower {} words",
            bursts.name, equal.worded, equal.regressed, slower.regressed, before.regressed, two.worded
        );
        // At the significance level of this test, about 5 of 200 comparisons find a difference between equal servers by
        // chance. With a correct method, more than 12 of 200 comparisons of equal servers find a difference with a
        // probability of 0.002.
        assert!(equal.worded <= 12 && equal.regressed <= 5, "{}: {equal:?}", bursts.name);
        assert!(slower.regressed >= 180 || bursts.one_server, "{}: {slower:?}", bursts.name);
        all_worded += equal.worded;
    }
    // The expected number of comparisons that find a difference is 45 of 1,800; 58 is two standard deviations more.
    assert!(all_worded <= 58, "{all_worded} of {}", MODELS.len() as u64 * DRAWS);
}

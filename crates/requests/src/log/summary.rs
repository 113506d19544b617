//! Summary of an access log before any request is sent: number of requests, methods, statuses, rates, and burstiness.

use std::collections::BTreeMap;

use run::RequestPlan;
use run::number::{number, prose::counted, span};

use crate::timeless::{unreadable_time, without_time};

/// Maximum number of requests that the summary names, beginning with the most frequent request.
const TOP: usize = 5;
/// Maximum number of parts of the log for which the summary gives rates. All parts of the log except the last are
/// equally long.
const SPANS: usize = 12;
/// Maximum length of a log for which the requests of each second are counted, seconds: 31 days. The counts for 31 days
/// take 21 MB. A log with a wrong time may seem to cover decades.
const MAX_COUNTED_SECONDS: u64 = 31 * 86_400;
/// Minimum number of requests for which loadline estimates the Hurst parameter.
const MIN_HURST_REQUESTS: u64 = 128;
/// Minimum length of a log for which loadline estimates the Hurst parameter, seconds.
const MIN_HURST_SECONDS: usize = 128;

/// Description of a log.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Number of lines read.
    pub lines: u64,
    /// Number of requests by method, including requests that are left out of the replay.
    pub methods: BTreeMap<String, u64>,
    /// Number of requests whose method the log has in small letters, such as `get`.
    pub lower_case: u64,
    /// Methods that the user allowed (`--allow`), but that no request of the log has.
    pub unused_allowed: Vec<String>,
    /// Number of responses by status class: class 2 has the statuses 200 to 299.
    pub statuses: BTreeMap<u16, u64>,
    /// Number of requests whose status the log does not contain.
    pub without_status: u64,
    /// Number of requests that got no response, because the client or the server closed the connection first.
    pub unanswered: u64,
    /// Number of requests without a time.
    pub timeless: u64,
    /// Number of requests whose times loadline did not keep, because it keeps a million times at most.
    pub beyond_times: u64,
    /// First line without a time, for a message; `None` if all lines have times.
    pub first_timeless: Option<String>,
    /// Number of requests that can be replayed.
    pub requests: u64,
    /// Number of different requests.
    pub different: usize,
    /// Time that the log covers, seconds; 0 if the log contains no times. If the log has only whole seconds, the
    /// covered time includes the first and the last second. If the log has fractions of seconds, the covered time is
    /// the time from the first to the last request plus one mean gap.
    covered_s: f64,
    /// Number of requests for which the log contains a time.
    timed: u64,
    /// Requests per second in each part of the log. The log is divided into at most 12 parts, which are equally long
    /// except the last one.
    pub rates: Vec<f64>,
    /// Length of each part of the log except the last one, seconds.
    part_s: u64,
    /// Number of requests in the busiest second, divided by the mean number of requests per second.
    pub peak: f64,
    /// Hurst parameter from the variance-time plot; `None` for short logs.
    pub hurst: Option<f64>,
    /// True if times are whole seconds. For a log with whole seconds, the replay spreads the requests of each second
    /// evenly over the second.
    pub whole_seconds: bool,
    /// Most frequent requests, with their shares of all requests, 0 to 1.
    top: Vec<(String, f64)>,
    /// Share of all requests, 0 to 1, that the most frequent tenth of the different requests makes up.
    skew: f64,
    bad: Option<String>,
}

impl Summary {
    pub(super) fn fill(&mut self, lines: u64, requests: &[RequestPlan], times: &[(u64, u16)], bad: Option<String>) {
        let all: f64 = requests.iter().map(|r| r.weight).sum();
        (self.lines, self.requests, self.different, self.bad) = (lines, all as u64, requests.len(), bad);
        self.top =
            requests.iter().take(TOP).map(|r| (format!("{} {}", r.method, r.path), r.weight / all.max(1.0))).collect();
        let tenth = requests.len().div_ceil(10);
        self.skew = requests.iter().take(tenth).map(|r| r.weight).sum::<f64>() / all.max(1.0);
        let Some(&(last, _)) = times.last() else { return };
        self.timed = times.len() as u64;
        let n = times.len() as f64;
        let all_seconds = last / 1_000_000 + 1;
        self.covered_s = match self.whole_seconds {
            true => all_seconds as f64,
            false => last as f64 / 1e6 * n / (n - 1.0).max(1.0),
        };
        let busiest = times.chunk_by(|a, b| a.0 / 1_000_000 == b.0 / 1_000_000).map(<[_]>::len).max().unwrap_or(0);
        self.peak = busiest as f64 * all_seconds as f64 / n;
        self.part_s = all_seconds.div_ceil(SPANS as u64);
        self.rates = rates(times, all_seconds, self.part_s);
        self.hurst = self.hurst_of(times, all_seconds);
    }

    /// Returns the Hurst parameter of the times. Returns `None` if there are too few requests, or if the log covers too
    /// much or too little time.
    fn hurst_of(&self, times: &[(u64, u16)], all_seconds: u64) -> Option<f64> {
        if self.timed < MIN_HURST_REQUESTS || all_seconds > MAX_COUNTED_SECONDS {
            return None;
        }
        let mut seconds = vec![0.0; all_seconds as usize];
        times.iter().for_each(|(at, _)| seconds[(at / 1_000_000) as usize] += 1.0);
        hurst(&seconds)
    }

    /// Returns the summary in sentences.
    pub fn words(&self) -> Vec<String> {
        let list = |all: Vec<String>| all.join(", ");
        let mut said = vec![format!(
            "{}, {} to make, {} different; the most frequent tenth of these has {:.0} % of all",
            counted(self.lines as f64, "line"),
            counted(self.requests as f64, "request"),
            number(self.different as f64),
            self.skew * 100.0
        )];
        said.extend(self.bad.iter().map(|bad| format!("lines that cannot be read: {bad}")));
        said.push(format!("methods: {}", list(self.methods.iter().map(|(m, n)| format!("{m} {n}")).collect())));
        said.extend(
            (!self.unused_allowed.is_empty())
                .then(|| format!("--allow {}: no request of the log has this method", self.unused_allowed.join(","))),
        );
        said.extend((self.lower_case > 0).then(|| {
            format!("{} written in small letters: read as capitals", counted(self.lower_case as f64, "method"))
        }));
        said.push(self.answers());
        said.extend(self.first_timeless.iter().map(|first| unreadable_time(self.timeless, first)));
        said.extend((self.beyond_times > 0).then(|| {
            let come = if self.beyond_times == 1 { "comes" } else { "come" };
            without_time(self.beyond_times, &format!("{come} after the first million times"))
        }));
        if self.covered_s > 0.0 {
            said.push(self.course());
        }
        if self.whole_seconds {
            said.push("times are whole seconds: requests of one second are spread evenly over it".into());
        }
        said.extend(self.hurst.map(|hurst| {
            let word = match hurst {
                h if h > 0.65 => "bursts at all time scales",
                h if h < 0.35 => "more even than independent arrivals (0.5)",
                _ => "near independent arrivals (0.5)",
            };
            format!("Hurst parameter {hurst:.2} by the variance-time plot: {word}")
        }));
        let top = self.top.iter().map(|(name, share)| format!("{name} {:.1} %", share * 100.0));
        said.push(format!("most frequent: {}", list(top.collect())));
        said
    }
}

/// Returns the requests per second in each part of a log of `all_seconds` seconds. Each part is `width` seconds long,
/// except the last one.
fn rates(times: &[(u64, u16)], all_seconds: u64, width: u64) -> Vec<f64> {
    let mut rates = vec![0.0; all_seconds.div_ceil(width) as usize];
    times.iter().for_each(|(at, _)| rates[(at / 1_000_000 / width) as usize] += 1.0);
    (0..).zip(&mut rates).for_each(|(part, rate): (u64, _)| *rate /= width.min(all_seconds - part * width) as f64);
    rates
}

impl Summary {
    /// Returns the sentence about the rates. For a log of less than two seconds, the sentence does not name the busiest
    /// second.
    fn course(&self) -> String {
        let mean = format!("{}, {}/s on average", span(self.covered_s), number(self.timed as f64 / self.covered_s));
        if self.rates.len() < 2 {
            return mean;
        }
        let rates: Vec<String> = self.rates.iter().map(|rate| number(*rate)).collect();
        let (peak, rates) = (number(self.peak), rates.join(", "));
        let each =
            if self.part_s == 1 { "over the log".into() } else { format!("in each {}", span(self.part_s as f64)) };
        let peak = match peak.as_str() {
            "1" => "in no second more".into(),
            _ => format!("{peak} times that in the busiest second"),
        };
        format!("{mean}, {peak}; per second {each}: {rates}")
    }

    /// Returns the sentence about the responses in the log.
    fn answers(&self) -> String {
        let mut each: Vec<String> = self.statuses.iter().map(|(class, n)| format!("{class}xx {n}")).collect();
        if self.unanswered > 0 {
            let why = "a status such as 499: the connection was closed before an answer";
            each.push(format!("none {} ({why})", self.unanswered));
        }
        if self.without_status > 0 {
            let advice = "an error that the log recorded will count as a failure";
            each.push(format!("not known {} (no status is found in these lines; {advice})", self.without_status));
        }
        format!("answers: {}", each.join(", "))
    }
}

/// Returns the Hurst parameter H of counts per second; `None` if there are too few counts, or if the counts do not
/// vary. The variance of the means of m consecutive counts falls in proportion to m^(2H-2) (Leland et al., *On the
/// self-similar nature of Ethernet traffic*, 1994, section 3.1).
fn hurst(seconds: &[f64]) -> Option<f64> {
    if seconds.len() < MIN_HURST_SECONDS {
        return None;
    }
    let mut points = Vec::new();
    let mut m = 1;
    while seconds.len() / m >= 16 {
        let means: Vec<f64> = seconds.chunks_exact(m).map(|span| span.iter().sum::<f64>() / m as f64).collect();
        let mean = means.iter().sum::<f64>() / means.len() as f64;
        let variance = means.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / means.len() as f64;
        if variance > 0.0 {
            points.push(((m as f64).ln(), variance.ln()));
        }
        m *= 2;
    }
    let n = points.len() as f64;
    if points.len() < 3 {
        return None;
    }
    let (mx, my) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let slope = points.iter().map(|(x, y)| (x - mx) * (y - my)).sum::<f64>()
        / points.iter().map(|(x, _)| (x - mx).powi(2)).sum::<f64>();
    Some((1.0 + slope / 2.0).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The log has two lines, one second apart. For two lines one second apart, an earlier version of loadline stated a
    /// rate of 2/s instead of 1/s.
    #[test]
    fn a_short_log_has_the_rate_of_the_time_that_it_covers() {
        let words = |whole_seconds, times: &[u64]| {
            let times: Vec<(u64, u16)> = times.iter().map(|at| (*at, 0)).collect();
            let mut summary = Summary { whole_seconds, ..Summary::default() };
            summary.fill(times.len() as u64, &[], &times, None);
            summary.words().into_iter().find(|one| one.contains("on average"))
        };
        let of = |whole, times: &[u64]| words(whole, times).unwrap();
        assert!(of(true, &[0, 1_000_000]).starts_with("2 s, 1/s on average, in no second more;"));
        assert_eq!(of(true, &[0, 500_000]), "1 s, 2/s on average");
        assert_eq!(of(false, &[0, 500_000]), "1 s, 2/s on average", "half a second apart");
        assert_eq!(of(false, &[0, 250_000, 500_000]), "0.75 s, 4/s on average");
        assert!(of(true, &[0, 1_000_000]).ends_with("; per second over the log: 1, 1"));
        assert!(of(true, &[0, 12_000_000]).contains("; per second in each 2 s: 0.5, 0"));
        assert_eq!((words(false, &[0, 0]), words(false, &[0]), words(false, &[])), (None, None, None));
    }

    /// In this test, one of two lines in the log has a wrong year. An earlier version of loadline counted the requests
    /// in each second of the whole span, and estimated a Hurst parameter from two requests.
    #[test]
    fn the_cost_of_a_summary_does_not_grow_with_the_time_that_the_log_covers() {
        let hundred_years_us = 100 * 365 * 86_400 * 1_000_000_u64;
        let mut summary = Summary { whole_seconds: true, ..Summary::default() };
        summary.fill(2, &[], &[(0, 0), (hundred_years_us, 0)], None);
        assert_eq!((summary.hurst, summary.rates.len()), (None, SPANS));
        let seconds = (hundred_years_us / 1_000_000 + 1) as f64;
        assert!((summary.peak * 2.0 / seconds - 1.0).abs() < 1e-9, "{}", summary.peak);
        let two: Vec<(u64, u16)> = [0, 200_000_000].map(|at| (at, 0)).into();
        summary.fill(2, &[], &two, None);
        assert_eq!(summary.hurst, None, "two requests");
    }

    #[test]
    fn one_request_has_and_several_have() {
        let words = |timeless, beyond_times| {
            let first_timeless = (timeless > 0).then(|| "line 1".to_owned());
            Summary { timeless, beyond_times, first_timeless, ..Summary::default() }.words().join("; ")
        };
        let (one, two) = (words(1, 1), words(2, 2));
        assert!(one.contains("1 request has no time") && one.contains("1 request comes after"), "{one}");
        assert!(two.contains("2 requests have no time") && two.contains("2 requests come after"), "{two}");
        assert!(one.contains("a replay with --speed leaves it out") && two.contains("leaves them out"), "{one}; {two}");
    }

    #[test]
    fn independent_counts_have_one_half_and_long_bursts_more() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / (1_u64 << 31) as f64
        };
        let white: Vec<f64> = (0..4096).map(|_| random()).collect();
        let h = hurst(&white).unwrap();
        assert!((h - 0.5).abs() < 0.1, "{h}");
        // Adds up sources whose active periods have heavy-tailed lengths (tail index 1.4). Theory gives the Hurst
        // parameter H = 0.8 for the sum of sources with this tail index.
        let mut bursts = vec![0.0; 4096];
        for _ in 0..600 {
            let begin = (random() * 4096.0) as usize;
            let length = (1.0 - random()).max(1e-6).powf(-1.0 / 1.4) as usize * 3;
            bursts.iter_mut().skip(begin).take(length).for_each(|x| *x += 1.0);
        }
        assert!(hurst(&bursts).unwrap() > 0.65, "{:?}", hurst(&bursts));
        assert_eq!(hurst(&white[..50]), None);
    }
}

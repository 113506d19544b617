//! Silences in a load: times in which no answer came.

use run::{CoarseHist, ErrorKind, Incident, IncidentKind, NOTHING_LISTENS, Tick, TickDetail, Window};

use super::{Progress, STEP_S, errors, in_flight};

/// Shortest silence that counts as an incident, seconds.
const MIN_SILENCE_S: f64 = 0.5;
/// Minimum share of refused connects among the failures in a silence. With at least this share, the message says that
/// the server no longer listened.
const MOST_FAILURES: f64 = 0.5;
/// Minimum number of answers that must be missing in a silence, so that the gaps of a light load do not count.
const MIN_MISSED_ANSWERS: f64 = 20.0;

impl Progress {
    /// Returns the longest part of the measurement in which no agent counted a completed request, although requests
    /// were in flight. Ticks are a tenth of a second apart, so the real silence may be longer by up to two tenths of a
    /// second.
    pub(crate) fn longest_silence(&self, begin_s: f64, end_s: f64) -> Option<Window> {
        let mut silent = vec![Window { begin_s, end_s }];
        for ticks in &self.ticks {
            silent = common(&silent, &standstills(ticks));
        }
        let waits = |one: &Window| [one.begin_s, one.end_s].iter().all(|t_s| self.sum_at(*t_s, in_flight) > 0.0);
        silent.into_iter().filter(waits).max_by(|a, b| a.length_s().total_cmp(&b.length_s()))
    }

    /// Returns the longest silence of the measurement, if it lasts at least [`MIN_SILENCE_S`], requests were due, and
    /// at least [`MIN_MISSED_ANSWERS`] answers are missing. If no answer has come since the start of the measurement,
    /// and requests failed, returns the whole time ([`Self::nothing`]). The number of missing answers follows from the
    /// rate of answers outside the silence.
    pub(crate) fn silence(&self, begin_s: f64, end_s: f64) -> Option<Incident> {
        let rates = self.rates(begin_s, end_s);
        let (at, steps) = longest_zero(&rates);
        let (from, length_s) = (begin_s + at as f64 * STEP_S, steps as f64 * STEP_S);
        let rest = rates.iter().sum::<f64>() / (rates.len() - steps).max(1) as f64;
        let wanted =
            self.sum_at(from + length_s, errors) > self.sum_at(from, errors) || self.sum_at(from, in_flight) > 0.0;
        if length_s < MIN_SILENCE_S || rest * length_s < MIN_MISSED_ANSWERS || !wanted {
            return self.nothing(begin_s);
        }
        Some(self.silent(from, from + length_s))
    }

    /// Returns a silence that began at or before `begin_s` and lasts until the newest ticks, if requests failed during
    /// the silence.
    fn nothing(&self, begin_s: f64) -> Option<Incident> {
        let until = self.known_until();
        let came = self.completed_at(until) > self.completed_at(begin_s);
        let failed = self.sum_at(until, errors) > self.sum_at(begin_s, errors);
        (!came && failed && until - begin_s >= MIN_SILENCE_S).then(|| self.silent(begin_s, until))
    }

    fn silent(&self, from: f64, until: f64) -> Incident {
        let failed = self.sum_at(until, errors) - self.sum_at(from, errors);
        let detail = self.detail();
        let count = |kind| detail.errors.count(kind);
        let refused = count(ErrorKind::ConnectRefused) as f64;
        let timed_out = count(ErrorKind::ResponseTimeout) + count(ErrorKind::ConnectTimeout) > 0;
        let why = match failed > 0.0 {
            true if refused >= MOST_FAILURES * failed => NOTHING_LISTENS,
            true if timed_out => "the server, or the path to it, hung or was slower than the timeout",
            _ if self.others_took_as_long(&detail, from, until) => "answers at other times took as long",
            _ => "the server, or the path to it, hung or became slow",
        };
        let text = format!("no answer from {from:.1} s to {until:.1} s although some were due: {why}");
        Incident { kind: IncidentKind::Silence, begin_s: from, end_s: Some(until), text }
    }

    /// Returns true if the silence does not explain all long answers (answers that took at least as long as the
    /// silence), because the silence can have delayed only fewer answers. A silence delays only requests that were in
    /// flight in it and that were answered after it.
    fn others_took_as_long(&self, detail: &TickDetail, from: f64, until: f64) -> bool {
        let silence_ns = (until - from) * 1e9;
        let long = detail.responses.counts().filter(|(bucket, _)| CoarseHist::end_ns(*bucket) >= silence_ns);
        let long = long.fold(0_u64, |sum, (_, n)| sum.saturating_add(n)) as f64;
        let after = self.now().completed as f64 - self.completed_at(until);
        long > after.min(self.sum_at(until, in_flight))
    }

    /// Returns true if answers have stopped: none came for two tenths of a second, although requests are due. At the
    /// rate since `begin_s`, at least [`MIN_MISSED_ANSWERS`] answers must be missing.
    pub(crate) fn stands_still(&self, begin_s: f64) -> bool {
        let until = self.known_until();
        let rates = self.rates(begin_s, until);
        let quiet = rates.iter().rev().take_while(|rate| **rate == 0.0).count();
        let before = rates.iter().sum::<f64>() / (rates.len() - quiet).max(1) as f64;
        quiet >= 2 && before * quiet as f64 * STEP_S >= MIN_MISSED_ANSWERS && self.sum_at(until, in_flight) > 0.0
    }
}

/// Returns the times in which an agent's count of completed requests stayed the same from one tick to a later one.
fn standstills(ticks: &[Tick]) -> Vec<Window> {
    let still = ticks.chunk_by(|a, b| a.completed == b.completed);
    let ends = still.filter_map(|run| Some(Window { begin_s: run.first()?.t_s, end_s: run.last()?.t_s }));
    ends.filter(|window| window.end_s > window.begin_s).collect()
}

/// Returns the intervals of time that both lists cover. Both lists are sorted by time.
fn common(a: &[Window], b: &[Window]) -> Vec<Window> {
    let (mut i, mut j, mut found) = (0, 0, Vec::new());
    while let (Some(one), Some(other)) = (a.get(i), b.get(j)) {
        let both = Window { begin_s: one.begin_s.max(other.begin_s), end_s: one.end_s.min(other.end_s) };
        found.extend((both.end_s > both.begin_s).then_some(both));
        if one.end_s < other.end_s { i += 1 } else { j += 1 }
    }
    found
}

/// Returns the position and length of the longest run of zeros in a list.
fn longest_zero(rates: &[f64]) -> (usize, usize) {
    let (mut best, mut run) = ((0, 0), 0);
    for (i, rate) in rates.iter().enumerate() {
        run = if *rate == 0.0 { run + 1 } else { 0 };
        if run > best.1 {
            best = (i + 1 - run, run);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::super::tests::tick;
    use super::*;

    /// Simulates 100 answers per second, with none from 2 s to 3 s. If `failing` is set, requests fail from 2 s to 3 s.
    fn with_a_gap(failing: bool) -> Progress {
        let mut progress = Progress::new(1);
        for i in 1..=50_u64 {
            let quiet = i.clamp(20, 30) - 20;
            let errors = if failing { quiet } else { 0 };
            progress.push(0, Tick { errors, ..tick(i as f64 * 0.1, (i - quiet) * 10) }, 9.0);
        }
        progress
    }

    #[test]
    fn a_silence_of_refused_connects_says_so() {
        let told = |kind| {
            let mut progress = with_a_gap(true);
            let detail = TickDetail { errors: run::Errors([(kind, 10)].into()), ..TickDetail::default() };
            let last = progress.last(0).unwrap().clone();
            progress.push(0, Tick { detail: Some(Box::new(detail)), ..last }, 9.0);
            progress.silence(0.5, 4.9).unwrap().text
        };
        assert!(told(ErrorKind::ConnectRefused).ends_with("had ended or no longer listened"));
        assert!(told(ErrorKind::ResponseTimeout).ends_with("slower than the timeout"));
    }

    /// No request reached the timeout. In the first load, ten answers before the silence each took as long as the
    /// silence lasted.
    #[test]
    fn a_silence_without_timeouts_names_no_timeout() {
        let told = |slow_answers: u64| {
            let mut progress = with_a_gap(true);
            let responses = CoarseHist::from(vec![(CoarseHist::bucket(1_100_000_000) as u16, slow_answers)]);
            let errors = run::Errors([(ErrorKind::ShortResponse, 10)].into());
            let detail = TickDetail { errors, responses, ..TickDetail::default() };
            let last = progress.last(0).unwrap().clone();
            progress.push(0, Tick { detail: Some(Box::new(detail)), ..last }, 9.0);
            progress.silence(0.5, 4.9).unwrap().text
        };
        assert!(told(10).ends_with("answers at other times took as long"), "{}", told(10));
        assert!(told(0).ends_with("hung or became slow"), "{}", told(0));
    }

    #[test]
    fn a_standstill_needs_answers_that_are_due_and_missing() {
        let mut progress = Progress::new(1);
        let mut push = |i: u64, completed: u64, in_flight: u64| {
            progress.push(0, Tick { in_flight, ..tick(i as f64 * 0.1, completed) }, 9.0);
            progress.stands_still(0.0)
        };
        assert!((1..=10).all(|i| !push(i, i * 20, 5)), "200 answers a second");
        assert_eq!([11, 12, 13].map(|i| push(i, 200, 5)), [false, true, true]);
        assert!(!push(14, 200, 0), "nothing is due");
        assert!(!push(15, 260, 5), "they come again");
    }

    /// Two agents get 100 answers per second each, and the server stops from 2.02 s to 2.63 s.
    #[test]
    fn the_longest_silence_is_that_of_all_agents_while_requests_wait() {
        let pushed = |second_stands: bool, in_flight: u64| {
            let mut progress = Progress::new(2);
            for i in 1..=50_u32 {
                for (agent, offset) in [(0, 0.0), (1, 0.03)] {
                    let t_s = f64::from(i) * 0.1 + offset;
                    let stood = if agent == 0 || second_stands { t_s.clamp(2.02, 2.63) - 2.02 } else { 0.0 };
                    let completed = ((t_s - stood) * 100.0) as u64;
                    progress.push(agent, Tick { in_flight, ..tick(t_s, completed) }, 9.0);
                }
            }
            progress.longest_silence(0.5, 4.9)
        };
        let told = pushed(true, 8).unwrap();
        assert!((2.02..2.2).contains(&told.begin_s) && (2.5..2.64).contains(&told.end_s), "{told:?}");
        assert!(told.length_s() > 0.35, "{told:?}");
        assert_eq!((pushed(false, 8), pushed(true, 0)), (None, None), "one agent had answers; nothing was due");
    }

    #[test]
    fn a_silence_in_which_requests_failed_is_an_incident() {
        let told = with_a_gap(true).silence(0.5, 4.9).unwrap();
        assert!((told.begin_s - 2.0).abs() < 0.11 && told.end_s.is_some_and(|e| (e - 3.0).abs() < 0.11), "{told:?}");
        assert_eq!(with_a_gap(false).silence(0.5, 4.9), None, "nobody asked, so nobody was left without an answer");
        assert_eq!(with_a_gap(true).silence(0.5, 2.0), None);
        assert_eq!(Progress::new(1).silence(0.0, 5.0), None);
    }

    /// A link failed just before a short measurement began, so the requests of the measurement time out in the drain.
    #[test]
    fn a_window_without_any_answer_is_silent_once_requests_ran_out_of_time() {
        let mut progress = Progress::new(1);
        (1..=10).for_each(|i| progress.push(0, tick(f64::from(i) * 0.1, 6), 9.0));
        assert_eq!(progress.silence(0.2, 0.4), None, "nothing failed yet");
        progress.push(0, Tick { errors: 2, ..tick(1.3, 6) }, 9.0);
        let told = progress.silence(0.2, 0.4).unwrap();
        assert!(told.begin_s == 0.2 && told.end_s == Some(1.3), "{told:?}");
        progress.push(0, Tick { errors: 2, ..tick(1.4, 7) }, 9.0);
        assert_eq!(progress.silence(0.2, 0.4), None, "an answer came");
    }
}

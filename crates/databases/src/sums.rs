//! Adds up the repeated readings (samples) of a database's sessions, and computes a profile of the sessions' activities
//! from the sums. All functions are pure: equal samples give equal profiles.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use run::{Blocker, CommandSum, DatabaseKind, DatabaseProfile, MAX_WAIT_ROWS, SessionGroup, SessionState};

use crate::statement::without_values;
use crate::statement::words::Dialect;

/// Maximum number of entries that [`Sums`] keeps in each of its collections `groups`, `blockers`, `short` and `held_s`.
const MAX_KEPT: usize = 4096;

/// State of a session at the moment of a sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SessionSample {
    pub(crate) state: SessionState,
    pub(crate) event: String,
    /// Text of the statement, which still contains its values.
    pub(crate) statement: String,
}

/// A transaction that blocks a session at the moment of a sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct BlockerSample {
    pub(crate) blocked: SessionState,
    /// Number of the transaction, unique within one sample.
    pub(crate) id: u32,
    pub(crate) state: SessionState,
    /// Text of the statement, which still contains its values.
    pub(crate) statement: String,
    /// Time for which the transaction has held the lock, seconds; `None` if unknown.
    pub(crate) held_s: Option<f64>,
}

/// All sessions of a database at the moment of a sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sample {
    pub(crate) sessions: Vec<SessionSample>,
    pub(crate) idle: u64,
    /// Number of sessions whose activity the database hides from the user as whom loadline has logged in.
    pub(crate) hidden: u64,
    pub(crate) blockers: Vec<BlockerSample>,
}

/// Sums over all samples that were taken so far.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    dialect: Dialect,
    samples: u64,
    sample_s: f64,
    sessions: f64,
    active: f64,
    hidden: u64,
    groups: BTreeMap<(SessionState, String, Arc<str>), f64>,
    blockers: BTreeMap<(SessionState, SessionState, Arc<str>), f64>,
    /// Ages of row locks at the moments of the samples, seconds.
    held_s: Vec<f64>,
    short: HashMap<String, Arc<str>>,
    /// Commands that the database has executed, according to the latest reading. Each reading replaces the previous
    /// reading.
    pub(crate) commands: Vec<CommandSum>,
}

impl Sums {
    /// Returns empty sums for a kind of database.
    pub(crate) fn new(kind: DatabaseKind) -> Self {
        let dialect = if kind == DatabaseKind::Mariadb { Dialect::Mariadb } else { Dialect::Postgres };
        Self { dialect, ..Self::default() }
    }

    /// Counts a sample that took `seconds` seconds.
    pub(crate) fn count(&mut self, seconds: f64) {
        self.samples += 1;
        self.sample_s += seconds;
    }

    /// Adds the sessions of one sample to the sums.
    pub(crate) fn add(&mut self, sample: Sample) {
        self.sessions += (sample.sessions.len() as u64 + sample.idle + sample.hidden) as f64;
        self.active += sample.sessions.len() as f64;
        self.hidden += sample.hidden;
        for session in sample.sessions {
            let key = (session.state, session.event, self.shortened(session.statement));
            if self.groups.len() < MAX_KEPT || self.groups.contains_key(&key) {
                *self.groups.entry(key).or_default() += 1.0;
            }
        }
        self.add_blockers(sample.blockers);
    }

    /// Adds each blocking transaction of a sample once, even if it blocks several sessions. The age of the
    /// transaction's lock is the longest time that any session has waited for the transaction.
    fn add_blockers(&mut self, blockers: Vec<BlockerSample>) {
        let mut transactions: BTreeMap<(SessionState, u32), BlockerSample> = BTreeMap::new();
        for blocker in blockers {
            let known = transactions.entry((blocker.blocked, blocker.id)).or_insert_with(|| blocker.clone());
            known.held_s = known.held_s.into_iter().chain(blocker.held_s).reduce(f64::max);
        }
        for ((blocked, _), blocker) in transactions {
            if self.held_s.len() < MAX_KEPT {
                self.held_s.extend(blocker.held_s);
            }
            let key = (blocked, blocker.state, self.shortened(blocker.statement));
            if self.blockers.len() < MAX_KEPT || self.blockers.contains_key(&key) {
                *self.blockers.entry(key).or_default() += 1.0;
            }
        }
    }

    /// Returns a statement without its values. The result is cached, because most sessions repeat a few statements.
    fn shortened(&mut self, statement: String) -> Arc<str> {
        if self.short.len() >= MAX_KEPT {
            self.short.clear();
        }
        let dialect = self.dialect;
        self.short.entry(statement).or_insert_with_key(|statement| without_values(statement, dialect).into()).clone()
    }

    /// Returns the profile of all samples.
    pub(crate) fn profile(&self) -> DatabaseProfile {
        let mean = |sum: f64| sum / self.samples.max(1) as f64;
        let group = |((state, event, statement), sum): (&(SessionState, String, Arc<str>), &f64)| SessionGroup {
            state: *state,
            event: run::visible(event).into_owned(),
            statement: statement.to_string(),
            sessions: mean(*sum),
        };
        DatabaseProfile {
            samples: self.samples,
            sample_ms: mean(self.sample_s) * 1e3,
            sessions: mean(self.sessions),
            active: mean(self.active),
            groups: largest(self.groups.iter().map(group).collect(), |group| group.sessions),
            blockers: self.blocker_rows(),
            commands: largest(self.commands.clone(), |command| command.share),
            missing: self.missing(),
            ..DatabaseProfile::default()
        }
    }

    fn blocker_rows(&self) -> Vec<Blocker> {
        let all: f64 = self.blockers.values().sum();
        let held_s = typical_length(self.held_s.clone()).unwrap_or(0.0);
        let row = |((blocked, state, statement), n): (&(SessionState, SessionState, Arc<str>), &f64)| Blocker {
            blocked: *blocked,
            state: *state,
            statement: statement.to_string(),
            share: n / all,
            held_s: if *blocked == SessionState::RowLock { held_s } else { 0.0 },
        };
        largest(self.blockers.iter().map(row).collect(), |row| row.share)
    }

    fn missing(&self) -> Vec<String> {
        let why = "this login sees no statements of other users' sessions: grant it pg_read_all_stats";
        (self.hidden > 0).then(|| why.into()).into_iter().collect()
    }
}

/// Returns the typical duration for which locks are held, from the ages of the locks at random moments. On average, a
/// random moment is in the middle of the time for which a lock is held. The result is therefore twice the median age.
/// The result is exact if all durations are equal. If the durations are exponentially distributed, the result is 1.39
/// times the mean duration. The reason is that a random moment falls into a long duration more often than into a short
/// one.
fn typical_length(mut ages: Vec<f64>) -> Option<f64> {
    ages.sort_by(f64::total_cmp);
    ages.get(ages.len() / 2).map(|median| 2.0 * median)
}

/// Sorts rows by a value, the largest first, and keeps the first [`MAX_WAIT_ROWS`] rows.
fn largest<T>(mut rows: Vec<T>, size: impl Fn(&T) -> f64) -> Vec<T> {
    rows.sort_by(|a, b| size(b).total_cmp(&size(a)));
    rows.truncate(MAX_WAIT_ROWS);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(state: SessionState, statement: &str) -> SessionSample {
        SessionSample { state, statement: statement.into(), ..SessionSample::default() }
    }

    #[test]
    fn sessions_with_other_values_are_one_group() {
        let mut sums = Sums::default();
        for round in 0..10 {
            let statement = |id: u32| session(SessionState::RowLock, &format!("UPDATE t SET n = {id}"));
            let blocker = |id, held_s| BlockerSample {
                blocked: SessionState::RowLock,
                id,
                state: SessionState::Sleep,
                statement: format!("SELECT pg_sleep({round})"),
                held_s,
            };
            // In this test, one transaction blocks two sessions.
            let blockers = vec![blocker(7, Some(0.002)), blocker(7, Some(0.004))];
            sums.count(0.5);
            sums.add(Sample { sessions: (0..3).map(statement).collect(), idle: 4, blockers, ..Sample::default() });
        }
        let found = sums.profile();
        assert_eq!((found.samples, found.sessions, found.active, found.sample_ms), (10, 7.0, 3.0, 500.0));
        assert_eq!((found.groups.len(), found.groups[0].sessions), (1, 3.0));
        assert_eq!(found.groups[0].statement, "UPDATE t SET n = ?");
        let Blocker { statement, share, held_s, .. } = &found.blockers[0];
        assert_eq!((statement.as_str(), *share, *held_s), ("SELECT pg_sleep(?)", 1.0, 0.008));
    }

    #[test]
    fn rows_are_bounded_and_hidden_sessions_are_told() {
        let mut sums = Sums::default();
        let names = (0..2 * MAX_KEPT).map(|n| session(SessionState::Running, &format!("SELECT a{n}")));
        sums.count(0.001);
        sums.add(Sample { sessions: names.collect(), hidden: 1, ..Sample::default() });
        let found = sums.profile();
        assert_eq!((found.groups.len(), found.missing.len()), (MAX_WAIT_ROWS, 1));
    }

    #[test]
    fn the_length_of_a_hold_follows_from_ages_at_random_moments() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut lengths: Vec<[f64; 2]> = Vec::new();
        for _ in 0..300 {
            // Locks are held one after another, each for 9 ms or for exponentially distributed durations with a mean of
            // 9 ms. The ages of the locks are taken at 200 random moments.
            let mut found = [0.0; 2];
            for (kind, found) in found.iter_mut().enumerate() {
                let ages = (0..200).map(|_| match kind {
                    0 => random.f64() * 0.009,
                    // If a duration is exponentially distributed, its age at a random moment has the same distribution
                    // as the duration itself.
                    _ => -0.009 * (1.0 - random.f64()).ln(),
                });
                *found = typical_length(ages.collect()).unwrap();
            }
            lengths.push(found);
        }
        let mean = |kind: usize| lengths.iter().map(|found| found[kind]).sum::<f64>() / lengths.len() as f64 / 0.009;
        assert!((mean(0) - 1.0).abs() < 0.02 && (mean(1) - 1.386).abs() < 0.05, "{} {}", mean(0), mean(1));
        assert_eq!(typical_length(Vec::new()), None);
    }
}

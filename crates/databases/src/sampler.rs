//! The thread that samples a database during a load test. One connection serves all load tests of a run.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use run::{Behind, DatabaseKind, DatabaseProfile};

use crate::DatabaseError;
use crate::mariadb::MariadbSession;
use crate::postgres::PostgresSession;
use crate::redis::RedisSession;
use crate::sums::Sums;

/// Pause between two readings (samples) of the sessions of PostgreSQL. At this interval, a load test of 2 s has about
/// 40 samples.
const POSTGRES_PAUSE: Duration = Duration::from_millis(50);
/// Pause between two readings (samples) of the sessions of MariaDB. InnoDB, MariaDB's storage engine, updates the
/// tables that loadline reads ten times per second.
const MARIADB_PAUSE: Duration = Duration::from_millis(100);
/// Pause between two readings of Redis. The final profile uses only the first and the last reading. All other readings
/// only keep the figures on the screen up to date.
const REDIS_PAUSE: Duration = Duration::from_secs(1);
/// Minimum pause after a sample, as a multiple of the sample's duration. The longer a sample takes, the less often
/// loadline samples the database.
const MIN_PAUSE_SAMPLES: u32 = 4;

/// A connection to a database for taking samples.
#[derive(Debug)]
enum Session {
    Postgres(PostgresSession),
    Mariadb(MariadbSession),
    Redis(RedisSession),
}

impl Session {
    fn connect(behind: &Behind) -> Result<Self, DatabaseError> {
        Ok(match behind.kind {
            DatabaseKind::Postgres => Self::Postgres(PostgresSession::connect(behind)?),
            DatabaseKind::Mariadb => Self::Mariadb(MariadbSession::connect(behind)?),
            DatabaseKind::Redis => Self::Redis(RedisSession::connect(behind)?),
        })
    }

    fn begin(&mut self) {
        if let Self::Redis(session) = self {
            session.begin();
        }
    }

    const fn pause(&self) -> Duration {
        match self {
            Self::Postgres(_) => POSTGRES_PAUSE,
            Self::Mariadb(_) => MARIADB_PAUSE,
            Self::Redis(_) => REDIS_PAUSE,
        }
    }

    fn sample(&mut self, sums: &mut Sums) -> Result<(), DatabaseError> {
        match self {
            Self::Postgres(session) => sums.add(session.sample()?),
            Self::Mariadb(session) => sums.add(session.sample()?),
            Self::Redis(session) => sums.commands = session.sample()?,
        }
        Ok(())
    }
}

/// A database that the server uses. All clones of a `Database` share one connection.
#[derive(Clone, Debug)]
pub struct Database {
    behind: Behind,
    session: Arc<Mutex<Option<Session>>>,
}

impl Database {
    /// Connects to a database.
    pub fn connect(behind: &Behind) -> Result<Self, DatabaseError> {
        let session = Session::connect(behind)?;
        Ok(Self { behind: behind.clone(), session: Arc::new(Mutex::new(Some(session))) })
    }

    /// Starts a thread that takes samples until [`DatabaseSampler::finish`].
    pub fn sample(&self) -> std::io::Result<DatabaseSampler> {
        let shared = Arc::new((Mutex::new(Shared::default()), Condvar::new()));
        let (database, theirs) = (self.clone(), Arc::clone(&shared));
        let work = move || database.work(&theirs);
        let thread = std::thread::Builder::new().name("loadline-db".into()).spawn(work)?;
        Ok(DatabaseSampler { shared, thread: Some(thread) })
    }

    fn work(&self, shared: &(Mutex<Shared>, Condvar)) {
        let begin = Instant::now();
        let mut sums = Sums::new(self.behind.kind);
        let failed = self.session().and_then(|mut session| {
            session.begin();
            let result = sample_until_stop(&mut session, &mut sums, shared, |sums| self.profile(sums, begin));
            // After an error, the state of the connection is unknown, so the connection is not kept for the next load
            // test.
            if result.is_ok() {
                *lock(&self.session) = Some(session);
            }
            result
        });
        let mut profile = self.profile(&sums, begin);
        profile
            .missing
            .extend(failed.err().map(|error| format!("{} could not be sampled: {error}", self.behind.place())));
        lock(&shared.0).profile = profile;
    }

    /// Takes the connection that the previous load test kept. Connects again if no connection was kept.
    fn session(&self) -> Result<Session, DatabaseError> {
        let kept = lock(&self.session).take();
        kept.map_or_else(|| Session::connect(&self.behind), Ok)
    }

    fn profile(&self, sums: &Sums, begin: Instant) -> DatabaseProfile {
        DatabaseProfile {
            kind: self.behind.kind,
            address: self.behind.place(),
            seconds: begin.elapsed().as_secs_f64(),
            ..sums.profile()
        }
    }
}

/// Takes samples until the caller asks the thread to stop. Takes a last sample after the caller has asked to stop, so
/// the counts cover the whole load test.
fn sample_until_stop(
    session: &mut Session,
    sums: &mut Sums,
    shared: &(Mutex<Shared>, Condvar),
    profile: impl Fn(&Sums) -> DatabaseProfile,
) -> Result<(), DatabaseError> {
    loop {
        let stop = lock(&shared.0).stop;
        let begin = Instant::now();
        session.sample(sums)?;
        let took = begin.elapsed();
        sums.count(took.as_secs_f64());
        if stop {
            return Ok(());
        }
        let mut state = lock(&shared.0);
        if state.wanted {
            state.profile = profile(sums);
        }
        let pause = session.pause().max(took * MIN_PAUSE_SAMPLES);
        let due = Instant::now() + pause;
        while !state.stop && Instant::now() < due {
            let waited = shared.1.wait_timeout(state, due.saturating_duration_since(Instant::now()));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// State that the sampling thread and the caller share.
#[derive(Debug, Default)]
struct Shared {
    stop: bool,
    /// True if the caller has asked for the profile before the end of the sampling. The thread copies the profile for
    /// the caller after each sample only if this is true.
    wanted: bool,
    profile: DatabaseProfile,
}

/// Handle of a thread that samples a database.
#[derive(Debug)]
pub struct DatabaseSampler {
    shared: Arc<(Mutex<Shared>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl DatabaseSampler {
    /// Returns the profile of the samples so far. The first call returns an empty profile. Only after the first call
    /// does the thread update the profile after each sample.
    pub fn so_far(&self) -> DatabaseProfile {
        let mut state = lock(&self.shared.0);
        state.wanted = true;
        state.profile.clone()
    }

    /// Stops sampling and returns the profile.
    pub fn finish(mut self) -> DatabaseProfile {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // Joining fails only if the thread panicked because of a bug. After a panic, the function returns the
            // profile of the last update, or an empty profile.
            let _ = thread.join();
        }
        lock(&self.shared.0).profile.clone()
    }

    fn stop(&self) {
        lock(&self.shared.0).stop = true;
        self.shared.1.notify_all();
    }
}

impl Drop for DatabaseSampler {
    fn drop(&mut self) {
        self.stop();
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

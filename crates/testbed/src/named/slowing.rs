//! Slows the medium for a client, as long as the client is connected to the keeper (the process that keeps the testbed
//! alive).
//!
//! The keeper restores the medium's full rate when the connection ends for any reason, or when the client sends nothing
//! for [`MAX_SILENCE`]. A medium therefore never stays slow after the end of its client.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::error::{Result, TestbedError};
use crate::testbed::MediumSpeed;

/// First word of a request to slow the medium. In the request, a share of the full rate follows the word `slow`.
pub(super) const SLOW_REQUEST: &str = "slow";
/// Maximum length of a request to a keeper, bytes.
pub(super) const MAX_REQUEST_BYTES: u64 = 64;
/// Answer that the keeper sends as soon as the medium has the requested rate.
const DONE_ANSWER: &str = "done";
/// Maximum length of a keeper's answer, bytes.
const MAX_ANSWER_BYTES: u64 = 1024;
/// Maximum time between two requests of a client. After a longer pause, the keeper restores the full rate.
const MAX_SILENCE: Duration = Duration::from_secs(20);
/// Maximum time to wait for a keeper's answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// The keeper's side: it slows the medium on request of a client, for one client at a time.
pub(super) struct SlowingServer {
    speed: MediumSpeed,
    held: Arc<AtomicBool>,
}

impl SlowingServer {
    pub(super) fn new(speed: MediumSpeed) -> Self {
        Self { speed, held: Arc::new(AtomicBool::new(false)) }
    }

    /// Starts a new thread that executes a request and all later requests of its connection. While the thread runs, the
    /// keeper can serve other connections. If another client already controls the medium's rate, refuses the request.
    pub(super) fn hold(&self, mut stream: UnixStream, word: String) {
        if self.held.swap(true, Ordering::AcqRel) {
            // Ignore an error, because the client may have closed the connection.
            let _ = stream.write_all(b"another experiment slows it at this moment\n");
            return;
        }
        let holder = RateHold { speed: self.speed.clone(), held: Arc::clone(&self.held) };
        // If the thread cannot be started, Rust drops `holder` and `stream` here. Dropping `holder` and `stream`
        // restores the full rate and closes the connection.
        let _ = std::thread::Builder::new().name("slowed".into()).spawn(move || holder.obey(&stream, word));
    }
}

/// One client's control of the medium's rate. Dropping this value restores the full rate.
struct RateHold {
    speed: MediumSpeed,
    held: Arc<AtomicBool>,
}

impl RateHold {
    fn obey(self, mut stream: &UnixStream, mut word: String) {
        if stream.set_read_timeout(Some(MAX_SILENCE)).is_err() {
            return;
        }
        loop {
            let answer = self.slow(&word).map_or_else(|e| e.to_string(), |()| DONE_ANSWER.into());
            if stream.write_all(format!("{answer}\n").as_bytes()).is_err() {
                return;
            }
            word.clear();
            let heard = BufReader::new(stream.take(MAX_REQUEST_BYTES)).read_line(&mut word);
            if !matches!(heard, Ok(1..)) {
                return;
            }
        }
    }

    fn slow(&self, word: &str) -> Result<()> {
        let share = word.trim().strip_prefix(SLOW_REQUEST).and_then(|share| share.trim().parse().ok());
        self.speed.set(share.ok_or_else(|| {
            TestbedError::Speed(format!("say `{SLOW_REQUEST}` and a share, as in `{SLOW_REQUEST} 0.75`"))
        })?)
    }
}

impl Drop for RateHold {
    fn drop(&mut self) {
        // Ignore errors: a medium without a rate limit has nothing to restore, and `drop` cannot return other errors.
        let _ = self.speed.set(1.0);
        self.held.store(false, Ordering::Release);
    }
}

/// The client's side of a connection to the keeper: it controls the medium's rate. Dropping this value restores the
/// full rate.
#[derive(Debug)]
pub struct MediumSlowdown {
    stream: UnixStream,
}

impl MediumSlowdown {
    /// Takes control of a testbed's medium, which keeps its full rate at first. `socket` is the socket of the testbed's
    /// keeper. Returns an error if the medium cannot be slowed.
    pub fn begin(socket: &Path) -> Result<Self> {
        let reach = |e: std::io::Error| TestbedError::Speed(format!("its keeper cannot be reached: {e}"));
        let stream = UnixStream::connect(socket).map_err(reach)?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT)).map_err(reach)?;
        let mut slowing = Self { stream };
        slowing.set(1.0)?;
        Ok(slowing)
    }

    /// Sets every wire of the medium to a share of its full rate.
    pub fn set(&mut self, share: f64) -> Result<()> {
        let lost = |e: std::io::Error| TestbedError::Speed(format!("its keeper does not answer: {e}"));
        self.stream.write_all(format!("{SLOW_REQUEST} {share}\n").as_bytes()).map_err(lost)?;
        let mut answer = String::new();
        BufReader::new((&self.stream).take(MAX_ANSWER_BYTES)).read_line(&mut answer).map_err(lost)?;
        match answer.trim() {
            DONE_ANSWER => Ok(()),
            "" => Err(TestbedError::Speed("its keeper ended the connection".into())),
            why => Err(TestbedError::Speed(why.trim_start_matches("the medium cannot be slowed: ").into())),
        }
    }
}

impl Drop for MediumSlowdown {
    fn drop(&mut self) {
        // The read waits until the keeper closes the connection, which it does as soon as it has restored the full
        // rate. Ignore errors, because `drop` cannot return errors.
        let _ = self.stream.shutdown(Shutdown::Write);
        let _ = self.stream.read(&mut [0; 1]);
    }
}

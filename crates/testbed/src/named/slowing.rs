//! A medium that is slowed for as long as somebody holds a connection to its keeper.
//!
//! The keeper gives the medium all of its rate back when the connection ends, however that happens, or is silent: so
//! nothing lasts beyond whoever asked for it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::error::{Result, TestbedError};
use crate::testbed::MediumSpeed;

/// The word before a share.
pub(super) const SLOW: &str = "slow";
/// No word to a keeper is longer.
pub(super) const LONGEST_WORD: u64 = 64;
/// What the keeper answers when the medium has the rate that was asked for.
const DONE: &str = "done";
/// No answer of a keeper to one is longer.
const LONGEST_ANSWER: u64 = 1024;
/// How long a holder may be silent.
const SILENCE: Duration = Duration::from_secs(20);
/// How long a keeper may take for a word.
const PATIENCE: Duration = Duration::from_secs(5);

/// The keeper's end: one holder at a time.
pub(super) struct Slowed {
    speed: MediumSpeed,
    held: Arc<AtomicBool>,
}

impl Slowed {
    pub(super) fn new(speed: MediumSpeed) -> Self {
        Self { speed, held: Arc::new(AtomicBool::new(false)) }
    }

    /// Does what this word says and those that follow on its connection, beside whatever else is asked of the keeper.
    pub(super) fn hold(&self, mut stream: UnixStream, word: String) {
        if self.held.swap(true, Ordering::AcqRel) {
            // Who does not want to read the answer need not.
            let _ = stream.write_all(b"another experiment slows it at this moment\n");
            return;
        }
        let holder = Holder { speed: self.speed.clone(), held: Arc::clone(&self.held) };
        // Without a thread the connection ends here, and the holder with it.
        let _ = std::thread::Builder::new().name("slowed".into()).spawn(move || holder.obey(&stream, word));
    }
}

/// Gives the medium its rate back when it goes.
struct Holder {
    speed: MediumSpeed,
    held: Arc<AtomicBool>,
}

impl Holder {
    fn obey(self, mut stream: &UnixStream, mut word: String) {
        if stream.set_read_timeout(Some(SILENCE)).is_err() {
            return;
        }
        loop {
            let answer = self.slow(&word).map_or_else(|e| e.to_string(), |()| DONE.into());
            if stream.write_all(format!("{answer}\n").as_bytes()).is_err() {
                return;
            }
            word.clear();
            let heard = BufReader::new(stream.take(LONGEST_WORD)).read_line(&mut word);
            if !matches!(heard, Ok(1..)) {
                return;
            }
        }
    }

    fn slow(&self, word: &str) -> Result<()> {
        let share = word.trim().strip_prefix(SLOW).and_then(|share| share.trim().parse().ok());
        self.speed
            .set(share.ok_or_else(|| TestbedError::Speed(format!("say `{SLOW}` and a share, as in `{SLOW} 0.75`")))?)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // A medium without a rate has nothing to be given back.
        let _ = self.speed.set(1.0);
        self.held.store(false, Ordering::Release);
    }
}

/// The other end: a medium that is slowed at will until this goes.
#[derive(Debug)]
pub struct Slowing {
    stream: UnixStream,
}

impl Slowing {
    /// Takes hold of the medium of the testbed whose keeper listens here. It keeps its full rate for now; the error says why
    /// it could not be slowed.
    pub fn begin(socket: &Path) -> Result<Self> {
        let reach = |e: std::io::Error| TestbedError::Speed(format!("its keeper cannot be reached: {e}"));
        let stream = UnixStream::connect(socket).map_err(reach)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(reach)?;
        let mut slowing = Self { stream };
        slowing.set(1.0)?;
        Ok(slowing)
    }

    /// Gives every wire of the medium this share of its rate.
    pub fn set(&mut self, share: f64) -> Result<()> {
        let lost = |e: std::io::Error| TestbedError::Speed(format!("its keeper does not answer: {e}"));
        self.stream.write_all(format!("{SLOW} {share}\n").as_bytes()).map_err(lost)?;
        let mut answer = String::new();
        BufReader::new((&self.stream).take(LONGEST_ANSWER)).read_line(&mut answer).map_err(lost)?;
        match answer.trim() {
            DONE => Ok(()),
            "" => Err(TestbedError::Speed("its keeper ended the connection".into())),
            why => Err(TestbedError::Speed(why.trim_start_matches("the medium cannot be slowed: ").into())),
        }
    }
}

impl Drop for Slowing {
    fn drop(&mut self) {
        // The keeper ends the connection when the rate is what it was; should it not, there is nothing more to be done here.
        let _ = self.stream.shutdown(Shutdown::Write);
        let _ = self.stream.read(&mut [0; 1]);
    }
}

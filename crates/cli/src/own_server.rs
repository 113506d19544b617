//! A server that a command starts for its measurement.

use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use run::{Address, visible};

/// Maximum time until the server accepts connections.
const STARTS: Duration = Duration::from_secs(15);
/// Maximum time for the server to end after a signal.
const ENDS: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(20);
/// Maximum number of bytes of the server's last output in an error.
const LAST_WORDS: usize = 400;

/// A server in its own process group. Dropping this value ends it.
pub(crate) struct OwnServer {
    child: Child,
    said: Arc<Mutex<Vec<u8>>>,
    at: Address,
}

impl OwnServer {
    /// Runs a shell command and waits until a server accepts connections at the address.
    pub(crate) fn start(command: &str, at: &Address) -> anyhow::Result<Self> {
        if accepts(at) {
            bail!("something already listens on {at}, so {command:?} was not started: stop it, or use another port");
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
        let mut child = shell.spawn().with_context(|| format!("starting {command:?}"))?;
        let said = Arc::new(Mutex::new(Vec::new()));
        if let Some(stderr) = child.stderr.take() {
            let said = Arc::clone(&said);
            std::thread::spawn(move || keep_last(stderr, &said));
        }
        let mut server = Self { child, said, at: at.clone() };
        let deadline = Instant::now() + STARTS;
        while !accepts(at) {
            if let Some(status) = server.child.try_wait().with_context(|| format!("waiting for {command:?}"))? {
                bail!("{command:?} ended ({status}) before it listened on {at}{}", server.last_words());
            }
            if Instant::now() > deadline {
                bail!("{command:?} does not listen on {at} after {} s{}", STARTS.as_secs(), server.last_words());
            }
            std::thread::sleep(LOOK);
        }
        Ok(server)
    }

    fn last_words(&self) -> String {
        let said = self.said.lock().map(|said| String::from_utf8_lossy(&said).trim().to_string()).unwrap_or_default();
        if said.is_empty() { String::new() } else { format!(": {}", visible(&said)) }
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        // The signal goes to the process group, so that children of the shell end, too.
        let group = self.child.id();
        let _ = sys::signal::end_group(group);
        let deadline = Instant::now() + ENDS;
        while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(LOOK);
        }
        let _ = sys::signal::kill_group(group);
        let _ = self.child.wait();
        // The kernel may keep the port a moment longer (io_uring), which would make the next server fail.
        while Instant::now() < deadline && accepts(&self.at) {
            std::thread::sleep(LOOK);
        }
    }
}

fn accepts(at: &Address) -> bool {
    match at {
        Address::Inet(addr) => TcpStream::connect_timeout(addr, Duration::from_secs(1)).is_ok(),
        Address::Unix(path) => UnixStream::connect(path).is_ok(),
    }
}

/// Reads to the end, so that the writer never waits, and keeps the last bytes.
fn keep_last(mut from: impl std::io::Read, said: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(n) = from.read(&mut buffer).map(|n| n.min(buffer.len())) {
        let Ok(mut said) = said.lock() else { return };
        if n == 0 {
            return;
        }
        said.extend_from_slice(&buffer[..n]);
        let past = said.len().saturating_sub(LAST_WORDS);
        said.drain(..past);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_output_is_kept() {
        let said = Mutex::new(Vec::new());
        let text = format!("{}end", "x".repeat(10_000));
        keep_last(text.as_bytes(), &said);
        let said = said.into_inner().unwrap();
        assert!(said.len() == LAST_WORDS && said.ends_with(b"end"));
    }
}

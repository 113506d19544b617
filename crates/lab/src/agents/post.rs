//! The one thread that reads and writes the pipes of a group's agents. It moves lines to the inbox and queued bytes
//! to the agents, sends heartbeats, and ends agents that are silent for too long. No agent can block it.

use std::io::{ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::process::{ChildStderr, ChildStdout};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use run::SILENCE_S;
use sys::poll::{self, Entry};
use sys::wake::Waker;

use super::desk::{Desk, Raw};
use super::lines::Lines;
use super::outbox::Outbox;

/// Interval between heartbeats.
const BEAT: Duration = Duration::from_secs(1);
/// Maximum wait for the rest of standard error after standard output ended.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// Bytes kept from the end of standard error.
const WORDS: usize = 4096;

/// Pipes of one agent.
pub(super) struct Pipes {
    pub(super) number: usize,
    pub(super) out: Arc<Outbox>,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

/// One agent's pipes with their state.
struct Wire {
    pipes: Pipes,
    lines: Lines,
    words: Vec<u8>,
    words_ended: bool,
    heard: Instant,
    /// Events that the inbox had no room for. Nothing more is read until it takes them.
    stuck: Vec<Raw>,
    /// Time at which standard output ended.
    ended: Option<Instant>,
    /// Whether its end was reported, or nobody wants it.
    over: bool,
}

/// Handle of the thread, which ends with it.
#[derive(Debug)]
pub(super) struct Post {
    hand_over: Sender<Pipes>,
    bell: Arc<Waker>,
}

impl Post {
    /// Starts the thread; events go to `inbox`.
    pub(super) fn start(desk: Arc<Desk>) -> std::io::Result<Self> {
        let (hand_over, taken) = channel();
        let bell = Arc::new(Waker::new()?);
        let theirs = Arc::clone(&bell);
        let work =
            move || Thread { desk, taken, bell: theirs, wires: Vec::new(), beat_at: Instant::now() + BEAT }.work();
        std::thread::Builder::new().name("agents".into()).spawn(work)?;
        Ok(Self { hand_over, bell })
    }

    /// Adds an agent.
    pub(super) fn take(&self, pipes: Pipes) -> std::io::Result<()> {
        sys::nonblock::set(&pipes.stdout)?;
        sys::nonblock::set(&pipes.stderr)?;
        let _ = self.hand_over.send(pipes);
        self.bell.wake();
        Ok(())
    }

    /// Wakes the thread to write.
    pub(super) fn ring(&self) {
        self.bell.wake();
    }
}

impl Drop for Post {
    fn drop(&mut self) {
        self.hand_over = channel().0;
        self.bell.wake();
    }
}

struct Thread {
    desk: Arc<Desk>,
    taken: Receiver<Pipes>,
    bell: Arc<Waker>,
    wires: Vec<Wire>,
    beat_at: Instant,
}

impl Thread {
    fn work(mut self) {
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            self.bell.clear();
            loop {
                match self.taken.try_recv() {
                    Ok(pipes) => self.wires.push(Wire::new(pipes)),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return,
                }
            }
            self.beat();
            self.ask(&mut entries);
            if poll::poll(&mut entries, Some(self.wait_ns())).is_err() {
                return;
            }
            let mut found = entries.iter().skip(1);
            for wire in &mut self.wires {
                let [out, words, write] = std::array::from_fn(|_| found.next().is_some_and(|e| e.found() != 0));
                wire.look([out, words, write], &self.desk);
            }
            self.wires.retain(|wire| !wire.over);
        }
    }

    fn beat(&mut self) {
        let now = Instant::now();
        if now >= self.beat_at {
            self.beat_at = now + BEAT;
            self.wires.iter().for_each(|wire| wire.pipes.out.send_now(b"{\"do\":\"beat\"}\n"));
        }
    }

    /// Appends three poll entries per agent, after the one for the bell. Unused entries have no descriptor.
    fn ask(&self, entries: &mut Vec<Entry>) {
        entries.clear();
        entries.push(Entry::new(self.bell.as_raw_fd(), poll::IN));
        let ask = |fd: Option<i32>, events| Entry::new(fd.unwrap_or(-1), events);
        for wire in &self.wires {
            let reads = wire.ended.is_none() && wire.stuck.is_empty();
            entries.push(ask(reads.then(|| wire.pipes.stdout.as_raw_fd()), poll::IN));
            entries.push(ask((!wire.words_ended).then(|| wire.pipes.stderr.as_raw_fd()), poll::IN));
            entries.push(ask(wire.pipes.out.waits_for(), poll::OUT));
        }
    }

    fn wait_ns(&self) -> u64 {
        let soon = self.wires.iter().any(|wire| !wire.stuck.is_empty() || wire.ended.is_some());
        let most = if soon { Duration::from_millis(20) } else { BEAT };
        self.beat_at.saturating_duration_since(Instant::now()).min(most).as_nanos() as u64
    }
}

impl Wire {
    fn new(pipes: Pipes) -> Self {
        Self {
            pipes,
            lines: Lines::default(),
            words: Vec::new(),
            words_ended: false,
            heard: Instant::now(),
            stuck: Vec::new(),
            ended: None,
            over: false,
        }
    }

    fn look(&mut self, [out, words, write]: [bool; 3], desk: &Desk) {
        if write {
            self.pipes.out.flush();
        }
        if words {
            self.read_words();
        }
        if out {
            self.read_lines();
        }
        for raw in std::mem::take(&mut self.stuck) {
            self.over |= matches!(raw, Raw::Gone(_));
            // Kept in order: events queue behind one that found no room.
            let refused = if self.stuck.is_empty() { desk.put(self.pipes.number, raw).err() } else { Some(raw) };
            self.stuck.extend(refused);
        }
        self.over &= self.stuck.is_empty();
        if self.stuck.is_empty() && !self.over {
            self.end();
        }
    }

    fn read_lines(&mut self) {
        let mut bytes = [0; 64 << 10];
        match self.pipes.stdout.read(&mut bytes) {
            Ok(0) => self.ended = Some(Instant::now()),
            Ok(n) => {
                self.heard = Instant::now();
                let at_ns = sys::clock::monotonic_ns();
                let stuck = &mut self.stuck;
                let fed = self.lines.feed(&bytes[..n], &mut |text| stuck.push(Raw::Line { text, at_ns }));
                self.stuck.extend(fed.err().map(Raw::Gone));
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.ended = Some(Instant::now()),
        }
    }

    /// Reads standard error continuously, so that a program with many complaints does not block on it.
    fn read_words(&mut self) {
        let mut bytes = [0; WORDS];
        match self.pipes.stderr.read(&mut bytes) {
            Ok(0) => self.words_ended = true,
            Ok(n) => {
                self.words.extend_from_slice(&bytes[..n]);
                let excess = self.words.len().saturating_sub(WORDS);
                self.words.drain(..excess);
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.words_ended = true,
        }
    }

    /// Reports the end of an agent once nothing more can come.
    fn end(&mut self) {
        let silent = self.lines.greeted() && self.heard.elapsed().as_secs_f64() > SILENCE_S;
        let how = match self.ended {
            Some(at) if self.words_ended || at.elapsed() > LAST_WORDS => self.last_words(),
            None if silent => {
                format!("nothing was heard of it for {SILENCE_S:.0} s; it, its host or the network there hangs")
            }
            _ => return,
        };
        self.stuck.push(Raw::Gone(how));
    }

    fn last_words(&self) -> String {
        let words = String::from_utf8_lossy(&self.words);
        let last = words.lines().rfind(|l| !l.trim().is_empty()).map(|l| format!(": {}", run::visible(l.trim())));
        format!("its process ended{}", last.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    #[test]
    fn an_agent_that_was_silent_for_40_s_is_lost_and_one_of_4_s_is_not() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let mut wire = Wire::new(Pipes { number: 0, out: Arc::new(Outbox::new(None)), stdout, stderr });
        wire.lines.feed(b"{\"is\":\"hello\",\"wire\":4}\n", &mut drop).unwrap();
        let ago = |s| Instant::now().checked_sub(Duration::from_secs(s)).unwrap();
        wire.heard = ago(4);
        wire.end();
        assert!(wire.stuck.is_empty());
        wire.heard = ago(40);
        wire.end();
        assert!(matches!(&wire.stuck[..], [Raw::Gone(how)] if how.contains("for 5 s")), "{:?}", wire.stuck);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

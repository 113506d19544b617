//! One agent process, as its conductor holds it.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use run::{AgentCommand, AgentSpec, Hello, WIRE};

use super::clock::Clock;
use super::outbox::Outbox;
use super::post::Pipes;
use super::station::Station;
use crate::{Host, LabError};

/// See the head of this file.
#[derive(Debug)]
pub struct Agent {
    /// Its number among all that its group ever had: what is heard of it bears that.
    pub(super) serial: usize,
    /// Where it may go on with another task; none for one that ends with its task.
    pub(super) station: Option<Station>,
    name: String,
    host: String,
    remote: bool,
    child: Child,
    out: Arc<Outbox>,
    /// Its task, until it is handed over.
    task: Option<String>,
    /// Its program, where that may have to be copied to its host.
    program: Option<Arc<[u8]>>,
    /// Whether its host is to have a copy.
    copies: bool,
    hello: Option<Hello>,
    pid: Option<u32>,
    /// What is known of its clock; nothing of one on this machine, which has ours.
    pub(super) clock: Clock,
}

impl Agent {
    /// Starts it; its pipes are for whoever reads them.
    pub(super) fn spawn(
        host: &dyn Host,
        program: &Path,
        name: &str,
        serial: usize,
        spec: &AgentSpec,
    ) -> Result<(Self, Pipes), LabError> {
        let fail = |why: String| LabError::Agent { name: name.into(), why };
        let task = written(name, spec)?;
        let mut command = host.command(program)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let started = format!("starting {:?} for {}", command.get_program(), host.name());
        let mut child = command.spawn().map_err(|e| fail(format!("{started} failed: {e}")))?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        stdin.as_ref().map_or(Ok(()), sys::nonblock::set).map_err(|e| fail(format!("its input is no pipe: {e}")))?;
        let out = Arc::new(Outbox::new(stdin));
        let agent = Self {
            serial,
            station: Station::of(host, spec),
            name: name.into(),
            host: host.name().into(),
            remote: host.is_remote(),
            child,
            out: Arc::clone(&out),
            task: Some(task),
            program: host.program(),
            copies: host.program().is_some(),
            hello: None,
            pid: None,
            clock: Clock::default(),
        };
        let (Some(stdout), Some(stderr)) = (stdout, stderr) else {
            return Err(fail("its output could not be opened".into()));
        };
        Ok((agent, Pipes { number: serial, out, stdout, stderr }))
    }

    /// It waits, and gets its next task.
    pub(super) fn again(&mut self, name: &str, spec: &AgentSpec) -> Result<(), LabError> {
        let task = written(name, spec)?;
        self.name = name.into();
        self.out.send_task(task.as_bytes());
        Ok(())
    }

    /// Whether its process ended.
    pub(super) fn ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Its name in its group.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The host that it runs on.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether it was started through another program, maybe on another machine.
    pub fn is_remote(&self) -> bool {
        self.remote
    }

    /// Its process id on its host, as it said when it was ready. The local child may be another program, which brings the
    /// agent up somewhere else.
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// Who it said that it is.
    pub fn hello(&self) -> Option<&Hello> {
        self.hello.as_ref()
    }

    /// How long the fastest exchange with it took, nanoseconds; 0 for one on this machine.
    pub fn round_trip_ns(&self) -> u64 {
        self.clock.round_trip_ns()
    }

    /// What its clock was ahead of ours when the load began, nanoseconds.
    pub fn offset_ns(&self) -> i64 {
        self.clock.begun_ahead_ns()
    }

    /// A moment of our monotonic clock on its.
    pub fn on_its_clock(&self, at_ns: u64) -> u64 {
        at_ns.saturating_add_signed(self.clock.ahead_ns(at_ns))
    }

    /// Sends a command; a lost agent is noticed by its report stream, so a failed write is not an error here.
    pub fn tell(&self, command: &AgentCommand) {
        if let Ok(mut line) = serde_json::to_string(command) {
            line.push('\n');
            self.out.send(line.as_bytes());
        }
    }

    pub(super) fn is_ready(&mut self, pid: u32) {
        self.pid = Some(pid);
    }

    /// It said who it is, and gets its task.
    pub(super) fn greeted(&mut self, hello: Hello) -> Result<(), String> {
        if hello.wire != WIRE {
            return Err(format!(
                "on {} runs loadline {} with wire version {}, this one {WIRE}: use one version on all hosts (--agent-path \
                 names another program there)",
                self.host, hello.version, hello.wire
            ));
        }
        self.hello = Some(hello);
        // One that ended at once is heard of through its output, with its own words.
        self.task.take().into_iter().for_each(|task| self.out.send_task(task.as_bytes()));
        Ok(())
    }

    /// Its program is not on its host yet.
    pub(super) fn wanted(&mut self, system: &str) -> Result<(), String> {
        let ours = crate::hosts::program::system();
        if system != ours {
            return Err(format!(
                "{} is {system} and this program is made for {ours}: name one that is there with --agent-path",
                self.host
            ));
        }
        let program =
            self.program.take().ok_or_else(|| format!("{} asks for a program that it did not need", self.host))?;
        self.out.send(&program);
        Ok(())
    }

    /// What to do where it ended before it said who it is.
    pub(super) fn hint(&self) -> &'static str {
        match self.hello.is_none() && self.copies {
            true => {
                "; where there is no shell, or the program does not run, name one that is there with --agent-path \
                 (`make dist` makes one that needs nothing)"
            }
            false => "",
        }
    }

    /// Why it is not ready in time.
    pub(super) fn why_late(&self, patience: Duration) -> String {
        let s = patience.as_secs();
        match (&self.hello, self.remote) {
            (None, true) => format!(
                "{} did not bring up loadline within {s} s: try its engine by hand; it must not ask for anything",
                self.host
            ),
            _ => format!("it was not ready after {s} s; is the machine overloaded?"),
        }
    }

    /// The signal that ended it, once it is gone.
    pub(super) fn killed_by(&mut self) -> Option<i32> {
        let deadline = Instant::now() + Duration::from_millis(500);
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.signal(),
                // It lives: what ends it later is our own doing.
                _ if Instant::now() >= deadline => return None,
                _ => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    /// Its standard input ends, which it takes for the end of its conductor.
    pub(super) fn hang_up(&self) {
        self.out.close();
    }

    /// Waits for its end until a moment, then ends it.
    pub(super) fn end_by(&mut self, deadline: Instant) {
        loop {
            if self.ended() {
                return;
            }
            if Instant::now() >= deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// A task as a line, with secrets in their places.
fn written(name: &str, spec: &AgentSpec) -> Result<String, LabError> {
    let task = serde_json::to_string(&spec.revealed());
    let why = |e| LabError::Agent { name: name.into(), why: format!("its task cannot be written down: {e}") };
    Ok(task.map_err(why)? + "\n")
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.hang_up();
        self.end_by(Instant::now() + Duration::from_millis(300));
    }
}

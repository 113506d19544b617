//! The conductor's record of one agent process: the pipes to it, its state and its clock.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use run::{AgentCommand, AgentSpec, Hello, WIRE_VERSION};

use super::agent_place::AgentPlace;
use super::clock::Clock;
use super::outbox::Outbox;
use super::pipe_thread::Pipes;
use crate::{Host, LabError};

/// One agent process.
#[derive(Debug)]
pub struct Agent {
    /// Serial number of this agent, unique within its group. Each event of the agent contains this number.
    pub(super) serial: usize,
    /// Host and CPUs of an agent that can take another task; `None` for an agent that ends with its task.
    pub(super) agent_place: Option<AgentPlace>,
    name: String,
    host: String,
    remote: bool,
    child: Child,
    out: Arc<Outbox>,
    /// Line with the task; `None` once the task was sent.
    task: Option<String>,
    /// Program to copy to the agent's host on request; `None` if the host has the program, or once the copy was sent.
    program: Option<Arc<[u8]>>,
    /// True if the program is copied to the agent's host on request.
    copies: bool,
    hello: Option<Hello>,
    pid: Option<u32>,
    /// Readings of the agent's clock; no readings for an agent on this machine, which shares our clock.
    pub(super) clock: Clock,
}

impl Agent {
    /// Starts the agent's process. The caller passes the returned pipes to the pipe thread.
    pub(super) fn spawn(
        host: &dyn Host,
        program: &Path,
        name: &str,
        serial: usize,
        spec: &AgentSpec,
    ) -> Result<(Self, Pipes), LabError> {
        let fail = |why: String| LabError::Agent { name: name.into(), why };
        let task = task_line(name, spec)?;
        let mut command = host.command(program)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let started = format!("starting {:?} for {}", command.get_program(), host.name());
        let mut child =
            command.spawn().map_err(|e| fail(format!("{started} failed: {}", sys::exhausted::why_not_started(&e))))?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        stdin.as_ref().map_or(Ok(()), sys::nonblock::set).map_err(|e| fail(format!("its input is not a pipe: {e}")))?;
        let out = Arc::new(Outbox::new(stdin));
        let agent = Self {
            serial,
            agent_place: AgentPlace::of_load(host, spec),
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

    /// Sends another task to an agent that waits.
    pub(super) fn next_task(&mut self, name: &str, spec: &AgentSpec) -> Result<(), LabError> {
        let task = task_line(name, spec)?;
        self.name = name.into();
        self.out.send_task(task.as_bytes());
        Ok(())
    }

    /// Returns true if the agent's process has ended.
    pub(super) fn ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Returns the agent's name in its group.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of the agent's host.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns true if the agent was started through another program, such as ssh, possibly on another machine.
    pub fn is_remote(&self) -> bool {
        self.remote
    }

    /// Returns the agent's process ID on its host; `None` before the agent has reported that it is ready. The local
    /// child process may be a different program, such as ssh.
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// Returns the agent's hello (its first message).
    pub fn hello(&self) -> Option<&Hello> {
        self.hello.as_ref()
    }

    /// Returns the round trip of the last clock reading, nanoseconds; 0 for an agent on this machine.
    pub fn round_trip_ns(&self) -> u64 {
        self.clock.round_trip_ns()
    }

    /// Returns the offset of the agent's clock at the start of the load, nanoseconds.
    pub fn offset_ns(&self) -> i64 {
        self.clock.begin_offset_ns()
    }

    /// Converts a moment of our monotonic clock to the agent's clock.
    pub fn on_its_clock(&self, at_ns: u64) -> u64 {
        at_ns.saturating_add_signed(self.clock.offset_ns(at_ns))
    }

    /// Sends a command to the agent. A failed write is not an error here, because lost agents are reported as events.
    pub fn tell(&self, command: &AgentCommand) {
        if let Ok(mut line) = serde_json::to_string(command) {
            line.push('\n');
            self.out.send(line.as_bytes());
        }
    }

    pub(super) fn is_ready(&mut self, pid: u32) {
        self.pid = Some(pid);
    }

    /// Handles the agent's hello (its first message) and sends its task.
    pub(super) fn greeted(&mut self, hello: Hello) -> Result<(), String> {
        if hello.wire != WIRE_VERSION {
            return Err(format!(
                "on {} runs loadline {} with wire version {}, this one {WIRE_VERSION}: use one version on all hosts (--agent-path \
                 names another program there)",
                self.host, hello.version, hello.wire
            ));
        }
        self.hello = Some(hello);
        // Ignore errors, because an agent that ended at once explains in its output why it ended.
        self.task.take().into_iter().for_each(|task| self.out.send_task(task.as_bytes()));
        Ok(())
    }

    /// Sends a copy of loadline's program to the agent's host, which has requested the copy.
    pub(super) fn wanted(&mut self, system: &str) -> Result<(), String> {
        let ours = crate::hosts::program::system();
        if system != ours {
            return Err(format!(
                "{} is {system}, but this program is for {ours}: name a program on that host with --agent-path",
                self.host
            ));
        }
        let program =
            self.program.take().ok_or_else(|| format!("{} asks for a program that it does not need", self.host))?;
        self.out.send(&program);
        Ok(())
    }

    /// Returns advice for the user, if the agent ended before its hello and its host gets a copy of the program;
    /// otherwise empty.
    pub(super) fn hint(&self) -> &'static str {
        match self.hello.is_none() && self.copies {
            true => {
                "; where there is no shell, or the program does not run, name one that is there with --agent-path \
                 (`make dist` makes one that needs nothing)"
            }
            false => "",
        }
    }

    /// Explains why the agent was not ready within `patience`.
    pub(super) fn why_late(&self, patience: Duration) -> String {
        let s = run::number::prose::figure(patience.as_secs_f64());
        match (&self.hello, self.remote) {
            (None, true) => {
                format!("{} did not start loadline within {s} s: try the engine by hand; it must not prompt", self.host)
            }
            _ => format!("not ready after {s} s: the machine may be overloaded, or --threads may be too high for it"),
        }
    }

    /// Returns the signal that killed the agent; `None` if no signal killed the agent, or if the agent still runs after
    /// half a second.
    pub(super) fn killed_by(&mut self) -> Option<i32> {
        let deadline = Instant::now() + Duration::from_millis(500);
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.signal(),
                // If a signal ends the agent after the deadline, loadline itself probably sent the signal.
                _ if Instant::now() >= deadline => return None,
                _ => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    /// Closes the agent's standard input. An agent whose standard input has ended assumes that the conductor has ended.
    pub(super) fn hang_up(&self) {
        self.out.close();
    }

    /// Waits until the deadline for the agent's process to end, and then kills the process.
    pub(super) fn end_until(&mut self, deadline: Instant) {
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

/// Returns a task as one line, with its secrets filled in.
fn task_line(name: &str, spec: &AgentSpec) -> Result<String, LabError> {
    let task = serde_json::to_string(&spec.revealed());
    let why = |e| LabError::Agent { name: name.into(), why: format!("its task cannot be serialized: {e}") };
    Ok(task.map_err(why)? + "\n")
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.hang_up();
        self.end_until(Instant::now() + Duration::from_millis(300));
    }
}

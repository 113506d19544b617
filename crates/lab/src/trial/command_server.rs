//! A server that is started by a user's shell command and then measured.

use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use run::{Address, AgentReport, AgentSpec, visible};

use crate::agents::{AgentEvent, AgentGroup};
use crate::{LabError, Local, own_program};

/// Maximum time to wait until the server accepts connections.
const START_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum time for the agent to end all processes of the server.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time to wait for the server's last output.
const LAST_OUTPUT_TIMEOUT: Duration = Duration::from_secs(1);
/// Interval between checks of the server.
const INTERVAL: Duration = Duration::from_millis(20);

/// Shell command of a server.
#[derive(Clone, Debug, Default)]
pub struct ServerCommand {
    /// Command that the shell runs.
    pub shell: String,
    /// Command as shown to the user.
    pub shown: String,
    /// CPUs that the server may use; empty for all.
    pub cpus: Vec<u32>,
}

impl ServerCommand {
    /// Returns a command that is shown to the user as it is, without its secrets.
    pub fn new(shell: &str) -> Self {
        Self { shell: shell.into(), shown: run::hide_tokens_of_command(shell), cpus: Vec::new() }
    }
}

/// A server that runs as the child of an agent. The agent ends the server even if this process is killed. If the agent
/// is killed, too, its child agent ends the server. Dropping this value ends the server.
pub struct CommandServer {
    agent: AgentGroup,
    at: Address,
}

impl CommandServer {
    /// Runs a shell command and waits until a server accepts connections at the address, or until `stop` returns true.
    pub fn start(command: &ServerCommand, at: &Address, stop: &dyn Fn() -> bool) -> Result<Self, LabError> {
        let shown = &command.shown;
        let fail = |why: String| LabError::CommandServer { command: shown.clone(), why };
        if accepts(at) {
            return Err(fail(format!(
                "was not started: something already listens on {at}; stop it, or use another port"
            )));
        }
        let mut server = Self { agent: AgentGroup::default(), at: at.clone() };
        let spec = AgentSpec::Command { shell: command.shell.clone(), guarded: false, cpus: command.cpus.clone() };
        server.agent.start(&Local::default(), &own_program()?, "server", &spec)?;
        let deadline = Instant::now() + START_TIMEOUT;
        match server.agent.await_ready(START_TIMEOUT) {
            Err(LabError::Agent { why, .. } | LabError::Late { why, .. }) => {
                return Err(fail(format!("was not started: {}", visible(&run::hide_tokens_of_command(&why)))));
            }
            ready => drop(ready?),
        }
        while !accepts(at) {
            if let Some(how) = server.ended() {
                return Err(fail(format!("ended ({}) before it listened on {at}", visible(&how))));
            }
            if stop() {
                return Err(fail("was interrupted while it started".into()));
            }
            if Instant::now() > deadline {
                let (seconds, output) = (START_TIMEOUT.as_secs(), server.last_output());
                return Err(fail(format!("does not listen on {at} after {seconds} s{output}")));
            }
        }
        Ok(server)
    }

    /// Waits for a short interval, and then returns the reason why the server has ended, or `None` if it still runs.
    pub fn ended(&self) -> Option<String> {
        match self.agent.hear(Instant::now() + INTERVAL)?.1 {
            AgentEvent::Report(AgentReport::Failed { error }) | AgentEvent::Gone(error) => {
                Some(run::hide_tokens_of_command(&error))
            }
            AgentEvent::Report(_) | AgentEvent::Pong(..) => None,
        }
    }

    fn last_output(&mut self) -> String {
        let (_, output) = self.agent.counts(LAST_OUTPUT_TIMEOUT);
        output.first().map_or(String::new(), |output| format!(": {}", visible(&run::hide_tokens_of_command(output))))
    }
}

impl Drop for CommandServer {
    fn drop(&mut self) {
        let deadline = Instant::now() + END_TIMEOUT;
        self.agent.stop(END_TIMEOUT);
        // After the end of a server that uses io_uring, the kernel may keep the server's port for a moment. Until the
        // port is free, the next server on this port would fail to start.
        while Instant::now() < deadline && accepts(&self.at) {
            std::thread::sleep(INTERVAL);
        }
    }
}

fn accepts(at: &Address) -> bool {
    match at {
        Address::Inet(addr) => TcpStream::connect_timeout(addr, Duration::from_secs(1)).is_ok(),
        Address::Unix(path) => UnixStream::connect(path).is_ok(),
    }
}

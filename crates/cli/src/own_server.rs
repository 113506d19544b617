//! A server that a command starts for its measurement.

use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::bail;
use lab::agents::{AgentEvent, AgentGroup};
use lab::{LabError, Local};
use run::{Address, AgentReport, AgentSpec, visible};

/// Maximum time until the server accepts connections.
const STARTS: Duration = Duration::from_secs(15);
/// Maximum time for the agent to end all processes of the server.
const ENDS: Duration = Duration::from_secs(5);
/// Maximum wait for the server's last output.
const LAST_OUTPUT_TIMEOUT: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(20);

/// A server below an agent, which ends the server even if this process is killed. A second agent ends the server if this
/// process and the first agent are killed. Dropping this value ends it.
pub(crate) struct OwnServer {
    agent: AgentGroup,
    at: Address,
}

impl OwnServer {
    /// Runs a shell command and waits until a server accepts connections at the address.
    pub(crate) fn start(command: &str, at: &Address) -> anyhow::Result<Self> {
        let (shell_command, command) = (command, run::hide_tokens_of_command(command));
        if accepts(at) {
            bail!("something already listens on {at}, so {command:?} was not started: stop it, or use another port");
        }
        let mut server = Self { agent: AgentGroup::default(), at: at.clone() };
        let spec = AgentSpec::Command { shell: shell_command.into(), guarded: false };
        server.agent.start(&Local::default(), &lab::own_program()?, "server", &spec)?;
        let deadline = Instant::now() + STARTS;
        match server.agent.await_ready(STARTS) {
            Err(LabError::Agent { why, .. } | LabError::Late { why, .. }) => {
                bail!("{command:?} was not started: {}", visible(&run::hide_tokens_of_command(&why)))
            }
            ready => drop(ready?),
        }
        while !accepts(at) {
            if let Some(how) = server.ended() {
                bail!("{command:?} ended ({}) before it listened on {at}", visible(&how));
            }
            if Instant::now() > deadline {
                bail!("{command:?} does not listen on {at} after {} s{}", STARTS.as_secs(), server.last_output());
            }
        }
        Ok(server)
    }

    /// Returns the reason if the server ends within a moment.
    pub(crate) fn ended(&self) -> Option<String> {
        match self.agent.hear(Instant::now() + LOOK)?.1 {
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

impl Drop for OwnServer {
    fn drop(&mut self) {
        let deadline = Instant::now() + ENDS;
        self.agent.stop(ENDS);
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

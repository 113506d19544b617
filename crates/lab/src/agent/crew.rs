//! The conductor's end of its agents: start them, read what they say, tell them the phases, and notice when one is lost.
//!
//! An agent gets its own process group, so that Ctrl-C at the terminal reaches the conductor alone, which then stops the
//! agents in order and keeps their parts. An agent whose standard input ends stops by itself, so none outlives us.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use run::{AgentCommand, AgentReport, AgentSpec};

use crate::{Host, LabError};

/// What was heard of an agent.
#[derive(Debug)]
pub enum Said {
    /// A line of it.
    Report(AgentReport),
    /// It ended; the sentence says how. Nothing more will be heard of it.
    Gone(String),
}

/// One agent process.
#[derive(Debug)]
pub struct Agent {
    name: String,
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Agent {
    /// Its process id on its host (for hosts of this machine).
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a command; a lost agent is noticed by its report stream, so a failed write is not an error here.
    pub fn tell(&mut self, command: &AgentCommand) {
        if let (Some(stdin), Ok(mut line)) = (&mut self.stdin, serde_json::to_string(command)) {
            line.push('\n');
            let _ = stdin.write_all(line.as_bytes());
        }
    }

    /// Lets it end by itself for a moment, then ends it.
    pub fn stop(&mut self, patience: Duration) {
        self.tell(&AgentCommand::Stop);
        self.stdin = None;
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.stop(Duration::from_millis(300));
        }
    }
}

/// Some agents and the one stream of what they say.
#[derive(Debug)]
pub struct Crew {
    agents: Vec<Agent>,
    sender: Sender<(usize, Said)>,
    heard: Receiver<(usize, Said)>,
}

impl Default for Crew {
    fn default() -> Self {
        let (sender, heard) = channel();
        Self { agents: Vec::new(), sender, heard }
    }
}

impl Crew {
    /// Starts `program agent` on a host and hands it its task. Returns its number in this crew.
    pub fn start(&mut self, host: &dyn Host, program: &Path, name: &str, spec: &AgentSpec) -> Result<usize, LabError> {
        let fail = |why: String| LabError::Agent { name: name.into(), why };
        let mut command = host.command(program)?;
        command.arg("agent").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command
            .spawn()
            .map_err(|e| fail(format!("starting {} on {} failed: {e}", program.display(), host.name())))?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdout), Some(stderr)) = (stdout, stderr) else {
            return Err(fail("its output could not be opened".into()));
        };
        let mut agent = Agent { name: name.into(), child, stdin };
        let mut line =
            serde_json::to_string(spec).map_err(|e| fail(format!("its task cannot be written down: {e}")))?;
        line.push('\n');
        if let Some(stdin) = &mut agent.stdin {
            // An agent that ended at once is heard of through its output, with its own words.
            let _ = stdin.write_all(line.as_bytes());
        }
        let number = self.agents.len();
        let sender = self.sender.clone();
        std::thread::spawn(move || listen(number, BufReader::new(stdout), stderr, &sender));
        self.agents.push(agent);
        Ok(number)
    }

    /// The agents, in the order they were started.
    pub fn agents(&self) -> &[Agent] {
        &self.agents
    }

    /// Name of an agent.
    pub fn name(&self, number: usize) -> &str {
        self.agents.get(number).map_or("", |a| a.name.as_str())
    }

    /// Sends a command to all.
    pub fn tell_all(&mut self, command: &AgentCommand) {
        self.agents.iter_mut().for_each(|a| a.tell(command));
    }

    /// The next thing that is heard, until a moment.
    pub fn hear(&self, until: Instant) -> Option<(usize, Said)> {
        self.heard.recv_timeout(until.saturating_duration_since(Instant::now())).ok()
    }

    /// Waits until every agent is ready, and returns what each said: `(listening, io, notes)` in their order.
    pub fn await_ready(&self, patience: Duration) -> Result<Vec<Ready>, LabError> {
        let mut ready: Vec<Option<Ready>> = vec![None; self.agents.len()];
        let deadline = Instant::now() + patience;
        while ready.iter().any(Option::is_none) {
            let Some((number, said)) = self.hear(deadline) else {
                let late = ready.iter().position(Option::is_none).unwrap_or(0);
                let why = format!("it was not ready after {} s; is the machine overloaded?", patience.as_secs());
                return Err(LabError::Agent { name: self.name(late).into(), why });
            };
            match said {
                Said::Report(AgentReport::Ready { listening, io, notes, .. }) => {
                    ready[number] = Some(Ready { listening, io, notes });
                }
                Said::Report(AgentReport::Failed { error }) | Said::Gone(error) => {
                    return Err(LabError::Agent { name: self.name(number).into(), why: error });
                }
                Said::Report(_) => {}
            }
        }
        Ok(ready.into_iter().flatten().collect())
    }

    /// Asks servers what they counted, and waits for their answers; the sums, and what failed. Nothing of an agent that
    /// does not answer in time.
    pub fn counts(&mut self, patience: Duration) -> (BTreeMap<String, u64>, Vec<String>) {
        self.tell_all(&AgentCommand::Count);
        let (mut sums, mut failed) = (BTreeMap::<String, u64>::new(), Vec::new());
        let deadline = Instant::now() + patience;
        let mut missing = self.agents.len();
        while missing > 0 {
            match self.hear(deadline) {
                Some((_, Said::Report(AgentReport::Counts { counts, failures }))) => {
                    counts.into_iter().for_each(|(name, n)| *sums.entry(name).or_default() += n);
                    failed.extend(failures);
                    missing -= 1;
                }
                Some((_, Said::Gone(how) | Said::Report(AgentReport::Failed { error: how }))) => {
                    failed.push(how);
                    missing -= 1;
                }
                Some(_) => {}
                None => break,
            }
        }
        (sums, failed)
    }

    /// Ends all.
    pub fn stop(&mut self, patience: Duration) {
        self.tell_all(&AgentCommand::Stop);
        self.agents.iter_mut().for_each(|a| a.stop(patience));
    }
}

/// What an agent said when it was ready.
#[derive(Clone, Debug, Default)]
pub struct Ready {
    /// Where a server listens.
    pub listening: Option<std::net::SocketAddr>,
    /// Driver or model that is really used.
    pub io: String,
    /// What the user should know.
    pub notes: Vec<String>,
}

fn listen(number: usize, lines: impl BufRead, mut stderr: impl Read, sender: &Sender<(usize, Said)>) {
    let mut wrong = None;
    for line in lines.lines().map_while(Result::ok) {
        match serde_json::from_str::<AgentReport>(&line) {
            Ok(report) => {
                if sender.send((number, Said::Report(report))).is_err() {
                    return;
                }
            }
            Err(e) => wrong = Some(format!("it wrote a line that is no report ({e})")),
        }
    }
    let mut words = String::new();
    let _ = stderr.by_ref().take(4096).read_to_string(&mut words);
    let last = words.lines().rfind(|l| !l.trim().is_empty()).map(|l| format!(": {}", l.trim()));
    let how = wrong.unwrap_or_else(|| format!("its process ended{}", last.unwrap_or_default()));
    let _ = sender.send((number, Said::Gone(how)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::ServePlan;
    use std::process::Command;

    /// A host on which every agent is this shell script.
    struct Shell(String);

    impl Host for Shell {
        fn name(&self) -> &str {
            "shell"
        }

        fn command(&self, _: &Path) -> Result<Command, LabError> {
            let mut command = Command::new("sh");
            command.args(["-c", &self.0]);
            Ok(command)
        }
    }

    fn crew(script: &str) -> Result<(Crew, Vec<Ready>), LabError> {
        let mut crew = Crew::default();
        let spec = AgentSpec::Serve(ServePlan::default());
        crew.start(&Shell(script.into()), Path::new("sh"), "server", &spec).unwrap();
        let ready = crew.await_ready(Duration::from_secs(5));
        ready.map(|r| (crew, r))
    }

    #[test]
    fn a_ready_agent_is_heard_and_told() {
        let ready = r#"echo '{"is":"ready","pid":1,"listening":"127.0.0.1:7","io":"epoll","notes":["n"]}'"#;
        let made = crew(&format!("read spec; {ready}; read command; echo \"$command\" >&2"));
        let (mut crew, ready) = made.unwrap();
        assert_eq!((ready[0].io.as_str(), ready[0].listening.unwrap().port()), ("epoll", 7));
        crew.tell_all(&AgentCommand::Stop);
        let (number, said) = crew.hear(Instant::now() + Duration::from_secs(5)).unwrap();
        assert!(number == 0 && matches!(&said, Said::Gone(how) if how.contains(r#""do":"stop""#)), "{said:?}");
    }

    #[test]
    fn an_agent_that_dies_is_named_with_its_last_words() {
        let made = crew("read spec; echo 'no descriptors left' >&2; exit 3");
        let error = made.unwrap_err().to_string();
        assert!(error.contains("server agent") && error.contains("no descriptors left"), "{error}");
    }

    #[test]
    fn an_agent_that_cannot_go_on_says_why_itself() {
        let made = crew(r#"echo '{"is":"failed","error":"port 80 is taken"}'; sleep 5"#);
        assert!(made.unwrap_err().to_string().contains("port 80 is taken"));
    }

    #[test]
    fn no_agent_outlives_its_crew() {
        let made = crew(r#"echo '{"is":"ready","pid":1,"listening":null,"io":"x","notes":[]}'; exec sleep 60"#);
        let (crew, _) = made.unwrap();
        let pid = crew.agents()[0].pid();
        drop(crew);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }
}

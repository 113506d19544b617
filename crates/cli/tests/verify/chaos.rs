//! Test that kills experiments at random moments, with several signals, one or two experiments at a time. After the
//! next command of loadline, the server must be in its original state. A lever is a temporary change that an experiment
//! makes, such as slowing a CPU.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use crate::testbed_command::{holders, loadline, said, status, up};
use serde_json::{Value, json};
use testkit::{ChildProcess, ControlGroup, Running, binary, children, eventually, free_port, signalled};

/// Minimum number of processes that the test kills.
const KILLS: usize = 100;
/// Minimum number of experiments whose conductor (the process that controls the experiment) the test kills. For half of
/// these experiments, the test also kills the conductor's agents (processes that generate load and change the server).
const KILLED_EXPERIMENTS: usize = 20;
/// Maximum time from Ctrl-C until loadline has ended its experiment and exited.
const MAX_END_TIME: Duration = Duration::from_secs(2);
/// Number of measurements of the time from Ctrl-C to the exit. The test checks only the shortest of the measured times,
/// because other programs may delay loadline.
const END_ATTEMPTS: usize = 3;
/// Number of times that the test kills the process of a lever that slows a link.
const LINK_KILLS: usize = 12;
/// Minimum share of rounds in which a lever had changed the server at the moment of the kill. If levers had changed the
/// server in fewer rounds, the test would show little.
const MIN_CHANGED_SHARE: f64 = 0.2;
/// Descriptor limit of the server's processes. The experiment's lever on descriptors can raise this limit, because it
/// raises only limits of at most 2048.
const DESCRIPTORS: &str = "256";
/// Budget of each experiment. The budget is long enough for slots (short periods) of all levers. The budget is too
/// short for turns (loads that alternate without and with a lever), so turns do not delay the first change.
const BUDGET: &str = "30s";
/// Names of the signals that end a process.
const SIGNALS: [&str; 4] = ["TERM", "HUP", "INT", "KILL"];
/// Python program of a server with a parent process and three workers. Each worker accepts connections itself.
const PREFORK: &str = "
import os, selectors, socket, sys
s = socket.create_server(('127.0.0.1', int(sys.argv[1])), backlog=512)
s.setblocking(False)
if all(os.fork() for _ in range(3)):
    while True: os.wait()
ready = selectors.DefaultSelector()
ready.register(s, selectors.EVENT_READ)
answer = b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok'
while True:
    for key, _ in ready.select():
        c = key.fileobj
        try:
            if c is s:
                ready.register(s.accept()[0], selectors.EVENT_READ)
                continue
            if not c.recv(65536): raise OSError
            c.sendall(answer)
        except BlockingIOError: pass
        except OSError:
            # Without a free descriptor, accepting fails: the connection waits.
            if c is s: continue
            ready.unregister(c)
            c.close()
";

/// A server on which an experiment can use every lever.
struct Victim {
    server: Running,
    group: Option<ControlGroup>,
    before: State,
}

/// State of the server: its CPU quota, and the processes. Each entry contains the ID of a process, its descriptor
/// limit, and true if the process is stopped.
#[derive(Clone, Debug, PartialEq)]
struct State {
    quota: Option<String>,
    processes: Vec<(u32, String, bool)>,
}

impl Victim {
    fn start() -> Option<Self> {
        let python = testkit::program("python3").or_else(|| {
            testkit::skip("chaos", "python3 is not installed");
            None
        })?;
        let group = ControlGroup::fifth_of_a_processor("a quota in the chaos test");
        let port = free_port();
        let mut limited = Command::new("sh");
        limited.args(["-c", &format!("ulimit -Sn {DESCRIPTORS}; exec \"$@\""), "sh"]).arg(python);
        limited.args(["-c", PREFORK, &port.to_string()]);
        let command = match &group {
            Some(group) => {
                let mut command = group.command(Path::new(limited.get_program()));
                command.args(limited.get_args());
                command
            }
            None => limited,
        };
        let server = Running::start(command, port, tempfile::tempdir().unwrap());
        eventually(|| (children(server.pid()).len() == 3).then_some(()));
        let mut victim = Self { server, group, before: State { quota: None, processes: Vec::new() } };
        victim.before = victim.state();
        Some(victim)
    }

    fn pids(&self) -> Vec<u32> {
        let mut pids = vec![self.server.pid()];
        pids.extend(children(self.server.pid()));
        pids.sort_unstable();
        pids
    }

    fn state(&self) -> State {
        let process = |pid: u32| {
            let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
            let limits =
                read("limits").lines().find(|line| line.starts_with("Max open files")).unwrap_or("").to_owned();
            let stopped = read("stat").rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T'));
            (pid, limits, stopped)
        };
        State {
            quota: self.group.as_ref().map(ControlGroup::cpu_quota),
            processes: self.pids().into_iter().map(process).collect(),
        }
    }

    fn url(&self) -> String {
        format!("http://{}/", self.server.addr)
    }

    /// Returns the levers that this machine supports.
    fn levers(&self) -> Vec<&'static str> {
        let quota = self.group.as_ref().map(|_| "quota");
        quota.into_iter().chain(["worker", "descriptors"]).collect()
    }
}

/// Ends the server's processes, including those that are stopped.
impl Drop for Victim {
    fn drop(&mut self) {
        for pid in self.pids() {
            signalled(pid, "CONT");
        }
        for pid in children(self.server.pid()) {
            signalled(pid, "KILL");
        }
    }
}

/// Agent (process) of a lever. The test starts and controls the agent itself, in the role of a conductor.
struct LeverAgent(Child);

impl LeverAgent {
    fn start(lever: &str, (field, value): (&str, Value), random: &mut fastrand::Rng) -> Self {
        let mut command = Command::new(binary!());
        command.arg("agent").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut agent = Self(command.spawn().unwrap());
        let on: Vec<bool> = (0..200).map(|_| random.bool()).collect();
        let start = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64;
        let slots = json!({ "first_s": 0.0, "slot_s": 0.03, "settle_s": 0.0, "count": on.len() });
        let mut task = json!({ "agent": "lever", "lever": lever, "slots": slots, "on": on, "start_at_ns": start });
        task[field] = value;
        agent.say(&task.to_string());
        if lever == "descriptors" {
            agent.say(&json!({ "do": "switch", "on": true }).to_string());
        }
        agent
    }

    /// Sends a line to the agent. Ignores errors, because an agent whose lever does not work has already ended.
    fn say(&mut self, line: &str) {
        let _ = writeln!(self.0.stdin.as_mut().unwrap(), "{line}");
    }

    /// Closes the agent's input. The agent's input also closes when the conductor of a real experiment ends.
    fn hang_up(&mut self) {
        self.0.stdin.take();
    }

    /// Waits until the agent has ended, and returns all lines that it reported.
    fn end(mut self) -> Vec<String> {
        self.hang_up();
        let lines = BufReader::new(self.0.stdout.take().unwrap()).lines().map_while(Result::ok).collect();
        self.0.wait().unwrap();
        lines
    }
}

/// Runs a random command of loadline that has nothing to do with the killed experiment.
fn next_command(random: &mut fastrand::Rng, victim: &Victim) {
    let mut command = Command::new(binary!());
    match random.u8(0..3) {
        0 => command.args(["list", "levers"]),
        1 => command.args(["explain", "worker"]),
        _ => command
            .args(["load", &victim.url(), "--duration", "200ms", "--warmup", "0", "--connections", "2"])
            .args(["--at-rest", "0", "--out", victim.server.dir.path().join("next").to_str().unwrap()]),
    };
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Counts of killed processes, killed experiments, and rounds of the test. `changed` counts the rounds in which a lever
/// had changed the server at the moment of the kill.
#[derive(Default)]
struct Count {
    kills: usize,
    /// Number of experiments whose conductor was killed, with or without its agents.
    experiments: usize,
    rounds: usize,
    changed: usize,
}

/// Ends an agent by a random signal, or by closing its input, as if its conductor had been killed.
fn kill_agent(mut agent: LeverAgent, random: &mut fastrand::Rng) -> Vec<String> {
    if random.u8(0..4) == 0 {
        agent.hang_up();
    } else {
        signalled(agent.0.id(), SIGNALS[random.usize(..SIGNALS.len())]);
    }
    agent.end()
}

/// Kills the agents of one or two levers, or closes their input. After another command of loadline, checks that the
/// server is as it was before.
fn kill_agents(victim: &Victim, random: &mut fastrand::Rng, count: &mut Count) {
    let levers = victim.levers();
    let lever = levers[random.usize(..levers.len())];
    let mut start = |_| LeverAgent::start(lever, ("pids", json!(victim.pids())), random);
    let agents: Vec<LeverAgent> = (0..count.kills % 2 + 1).map(&mut start).collect();
    std::thread::sleep(Duration::from_millis(random.u64(20..500)));
    count.rounds += 1;
    count.changed += usize::from(victim.state() != victim.before);
    count.kills += agents.len();
    let done: Vec<_> = agents.into_iter().map(|agent| kill_agent(agent, random)).collect();
    next_command(random, victim);
    assert_eq!(victim.state(), victim.before, "{lever}: {done:#?}");
}

/// Kills the conductors of two experiments on the same server, and the agents of one of the experiments. After another
/// command of loadline, checks that the server is as it was before the experiments.
fn kill_experiments(victim: &Victim, random: &mut fastrand::Rng, count: &mut Count) {
    let begin = || {
        let out = victim.server.dir.path().join(format!("run-{}", free_port()));
        let mut command = Command::new(binary!());
        command.args(["prove", &victim.url(), "--connections", "4", "--at-rest", "0", "--budget", BUDGET]);
        command.args(["--intrusive", "--out"]).arg(out);
        ChildProcess::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))
    };
    let mut experiments = [begin(), begin()];
    let until = Instant::now() + Duration::from_secs(30);
    while Instant::now() < until && victim.state() == victim.before {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(random.u64(0..900)));
    count.rounds += 1;
    count.changed += usize::from(victim.state() != victim.before);
    let with_agents = random.usize(..experiments.len());
    for (at, experiment) in experiments.iter().enumerate() {
        let agents = children(experiment.pid());
        if at == with_agents {
            count.kills += agents.iter().filter(|pid| signalled(**pid, "KILL")).count();
        }
        signalled(experiment.pid(), SIGNALS[random.usize(..SIGNALS.len())]);
        count.kills += 1;
        count.experiments += 1;
    }
    eventually(|| experiments.iter_mut().all(|experiment| !experiment.runs()).then_some(()));
    next_command(random, victim);
    // If only the conductor was killed, its agents notice this within milliseconds, and undo their changes themselves.
    eventually(|| (victim.state() == victim.before).then_some(()));
}

/// Interrupts an experiment with Ctrl-C after its first change. Returns the time from the interrupt to the experiment's
/// end.
fn interrupted(victim: &Victim) -> Duration {
    let mut command = Command::new(binary!());
    command.args(["prove", &victim.url(), "--connections", "4", "--at-rest", "0", "--budget", BUDGET]);
    command.arg("--intrusive");
    command.arg("--out").arg(victim.server.dir.path().join(format!("run-{}", free_port())));
    let mut experiment = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    testkit::eventually_within(Duration::from_secs(60), || {
        let ended = experiment.try_wait().unwrap();
        (ended.is_some() || victim.state() != victim.before).then_some(())
    });
    let ended = experiment.try_wait().unwrap();
    let begin = Instant::now();
    signalled(experiment.id(), "INT");
    let output = experiment.wait_with_output().unwrap();
    let (took, text) = (begin.elapsed(), String::from_utf8_lossy(&output.stdout).into_owned());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(ended, None, "the experiment changed nothing: {text}{errors}");
    assert!(output.status.code() == Some(130) && text.contains("Interrupted"), "{text}");
    assert!(!text.contains("ended at") && !text.contains("generator \""), "{text}");
    assert_eq!(victim.state(), victim.before);
    took
}

#[test]
fn nothing_stays_changed_after_a_hundred_kills() {
    let Some(victim) = Victim::start() else { return };
    let seed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let mut random = fastrand::Rng::with_seed(seed);
    println!("seed {seed}");
    let mut count = Count::default();
    while count.experiments < KILLED_EXPERIMENTS {
        kill_experiments(&victim, &mut random, &mut count);
    }
    while count.kills < KILLS {
        kill_agents(&victim, &mut random, &mut count);
    }
    let share = count.changed as f64 / count.rounds as f64;
    println!(
        "{} kills ({} whole experiments) in {} rounds, {} met a change",
        count.kills, count.experiments, count.rounds, count.changed
    );
    assert!(share >= MIN_CHANGED_SHARE, "only {share:.2} of the rounds met a change");
}

/// Shell script that prints the queueing disciplines of all network devices, with their rates.
const QUEUES: &str = "for device in $(ip -o link | cut -d: -f2 | cut -d@ -f1); do tc qdisc show dev $device; tc class show dev $device; done";

/// Returns the queueing disciplines of all network devices in a testbed.
fn queues(holders: &[u64]) -> Vec<String> {
    let of_one = |pid: &u64| {
        let output = Command::new("nsenter").args(["-t", &pid.to_string(), "-n", "sh", "-c", QUEUES]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    holders.iter().map(of_one).collect()
}

#[test]
fn a_link_has_its_rate_again_after_its_lever_is_killed() {
    let test = "a killed lever of a link";
    let dir = tempfile::tempdir().unwrap();
    if !["nsenter", "tc"].iter().all(|tool| testkit::has(test, tool)) {
        return;
    }
    if !testkit::is_root() {
        return testkit::skip(test, "needs root to enter the testbed's namespaces");
    }
    if !up(dir.path(), test, &["up", "x", "--medium", "switch:100M"]) {
        return;
    }
    let holders = holders(&status(dir.path()));
    let files = std::fs::read_dir(dir.path().join("loadline/testbeds")).unwrap().flatten().map(|entry| entry.path());
    let keeper = files.into_iter().find(|path| path.extension().is_some_and(|end| end == "sock")).unwrap();
    let (before, mut changed) = (queues(&holders), 0);
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..LINK_KILLS {
        let agent = LeverAgent::start("link", ("path", json!(keeper)), &mut random);
        std::thread::sleep(Duration::from_millis(random.u64(50..300)));
        changed += usize::from(queues(&holders) != before);
        kill_agent(agent, &mut random);
        // The testbed's keeper (the process that keeps the testbed running) restores the link's rate when the
        // connection of the killed process ends.
        eventually(|| (queues(&holders) == before).then_some(()));
    }
    said(&loadline(dir.path(), &["down", "x"]));
    assert!(changed * 5 >= LINK_KILLS, "only {changed} of {LINK_KILLS} kills met a slower link");
}

/// Tests whose result depends on the load that a program of the test reaches.
mod light {
    use super::*;

    #[test]
    fn ctrl_c_ends_an_experiment_and_blames_nobody() {
        let Some(victim) = Victim::start() else { return };
        if victim.group.is_none() {
            return;
        }
        let times: Vec<Duration> = (0..END_ATTEMPTS).map(|_| interrupted(&victim)).collect();
        assert!(times.iter().any(|took| *took < MAX_END_TIME), "{times:?}");
    }
}

//! A Slurm cluster on hosts of a testbed. The cluster has one munged (the daemon for authentication) for all hosts,
//! slurmctld on the conductor, and a slurmd on each node. The tests do not touch the machine's own Slurm.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::process::seen_within;
use crate::{ChildProcess, SetupError, SshHosts, eventually, installed, or_skip, program};

/// Programs that a Slurm cluster needs.
const PROGRAMS: [&str; 6] = ["munged", "slurmctld", "slurmd", "salloc", "sinfo", "unshare"];

/// Maximum time to wait for Slurm's daemons. The daemons check each other only every few seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// A Slurm cluster on hosts of a testbed.
pub struct Slurm {
    // Rust drops fields in the order of their declaration, so the daemons end in the order in which they are listed
    // here.
    slurmds: Vec<(String, ChildProcess)>,
    _slurmctld: ChildProcess,
    _munged: ChildProcess,
    conductor: String,
    config: PathBuf,
    /// Hosts of the cluster.
    pub hosts: SshHosts,
}

impl Slurm {
    /// Starts the cluster. `conductor` is the host on which slurmctld and loadline run. Skips the test if this machine
    /// cannot run a cluster.
    #[track_caller]
    pub fn start(test: &str, hosts: SshHosts, conductor: &str, nodes: &[&str]) -> Option<Self> {
        or_skip(test, Self::where_possible(hosts, conductor, nodes))
    }

    /// Starts the cluster, for callers that are not tests. Returns an error if this machine cannot run a cluster.
    pub fn where_possible(hosts: SshHosts, conductor: &str, nodes: &[&str]) -> Result<Self, SetupError> {
        installed(&PROGRAMS)?;
        let dir = hosts.path("slurm");
        ["", "munge", "state", "spool"].iter().for_each(|below| std::fs::create_dir_all(dir.join(below)).unwrap());
        let config = dir.join("slurm.conf");
        std::fs::write(&config, text(&hosts, conductor, nodes)).unwrap();
        let munged = munged(&hosts);
        let line = format!("{} -D -f {}", program("slurmctld").unwrap().display(), config.display());
        let slurmctld = daemon(&hosts, conductor, &line);
        let slurmds = nodes.iter().map(|node| ((*node).to_string(), slurmd(&hosts, &config, node))).collect();
        let (conductor, config) = (conductor.to_string(), config.clone());
        let made = Self { slurmds, _slurmctld: slurmctld, _munged: munged, conductor, config, hosts };
        made.idle(nodes.len())?;
        Ok(made)
    }

    /// Waits until `nodes` nodes are idle. After a job has ended, its nodes stay allocated until Slurm notices the end
    /// of the job.
    #[track_caller]
    pub fn await_idle(&self, nodes: usize) {
        self.idle(nodes).unwrap();
    }

    /// Waits until `nodes` nodes are idle, for callers that are not tests. Returns an error if the nodes do not become
    /// idle in time.
    pub fn idle(&self, nodes: usize) -> Result<(), SetupError> {
        let mut last = String::new();
        let idle = seen_within(PATIENCE, || {
            let said = self.command("sinfo").args(["-h", "-o", "%T %D"]).stderr(Stdio::null()).output().unwrap();
            last = String::from_utf8_lossy(&said.stdout).trim().to_string();
            (last == format!("idle {nodes}")).then_some(())
        });
        idle.ok_or_else(|| {
            SetupError::Failed(format!("within {PATIENCE:?} Slurm's {nodes} nodes were not free: {last:?}"))
        })
    }

    fn command(&self, name: &str) -> Command {
        let mut command = self.hosts.inside(&self.conductor, &program(name).unwrap());
        command.env("SLURM_CONF", &self.config);
        command
    }

    /// Returns the process ID of the slurmd of a node.
    pub fn daemon(&self, node: &str) -> u32 {
        self.slurmds.iter().find(|(name, _)| name == node).unwrap().1.pid()
    }

    /// Starts the slurmd of a node again, for example after it was killed.
    pub fn start_daemon(&mut self, node: &str) {
        self.slurmds.retain(|(name, _)| name != node);
        let started = slurmd(&self.hosts, &self.config, node);
        self.slurmds.push((node.into(), started));
    }

    /// Runs loadline in an allocation of `nodes` nodes. Calls `during` while loadline runs, and waits until it ends.
    /// Returns the run and the output.
    pub fn run(&self, nodes: usize, args: &[&str], during: impl FnOnce(&SshHosts)) -> (Value, Output) {
        let mut command = self.command("salloc");
        command.args(["-Q", "--oversubscribe", "-N", &nodes.to_string()]).arg(self.hosts.binary());
        self.hosts.run_as(command, args, during)
    }
}

/// Starts a daemon on a host of the testbed, in the host's namespaces and with the host's name.
fn daemon(hosts: &SshHosts, host: &str, line: &str) -> ChildProcess {
    let mut command = hosts.inside(host, &program("unshare").unwrap());
    command.args(["--uts", "sh", "-c", &format!("hostname {host}; exec {line}")]);
    ChildProcess::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))
}

fn slurmd(hosts: &SshHosts, config: &Path, node: &str) -> ChildProcess {
    let line = format!("{} -D -N {node} -f {}", program("slurmd").unwrap().display(), config.display());
    daemon(hosts, node, &line)
}

fn munged(hosts: &SshHosts) -> ChildProcess {
    let dir = hosts.path("slurm/munge");
    let d = dir.display();
    let key: Vec<u8> = (0..1024_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    std::fs::write(dir.join("key"), key).unwrap();
    assert!(Command::new("chmod").args(["400"]).arg(dir.join("key")).status().unwrap().success());
    let mut command = Command::new(program("munged").unwrap());
    command.args(["--foreground", "--force", &format!("--key-file={d}/key"), &format!("--socket={d}/sock")]);
    command.args([format!("--pid-file={d}/pid"), format!("--log-file={d}/log"), format!("--seed-file={d}/seed")]);
    let held = ChildProcess::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    eventually(|| dir.join("sock").exists().then_some(()));
    held
}

fn text(hosts: &SshHosts, conductor: &str, nodes: &[&str]) -> String {
    let d = hosts.path("slurm");
    let d = d.display();
    let mut text = format!(
        "ClusterName=loadline\nSlurmctldHost={conductor}({})\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\n\
         AuthInfo=socket={d}/munge/sock\nCredType=cred/munge\nStateSaveLocation={d}/state\nSlurmdSpoolDir={d}/spool/%n\n\
         SlurmctldPidFile={d}/ctld.pid\nSlurmdPidFile={d}/slurmd-%n.pid\nSlurmctldLogFile={d}/ctld.log\n\
         SlurmdLogFile={d}/slurmd-%n.log\nProctrackType=proctrack/pgid\nTaskPlugin=task/none\n\
         SelectType=select/cons_tres\nReturnToService=2\nMailProg=/bin/true\nMpiDefault=none\n\
         SlurmdParameters=config_overrides\n\
         PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8\n",
        hosts.address(conductor)
    );
    for node in nodes {
        let address = hosts.address(node);
        text += &format!("NodeName={node} NodeAddr={address} CPUs=8 RealMemory=100 State=UNKNOWN\n");
    }
    text
}

//! Simulated hosts, each of which runs an sshd. The hosts are network namespaces of a testbed (a network simulated on
//! this machine). The hosts have their own host keys, user key and configurations. The tests do not touch the machine's
//! own ssh configuration.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::need::testbed;
use crate::{ChildProcess, ControlGroup, SetupError, eventually, has, installed, is_root, or_skip, program};

/// Number of concurrent logins that an sshd accepts. If more than `AT_ONCE` logins are in progress at the same time,
/// sshd may refuse connections.
const AT_ONCE: u32 = 10;

/// A testbed whose hosts can be reached by ssh. Dropping this value removes the testbed.
pub struct SshHosts {
    binary: PathBuf,
    dir: TempDir,
    daemons: Vec<ChildProcess>,
    addresses: Vec<(String, String, u32)>,
}

impl SshHosts {
    /// Creates hosts joined by `medium` (a simulated network). All hosts except the first get an sshd. Skips the test
    /// if this machine cannot create the hosts.
    #[track_caller]
    pub fn make(test: &str, binary: &Path, medium: &str, hosts: &[&str]) -> Option<Self> {
        Self::make_with(test, binary, medium, hosts, &[])
    }

    /// Creates hosts as [`SshHosts::make`] does. Some of the hosts have a control group, in which all programs on the
    /// host start. `groups` lists these hosts with their control groups.
    #[track_caller]
    pub fn make_with(
        test: &str,
        binary: &Path,
        medium: &str,
        hosts: &[&str],
        groups: &[(&str, &ControlGroup)],
    ) -> Option<Self> {
        if !["sshd", "ssh", "ssh-keygen", "ss"].iter().all(|name| has(test, name)) {
            return None;
        }
        let mut made = Self::bare(test, binary, medium, hosts)?;
        made.keys(hosts);
        // sshd needs this folder, which may be empty.
        std::fs::create_dir_all("/run/sshd").unwrap();
        // loadline runs on the first host, and connects to the other hosts by ssh.
        for host in &hosts[1..] {
            made.daemon(host, groups.iter().find(|(name, _)| name == host).map(|(_, group)| *group));
        }
        Some(made)
    }

    /// Creates the hosts without sshd. Skips the test if this machine cannot create the hosts.
    #[track_caller]
    pub fn bare(test: &str, binary: &Path, medium: &str, hosts: &[&str]) -> Option<Self> {
        or_skip(test, Self::bare_where_possible(binary, medium, hosts))
    }

    /// Creates the hosts without sshd, for callers that are not tests. Returns an error if this machine cannot create
    /// the hosts.
    pub fn bare_where_possible(binary: &Path, medium: &str, hosts: &[&str]) -> Result<Self, SetupError> {
        installed(&["ip"])?;
        if !is_root() {
            return Err(SetupError::Missing("not root: servers in a namespace need it".into()));
        }
        let dir = tempfile::tempdir().unwrap();
        let mut made = Self { binary: binary.into(), dir, daemons: Vec::new(), addresses: Vec::new() };
        let up = made.testbed(&["up", "lan", "--medium", medium, "--hosts", &hosts.join(",")]);
        let words = String::from_utf8_lossy(&up.stderr).into_owned();
        testbed(&words)?;
        if !up.status.success() {
            return Err(SetupError::Failed(words));
        }
        made.addresses = made.status();
        Ok(made)
    }

    fn testbed(&self, args: &[&str]) -> Output {
        self.command("testbed").args(args).stdin(Stdio::null()).output().unwrap()
    }

    fn command(&self, first: &str) -> Command {
        let mut command = Command::new(&self.binary);
        command.arg(first).env("XDG_RUNTIME_DIR", self.dir.path());
        command
    }

    fn status(&self) -> Vec<(String, String, u32)> {
        let said = self.testbed(&["status", "--json"]);
        let status: Value = serde_json::from_slice(&said.stdout).unwrap();
        let hosts = status[0]["hosts"].as_array().unwrap().clone();
        let text = |host: &Value, key: &str| host[key].as_str().unwrap_or_default().to_string();
        let pid = |host: &Value| u32::try_from(host["netns_pid"].as_u64().unwrap()).unwrap();
        hosts.iter().map(|host| (text(host, "name"), text(host, "address"), pid(host))).collect()
    }

    fn keys(&self, hosts: &[&str]) {
        for name in ["host", "user"] {
            let file = self.path(name);
            let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(file).status();
            assert!(made.unwrap().success());
        }
        let host_key = std::fs::read_to_string(self.path("host.pub")).unwrap();
        let known = hosts.iter().map(|host| format!("{} {host_key}", self.address(host)));
        std::fs::write(self.path("known"), known.collect::<String>()).unwrap();
        let d = self.dir.path().display();
        let mut config = format!(
            "Host *\n IdentityFile {d}/user\n IdentitiesOnly yes\n UserKnownHostsFile {d}/known\n \
             StrictHostKeyChecking yes\n User root\n LogLevel ERROR\n \
             RequestTTY force\n"
        );
        hosts.iter().for_each(|host| config += &format!("Host {host}\n HostName {}\n", self.address(host)));
        std::fs::write(self.path("config"), config).unwrap();
    }

    fn daemon(&mut self, host: &str, group: Option<&ControlGroup>) {
        let (d, address) = (self.dir.path().display(), self.address(host));
        let config = format!(
            "ListenAddress {address}\nHostKey {d}/host\nAuthorizedKeysFile {d}/user.pub\nPidFile none\nStrictModes no\n\
             UsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nLogLevel ERROR\n\
             MaxStartups {AT_ONCE}:100:{AT_ONCE}\n"
        );
        let file = self.path(&format!("sshd-{host}"));
        std::fs::write(&file, config).unwrap();
        let sshd = program("sshd").unwrap();
        let mut command = match group.map(|group| group.command(&sshd)) {
            None => self.inside(host, &sshd),
            Some(grouped) => {
                let mut command = self.inside(host, Path::new(grouped.get_program()));
                command.args(grouped.get_args());
                command
            }
        };
        command.arg("-D").arg("-f").arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let daemon = ChildProcess::start(&mut command);
        self.daemons.push(daemon);
        self.await_listening(host, 22);
    }

    /// Waits until a program listens on a TCP port of a host.
    #[track_caller]
    pub fn await_listening(&self, host: &str, port: u16) {
        let at = format!(":{port}");
        eventually(|| {
            let mut listens = self.inside(host, &program("ss").unwrap());
            let said = listens.args(["-Hltn", "sport", "=", &at]).output().unwrap();
            (!said.stdout.is_empty()).then_some(())
        });
    }

    /// Returns the path of the file `name` in the directory that all hosts share.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Returns the IP address of a host.
    pub fn address(&self, host: &str) -> &str {
        let found = self.addresses.iter().find(|(name, ..)| name == host);
        found.map(|(_, address, _)| address.as_str()).unwrap()
    }

    /// Adds a further name for a host to ssh's configuration, and returns this name.
    pub fn alias(&self, host: &str, number: usize) -> String {
        let name = format!("{host}-{number}");
        let line = format!("Host {name}\n HostName {}\n", self.address(host));
        let config = std::fs::read_to_string(self.path("config")).unwrap() + &line;
        std::fs::write(self.path("config"), config).unwrap();
        name
    }

    /// Returns the value of loadline's option `--via` for these hosts.
    pub fn engine(&self) -> String {
        format!("ssh -F {} {{host}}", self.path("config").display())
    }

    /// Returns a command that runs `program` on a host.
    pub fn inside(&self, host: &str, program: &Path) -> Command {
        let mut command = self.command("testbed");
        command.args(["exec", "lan", host, "--"]).arg(program);
        command
    }

    /// Returns the process IDs of the loadline agents (generator processes) on a host, in the order in which they
    /// started.
    pub fn agents(&self, host: &str) -> Vec<u32> {
        let mut agents = self.processes(host, |line| line.ends_with(b"\0agent\0") && !line.contains(&b' '));
        agents.sort_by_cached_key(|pid| (crate::process::started(*pid), *pid));
        agents
    }

    /// Returns the IDs of those processes on a host whose command line makes `is` return true.
    pub fn processes(&self, host: &str, is: impl Fn(&[u8]) -> bool) -> Vec<u32> {
        let holder = self.addresses.iter().find(|(name, ..)| name == host).unwrap().2;
        let namespace = |pid: u32| std::fs::read_link(format!("/proc/{pid}/ns/net")).ok();
        let theirs = namespace(holder);
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let found = |pid: &u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            is(&line) && namespace(*pid) == theirs
        };
        pids.filter(found).collect()
    }

    /// Returns the IDs of the processes that the sshd of a host has started for its sessions.
    pub fn sessions(&self, host: &str) -> Vec<u32> {
        let at = self.addresses.iter().position(|(name, ..)| name == host).unwrap();
        // `testbed exec` executes the program in its own process, so the daemon's process is sshd.
        crate::children(self.daemons[at - 1].pid())
    }

    /// Turns the network interface of a host on or off.
    pub fn line(&self, host: &str, up: bool) {
        let state = if up { "up" } else { "down" };
        let mut command = self.inside(host, &program("ip").unwrap());
        assert!(command.args(["link", "set", "eth0", state]).status().unwrap().success());
    }

    /// Runs loadline on a host. Calls `during` once loadline was started, and waits until loadline ends. Returns the
    /// run and the output.
    pub fn run(&self, host: &str, args: &[&str], during: impl FnOnce(&Self)) -> (Value, Output) {
        self.run_as(self.inside(host, &self.binary), args, during)
    }

    /// Returns the path of the loadline program under test.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// Runs a command that ends with the path of the loadline program. In all other respects, this function works like
    /// [`SshHosts::run`].
    pub fn run_as(&self, mut command: Command, args: &[&str], during: impl FnOnce(&Self)) -> (Value, Output) {
        let out = self.path("out");
        command.args(args).arg("--out").arg(&out).arg("--force");
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        during(self);
        let output = child.wait_with_output().unwrap();
        let run = std::fs::read(out.join("run.json")).ok().and_then(|text| serde_json::from_slice(&text).ok());
        (run.unwrap_or_default(), output)
    }

    /// Waits until a host has at least `at_least` agents (generator processes), and returns their process IDs.
    #[track_caller]
    pub fn await_agents(&self, host: &str, at_least: usize) -> Vec<u32> {
        eventually(|| Some(self.agents(host)).filter(|pids| pids.len() >= at_least))
    }

    /// Waits until no agent runs on a host any more. Fails the test after 19 seconds.
    #[track_caller]
    pub fn await_no_agents(&self, host: &str) {
        let begin = Instant::now();
        eventually(|| {
            let left = self.agents(host);
            assert!(begin.elapsed() < Duration::from_secs(19), "{left:?} are left on {host}");
            left.is_empty().then_some(())
        });
    }
}

impl Drop for SshHosts {
    fn drop(&mut self) {
        self.daemons.iter().for_each(|daemon| {
            crate::children(daemon.pid()).iter().for_each(|pid| {
                let _ = Command::new("kill").arg(pid.to_string()).stderr(Stdio::null()).status();
            });
        });
        self.daemons.clear();
        let _ = self.testbed(&["down", "lan"]);
    }
}

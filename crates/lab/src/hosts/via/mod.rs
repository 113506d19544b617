//! Hosts that are reached through an engine. An engine is a command, such as ssh, that runs a program elsewhere and
//! connects its standard input and output.

mod engines;
mod master;
mod script;
mod slurm;
mod words;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use run::{HostPlan, Role};

pub use engines::{ENGINES, Engine};
pub(crate) use master::remove_left_folders;
pub use slurm::allocation;

use self::master::Masters;
use crate::hosts::program::Program;
use crate::{Host, LabError};

/// A host that is reached through an engine.
#[derive(Clone, Debug)]
pub struct Via {
    name: String,
    prefix: Vec<String>,
    joins: bool,
    masters: bool,
    /// Path of loadline on the host; `None` if the user gave none.
    agent_path: Option<String>,
    /// Program file to copy to the host; `None` if the user gave a path.
    program: Option<Program>,
    /// Shared (master) connections to the host; `None` if the host is not reached by ssh.
    connections: Option<HostMasters>,
}

/// ssh master connections to one host. The agents of the host use the connections in rotation.
#[derive(Clone, Debug)]
struct HostMasters {
    sockets: Vec<PathBuf>,
    turn: Arc<AtomicUsize>,
    /// Keeps the connections open as long as this value exists.
    _masters: Arc<Masters>,
}

impl HostMasters {
    fn next(&self) -> Option<&Path> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        self.sockets.get(turn % self.sockets.len().max(1)).map(PathBuf::as_path)
    }
}

/// Maximum number of agents over one master connection. sshd limits the sessions per connection (`MaxSessions`, default
/// 10), and the connection's own `cat` uses one session.
const SESSIONS_PER_CONNECTION: u32 = 9;
/// Number of sessions that each host needs in addition to the generators' sessions. The additional sessions are for an
/// observer, an experiment, a question, and a session that is about to end.
const EXTRA_SESSIONS: u32 = 4;

impl Via {
    /// Creates the host that a plan describes, without connecting to it.
    fn from_plan(plan: &HostPlan, program: Option<&Program>) -> Result<Self, LabError> {
        let (prefix, joins, masters) = engine(&plan.via)?;
        Ok(Self {
            name: plan.name.clone(),
            prefix: prefix.iter().map(|word| word.replace("{host}", &plan.name)).collect(),
            joins,
            masters,
            agent_path: plan.agent_path.clone(),
            program: program.filter(|_| plan.agent_path.is_none()).cloned(),
            connections: None,
        })
    }

    /// Creates the hosts that `plans` describe. Opens master connections to the hosts whose engine supports them.
    pub(crate) fn connect(plans: &[HostPlan], program: &Path) -> Result<Vec<Self>, LabError> {
        let copied = plans.iter().any(|plan| plan.agent_path.is_none());
        let program = copied.then(|| Program::read(program)).transpose()?;
        let mut hosts =
            plans.iter().map(|plan| Self::from_plan(plan, program.as_ref())).collect::<Result<Vec<_>, _>>()?;
        let wanted = demands(plans, &hosts);
        if wanted.is_empty() {
            return Ok(hosts);
        }
        let each =
            wanted.iter().flat_map(|one| std::iter::repeat_n((one.name.clone(), one.prefix.clone()), one.masters));
        let (masters, sockets) = Masters::connect(&each.collect::<Vec<_>>())?;
        let (masters, mut sockets) = (Arc::new(masters), sockets.into_iter());
        for one in wanted {
            let sockets = sockets.by_ref().take(one.masters).collect();
            let connections = HostMasters { sockets, turn: Arc::default(), _masters: Arc::clone(&masters) };
            hosts.iter_mut().filter(|host| host.masters && host.prefix == one.prefix).for_each(|host| {
                host.connections = Some(connections.clone());
            });
        }
        Ok(hosts)
    }

    /// Returns the command line that starts the agent. The agent uses the given master connection, if any.
    fn words(&self, over: Option<&Path>) -> Vec<String> {
        let program = match (&self.agent_path, &self.program) {
            (Some(path), _) => vec![path.clone(), "agent".into()],
            (None, Some(program)) => vec!["/bin/sh".into(), "-c".into(), script::start_script(program)],
            (None, None) => Vec::new(),
        };
        let mut words = self.prefix.clone();
        if let Some(socket) = over {
            let over = ["-o".to_string(), "ControlMaster=no".into(), "-S".into(), socket.display().to_string()];
            words.splice(1..1, over);
        }
        match self.joins {
            true => words.push(program.iter().map(|word| words::quoted(word)).collect::<Vec<_>>().join(" ")),
            false => words.extend(program),
        }
        words
    }
}

/// A host, and the number of ssh master connections that its agents need.
struct MasterDemand {
    name: String,
    prefix: Vec<String>,
    masters: usize,
}

/// Returns the number of master connections that each host needs. A host that both the server and the generator use is
/// listed once.
fn demands(plans: &[HostPlan], hosts: &[Via]) -> Vec<MasterDemand> {
    let mut wanted: Vec<(MasterDemand, u32)> = Vec::new();
    for (plan, host) in plans.iter().zip(hosts).filter(|(_, host)| host.masters) {
        let agents = if plan.role == Role::Client { plan.agents } else { 0 };
        match wanted.iter_mut().find(|(known, _)| known.prefix == host.prefix) {
            Some((_, all)) => *all += agents,
            None => {
                wanted.push((MasterDemand { name: host.name.clone(), prefix: host.prefix.clone(), masters: 0 }, agents))
            }
        }
    }
    let counted = |(one, agents): (MasterDemand, u32)| MasterDemand {
        masters: (agents + EXTRA_SESSIONS).div_ceil(SESSIONS_PER_CONNECTION) as usize,
        ..one
    };
    wanted.into_iter().map(counted).collect()
}

/// Returns the words of the command line of an engine or of the user's own command, and two flags. The first flag is
/// true if a shell on the host reads the engine's arguments. The second flag is true if the engine supports ssh's
/// master connections.
fn engine(text: &str) -> Result<(Vec<String>, bool, bool), LabError> {
    if let Some(row) = ENGINES.iter().find(|row| row.name == text) {
        return Ok((row.prefix.iter().map(|word| (*word).to_string()).collect(), row.joins, row.masters));
    }
    let fail = |why: String| LabError::set_up(format!("reading the engine {text:?} (--via)"), why);
    let mut words = words::split(text).map_err(fail)?;
    if !words.iter().any(|word| word.contains("{host}")) {
        let names: Vec<&str> = ENGINES.iter().map(|row| row.name).collect();
        return Err(fail(format!(
            "it is none of {}; your own command needs {{host}} in place of the host's name",
            names.join(", ")
        )));
    }
    let program = Path::new(&words[0]).file_name().map(|name| name.to_string_lossy().into_owned());
    let known = ENGINES.iter().find(|row| row.joins && program.as_deref() == Some(row.name));
    if known.is_some() {
        // Adds the options of [`ENGINES`] for ssh: no terminal, and no prompt.
        words.splice(1..1, ["-T", "-o", "BatchMode=yes"].map(str::to_string));
    }
    Ok((words, known.is_some(), known.is_some_and(|row| row.masters)))
}

impl Host for Via {
    fn name(&self) -> &str {
        &self.name
    }

    fn command(&self, _: &Path) -> Result<Command, LabError> {
        let words = self.words(self.connections.as_ref().and_then(HostMasters::next));
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        Ok(command)
    }

    fn place(&self) -> String {
        self.words(None).join("\n")
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn program(&self) -> Option<Arc<[u8]>> {
        self.program.as_ref().map(|program| Arc::clone(&program.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn via(text: &str, agent_path: Option<&str>) -> Via {
        let plan = HostPlan {
            name: "a1".into(),
            via: text.into(),
            agent_path: agent_path.map(str::to_string),
            ..HostPlan::default()
        };
        Via::from_plan(&plan, Some(&Program { bytes: Arc::from(*b"x"), hash: "cafe".into() })).unwrap()
    }

    #[test]
    fn every_engine_starts_the_program_with_its_words_quoted_where_a_shell_reads_them() {
        let path = Some("/opt/my tools/loadline");
        let line = |text: &str| via(text, path).words(None).join("|");
        assert_eq!(line("ssh"), "ssh|-T|-o|BatchMode=yes|-o|ConnectTimeout=10|a1|'/opt/my tools/loadline' agent");
        let slurm = "srun|-Q|--overlap|--export=NONE|--nodes=1|--ntasks=1|--nodelist=a1|/opt/my tools/loadline|agent";
        assert_eq!(line("slurm"), slurm);
        assert_eq!(line("kubectl"), "kubectl|exec|-i|a1|--|/opt/my tools/loadline|agent");
        assert_eq!(line("podman"), "podman|exec|-i|a1|/opt/my tools/loadline|agent");
        assert_eq!(line("docker"), "docker|exec|-i|a1|/opt/my tools/loadline|agent");
        assert_eq!(line("nsenter"), "nsenter|--net=/run/netns/a1|/opt/my tools/loadline|agent");
        assert_eq!(line("ip netns exec {host}"), "ip|netns|exec|a1|/opt/my tools/loadline|agent");
        assert_eq!(
            line("/usr/bin/ssh -p 22 {host}"),
            "/usr/bin/ssh|-T|-o|BatchMode=yes|-p|22|a1|'/opt/my tools/loadline' agent"
        );
    }

    #[test]
    fn without_a_path_a_shell_gets_the_script_in_one_word() {
        let words = via("podman", None).words(None);
        assert_eq!(words[4..6], ["/bin/sh", "-c"]);
        assert!(words.len() == 7 && words[6].contains("agent-cafe"));
        let words = via("ssh", None).words(None);
        assert!(words.len() == 8 && words[7].starts_with("/bin/sh -c 'umask 077; "), "{words:?}");
        assert_eq!(words[7].matches('\'').count(), 2, "the script has no quote that a shell could end it at");
    }

    #[test]
    fn a_host_has_as_many_connections_as_its_agents_need_sessions() {
        let plan = |name: &str, role, agents| HostPlan { name: name.into(), role, agents, ..HostPlan::default() };
        let counted = |plans: &[HostPlan]| {
            let hosts: Vec<Via> = plans.iter().map(|plan| Via::from_plan(plan, None).unwrap()).collect();
            demands(plans, &hosts).into_iter().map(|one| (one.name, one.masters)).collect::<Vec<_>>()
        };
        let demand = |agents| counted(&[plan("a", Role::Client, agents)]);
        assert_eq!(
            (demand(1), demand(5), demand(6), demand(12)),
            (some("a", 1), some("a", 1), some("a", 2), some("a", 2))
        );
        let both = [plan("a", Role::Client, 20), plan("a", Role::Server, 1), plan("b", Role::Server, 1)];
        assert_eq!(counted(&both), [some("a", 3), some("b", 1)].concat());
    }

    fn some(name: &str, masters: usize) -> Vec<(String, usize)> {
        vec![(name.into(), masters)]
    }

    #[test]
    fn an_unknown_engine_is_an_error_that_lists_the_known_ones() {
        let error = engine("shh").unwrap_err().to_string();
        assert!(error.contains("ssh, slurm, kubectl") && error.contains("{host}"), "{error}");
        assert!(engine("ssh 'x {host}").unwrap_err().to_string().contains("not closed"));
    }
}

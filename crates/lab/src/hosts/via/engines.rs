//! Engines: commands that start a process on another host and connect its standard input and output. Each engine is a
//! command that is already installed. No other code in loadline contains the engines' names.

/// A command that starts processes on other hosts, such as ssh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Engine {
    /// Name for `--via`.
    pub name: &'static str,
    /// First words of the engine's command line, before the program that runs on the host. `{host}` stands for the
    /// host's name.
    pub prefix: &'static [&'static str],
    /// True if the engine joins its arguments with spaces and passes them to a shell on the host. Loadline quotes each
    /// argument for an engine that joins its arguments.
    pub joins: bool,
    /// True if a master connection (ssh's ControlMaster) is opened to each host first. An agent starts ten times faster
    /// over a master connection than over a new connection. Without master connections, sshd may refuse agents, because
    /// it limits the number of connections that are not yet authenticated.
    pub masters: bool,
    /// Words of a command line that starts a container called `{host}` in this machine's network. The caller appends
    /// the container's options and image to this command line. Empty for an engine without images.
    pub starts: &'static [&'static str],
    /// Line that tells the user which host names the engine accepts.
    pub help: &'static str,
}

const BASE: Engine = Engine { name: "", prefix: &[], joins: false, masters: false, starts: &[], help: "" };

/// All engines (programs that start loadline on another host) that loadline knows.
pub const ENGINES: &[Engine] = &[
    Engine {
        name: "ssh",
        // BatchMode is set, because a prompt would wait forever. ssh's option `-t` is not used, because a terminal
        // changes bytes.
        prefix: &["ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "{host}"],
        joins: true,
        masters: true,
        starts: &[],
        help: "a name or USER@NAME that ssh reaches without a prompt, with the keys of its configuration",
    },
    Engine {
        name: "slurm",
        // Each agent is started by its own srun. A single srun for all agents would send the input of all agents to
        // every agent. With `--label`, a single srun for all agents would also cut lines after 1,024 bytes.
        prefix: &["srun", "-Q", "--overlap", "--export=NONE", "--nodes=1", "--ntasks=1", "--nodelist={host}"],
        help: "a node of loadline's own allocation; `slurm` as the only host means all its nodes",
        ..BASE
    },
    Engine {
        name: "kubectl",
        prefix: &["kubectl", "exec", "-i", "{host}", "--"],
        help: "a running Pod of the current context and namespace",
        ..BASE
    },
    Engine {
        name: "podman",
        prefix: &["podman", "exec", "-i", "{host}"],
        starts: &["podman", "run", "--rm", "--network=host", "--name={host}"],
        help: "a running container; one without a shell needs --agent-path",
        ..BASE
    },
    Engine {
        name: "docker",
        prefix: &["docker", "exec", "-i", "{host}"],
        starts: &["docker", "run", "--rm", "--network=host", "--name={host}"],
        help: "a running container; one without a shell needs --agent-path",
        ..BASE
    },
    Engine {
        name: "nsenter",
        prefix: &["nsenter", "--net=/run/netns/{host}"],
        help: "a network namespace of this machine, made by `ip netns add`",
        ..BASE
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_engine_has_a_name_of_its_own_and_says_where() {
        for (at, engine) in ENGINES.iter().enumerate() {
            assert!(ENGINES[..at].iter().all(|other| other.name != engine.name), "{}", engine.name);
            assert_eq!(engine.prefix.iter().filter(|word| word.contains("{host}")).count(), 1, "{}", engine.name);
            assert!(!engine.prefix.contains(&"-t") && !engine.help.is_empty());
        }
    }
}

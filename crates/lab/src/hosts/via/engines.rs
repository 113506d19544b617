//! Engines that start a process on another host and connect its standard input and output: a command each, that is there
//! already. Nothing else of loadline knows their names.

/// One engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Engine {
    /// Its name for `--via`.
    pub name: &'static str,
    /// The words before the program; `{host}` stands for the host.
    pub prefix: &'static [&'static str],
    /// It joins its arguments with blanks and lets a shell on the host read them: each is quoted for that.
    pub joins: bool,
    /// Connections over one that is there already take a tenth of the time, and a server refuses many new ones at once:
    /// each host gets a master connection first (ssh's ControlMaster).
    pub masters: bool,
    /// What a host is to it, in one line.
    pub help: &'static str,
}

const BASE: Engine = Engine { name: "", prefix: &[], joins: false, masters: false, help: "" };

/// The table.
pub const ENGINES: &[Engine] = &[
    Engine {
        name: "ssh",
        // BatchMode: a prompt would wait for ever. No -t: a terminal changes bytes.
        prefix: &["ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "{host}"],
        joins: true,
        masters: true,
        help: "a name or USER@NAME that ssh reaches without asking; keys and host keys are those of its configuration",
    },
    Engine {
        name: "slurm",
        // One srun an agent: one for all would send every agent the input of all, and cut labelled lines at 1,024 bytes.
        prefix: &["srun", "-Q", "--overlap", "--export=NONE", "--nodes=1", "--ntasks=1", "--nodelist={host}"],
        help: "a node of the allocation that loadline runs in; as the only host, `slurm` means all nodes of it",
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
        help: "a running container; one without a shell needs --agent-path",
        ..BASE
    },
    Engine {
        name: "docker",
        prefix: &["docker", "exec", "-i", "{host}"],
        help: "a running container; one without a shell needs --agent-path",
        ..BASE
    },
    Engine {
        name: "nsenter",
        prefix: &["nsenter", "--net=/run/netns/{host}"],
        help: "a network namespace of this machine that `ip netns add` made",
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

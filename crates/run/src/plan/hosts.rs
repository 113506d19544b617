//! Other hosts that take part in a run.

use serde::{Deserialize, Serialize};

use crate::plan::error::out_of_range;
use crate::{PlanError, Role};

/// A host that takes part in a run: a machine, container or namespace in which a command can start a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct HostPlan {
    /// Name of the host, as the engine (such as ssh or docker) knows the host.
    pub name: String,
    /// Role of the host. `client`: generators run on this host; `server`: the server is observed on this host.
    pub role: Role,
    /// ID of an engine in `ENGINES`, or a command with `{host}` in place of the host's name.
    pub via: String,
    /// Number of generators on the host.
    pub agents: u32,
    /// Path of loadline on the host; absent to copy loadline to a folder of the host's user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_path: Option<String>,
}

impl Default for HostPlan {
    fn default() -> Self {
        Self { name: String::new(), role: Role::Client, via: "ssh".into(), agents: 1, agent_path: None }
    }
}

/// Maximum number of hosts, and also the maximum number of generators per host.
const MAX_HOSTS: usize = 1024;

/// Checks the hosts of a plan.
pub(crate) fn check(hosts: &[HostPlan]) -> Result<(), PlanError> {
    if hosts.len() > MAX_HOSTS {
        return out_of_range("hosts", format!("{} hosts", hosts.len()), "name at most 1,024 hosts");
    }
    for (at, host) in hosts.iter().enumerate() {
        // loadline refuses a name with a leading dash, because ssh and other engines would read the name as an option.
        let bad = |c: char| c.is_whitespace() || c.is_control();
        if host.name.is_empty() || host.name.starts_with('-') || host.name.contains(bad) {
            return out_of_range("hosts.name", format!("{:?}", host.name), "give the name of a host, without blanks");
        }
        if !(1..=MAX_HOSTS as u32).contains(&host.agents) {
            return out_of_range("hosts.agents", host.agents.to_string(), "give 1 to 1024 generators a host");
        }
        if hosts[..at].iter().any(|other| (&other.name, other.role) == (&host.name, host.role)) {
            return out_of_range(
                "hosts.name",
                format!("{:?} twice", host.name),
                "name each host once; `agents` is for more",
            );
        }
    }
    if hosts.iter().filter(|host| host.role == Role::Server).count() > 1 {
        return out_of_range("hosts.role", "server more than once".into(), "the server is observed on one host");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, role: Role) -> HostPlan {
        HostPlan { name: name.into(), role, ..HostPlan::default() }
    }

    /// This plan is the example in docs/how-to/other-machines.md.
    #[test]
    fn hosts_stand_in_a_plan() {
        let text = "[[hosts]]\nname = \"gen1\"\nagents = 2\n[[hosts]]\nname = \"web1\"\nrole = \"server\"\nvia = \"ssh\"\n\
                    agent_path = \"/opt/loadline\"\n";
        let plan = crate::Plan::from_toml("plan.toml", text).unwrap();
        let client = HostPlan { agents: 2, ..host("gen1", Role::Client) };
        let server = HostPlan { agent_path: Some("/opt/loadline".into()), ..host("web1", Role::Server) };
        assert_eq!(plan.hosts, [client, server]);
        let twice = crate::Plan::from_toml("plan.toml", "[[hosts]]\nname = \"a\"\n[[hosts]]\nname = \"a\"\n");
        assert!(twice.unwrap_err().to_string().contains("each host once"));
    }

    #[test]
    fn hosts_are_checked_before_anything_is_started() {
        let good = [host("a", Role::Client), host("b", Role::Client), host("a", Role::Server)];
        assert!(check(&good).is_ok() && check(&[]).is_ok());
        for (hosts, words) in [
            (vec![host("-oProxyCommand=x", Role::Client)], "without blanks"),
            (vec![host("a b", Role::Client)], "without blanks"),
            (vec![host("", Role::Server)], "name of a host"),
            (vec![host("a", Role::Client), host("a", Role::Client)], "each host once"),
            (vec![host("a", Role::Server), host("b", Role::Server)], "on one host"),
            (vec![HostPlan { agents: 0, ..host("a", Role::Client) }], "1 to 1024"),
        ] {
            assert!(check(&hosts).unwrap_err().to_string().contains(words), "{hosts:?}");
        }
    }
}

//! Which other hosts take part.

use clap::Args;
use run::{HostPlan, Plan, Role};

/// The name that stands for all nodes of an allocation.
const SLURM: &str = "slurm";
/// The engine when nothing is said.
const SSH: &str = "ssh";

/// Where the server is, and what starts processes on other hosts.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ServerHostArgs {
    /// Read the server's counters and processes on this host, where it listens at the target's port
    #[arg(long, value_name = "HOST", help_heading = "Other hosts")]
    server_host: Option<String>,
    /// What starts processes there (`loadline list engines`), or a command of your own: 'CMD {host} …' [default: ssh]
    #[arg(long, value_name = "ENGINE", help_heading = "Other hosts")]
    via: Option<String>,
    /// The same for the server's host alone
    #[arg(long, value_name = "ENGINE", help_heading = "Other hosts", requires = "server_host")]
    server_via: Option<String>,
    /// Path of loadline on the other hosts; without it, this program is copied to a folder of yours there
    #[arg(long, value_name = "FILE", help_heading = "Other hosts")]
    agent_path: Option<String>,
}

/// Which other hosts take part.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct HostArgs {
    /// Generate the load on these hosts, all together: a,b,c; or slurm: all nodes of the allocation
    #[arg(long, value_name = "HOSTS", value_delimiter = ',', help_heading = "Other hosts")]
    client_hosts: Vec<String>,
    /// Generators on each of them [default: 1]
    #[arg(long, value_name = "N", help_heading = "Other hosts", requires = "client_hosts")]
    agents_per_host: Option<u32>,
    /// --via for the clients' hosts alone
    #[arg(long, value_name = "ENGINE", help_heading = "Other hosts", requires = "client_hosts")]
    client_via: Option<String>,
    #[command(flatten)]
    server: ServerHostArgs,
}

impl ServerHostArgs {
    /// Its name, if one was given.
    pub(crate) fn name(&self) -> Option<&str> {
        self.server_host.as_deref()
    }

    /// Puts the server's host into the plan, in the place of its file's, if it was named.
    pub(crate) fn apply(&self, plan: &mut Plan) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.server_host.is_some() || !plan.hosts.is_empty() || self.via.is_none() && self.agent_path.is_none(),
            "--via and --agent-path are about other hosts: name some with --client-hosts or --server-host"
        );
        if let Some(name) = &self.server_host {
            plan.hosts.retain(|host| host.role != Role::Server);
            plan.hosts.push(self.host(name, Role::Server, self.server_via.as_ref(), SSH));
        }
        Ok(())
    }

    fn host(&self, name: &str, role: Role, own: Option<&String>, engine: &str) -> HostPlan {
        let via = own.or(self.via.as_ref()).map_or(engine, String::as_str);
        HostPlan { name: name.trim().into(), role, via: via.into(), agents: 1, agent_path: self.agent_path.clone() }
    }
}

impl HostArgs {
    /// Whether any flag of other hosts was given; the others need one of these.
    pub(crate) fn given(&self) -> bool {
        let ServerHostArgs { server_host, via, agent_path, .. } = &self.server;
        !self.client_hosts.is_empty() || server_host.is_some() || via.is_some() || agent_path.is_some()
    }

    /// The same with another host of the server, if one is given.
    pub(crate) fn with_server_host(&self, name: Option<&String>) -> Self {
        let server_host = name.or(self.server.server_host.as_ref()).cloned();
        Self { server: ServerHostArgs { server_host, ..self.server.clone() }, ..self.clone() }
    }

    /// Puts the flags that were given into the plan: hosts of a side that are named here replace those of its file.
    pub(crate) fn apply(&self, plan: &mut Plan) -> anyhow::Result<()> {
        if !self.client_hosts.is_empty() {
            plan.hosts.retain(|host| host.role != Role::Client);
            let clients = self.clients()?;
            plan.hosts.extend(clients);
        }
        self.server.apply(plan)
    }

    fn clients(&self) -> anyhow::Result<Vec<HostPlan>> {
        let of = |names: &[String], engine: &str| {
            let host = |name: &String| HostPlan {
                agents: self.agents_per_host.unwrap_or(1),
                ..self.server.host(name, Role::Client, self.client_via.as_ref(), engine)
            };
            names.iter().map(host).collect()
        };
        if self.client_hosts != [SLURM] {
            return Ok(of(&self.client_hosts, SSH));
        }
        let mut nodes = lab::via::allocation()?;
        // The server has its node for itself.
        nodes.retain(|node| Some(node) != self.server.server_host.as_ref());
        Ok(of(&nodes, SLURM))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(args: &HostArgs) -> Result<Vec<String>, String> {
        let mut plan = Plan::default();
        args.apply(&mut plan).map_err(|e| e.to_string())?;
        Ok(plan.hosts.iter().map(|h| format!("{:?} {} by {} x{}", h.role, h.name, h.via, h.agents)).collect())
    }

    #[test]
    fn each_side_has_its_hosts_and_its_engine() {
        let server = |name: &str, via: Option<&str>| ServerHostArgs {
            server_host: Some(name.into()),
            via: via.map(str::to_string),
            ..ServerHostArgs::default()
        };
        let args = HostArgs {
            client_hosts: vec!["a".into(), "b".into()],
            agents_per_host: Some(3),
            client_via: Some("podman".into()),
            server: server("s", None),
        };
        let clients = ["Client a by podman x3", "Client b by podman x3"];
        assert_eq!(plan(&args).unwrap(), [&clients[..], &["Server s by ssh x1"]].concat());
        let other = args.with_server_host(Some(&"t".to_string()));
        assert_eq!(plan(&other).unwrap(), [&clients[..], &["Server t by ssh x1"]].concat());
        assert_eq!(plan(&args.with_server_host(None)).unwrap(), plan(&args).unwrap());
        let args = HostArgs { server: server("s", Some("x {host}")), ..HostArgs::default() };
        assert_eq!(plan(&args).unwrap(), ["Server s by x {host} x1"]);
        assert_eq!(plan(&HostArgs::default()).unwrap(), [""; 0]);
        let nobody = ServerHostArgs { via: Some("ssh".into()), ..ServerHostArgs::default() };
        assert!(plan(&HostArgs { server: nobody, ..HostArgs::default() }).unwrap_err().contains("--client-hosts"));
    }
}

//! Flags for other hosts, on which the server or the load generator runs.

use clap::Args;
use run::{HostPlan, Plan, Role};

/// Value of `--client-hosts` that means all nodes of the Slurm allocation.
const SLURM: &str = "slurm";
/// Name of the default engine. An engine is the program that starts processes on other hosts.
const SSH: &str = "ssh";

/// Flags for the server's host and for engines.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ServerHostArgs {
    /// Host of the server: read its counters and processes there, by the target's port
    #[arg(long, value_name = "HOST", help_heading = "Other hosts")]
    server_host: Option<String>,
    /// Engine that starts processes on other hosts (`loadline list engines`), or your own command: 'CMD {host} …'
    /// [default: ssh]
    #[arg(long, value_name = "ENGINE", help_heading = "Other hosts")]
    via: Option<String>,
    /// Engine for the server's host only [default: --via]
    #[arg(long, value_name = "ENGINE", help_heading = "Other hosts", requires = "server_host")]
    server_via: Option<String>,
    /// Path of loadline on the other hosts; otherwise this program is copied to your cache folder there
    #[arg(long, value_name = "FILE", help_heading = "Other hosts")]
    agent_path: Option<String>,
}

/// Flags for other hosts.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct HostArgs {
    /// Generate the load on these hosts together: a,b,c; slurm means all nodes of the allocation
    #[arg(long, value_name = "HOSTS", value_delimiter = ',', help_heading = "Other hosts")]
    client_hosts: Vec<String>,
    /// Generator processes on each host [default: 1]
    #[arg(long, value_name = "N", help_heading = "Other hosts", requires = "client_hosts")]
    agents_per_host: Option<u32>,
    /// Engine for the clients' hosts only [default: --via]
    #[arg(long, value_name = "ENGINE", help_heading = "Other hosts", requires = "client_hosts")]
    client_via: Option<String>,
    #[command(flatten)]
    server: ServerHostArgs,
}

impl ServerHostArgs {
    /// Returns the name of the server's host, if the user gave one.
    pub(crate) fn name(&self) -> Option<&str> {
        self.server_host.as_deref()
    }

    /// Puts the given server host into the plan, in place of the server host of the plan file.
    pub(crate) fn apply(&self, plan: &mut Plan) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.server_host.is_some() || !plan.hosts.is_empty() || self.via.is_none() && self.agent_path.is_none(),
            "--via and --agent-path need other hosts: give --client-hosts or --server-host"
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
    /// Returns true if a flag names another host, or sets the way in which loadline starts there (`--via`,
    /// `--agent-path`). clap refuses every other flag about hosts unless `--server-host` or `--client-hosts` is given,
    /// so this function need not check the other flags.
    pub(crate) fn given(&self) -> bool {
        let ServerHostArgs { server_host, via, agent_path, .. } = &self.server;
        !self.client_hosts.is_empty() || server_host.is_some() || via.is_some() || agent_path.is_some()
    }

    /// Returns a copy of these flags. If `name` is given, this name replaces the server host in the copy.
    pub(crate) fn with_server_host(&self, name: Option<&String>) -> Self {
        let server_host = name.or(self.server.server_host.as_ref()).cloned();
        Self { server: ServerHostArgs { server_host, ..self.server.clone() }, ..self.clone() }
    }

    /// Applies the given flags to the plan. Client hosts from the command line replace all client hosts of the plan
    /// file. A server host from the command line replaces the server host of the plan file.
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
        // The node of the server must not generate load.
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
    fn each_side_has_its_own_hosts_and_engine() {
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

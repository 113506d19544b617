//! Flags of the target and of the requests to it.

use std::path::{Path, PathBuf};

use clap::Args;
use run::Plan;

use super::OutArgs;
use super::headers::{SecretHeaderArgs, from_environment};
use super::mix::{self, MixArgs};
use super::protocol::set_protocol;
use super::request::RequestArgs;
use super::request_set;
use super::reroute::RerouteArgs;
use super::tls::TlsArgs;

/// Maximum size of a plan file, bytes.
pub(crate) const MAX_PLAN_BYTES: u64 = 64 << 20;

/// Flags of the target and its requests.
#[derive(Args, Clone, Debug)]
pub(crate) struct TargetArgs {
    #[arg(help = targets())]
    pub(crate) target: Option<String>,
    /// Process of the server, with its children
    #[arg(long, value_name = "PID", help_heading = "Target")]
    pub(crate) server_pid: Option<u32>,
    /// Confirm that you may load a target outside this machine and private networks
    #[arg(long, help_heading = "Target")]
    pub(crate) authorized: bool,
    /// CPU time per request of the embedded server; 0: only its page [default: 50us]
    #[arg(long, value_name = "TIME", value_parser = super::units::seconds, help_heading = "Target")]
    embedded_work: Option<f64>,
    #[command(flatten)]
    request: RequestArgs,
    #[command(flatten)]
    pub(crate) mix: MixArgs,
    #[command(flatten)]
    secret_header: SecretHeaderArgs,
    /// Read the plan from a TOML file; flags override it
    #[arg(long, value_name = "FILE", help_heading = "Target")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    tls: TlsArgs,
    #[command(flatten)]
    reroute: RerouteArgs,
    /// Label of the run in `loadline history` [default: the git commit of the working directory]
    #[arg(long, value_name = "TEXT", value_parser = super::label::checked, help_heading = "Output")]
    label: Option<String>,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}

impl TargetArgs {
    /// Returns the plan of `--config`, or the default plan, after applying the flags about the target.
    pub(crate) fn plan(&self, command: &str) -> anyhow::Result<Plan> {
        let mut plan = match &self.config {
            Some(file) => plan_of_file(file)?,
            None => Plan::default(),
        };
        plan.command = command.into();
        plan.label = super::label::label(self.label.as_ref());
        if let Some(target) = &self.target {
            anyhow::ensure!(
                !target.trim().is_empty(),
                "the target is empty: is a variable of your script not set? Leave it out to measure the embedded server"
            );
            plan.target.url = target.clone();
        }
        plan.target.server_pid = self.server_pid.or(plan.target.server_pid);
        plan.target.authorized |= self.authorized;
        plan.target.embedded_work_us = self.embedded_work.map_or(plan.target.embedded_work_us, |s| s * 1e6);
        mix::tell(&self.mix.apply(&mut plan)?);
        if !plan.target.url.is_empty() || self.config.is_none() {
            set_protocol(&mut plan)?;
        }
        self.request.apply(&mut plan.load, plan.target.url.is_empty())?;
        mix::check(&plan, &self.request.of_one())?;
        self.tls.apply(&mut plan)?;
        self.reroute.apply(&mut plan.target);
        plan.redact_secrets(&self.secret_header.names);
        Ok(plan)
    }
}

/// Returns the plan in a TOML file that a user wrote, with the values of its environment variables.
pub(crate) fn plan_of_file(file: &Path) -> anyhow::Result<Plan> {
    let text = run::read_text(file, MAX_PLAN_BYTES, "name a plan in TOML")?;
    let mut plan = Plan::from_toml(&file.display().to_string(), &text)?;
    read_variables(&mut plan.load)?;
    Ok(plan)
}

/// Replaces `$env:NAME` by the value of the environment variable, in the headers of a plan file and in its requests.
/// Call this only for files that the user wrote: a recording may come from someone else, who must not read the user's
/// environment variables.
fn read_variables(load: &mut run::LoadPlan) -> anyhow::Result<()> {
    for (name, value) in load.protocol.path_and_headers().into_iter().flat_map(|(_, headers)| headers) {
        *value = from_environment(name, value, &mut load.secrets)?;
    }
    load.requests.iter_mut().try_for_each(|set| request_set::fill_variables(set, &mut load.secrets))
}

/// Returns the help text that lists the URL formats of a target.
fn targets() -> String {
    let written = |s: &proto::Scheme| format!("{}://HOST:PORT{}", s.name, if s.path { "/PATH" } else { "" });
    let all: Vec<String> = proto::PROTOCOLS.iter().flat_map(|row| row.schemes).map(written).collect();
    format!(
        "{}; unix:///PATH/OF.SOCKET:/PATH, and echo+unix:// and the like for the others; none: the embedded server",
        all.join(", ")
    )
}

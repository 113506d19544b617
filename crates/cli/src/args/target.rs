//! Whom to load, what to say to it, and where the result goes.

use std::path::PathBuf;

use clap::Args;
use run::{Plan, Protocol};

use super::units;

/// The target and what is said to it.
#[derive(Args, Clone, Debug)]
pub(crate) struct TargetArgs {
    /// http://HOST:PORT/PATH, tcp://HOST:PORT, echo://HOST:PORT; none: the embedded server
    pub(crate) target: Option<String>,
    /// Process that serves, when it cannot be found from its listening socket; its children belong to it
    #[arg(long, value_name = "PID", help_heading = "Target")]
    pub(crate) server_pid: Option<u32>,
    /// The target is outside this machine and private networks, and loading it is allowed
    #[arg(long, help_heading = "Target")]
    pub(crate) authorized: bool,
    /// HTTP method
    #[arg(long, value_name = "METHOD", help_heading = "Request")]
    method: Option<String>,
    /// HTTP header, may be repeated
    #[arg(long = "header", short = 'H', value_name = "K: V", value_parser = units::header, help_heading = "Request")]
    headers: Vec<(String, String)>,
    /// File whose bytes are the request's body
    #[arg(long, value_name = "FILE", help_heading = "Request")]
    body: Option<String>,
    /// Status that is right although it is not 2xx or 3xx
    #[arg(long, value_name = "CODE", help_heading = "Request")]
    expect_status: Option<u16>,
    /// tcp: file whose bytes are one request
    #[arg(long, value_name = "FILE", help_heading = "Request")]
    send_file: Option<String>,
    /// tcp: bytes of one response; without it, all until the server closes
    #[arg(long, value_name = "N", value_parser = units::bytes, help_heading = "Request")]
    expect_bytes: Option<u64>,
    /// echo, discard, source: bytes a message
    #[arg(long, value_name = "SIZE", value_parser = units::bytes, help_heading = "Request")]
    message_bytes: Option<u64>,
    /// record: bytes a record
    #[arg(long, value_name = "SIZE", value_parser = units::bytes, help_heading = "Request")]
    record_bytes: Option<u64>,
    /// Directory for run.json and report.html
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Print run.json to standard output, and nothing else there
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Read the plan from a TOML file; flags win over it
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) config: Option<PathBuf>,
}

impl TargetArgs {
    /// The plan that the file gives, or the default, with the target's flags put in.
    pub(crate) fn plan(&self, command: &str) -> anyhow::Result<Plan> {
        let mut plan = match &self.config {
            Some(file) => {
                let name = file.display().to_string();
                let text = std::fs::read_to_string(file).map_err(|e| anyhow::anyhow!("cannot read {name}: {e}"))?;
                Plan::from_toml(&name, &text)?
            }
            None => Plan::default(),
        };
        plan.command = command.into();
        if let Some(target) = &self.target {
            plan.target.url = target.clone();
        }
        plan.target.server_pid = self.server_pid.or(plan.target.server_pid);
        plan.target.authorized |= self.authorized;
        self.say(&mut plan);
        Ok(plan)
    }

    fn say(&self, plan: &mut Plan) {
        let scheme = plan.target.url.split_once("://").map_or("http", |(scheme, _)| scheme).to_string();
        if !plan.target.url.is_empty() || self.config.is_none() {
            plan.load.protocol = protocol_of(&scheme, &plan.load.protocol);
        }
        match &mut plan.load.protocol {
            Protocol::Http1 { method, headers, body_file, expect_status, .. } => {
                if let Some(given) = &self.method {
                    method.clone_from(given);
                } else if self.body.is_some() && method == "GET" {
                    *method = "POST".into();
                }
                headers.extend(self.headers.iter().cloned());
                *body_file = self.body.clone().or(body_file.take());
                *expect_status = self.expect_status.or(*expect_status);
            }
            Protocol::Raw { send_file, expect_bytes } => {
                *send_file = self.send_file.clone().or(send_file.take());
                *expect_bytes = self.expect_bytes.or(*expect_bytes);
            }
            Protocol::Echo { message_bytes }
            | Protocol::Discard { message_bytes }
            | Protocol::Source { message_bytes } => *message_bytes = self.message_bytes.unwrap_or(*message_bytes),
            Protocol::Record { record_bytes } => *record_bytes = self.record_bytes.unwrap_or(*record_bytes),
        }
    }
}

/// The protocol that a scheme names; keeps what a plan file already said of the same protocol.
fn protocol_of(scheme: &str, given: &Protocol) -> Protocol {
    let fresh = match scheme {
        "http" => Protocol::default(),
        "tcp" | "raw" => Protocol::Raw { send_file: None, expect_bytes: None },
        "echo" => Protocol::Echo { message_bytes: 64 },
        "discard" => Protocol::Discard { message_bytes: 4096 },
        "source" => Protocol::Source { message_bytes: 4096 },
        "record" => Protocol::Record { record_bytes: 2048 },
        // Schemes that nobody speaks are refused with their reason where the target is resolved.
        _ => Protocol::default(),
    };
    if fresh.name() == given.name() { given.clone() } else { fresh }
}

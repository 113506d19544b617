//! Flags for observing the server: samples of its threads and of its databases, and its spans.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use run::{Behind, Plan};

/// Flags for the sampling of the server's threads.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ObserveArgs {
    /// Do not sample what the server's threads wait for
    #[arg(long, help_heading = "Counters")]
    no_waits: bool,
    /// Sample no stacks: names of functions and locks are then unknown
    #[arg(long, help_heading = "Counters")]
    no_stacks: bool,
    /// Receive spans of the server at this address of loopback during the run (OTLP over HTTP), and show whose self
    /// time grows with the load; a bare port is enough
    #[arg(long, value_name = "ADDR:PORT", value_parser = crate::metrics::address, help_heading = "Counters")]
    spans: Option<SocketAddr>,
    #[command(flatten)]
    behind: BehindArgs,
}

impl ObserveArgs {
    /// Applies these flags to the plan.
    pub(crate) fn apply(&self, plan: &mut Plan) -> anyhow::Result<()> {
        plan.observe.waits = !self.no_waits;
        plan.observe.no_stacks |= self.no_stacks;
        plan.observe.spans = self.spans.or(plan.observe.spans);
        self.behind.apply(plan)
    }
}

/// Databases behind the server.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct BehindArgs {
    /// Sample a database behind the server: postgres://USER@HOST/DB, host=/SOCKET/DIR dbname=DB, mariadb://USER@HOST,
    /// or redis://HOST; repeatable. The password comes from PGPASSWORD, ~/.pgpass, MYSQL_PWD, REDISCLI_AUTH or
    /// --behind-file
    #[arg(long, value_name = "URL", help_heading = "Counters")]
    behind: Vec<String>,
    /// Sample the databases in FILE, one URL per line
    #[arg(long, value_name = "FILE", help_heading = "Counters")]
    behind_file: Option<PathBuf>,
}

impl BehindArgs {
    /// Adds the given databases to the plan.
    pub(crate) fn apply(&self, plan: &mut Plan) -> anyhow::Result<()> {
        // This function parses the URLs instead of clap, because an error of clap would print a URL with its password.
        for text in &self.behind {
            plan.observe.behind.push(text.parse::<Behind>().map_err(anyhow::Error::msg).context("--behind")?);
        }
        let Some(path) = &self.behind_file else { return Ok(()) };
        let text = run::read_text(path, MAX_FILE_BYTES, "give a file with one URL per line")?;
        for (number, line) in text.lines().enumerate().filter(|(_, line)| is_url(line)) {
            let parsed = line.parse::<Behind>().map_err(anyhow::Error::msg);
            plan.observe.behind.push(parsed.with_context(|| format!("{}, line {}", path.display(), number + 1))?);
        }
        Ok(())
    }
}

/// Maximum size of a file with URLs, bytes.
const MAX_FILE_BYTES: u64 = 1 << 16;

fn is_url(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}

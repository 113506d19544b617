//! `loadline serve`: runs a reference server, which any load generator can use.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use run::ServePlan;
use run::number::prose::counted;

use crate::args::{Names, units};
use crate::{Exit, output};

/// Arguments of `serve`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Service (`loadline list services`)
    #[arg(default_value = "http", value_parser = Names::Rows("services"))]
    service: String,
    /// Address to listen on; port 0 picks a free port
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8080")]
    listen: String,
    /// I/O model (`loadline list models`)
    #[arg(long, value_name = "MODEL", default_value = "auto", value_parser = Names::Rows("models"))]
    model: String,
    /// Admission control and protection (`loadline list strategies`)
    #[arg(long, value_name = "NAME", value_parser = Names::Rows("strategies"))]
    strategy: Option<String>,
    /// Worker threads
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), default_value_t = 1)]
    threads: u32,
    /// Serve the files of this directory instead of the built-in page
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Length of the built-in page
    #[arg(long, value_name = "SIZE", value_parser = units::bytes, default_value = "1294")]
    body_bytes: u64,
    /// Listen backlog
    #[arg(long, value_name = "N", default_value_t = 4096)]
    backlog: u32,
    /// CPUs the server may run on: 0,2 or 1-3 [default: all]
    #[arg(long, value_name = "LIST", value_parser = units::cpus)]
    cpus: Option<std::vec::Vec<u32>>,
    /// Serve at most R requests per second, by work or sleep (--option capacity_by=work|sleep)
    #[arg(long, value_name = "R", value_parser = units::rate)]
    capacity: Option<f64>,
    /// proxy: address that requests are forwarded to
    #[arg(long, value_name = "HOST:PORT")]
    upstream: Option<String>,
    /// sse, h2, grpc, ws: events per stream; proxy and model event: back end of the event API (epoll, uring, poll,
    /// select)
    #[arg(long, value_name = "N or NAME")]
    events: Option<String>,
    /// Streams: time from a request to the first event [default: 300ms]
    #[arg(long, value_name = "TIME", value_parser = units::seconds)]
    first: Option<f64>,
    /// Streams: time between two events [default: 20ms]
    #[arg(long, value_name = "TIME", value_parser = units::seconds)]
    gap: Option<f64>,
    /// Longest time for receiving a request's headers, then 408; 0s: no limit
    #[arg(long, value_name = "TIME", value_parser = units::seconds, default_value = "10s")]
    header_timeout: f64,
    /// Serve over TLS, with a self-signed certificate unless --cert gives one
    #[arg(long)]
    tls: bool,
    /// The server's certificate chain (PEM); serves over TLS
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<String>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<String>,
    /// Option of a service, model or strategy (`loadline list options`), may be repeated
    #[arg(long = "option", short = 'o', value_name = "NAME=VALUE", value_parser = units::pair)]
    options: Vec<(String, String)>,
}

/// Serves until Ctrl-C.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let plan = plan(args);
    output::catch_interrupts();
    if let Some(cpus) = &args.cpus {
        sys::limits::confine_to_exact_cpus(cpus).map_err(anyhow::Error::msg).context("--cpus")?;
    }
    let server = serve::start(&plan)?;
    server.notes().iter().for_each(|note| output::tell(&format!("note: {note}")));
    output::print(&format!("serving {} on {} ({})\n", plan.service, server.local_addr(), server.model()))?;
    let mut told = 0;
    while sys::interrupt::seen() == 0 {
        std::thread::sleep(Duration::from_millis(50));
        let failures = server.failures();
        failures.iter().skip(told).for_each(|why| output::tell(&format!("note: a server thread has ended: {why}")));
        told = failures.len();
    }
    server.stop();
    let stats = server.join();
    output::print(&format!(
        "accepted {}, answered {}, received {} and sent {}\n",
        counted(stats.accepted as f64, "connection"),
        counted(stats.requests as f64, "request"),
        counted(stats.bytes_in as f64, "byte"),
        counted(stats.bytes_out as f64, "byte")
    ))?;
    if stats.cache_hits + stats.disk_reads > 0 {
        output::print(&format!(
            "{} came from the page cache, {} from the disk\n",
            counted(stats.cache_hits as f64, "record"),
            run::number::prose::figure(stats.disk_reads as f64)
        ))?;
    }
    Ok(Exit::Done)
}

fn plan(args: &Args) -> ServePlan {
    let mut options: std::collections::BTreeMap<String, String> = args.options.iter().cloned().collect();
    options.extend(args.upstream.clone().map(|to| ("upstream".into(), to)));
    options.extend(args.events.clone().map(|name| ("events".into(), name)));
    let ms = |name: &str, given: Option<f64>| given.map(|s| (name.to_owned(), (s * 1e3).to_string()));
    options.extend(ms("first_ms", args.first).into_iter().chain(ms("gap_ms", args.gap)));
    options.extend(args.capacity.map(|rate| ("capacity".into(), rate.to_string())));
    options.extend(args.tls.then(|| ("tls".into(), "1".into())));
    options.extend(args.cert.clone().map(|file| ("tls_cert".into(), file)));
    options.extend(args.key.clone().map(|file| ("tls_key".into(), file)));
    let head_ms = (args.header_timeout * 1e3).ceil().to_string();
    options.entry("header_timeout_ms".into()).or_insert(head_ms);
    ServePlan {
        service: args.service.clone(),
        model: args.model.clone(),
        strategy: args.strategy.clone().unwrap_or_default(),
        listen: args.listen.clone(),
        threads: args.threads,
        backlog: args.backlog,
        root: args.root.as_ref().map(|r| r.display().to_string()),
        body_bytes: args.body_bytes,
        cpus: args.cpus.clone().unwrap_or_default(),
        options,
    }
}

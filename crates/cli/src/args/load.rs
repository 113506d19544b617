//! Flags of the load generator.

use anyhow::ensure;
use clap::Args;
use run::{Intensity, Io, LoadPlan, Plan, Protocol, ThinkTime};

use super::rows::{self, io};
use super::stream::StreamArgs;
use super::units;

/// Flags of the generator and its timing.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct LoadArgs {
    /// Generator threads
    #[arg(long, value_name = "N", help_heading = "Generator")]
    threads: Option<u32>,
    #[arg(long, value_name = "IO", value_parser = io, help = rows::io_help(), help_heading = "Generator")]
    io: Option<Io>,
    /// Open a new connection for each request
    #[arg(long, help_heading = "Generator")]
    new_connections: bool,
    /// Local addresses to spread connections over: 127.0.0.2-127.0.0.9
    #[arg(long, value_name = "ADDRS", value_parser = units::addresses, help_heading = "Generator")]
    source: Option<std::vec::Vec<std::net::IpAddr>>,
    /// CPUs the generator may run on: 0,2 or 1-3
    #[arg(long, value_name = "LIST", value_parser = units::cpus, help_heading = "Generator")]
    cpus: Option<std::vec::Vec<u32>>,
    /// Seed of every random choice
    #[arg(long, value_name = "N", help_heading = "Generator")]
    seed: Option<u64>,
    /// Maximum warm-up time; the warm-up ends as soon as throughput is steady
    #[arg(long, value_name = "TIME", value_parser = units::seconds, help_heading = "Generator")]
    warmup: Option<f64>,
    /// A response that takes longer is an error
    #[arg(long, value_name = "TIME", value_parser = units::seconds, help_heading = "Generator")]
    timeout: Option<f64>,
    /// A connect that takes longer is an error; T of S-Clients
    #[arg(long, value_name = "TIME", value_parser = units::seconds, help_heading = "Generator")]
    connect_timeout: Option<f64>,
    /// Requests in flight on one connection: a pipeline, or streams of HTTP/2
    #[arg(long, value_name = "N", visible_alias = "streams", help_heading = "Generator")]
    pipeline: Option<u32>,
    /// Pause between an answer and the next request; exp:20ms draws it at random
    #[arg(long, value_name = "TIME", value_parser = think, help_heading = "Generator")]
    think: Option<ThinkTime>,
    /// Share of the requests with a W3C trace context, such as 1%; the report names the slowest of them
    #[arg(long, value_name = "SHARE", value_parser = units::share, help_heading = "Request")]
    traceparent: Option<f64>,
    /// Run S-Clients as two processes, as in the published source: one process connects, the other handles the
    /// connections
    #[arg(long, help_heading = "Generator")]
    two_process: bool,
    #[command(flatten)]
    stream: StreamArgs,
    /// Time between two samples of the counters
    #[arg(long, value_name = "TIME", value_parser = units::seconds, help_heading = "Counters")]
    interval: Option<f64>,
    /// Time for reading the counters at rest, before any load
    #[arg(long, value_name = "TIME", value_parser = units::seconds, help_heading = "Counters")]
    at_rest: Option<f64>,
}

impl LoadArgs {
    /// Applies the given flags to the plan. Fails for a combination of flags in which one flag would have no effect.
    pub(crate) fn apply(&self, plan: &mut Plan) -> anyhow::Result<()> {
        let load = &mut plan.load;
        put(&mut load.threads, self.threads);
        put(&mut load.io, self.io);
        load.new_connections |= self.new_connections;
        load.two_process |= self.two_process;
        put(&mut load.sources, self.source.clone());
        put(&mut load.cpus, self.cpus.clone());
        put(&mut load.seed, self.seed);
        put(&mut load.warmup_s, self.warmup);
        put(&mut load.traceparent, self.traceparent);
        put(&mut load.timeout_s, self.timeout);
        put(&mut load.connect_timeout_s, self.connect_timeout);
        self.stream.apply(load);
        apply_deadline(load, self.timeout);
        self.apply_intensity(load);
        put(&mut plan.observe.interval_s, self.interval);
        put(&mut plan.observe.at_rest_s, self.at_rest);
        check_together(&plan.load)
    }

    fn apply_intensity(&self, load: &mut LoadPlan) {
        match &mut load.intensity {
            Intensity::Closed { pipeline, think, .. } => {
                put(pipeline, self.pipeline);
                put(think, self.think.clone());
            }
            Intensity::SClients { connect_timeout_ms, think, .. } => {
                put(connect_timeout_ms, self.connect_timeout.map(|s| s * 1e3));
                put(think, self.think.clone());
            }
            Intensity::Open { pipeline, .. } => put(pipeline, self.pipeline),
        }
    }

    /// Returns true if the user gave a warm-up of more than 0 s on the command line.
    pub(crate) fn warms_up(&self) -> bool {
        self.warmup.is_some_and(|seconds| seconds > 0.0)
    }

    /// Returns a flag from the command line that has no effect for this kind of load: `--pipeline` with S-Clients, or
    /// `--think` in an open loop.
    pub(crate) fn out_of_place(&self, intensity: &Intensity) -> Option<&'static str> {
        let pipelines = !matches!(intensity, Intensity::SClients { .. });
        let thinks = !matches!(intensity, Intensity::Open { .. });
        match (self.pipeline.is_some() && !pipelines, self.think.is_some() && !thinks) {
            (true, _) => Some("--pipeline"),
            (_, true) => Some("--think"),
            _ => None,
        }
    }
}

/// Makes `--timeout` the deadline that a gRPC server gets with each call, unless `--deadline` is given. If a call
/// streams its answer, the server gets no deadline: for streams, `--timeout` limits the wait for one event.
pub(crate) fn apply_deadline(load: &mut LoadPlan, timeout_s: Option<f64>) {
    if let (Protocol::Grpc(call), None) = (&mut load.protocol, &load.stream) {
        call.deadline_s = call.deadline_s.or(timeout_s);
    }
}

/// Fails if the plan splits the client into two processes (`--two-process`), but the load is not S-Clients.
fn check_together(load: &LoadPlan) -> anyhow::Result<()> {
    ensure!(
        !load.two_process || matches!(load.intensity, Intensity::SClients { .. }),
        "--two-process is for S-Clients: give --s-clients D, too"
    );
    Ok(())
}

fn put<T>(slot: &mut T, given: Option<T>) {
    if let Some(value) = given {
        *slot = value;
    }
}

fn think(text: &str) -> Result<ThinkTime, String> {
    let (exponential, time) = text.strip_prefix("exp:").map_or((false, text), |rest| (true, rest));
    Ok(ThinkTime { mean_ms: units::seconds(time)? * 1e3, exponential })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_the_deadline_of_a_call_but_not_of_a_stream() {
        let deadline_s = |own: Option<f64>, stream: Option<run::StreamPlan>| {
            let protocol = Protocol::Grpc(run::GrpcPlan { deadline_s: own, ..run::GrpcPlan::default() });
            let mut load = LoadPlan { protocol, stream, ..LoadPlan::default() };
            apply_deadline(&mut load, Some(2.0));
            let Protocol::Grpc(call) = load.protocol else { panic!("the protocol changed") };
            call.deadline_s
        };
        assert_eq!((deadline_s(None, None), deadline_s(Some(0.1), None)), (Some(2.0), Some(0.1)));
        assert_eq!(deadline_s(None, Some(run::StreamPlan::default())), None);
    }

    #[test]
    fn two_processes_belong_to_s_clients() {
        let plan = |two_process| LoadPlan { two_process, ..LoadPlan::default() };
        assert!(check_together(&plan(true)).unwrap_err().to_string().contains("--s-clients"));
        assert!(check_together(&plan(false)).is_ok());
    }
}

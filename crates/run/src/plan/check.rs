//! Checks the ranges of a plan's values before loadline sends any load.

use crate::plan::error::{out_of_range, range};
use crate::plan::intensity::default_pool;
use crate::{
    Arrival, Intensity, LoadPlan, MAX_REQUESTS, Objective, Plan, PlanError, Protocol, RecordedTimes, RequestOrder,
    RequestSet, Stage, StreamPlan,
};

/// Maximum duration of a load, or of the observation of an external load: 366 days.
pub const MAX_DURATION_S: f64 = 366.0 * 24.0 * 3600.0;

impl Plan {
    /// Reads a plan from TOML text. `file` is the file name for error messages.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, PlanError> {
        let mut plan: Self = toml::from_str(text)
            .map_err(|e| PlanError::Toml { file: file.into(), message: crate::suggest::toml_message(text, &e) })?;
        plan.load.derive_from_stages();
        plan.check().map_err(|error| error.in_file(file))?;
        Ok(plan)
    }

    /// Checks the range of every value in the plan.
    pub fn check(&self) -> Result<(), PlanError> {
        self.load.check()?;
        crate::plan::hosts::check(&self.hosts)?;
        self.objective.check()?;
        if self.load.stream.is_none() && self.objective.limits_events() {
            let advice = "give the format of the events, which --first-event and --gap limit";
            return out_of_range("load.stream", "absent".into(), advice);
        }
        self.check_search()?;
        self.check_cold()?;
        let behind = self.observe.behind.len();
        range(behind <= crate::MAX_BEHIND, "observe.behind", behind as f64, "give at most 8 databases")?;
        let interval = self.observe.interval_s;
        range((0.01..=3600.0).contains(&interval), "observe.interval_s", interval, "give 10 ms to 1 hour")
    }

    fn check_search(&self) -> Result<(), PlanError> {
        let (precision, budget_s) = (self.search.precision, self.search.budget_s);
        check_count(
            if self.search.users { "search.users" } else { "search.max_connections" },
            self.search.max_connections,
        )?;
        range((0.001..=1.0).contains(&precision), "search.precision", precision, "give 0.1% to 100%, such as 3%")?;
        range((1.0..=86_400.0).contains(&budget_s), "search.budget_s", budget_s, "give 1 second to 24 hours")?;
        range(self.repeats <= crate::MAX_REPEATS, "repeats", f64::from(self.repeats), "give 1 to 100")
    }

    fn check_cold(&self) -> Result<(), PlanError> {
        let cold = &self.cold;
        let pace = if cold.connections == 0 { 1.0 } else { cold.rate };
        range((0.1..=1e6).contains(&pace), "cold.rate", pace, "give 0.1 to 1,000,000 connects a second")?;
        let silence = "give a time up to one hour, or 0 for silence";
        range((0.0..=3.6e6).contains(&cold.trickle_ms), "cold.trickle_ms", cold.trickle_ms, silence)
    }
}

impl Objective {
    fn check(&self) -> Result<(), PlanError> {
        let share = "give a share from 0 to 1, such as 0.1%";
        range((0.0..=1.0).contains(&self.errors), "objective.errors", self.errors, share)?;
        let limits = [
            ("objective.p50_us", self.p50_us),
            ("objective.p99_us", self.p99_us),
            ("objective.p99_9_us", self.p99_9_us),
            ("objective.mean_us", self.mean_us),
            ("objective.first_byte", self.first_byte.shortest_us()),
            ("objective.first_event", self.first_event.shortest_us()),
            ("objective.gap", self.gap.shortest_us()),
        ];
        limits.into_iter().try_for_each(|(what, limit)| {
            let us = limit.unwrap_or(1.0);
            range(us > 0.0 && us.is_finite(), what, us, "give a time above zero, such as 20ms")
        })
    }
}

impl LoadPlan {
    fn check_blocks(&self) -> Result<(), PlanError> {
        let Some(blocks) = &self.blocks else { return Ok(()) };
        let fits = matches!(self.intensity, Intensity::Closed { .. }) && self.protocol.echoed_bytes().is_some();
        let rate = blocks.block_rate_bytes_per_s;
        match () {
            () if !fits || self.new_connections => out_of_range(
                "load.blocks",
                format!("for {}", self.protocol.name()),
                "blocks belong to a closed loop (--connections) of echo:// without --new-connections",
            ),
            () if !(1..=1_000_000).contains(&blocks.block) => {
                out_of_range("load.blocks.block", blocks.block.to_string(), "give 1 to 1,000,000 connections")
            }
            () if !(0.0..=1e12).contains(&rate) => out_of_range(
                "load.blocks.block_rate_bytes_per_s",
                rate.to_string(),
                "give bytes per second, 0 for no limit",
            ),
            () => Ok(()),
        }
    }

    fn check_connect_rate(&self) -> Result<(), PlanError> {
        let rate = self.connect_rate;
        let wrong = |advice| out_of_range("load.connect_rate", rate.to_string(), advice);
        let held = matches!(self.intensity, Intensity::Closed { .. }) && !self.new_connections && self.blocks.is_none();
        match () {
            () if rate == 0.0 => Ok(()),
            () if !(0.1..=1e6).contains(&rate) => wrong("give 0.1 to 1,000,000 connects a second"),
            () if !held => wrong("it belongs to a closed loop (--connections) without --new-connections and --block"),
            () => Ok(()),
        }
    }

    fn check_addresses(&self) -> Result<(), PlanError> {
        let count = self.addresses.len();
        let few = "give at most 64 addresses";
        range(count < crate::MAX_ADDRESSES, "load.addresses", count as f64, few)?;
        let whole = "leave --addresses all out: with --two-process, all connections go to one address";
        range(count == 0 || !self.two_process, "load.addresses", count as f64, whole)
    }

    fn check_traceparent(&self) -> Result<(), PlanError> {
        let share = self.traceparent;
        let wrong = |advice| out_of_range("load.traceparent", share.to_string(), advice);
        let headers = match &self.protocol {
            Protocol::Http1(http) | Protocol::Http2(http) | Protocol::Http3(http) => Some(&http.headers),
            Protocol::Grpc(call) => Some(&call.headers),
            _ => None,
        };
        let of_set = self.requests.iter().flat_map(|set| &set.requests).flat_map(|request| &request.headers);
        let mut names = headers.into_iter().flatten().chain(of_set).map(|(name, _)| name);
        match () {
            () if share == 0.0 => Ok(()),
            () if !(0.0..=1.0).contains(&share) => wrong("give a share of the requests, such as 1%"),
            () if headers.is_none() => wrong("only requests of http://, https:// and grpc:// have a trace context"),
            () if self.two_process => wrong("leave it out with --two-process"),
            () if names.any(|name| name.eq_ignore_ascii_case("traceparent")) => {
                wrong("leave out the header traceparent of the requests, or --traceparent")
            }
            () => Ok(()),
        }
    }

    fn check_early_data(&self) -> Result<(), PlanError> {
        let wrong = |advice| out_of_range("load.tls.early_data", "on".into(), advice);
        match self.tls.as_ref().filter(|tls| tls.early_data) {
            None => Ok(()),
            Some(_) if !matches!(self.protocol, Protocol::Http3(_)) => {
                wrong("only HTTP/3 has early data: write h3://, or https:// with --http3")
            }
            Some(tls) if tls.resume == 0.0 => wrong("give --resume, too: only resumed connections have early data"),
            Some(_) => Ok(()),
        }
    }

    fn check_new_connections(&self) -> Result<(), PlanError> {
        let in_flight = self.intensity.pipeline();
        range(
            !self.new_connections || in_flight <= 1,
            "pipeline",
            f64::from(in_flight),
            "leave it out, or --new-connections, which sends one request on each connection",
        )
    }

    /// Checks the range of every value in the load plan.
    pub fn check(&self) -> Result<(), PlanError> {
        let (duration_s, timeout_s) = (self.duration_s, self.timeout_s);
        range((1..=1024).contains(&self.threads), "load.threads", f64::from(self.threads), "give 1 to 1024")?;
        range((0.001..=MAX_DURATION_S).contains(&duration_s), "load.duration_s", duration_s, "give 1 ms to 366 days")?;
        range(timeout_s > 0.0 && timeout_s.is_finite(), "load.timeout_s", timeout_s, "give a time above zero")?;
        range((0.0..1.0).contains(&self.phase), "load.phase", self.phase, "give a share of a gap, 0 to below 1")?;
        self.check_blocks()?;
        self.check_connect_rate()?;
        self.check_new_connections()?;
        self.requests.as_ref().map_or(Ok(()), check_requests)?;
        check_stages(self)?;
        self.stream.as_ref().map_or(Ok(()), StreamPlan::check)?;
        let resume = self.tls.as_ref().map_or(0.0, |tls| tls.resume);
        range((0.0..=1.0).contains(&resume), "load.tls.resume", resume, "give on, off or a share such as 50%")?;
        self.check_early_data()?;
        range(
            self.tls.is_none() || !self.two_process,
            "load.two_process",
            1.0,
            "leave it out: a TLS session cannot be passed to another process",
        )?;
        self.check_addresses()?;
        self.check_traceparent()?;
        check_status(&self.protocol)?;
        if let Protocol::Grpc(call) = &self.protocol {
            call.check()?;
        }
        check_intensity(&self.intensity)
    }
}

/// Checks that an expected status can occur. The status must be a final HTTP status (200 to 599; RFC 9110, section 15),
/// or a gRPC code (0 to 16).
fn check_status(protocol: &Protocol) -> Result<(), PlanError> {
    let (status, codes, advice) = match protocol {
        Protocol::Grpc(call) => (call.expect_status, 0..=16, "give a code of gRPC, 0 to 16"),
        other => {
            (other.http().and_then(|http| http.expect_status), 200..=599, "give a status of an answer, 200 to 599")
        }
    };
    let status = status.unwrap_or(*codes.start());
    range(codes.contains(&status), "load.protocol.expect_status", f64::from(status), advice)
}

fn check_intensity(intensity: &Intensity) -> Result<(), PlanError> {
    match intensity {
        Intensity::Closed { connections, pipeline, .. } => {
            check_count("connections", *connections)?;
            check_pipeline(*pipeline)
        }
        Intensity::Open { rate, pipeline, max_connections, .. } => {
            check_rate(*rate)?;
            check_count("max_connections", *max_connections)?;
            check_pipeline(*pipeline)
        }
        Intensity::SClients { descriptors, connect_timeout_ms, think, pace } => {
            pace.as_ref().map_or(Ok(()), |pace| check_rate(pace.rate))?;
            let either = "leave it out: S-Clients follow either think times or an arrival process";
            range(pace.is_none() || think.mean_ms == 0.0, "think.mean_ms", think.mean_ms, either)?;
            check_count("descriptors", *descriptors)?;
            let (t, times) = (*connect_timeout_ms, "give 1 ms to 10 minutes; it must exceed the round trip");
            range((1.0..=600_000.0).contains(&t), "connect_timeout_ms", t, times)
        }
    }
}

fn check_pipeline(pipeline: u32) -> Result<(), PlanError> {
    range((1..=4096).contains(&pipeline), "pipeline", f64::from(pipeline), "give 1 to 4096")
}

fn check_count(what: &'static str, n: u32) -> Result<(), PlanError> {
    range((1..=1_000_000).contains(&n), what, f64::from(n), "give 1 to 1,000,000")
}

fn check_rate(rate: f64) -> Result<(), PlanError> {
    let advice = "give a rate above 0 and at most 100,000,000 requests a second";
    range(rate > 0.0 && rate <= 1e8, "rate", rate, advice)
}

impl LoadPlan {
    /// Derives the mean rate of an open loop from the stages. If the duration has its default value, sets it to the
    /// length of all stages. If the duration has its default value, also turns the warm-up off, because loadline
    /// measures the stages from their start.
    fn derive_from_stages(&mut self) {
        let sum = |of: fn(&Stage) -> f64| self.stages.iter().map(of).sum::<f64>();
        let (length_s, requests) = (sum(|stage| stage.seconds), sum(Stage::requests));
        if length_s <= 0.0 {
            return;
        }
        if self.intensity == Intensity::default() {
            self.intensity = Intensity::Open {
                rate: 1.0,
                arrival: Arrival::default(),
                max_connections: default_pool(),
                pipeline: 1,
            };
        }
        if let Intensity::Open { rate, .. } = &mut self.intensity {
            *rate = requests / length_s;
        }
        let default = Self::default();
        if self.duration_s == default.duration_s {
            (self.duration_s, self.warmup_s) = (length_s, 0.0);
        }
    }
}

fn check_stages(plan: &LoadPlan) -> Result<(), PlanError> {
    let open = matches!(plan.intensity, Intensity::Open { .. });
    if !open && !plan.stages.is_empty() {
        return out_of_range("load.stages", "for no open loop".into(), "stages are of a rate; give --rate");
    }
    let bad = |stage: &&Stage| {
        let rate = |rate: f64| (0.0..=1e8).contains(&rate);
        !(stage.seconds > 0.0 && stage.seconds <= 86_400.0 && rate(stage.from) && rate(stage.to))
    };
    if let Some(stage) = plan.stages.iter().find(bad) {
        let value = format!("{}..{} in {} s", stage.from, stage.to, stage.seconds);
        return out_of_range(
            "a stage of load.stages",
            value,
            "give 0 to 100,000,000 requests a second and up to 24 hours",
        );
    }
    let wild = |times: &&RecordedTimes| !(0.001..=100_000.0).contains(&times.speed) || !times.items.is_empty();
    if plan.arrivals.as_ref().and_then(|arrivals| arrivals.times.as_ref()).filter(wild).is_some() {
        return out_of_range(
            "load.arrivals.times",
            "its speed or items".into(),
            "give a speed of 0.001 to 100,000 and no items",
        );
    }
    let recorded = plan.requests.as_ref().and_then(|set| Some((set.recorded.as_ref()?, set.requests.len())));
    match recorded {
        _ if plan.requests.as_ref().is_some_and(depends_on_responses) && is_pipelined(plan) => out_of_range(
            "load.intensity.pipeline",
            "above 1".into(),
            "what is captured from an answer, and its cookies, are for the next request: leave --pipeline (--streams) out",
        ),
        Some((r, of)) if r.gaps_us.len() != r.items.len() || r.items.iter().any(|item| usize::from(*item) >= of) => {
            out_of_range(
                "load.requests.recorded",
                format!("{} times", r.gaps_us.len()),
                "give every time a request of the set",
            )
        }
        Some((r, _)) if !(0.001..=100_000.0).contains(&r.speed) => {
            out_of_range("load.requests.recorded.speed", r.speed.to_string(), "give 0.001 to 100,000")
        }
        _ => Ok(()),
    }
}

/// Returns true if requests may depend on responses to earlier requests. Requests depend on responses if the set is
/// sent in sequence, or if a request captures values from responses.
fn depends_on_responses(set: &RequestSet) -> bool {
    set.order == RequestOrder::Sequence || set.requests.iter().any(|request| !request.capture.is_empty())
}

fn is_pipelined(plan: &LoadPlan) -> bool {
    plan.intensity.pipeline() > 1
}

fn check_requests(set: &RequestSet) -> Result<(), PlanError> {
    let n = set.requests.len();
    if n == 0 || n > MAX_REQUESTS {
        return out_of_range("the number of requests", n.to_string(), "give 1 to 65,535");
    }
    let bad = set.requests.iter().find(|r| !(0.0..=1e12).contains(&r.weight));
    if let Some(bad) = bad {
        return out_of_range("the weight of a request", bad.weight.to_string(), "give 0 or more, such as 3");
    }
    if !set.requests.iter().any(|r| r.weight > 0.0) {
        return out_of_range("every weight", "0".into(), "give at least one request a weight above 0");
    }
    let weights: Vec<f64> = set.requests.iter().map(|r| r.weight).collect();
    let is_weighted = set.order == RequestOrder::Weighted || set.recorded.is_some();
    match is_weighted || crate::round_of(&weights).is_some() {
        true => Ok(()),
        false => out_of_range(
            "load.requests.order",
            "a sequence or a shuffle".into(),
            "each round sends a request as often as its weight says: give small whole numbers as weights, or leave --order \
             out",
        ),
    }
}

#[cfg(test)]
mod tests;

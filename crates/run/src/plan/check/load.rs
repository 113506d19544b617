//! Checks the settings of a load that belong to no other file: its protocol, connections, addresses and trace context.

use super::MAX_DURATION_S;
use super::intensity::check_intensity;
use super::requests::{check_recorded, check_requests};
use super::stages::{check_arrival_times, check_stages};
use crate::plan::error::{out_of_range, range};
use crate::{Intensity, LoadPlan, PlanError, Protocol, StreamPlan};

impl LoadPlan {
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
        check_arrival_times(self)?;
        check_recorded(self)?;
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
}

/// Checks that an expected status can occur. The status must be a final HTTP status (200 to 599; RFC 9110, section 15),
/// or a gRPC code (0 to 16).
pub(super) fn check_status(protocol: &Protocol) -> Result<(), PlanError> {
    let (status, codes, advice) = match protocol {
        Protocol::Grpc(call) => (call.expect_status, 0..=16, "give a code of gRPC, 0 to 16"),
        other => {
            (other.http().and_then(|http| http.expect_status), 200..=599, "give a status of an answer, 200 to 599")
        }
    };
    let status = status.unwrap_or(*codes.start());
    range(codes.contains(&status), "load.protocol.expect_status", f64::from(status), advice)
}

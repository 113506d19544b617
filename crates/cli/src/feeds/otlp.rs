//! `--otlp URL`: pushes the figures of a run to a receiver of OpenTelemetry metrics, while the run is in progress.

mod encode;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lab::Receiver;

use self::encode::Figures;
use super::every::Every;
use super::interval::Looks;
use crate::live::{Shared, Totals};

/// Time between two pushes.
const INTERVAL: Duration = Duration::from_secs(5);
/// Path for metrics at a receiver (OTLP 1.x, "OTLP/HTTP Request").
const PATH: &str = "/v1/metrics";
/// Environment variable with headers for the receiver, `NAME=VALUE,NAME=VALUE`. OpenTelemetry's SDKs read this
/// environment variable, too.
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";

/// Handle of the thread that pushes the figures. The thread ends when the handle is dropped.
#[derive(Debug)]
pub(crate) struct Otlp(Every<Option<String>>);

impl Otlp {
    /// Starts the thread that pushes figures to the receiver.
    pub(crate) fn start(url: &str, shared: &Shared) -> anyhow::Result<Self> {
        let receiver = Receiver::new(&with_path(url), headers(std::env::var(HEADERS).ok().as_deref()))?;
        let push =
            Push { receiver, looks: Looks::new(shared), totals: Totals::default(), start_ns: unix_ns(), failed: None };
        let step = |push: &mut Push| {
            push.send();
            true
        };
        Ok(Self(Every::start("loadline-otlp", INTERVAL, push, step, Push::last)?))
    }

    /// Pushes the last figures and ends the thread. Returns a warning if a push failed.
    pub(crate) fn end(mut self) -> Option<String> {
        self.0.end().flatten()
    }
}

/// State of the thread that pushes the figures.
struct Push {
    receiver: Receiver,
    looks: Looks,
    /// Counts of requests and responses since the start of the run.
    totals: Totals,
    start_ns: u64,
    /// Reason for the first failed push, and true if the most recent push failed, too. `None` if no push has failed.
    failed: Option<(String, bool)>,
}

impl Push {
    fn send(&mut self) {
        let look = self.looks.look();
        self.totals.add(&look.counts);
        let times_ns = (self.start_ns, unix_ns());
        let figures = Figures { times_ns, totals: &self.totals, in_flight: look.in_flight, open: look.open };
        let sent = self.receiver.send(figures.encoded());
        match (sent, &mut self.failed) {
            (Ok(()), Some((_, is_last))) => *is_last = false,
            (Err(_), Some((_, is_last))) => *is_last = true,
            (Err(why), None) => self.failed = Some((why, true)),
            (Ok(()), None) => {}
        }
    }

    /// Pushes the figures at the end of the run, unless the most recent push failed. Returns a warning if any push
    /// failed.
    fn last(mut self) -> Option<String> {
        if self.failed.as_ref().is_none_or(|(_, is_last)| !is_last) {
            self.send();
        }
        let (why, _) = self.failed?;
        Some(format!("some figures did not reach the receiver of --otlp: {why}"))
    }
}

/// Returns the URL of the receiver, with the standard path for metrics if the URL has no path.
fn with_path(url: &str) -> String {
    let path = run::UrlParts::parse(url).path;
    if path.is_empty() || path == "/" { format!("{}{PATH}", url.trim_end_matches('/')) } else { url.to_owned() }
}

/// Returns the headers of each push: the headers from the environment variable, and the content type.
fn headers(variable: Option<&str>) -> Vec<(String, String)> {
    let own = variable.unwrap_or_default().split(',').filter_map(|pair| pair.split_once('='));
    let own = own.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
    own.chain([("Content-Type".to_owned(), "application/json".to_owned())]).collect()
}

fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feeds::interval::tests::state;
    use crate::live::Model;

    #[test]
    fn a_receiver_without_a_path_gets_the_usual_one() {
        assert_eq!(with_path("http://127.0.0.1:4318"), "http://127.0.0.1:4318/v1/metrics");
        assert_eq!(with_path("http://h/"), "http://h/v1/metrics");
        assert_eq!(with_path("http://h/otlp/v1/metrics"), "http://h/otlp/v1/metrics");
        let all = headers(Some("Authorization=Basic abc=, x=1"));
        assert_eq!((all.len(), all[0].1.as_str(), all[1].0.as_str()), (3, "Basic abc=", "x"));
    }

    #[test]
    fn a_receiver_that_does_not_answer_gives_one_warning() {
        let shared = Shared::new(Model::new("load".into(), String::new(), 5.0));
        shared.lock().phase("2 connections", 5.0);
        shared.lock().progress(state(0.5, 100, 3));
        let (_bound, addr) = testkit::refusing();
        let otlp = Otlp::start(&format!("http://{addr}"), &shared).unwrap();
        let warning = otlp.end().unwrap();
        assert!(warning.contains("--otlp") && warning.contains(&addr.to_string()), "{warning}");
    }
}

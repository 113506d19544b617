//! Encodes figures as OTLP metrics in JSON. Source: OpenTelemetry protocol 1.x, `metrics.proto` and "JSON Protobuf
//! Encoding". In OTLP's JSON encoding, 64-bit integers are strings, and enums are numbers.

use run::{CoarseHist, TickDetail};
use serde_json::{Value, json};

use crate::live::Totals;

/// Value of `AGGREGATION_TEMPORALITY_CUMULATIVE`: counts are sums since the start.
const CUMULATIVE: u8 = 2;
/// Number of buckets of a coarse histogram that become one OTLP bucket. If four coarse buckets become one OTLP bucket,
/// the upper bound of two neighbouring OTLP buckets is twice their lower bound.
const BUCKETS_TOGETHER: usize = 4;

/// Figures of a run from its start to the current moment.
pub(super) struct Figures<'a> {
    /// Start of the run and current time, nanoseconds since 1970.
    pub(super) times_ns: (u64, u64),
    pub(super) totals: &'a Totals,
    pub(super) in_flight: u64,
    pub(super) open: u64,
}

impl Figures<'_> {
    /// Returns the body of a request that exports the metrics.
    pub(super) fn encoded(&self) -> String {
        let Totals { sent, completed, detail } = self.totals;
        let failed = detail.errors.0.iter().map(|(kind, n)| self.point(&[("error.type", &*id(kind))], *n));
        let statuses = &detail.unexpected_statuses;
        let refused = statuses.iter().map(|(status, n)| self.point(&[("status", &*run::status_name(*status))], *n));
        let metrics = [
            self.sum("loadline.requests.sent", "{request}", vec![self.point(&[], *sent)]),
            self.sum("loadline.requests.completed", "{request}", vec![self.point(&[], *completed)]),
            self.sum("loadline.requests.failed", "{request}", failed.collect()),
            self.sum("loadline.responses.unexpected", "{response}", refused.collect()),
            self.gauge("loadline.requests.in_flight", "{request}", self.in_flight),
            self.gauge("loadline.connections.open", "{connection}", self.open),
            self.histogram("loadline.response.duration", detail),
        ];
        let metrics: Vec<Value> = metrics.into_iter().flatten().collect();
        let scope = json!({"name": "loadline", "version": env!("CARGO_PKG_VERSION")});
        let resource = json!({"attributes": attributes(&[("service.name", "loadline")])});
        let scopes = json!([{"scope": scope, "metrics": metrics}]);
        json!({"resourceMetrics": [{"resource": resource, "scopeMetrics": scopes}]}).to_string()
    }

    /// Returns a metric that only grows (a monotonic sum), or `None` if it has no data points.
    fn sum(&self, name: &str, unit: &str, points: Vec<Value>) -> Option<Value> {
        let sum = json!({"aggregationTemporality": CUMULATIVE, "isMonotonic": true, "dataPoints": points});
        (!points.is_empty()).then(|| json!({"name": name, "unit": unit, "sum": sum}))
    }

    fn gauge(&self, name: &str, unit: &str, value: u64) -> Option<Value> {
        Some(json!({"name": name, "unit": unit, "gauge": {"dataPoints": [self.point(&[], value)]}}))
    }

    fn point(&self, named: &[(&str, &str)], value: u64) -> Value {
        let (start, now) = self.times_ns;
        let value = value.to_string();
        json!({"attributes": attributes(named), "startTimeUnixNano": start.to_string(),
               "timeUnixNano": now.to_string(), "asInt": value})
    }

    /// Returns the histogram of the response times. Requests without an answer are counted in the last bucket, because
    /// they took longer than any finite time. The sum contains the times until these requests failed, if the times are
    /// known.
    fn histogram(&self, name: &str, detail: &TickDetail) -> Option<Value> {
        let (start, now) = self.times_ns;
        let (bounds_s, mut counts) = buckets(&detail.responses);
        let unanswered = detail.failed_requests().max(detail.unanswered.len());
        counts.last_mut().into_iter().for_each(|last| *last = last.saturating_add(unanswered));
        let counts: Vec<String> = counts.iter().map(u64::to_string).collect();
        let sum_s = |hist: &CoarseHist| hist.mean_us().unwrap_or(0.0) * hist.len() as f64 / 1e6;
        let sum_s = sum_s(&detail.responses) + sum_s(&detail.unanswered);
        let count = detail.responses.len().saturating_add(unanswered);
        let point = json!({"startTimeUnixNano": start.to_string(), "timeUnixNano": now.to_string(),
                           "count": count.to_string(), "sum": sum_s, "bucketCounts": counts,
                           "explicitBounds": bounds_s});
        Some(json!({"name": name, "unit": "s",
                    "histogram": {"aggregationTemporality": CUMULATIVE, "dataPoints": [point]}}))
    }
}

/// Returns the bounds and the counts of an OTLP histogram. The bounds are the upper ends of all buckets except the
/// last, in seconds.
fn buckets(hist: &CoarseHist) -> (Vec<f64>, Vec<u64>) {
    let last = CoarseHist::BUCKETS - 1;
    let place = |bucket: usize| bucket.div_ceil(BUCKETS_TOGETHER);
    let bounds = (0..last).step_by(BUCKETS_TOGETHER).map(|bucket| CoarseHist::end_ns(bucket as u16) / 1e9);
    let bounds: Vec<f64> = bounds.collect();
    let mut counts = vec![0_u64; bounds.len() + 1];
    for (bucket, n) in hist.counts() {
        let count = &mut counts[place(usize::from(bucket)).min(bounds.len())];
        *count = count.saturating_add(n);
    }
    (bounds, counts)
}

fn attributes(named: &[(&str, &str)]) -> Value {
    named.iter().map(|(key, value)| json!({"key": key, "value": {"stringValue": value}})).collect()
}

/// Returns the name that a kind of failure has in `run.json`.
fn id(kind: &run::ErrorKind) -> String {
    serde_json::to_value(kind).ok().and_then(|name| Some(name.as_str()?.to_owned())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{ErrorKind, Errors};

    #[test]
    fn figures_have_the_form_of_otlp() {
        let mut counts = vec![0; CoarseHist::BUCKETS];
        for (us, n) in [(1, 2), (1000, 5), (200_000_000, 1)] {
            counts[CoarseHist::bucket(us * 1000)] += n;
        }
        let detail = TickDetail {
            errors: Errors([(ErrorKind::Reset, 4)].into()),
            unexpected: 3,
            unexpected_statuses: [(503, 3)].into(),
            responses: CoarseHist::of(counts),
            ..TickDetail::default()
        };
        let totals = Totals { sent: 20, completed: 11, detail };
        let figures = Figures { times_ns: (7, u64::MAX), totals: &totals, in_flight: 3, open: 2 };
        let value: Value = serde_json::from_str(&figures.encoded()).unwrap();
        let metrics = &value["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
        let metric = |name: &str| metrics.as_array().unwrap().iter().find(|metric| metric["name"] == name).unwrap();
        let sent = &metric("loadline.requests.sent")["sum"];
        assert_eq!((&sent["aggregationTemporality"], &sent["dataPoints"][0]["asInt"]), (&json!(2), &json!("20")));
        assert_eq!(sent["dataPoints"][0]["timeUnixNano"], u64::MAX.to_string());
        let failed = &metric("loadline.requests.failed")["sum"]["dataPoints"][0];
        assert_eq!(failed["attributes"], json!([{"key": "error.type", "value": {"stringValue": "reset"}}]));
        let point = &metric("loadline.response.duration")["histogram"]["dataPoints"][0];
        let bounds: Vec<f64> = serde_json::from_value(point["explicitBounds"].clone()).unwrap();
        let counts: Vec<String> = serde_json::from_value(point["bucketCounts"].clone()).unwrap();
        assert_eq!(counts.len(), bounds.len() + 1);
        assert!(bounds.is_sorted_by(|a, b| a < b) && bounds.len() < 60, "{bounds:?}");
        // The response time of 1 ms is in the bucket whose bounds enclose 1 ms. The last bucket contains five requests:
        // the one with the longest response time, and the four without an answer.
        let at = counts.iter().position(|n| n == "5").unwrap();
        assert!(bounds[at - 1] <= 1e-3 && 1e-3 < bounds[at], "{bounds:?}");
        assert_eq!((counts.last().map(String::as_str), &point["count"]), (Some("5"), &json!("12")));
    }
}
